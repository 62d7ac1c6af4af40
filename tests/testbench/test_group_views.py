"""A group as the control API tells it: others run while its partitions are looked at."""

import asyncio

import pytest

from broker_lite.coordinator.share_records.partition import SharePartition
from broker_lite.coordinator.share_records.state import RecordState, StateBatch
from broker_lite.testbench.group_views import OffsetView, view_of
from tests.testbench.conftest import Others
from tests.testbench.shared_groups import FakeLife, share_group
from tests.testbench.test_share_runs import kept_state

PARTITIONS = 50


def test_others_run_after_each_partition_of_a_share_group(others: Others) -> None:
    fake = FakeLife(share_group(("t", PARTITIONS)))
    assert asyncio.run(others.while_running(view_of(fake.life, "g"))) >= PARTITIONS
    view = asyncio.run(view_of(fake.life, "g"))
    assert (view.state, view.offsets, view.lag) == ("Empty", {}, None)
    assert fake.loads == []


def test_a_look_makes_no_share_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(*_: object) -> None:
        raise AssertionError("made of what is kept")

    monkeypatch.setattr(SharePartition, "__init__", make)
    done = [StateBatch(first, first, int(RecordState.ACKNOWLEDGED), 1) for first in (0, 1, 5, 7)]
    fake = FakeLife(share_group(("t", 2)), kept={1: kept_state(0, done)}, end=10)
    view = asyncio.run(view_of(fake.life, "g"))
    assert view.offsets == {"t": {"1": OffsetView(committed=2, end=10, lag=6, metadata="")}}
    assert view.lag == 6


def test_a_partition_of_a_topic_that_was_deleted_is_left_out() -> None:
    fake = FakeLife(share_group(("t", 1)), kept={0: kept_state(0, [])})
    fake.topics.clear()
    assert asyncio.run(view_of(fake.life, "g")).offsets == {}
