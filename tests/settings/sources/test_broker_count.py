"""What the number of brokers means for other settings."""

from pathlib import Path

import pytest

from broker_lite.settings import Settings, load_settings
from broker_lite.settings.sources.broker_count import beyond_the_brokers, fit_brokers
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
        ("share.coordinator.state.topic.replication.factor", "3", True),
        ("share.coordinator.state.topic.min.isr", "2", True),
    ],
)
def test_what_speaks_of_several_brokers(name: str, text: str, is_told: bool) -> None:
    told = beyond_the_brokers(load_settings(None, {}, {name: text}))
    assert (told is not None and f"{name}={text}" in told) is is_told


def test_nothing_is_told_of_the_defaults() -> None:
    assert beyond_the_brokers(load_settings(None, {})) is None


@pytest.mark.parametrize(
    ("brokers", "factor", "start"),
    [
        ("2", "3", "there are 2 brokers, but settings are for more: default.replication.factor=3;"),
        ("2", "2", None),
        ("4", "4", None),
    ],
)
def test_what_is_told_goes_by_the_number_of_brokers(
    brokers: str, factor: str, start: str | None
) -> None:
    texts = {"broker.lite.brokers": brokers, "default.replication.factor": factor}
    told = beyond_the_brokers(load_settings(None, {}, texts))
    assert told is None if start is None else told is not None and told.startswith(start)


def test_processes_have_one_replica_of_each_partition() -> None:
    texts = {"broker.lite.processes": "3"}
    assert beyond_the_brokers(load_settings(None, {}, texts)) is None
    texts["default.replication.factor"] = "2"
    told = beyond_the_brokers(load_settings(None, {}, texts))
    assert told is not None
    assert told.startswith("a partition has one replica in one process, but settings are for more")
    assert "default.replication.factor=2" in told


def numbers(settings: Settings) -> list[int]:
    return [
        settings.default_replication_factor,
        settings.offsets_topic_replication_factor,
        settings.transaction_state_log_replication_factor,
        settings.transaction_state_log_min_isr,
    ]


@pytest.mark.parametrize(
    ("brokers", "defaults"),
    [("1", [1, 1, 1, 1]), ("2", [2, 2, 2, 2]), ("3", [3, 3, 3, 2]), ("5", [3, 3, 3, 2])],
)
def test_the_defaults_grow_with_the_cluster(brokers: str, defaults: list[int]) -> None:
    settings = fit_brokers(load_settings(None, {}, {"broker.lite.brokers": brokers}))
    assert numbers(settings) == defaults
    origin = "number of brokers" if brokers != "1" else "default"
    assert settings.origin_of("default.replication.factor") == origin


def test_what_is_set_stays() -> None:
    texts = {
        "broker.lite.brokers": "3",
        "default.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
    }
    settings = fit_brokers(load_settings(None, {}, texts))
    assert numbers(settings) == [1, 3, 1, 1]
    assert settings.origin_of("default.replication.factor") == "--set"


def test_all_of_it_is_one_line_at_the_start(tmp_path: Path) -> None:
    settings = (f"controller.quorum.voters={VOTERS}", "default.replication.factor=3")
    with BrokerProcess(tmp_path / "data", settings=settings) as broker:
        (line,) = [each for each in broker.log.splitlines() if "there is one broker" in each]
    assert VOTERS in line
    assert "default.replication.factor=3" in line
