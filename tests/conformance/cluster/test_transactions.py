"""Transactions, while brokers restart, crash, and hand coordinators and partitions over."""

import pytest

from broker_lite.coordinator.placement import partition_of
from tests.conformance.clients import RANGE
from tests.conformance.cluster.conftest import STATE_PARTITIONS
from tests.conformance.cluster.scene import (
    LONG_MS,
    OFFSETS,
    PARTITIONS,
    TRANSACTIONS,
    Scene,
    clients,
)
from tests.conformance.feeder import PARTITIONS as FED
from tests.conformance.feeder import Feeder, create_topic
from tests.conformance.group import Group, visible_values
from tests.conformance.program import Program

pytestmark = [pytest.mark.client, pytest.mark.slow]


def transact(writer: Program, value: str, end: str = "commit") -> None:
    """Write a record to each partition in one transaction and end it."""
    writer.do("begin")
    for partition in range(PARTITIONS):
        writer.do("send", partition, value)
    writer.do(end)


def committed(scene: Scene) -> list[str]:
    """The values of partition 0 that a reader of committed records gets."""
    found = scene.cluster.records(scene.topic, read_committed=True)
    by_partition = [
        [(each.value or b"").decode() for each in found if each.partition == partition]
        for partition in range(PARTITIONS)
    ]
    assert all(each == by_partition[0] for each in by_partition), by_partition
    return by_partition[0]


@clients("confluent", "aiokafka", "java", "franz")
def test_transactions_during_a_rolling_restart(scene: Scene) -> None:
    scene.create()
    writer = scene.transactor()
    wanted = []
    for node_id, broker in scene.cluster.brokers.items():
        writer.do("begin")
        writer.do("send", 0, f"{node_id}-open")
        broker.stop()
        for partition in range(1, PARTITIONS):
            writer.do("send", partition, f"{node_id}-open")
        writer.do("commit")
        transact(writer, f"{node_id}-aborted", "abort")
        broker.up()
        scene.cluster.elect_preferred()
        transact(writer, f"{node_id}-up")
        wanted += [f"{node_id}-open", f"{node_id}-up"]
    writer.leave()
    assert committed(scene) == wanted


@clients("confluent", "aiokafka", "java", "franz")
def test_the_coordinator_moves_in_a_transaction(scene: Scene) -> None:
    scene.create()
    writer = scene.transactor()
    transact(writer, "before")
    state = partition_of(scene.topic, STATE_PARTITIONS)
    for end in ("commit", "abort"):
        writer.do("begin")
        writer.do("send", 0, end)
        scene.move(state, TRANSACTIONS)
        for partition in range(1, PARTITIONS):
            writer.do("send", partition, end)
        scene.move(state, TRANSACTIONS)
        writer.do(end)
    transact(writer, "after")
    writer.leave()
    assert committed(scene) == ["before", "commit", "after"]


@clients("confluent", "aiokafka", "java", "franz")
def test_the_coordinator_crashes_in_a_transaction(scene: Scene) -> None:
    scene.create()
    writer = scene.transactor()
    transact(writer, "before")
    writer.do("begin")
    for partition in range(PARTITIONS):
        writer.do("send", partition, "open")
    state = partition_of(scene.topic, STATE_PARTITIONS)
    crashed = scene.cluster.brokers[scene.leader(state, TRANSACTIONS)]
    crashed.down()
    writer.do("commit")
    crashed.up()
    scene.cluster.elect_preferred()
    transact(writer, "after")
    writer.leave()
    assert committed(scene) == ["before", "open", "after"]


@clients("confluent", "aiokafka", "java", "franz")
def test_an_open_transaction_stays_open_when_leaders_move(scene: Scene) -> None:
    scene.create()
    writer = scene.transactor()
    transact(writer, "a")
    member = scene.member(isolation="read_committed")
    scene.reads(member, "a", "a", "a")
    writer.do("begin")
    writer.do("send", 0, "b")
    for partition in range(PARTITIONS):
        scene.move(partition)
    assert committed_of_first(scene) == ["a"]
    for partition in range(1, PARTITIONS):
        writer.do("send", partition, "b")
    writer.do("commit")
    scene.reads(member, "b", "b", "b")
    scene.programs.leave()
    assert committed(scene) == ["a", "b"]


def committed_of_first(scene: Scene) -> list[str]:
    """The values of partition 0 that a reader of committed records gets; others may differ."""
    found = scene.cluster.records(scene.topic, read_committed=True)
    return [(each.value or b"").decode() for each in found if each.partition == 0]


@clients("confluent", "aiokafka", "java", "franz")
def test_moved_once_while_a_broker_crashes(scene: Scene) -> None:
    bootstrap = scene.cluster.bootstrap
    output = f"output-{scene.topic}"
    create_topic(bootstrap, scene.topic, replicas=3)
    create_topic(bootstrap, output, replicas=3)
    where = {"bootstrap": bootstrap, "topic": scene.topic, "output": output}
    group = Group(scene.programs, scene.builds, scene.client, RANGE, where)
    with Feeder(bootstrap, scene.topic) as feeder:
        options = {"transactional_id": scene.topic, "timeout_ms": LONG_MS}
        mover = group.join("transform", "transform", **options)
        group.settle(mover)
        goes_on(scene, mover)
        for node_id, broker in scene.cluster.brokers.items():
            if scene.client.name == "confluent":
                spare_the_coordinator(scene, group, mover, node_id)
            broker.down()
            goes_on(scene, mover)
            broker.up()
            scene.cluster.elect_preferred()
        ends = group.finish(feeder)
    wanted = [f"{p}:{offset}" for p in range(FED) for offset in range(ends[p])]
    assert visible_values(bootstrap, output) == wanted


def goes_on(scene: Scene, mover: Program) -> None:
    """Wait until two more transactions have moved records, of which one began after the call."""
    before = len(mover.of_kind("moved"))
    scene.programs.wait_until(lambda: len(mover.of_kind("moved")) > before + 1, "records are moved")


def spare_the_coordinator(scene: Scene, group: Group, mover: Program, node_id: int) -> None:
    """Let another broker coordinate the group, and let the client learn of it.

    librdkafka 2.16 forgets a broker that is missing in Metadata, but not as the
    coordinator of the group whose offsets it commits: it waits for that broker for good, whatever
    its time-out (confluentinc/librdkafka#5511 and #5456). It does so at three Kafkas, too.
    """
    goes_on(scene, mover)
    partition = partition_of(group.name, STATE_PARTITIONS)
    if scene.leader(partition, OFFSETS) == node_id:
        scene.move(partition, OFFSETS)
        goes_on(scene, mover)
