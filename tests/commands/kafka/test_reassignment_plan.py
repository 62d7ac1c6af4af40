"""The JSON of kafka-reassign-partitions."""

import json
from pathlib import Path
from typing import Any

import pytest

from broker_lite.commands.kafka.reassignment_plan import Plan, as_json, propose
from broker_lite.commands.kafka.replica_dirs import Replica
from broker_lite.errors import ClientError, SettingsError


def plan_of(folder: Path, *entries: dict[str, Any]) -> Plan:
    """The plan of a file with these partitions."""
    path = folder / "plan.json"
    path.write_text(json.dumps({"version": 1, "partitions": entries}))
    return Plan(path)


def entry(partition: int = 0, replicas: object = (1,), **more: object) -> dict[str, Any]:
    """A partition of the topic t."""
    return {"topic": "t", "partition": partition, "replicas": replicas, **more}


def test_replicas_and_directories(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, entry(0, [1, 2], log_dirs=["any", "/d"]), entry(1, [3]))
    plan.check()
    assert plan.replicas == {("t", 0): [1, 2], ("t", 1): [3]}
    assert plan.directories == {Replica(2, "t", 0): "/d"}


@pytest.mark.parametrize(
    ("entries", "line"),
    [
        ((), "Partition reassignment list cannot be empty"),
        ((entry(0, []),), "Partition replica list cannot be empty"),
        (
            (entry(), entry()),
            "Partition reassignment contains duplicate topic partitions: t-0",
        ),
        (
            (entry(0, [1, 2, 1]), entry(1, [3, 3])),
            "Partition replica lists may not contain duplicate entries: t-0 contains multiple"
            " entries for 1. t-1 contains multiple entries for 3",
        ),
    ],
)
def test_what_cannot_be_executed(
    tmp_path: Path, entries: tuple[dict[str, Any], ...], line: str
) -> None:
    with pytest.raises(ClientError) as failure:
        plan_of(tmp_path, *entries).check()
    assert str(failure.value) == line


def test_more_directories_than_replicas(tmp_path: Path) -> None:
    with pytest.raises(ClientError) as failure:
        plan_of(tmp_path, entry(0, [1], log_dirs=["any", "/d"]))
    assert str(failure.value) == (
        "Size of replicas list [1] is different from size of log dirs list [any, /d] for partition"
        " t-0"
    )


@pytest.mark.parametrize("bad", [{"replicas": ["1"]}, {"replicas": [1], "log_dirs": [1]}])
def test_lists_of_something_else(tmp_path: Path, bad: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="is not a list of"):
        plan_of(tmp_path, entry(**bad))


def test_as_json() -> None:
    text = as_json({("t", 1): [1, 2], ("t", 0): [2]}, {Replica(2, "t", 1): "/d"})
    assert text == (
        '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[2],"log_dirs":["any"]},'
        '{"topic":"t","partition":1,"replicas":[1,2],"log_dirs":["any","/d"]}]}'
    )


def test_a_proposal_spreads_leaders_and_replicas() -> None:
    current = {("t", number): [1, 2] for number in range(12)}
    found = propose(current, {3, 1, 2})
    assert [*found] == [*current]
    leaders = [replicas[0] for replicas in found.values()]
    assert {leaders.count(broker) for broker in (1, 2, 3)} == {4}
    assert all(len({*replicas}) == 2 for replicas in found.values())
    assert len({tuple(replicas) for replicas in found.values()}) == 6, "followers change, too"


def test_a_proposal_for_one_broker() -> None:
    assert propose({("t", 0): [2], ("u", 0): [2]}, {1}) == {("t", 0): [1], ("u", 0): [1]}


def test_too_few_brokers() -> None:
    with pytest.raises(ClientError, match="Replication factor: 2 larger than available brokers: 1"):
        propose({("t", 0): [1, 2]}, {1})
