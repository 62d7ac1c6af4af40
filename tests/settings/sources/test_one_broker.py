"""Settings of a cluster are told at the start of the one broker."""

from pathlib import Path

import pytest

from broker_lite.settings import load_settings
from broker_lite.settings.sources.one_broker import beyond_one_broker
from tests.support.broker_process import BrokerProcess

VOTERS = "1@a:9093,2@b:9093,3@c:9093"


@pytest.mark.parametrize(
    ("name", "text", "is_told"),
    [
        ("controller.quorum.voters", VOTERS, True),
        ("controller.quorum.voters", "1@localhost:9093", False),
        ("controller.quorum.bootstrap.servers", "a:9093,b:9093", True),
        ("default.replication.factor", "3", True),
        ("default.replication.factor", "1", False),
        ("offsets.topic.replication.factor", "3", True),
        ("transaction.state.log.replication.factor", "2", True),
        ("transaction.state.log.min.isr", "2", True),
        ("min.insync.replicas", "2", True),
        ("share.coordinator.state.topic.replication.factor", "3", False),
    ],
)
def test_what_speaks_of_several_brokers(name: str, text: str, is_told: bool) -> None:
    told = beyond_one_broker(load_settings(None, {}, {name: text}))
    assert (told is not None and f"{name}={text}" in told) is is_told


def test_nothing_is_told_of_the_defaults() -> None:
    assert beyond_one_broker(load_settings(None, {})) is None


def test_all_of_it_is_one_line_at_the_start(tmp_path: Path) -> None:
    settings = (f"controller.quorum.voters={VOTERS}", "default.replication.factor=3")
    with BrokerProcess(tmp_path / "data", settings=settings) as broker:
        (line,) = [each for each in broker.log.splitlines() if "there is one broker" in each]
    assert VOTERS in line
    assert "default.replication.factor=3" in line
