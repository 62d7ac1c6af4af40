"""Where a share partition begins, also after a write has failed."""

from typing import Any

import pytest

from broker_lite.control.coordinators.share_service import Shares
from broker_lite.coordinator.effects import ShareStart
from broker_lite.coordinator.share_records.state import StateBatch, StateUpdate
from broker_lite.coordinator.share_records.states import ShareKey
from broker_lite.errors import KafkaStorageError
from broker_lite.handler.share import partition
from tests.handler.share.share_requests import Sharer, acquired
from tests.support.handler_broker import HandlerBroker
from tests.support.small_disk import files_end_at


def shares_of(broker: HandlerBroker) -> Shares:
    return broker.coordinators.groups.shares


def test_k20_latest_loses_nothing_when_the_first_write_fails(broker: HandlerBroker) -> None:
    sharer = Sharer(broker, earliest=False)
    sharer.append(3)
    sharer.beat()
    assert acquired(sharer.fetch()) == []
    sharer.append(5)
    assert acquired(sharer.fetch()) == [(3, 7, 1)]
    with files_end_at(0):
        assert sharer.say({0: [(3, 7, [2])]})[0][0] == 56
    assert acquired(sharer.fetch()) == [(3, 7, 1)]


def test_a_start_that_another_request_has_found_counts(
    broker: HandlerBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile it reads and acknowledges, and then cannot write: what is kept counts."""
    sharer = Sharer(broker, earliest=False)
    sharer.append(3)
    sharer.beat()
    shares, key = shares_of(broker), ShareKey("g", sharer.topic_id, 0)

    async def find_slowly(*arguments: Any) -> int:
        start = await real(*arguments)
        assert shares.open(key, 0).start_offset == 0
        shares.settle(key, StateUpdate(0, 1, [StateBatch(0, 0, 2, 1)]), 0)
        with files_end_at(0), pytest.raises(KafkaStorageError):
            shares.settle(key, StateUpdate(1, 1, [StateBatch(1, 1, 2, 1)]), 0)
        return start

    real = partition.start_offset_of
    monkeypatch.setattr(partition, "start_offset_of", find_slowly)
    assert acquired(sharer.fetch()) == [(1, 2, 1)]


def test_a_state_that_was_lost_begins_again(broker: HandlerBroker) -> None:
    sharer = Sharer(broker)
    sharer.append(3)
    sharer.beat()
    shares, key = shares_of(broker), ShareKey("g", sharer.topic_id, 0)
    shares.put_starts([ShareStart(*key, None, 0)])  # as if the group's records had failed then
    assert acquired(sharer.fetch()) == [(0, 2, 1)]
    assert [*shares.log.states] == [key]


def test_a_partition_that_the_group_has_no_state_of_gives_nothing(broker: HandlerBroker) -> None:
    sharer = Sharer(broker)
    sharer.append(3)
    sharer.beat(names=())
    assert acquired(sharer.fetch()) == []
    assert [*shares_of(broker).log.states] == []
