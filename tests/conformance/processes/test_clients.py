"""Unmodified clients at three processes, each of which is a broker of the cluster."""

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from broker_lite.testing import Broker
from tests.conformance.clients import HERE, RANGE, Builds, run
from tests.conformance.cluster.scene import LONG_MS, PARTITIONS, Scene, clients
from tests.conformance.feeder import PARTITIONS as FED
from tests.conformance.feeder import Feeder, create_topic
from tests.conformance.group import Group, visible_values
from tests.conformance.processes.conftest import PROCESSES, further_processes
from tests.support.toolchain import require

REQUEST_MS = 15_000
"""aiokafka gives up a batch that it could not send for so long, and writes nothing after that."""

pytestmark = [pytest.mark.client, pytest.mark.slow]


@clients("confluent", "aiokafka", "kafka_python", "java", "franz")
def test_a_load_goes_on_while_processes_are_killed(scene: Scene) -> None:
    scene.create()
    writer = scene.loaded(request_ms=REQUEST_MS, delivery_ms=LONG_MS)
    for process in further_processes(scene.cluster):
        process.kill()
        scene.progress(writer)
    scene.finish(writer)


@clients("confluent", "aiokafka", "java", "franz")
def test_transactions_write_to_all_processes(scene: Scene) -> None:
    scene.create()
    writer, member = scene.transactor(), scene.member(isolation="read_committed")
    for value, end in (("a", "commit"), ("b", "abort"), ("c", "commit")):
        writer.do("begin")
        for partition in range(PARTITIONS):
            writer.do("send", partition, value)
        writer.do(end)
    scene.programs.wait_until(
        lambda: sorted(scene.values(member)) == [*["a"] * PARTITIONS, *["c"] * PARTITIONS],
        "it reads what was committed",
    )
    scene.programs.leave()


@clients("confluent", "aiokafka", "java", "franz")
def test_records_are_moved_once_while_processes_are_killed(scene: Scene) -> None:
    bootstrap, output = scene.cluster.bootstrap, f"output-{scene.topic}"
    create_topic(bootstrap, scene.topic)
    create_topic(bootstrap, output)
    where = {"bootstrap": bootstrap, "topic": scene.topic, "output": output}
    group = Group(scene.programs, scene.builds, scene.client, RANGE, where)
    with Feeder(bootstrap, scene.topic) as feeder:
        options = {"transactional_id": scene.topic, "timeout_ms": LONG_MS}
        mover = group.join("transform", "transform", **options)
        group.settle(mover)
        for process in further_processes(scene.cluster):
            before = len(mover.of_kind("moved"))
            process.kill()
            scene.programs.wait_until(
                lambda before=before: len(mover.of_kind("moved")) > before + 1,  # type: ignore[misc]
                "records are moved",
            )
        ends = group.finish(feeder)
    wanted = [f"{p}:{offset}" for p in range(FED) for offset in range(ends[p])]
    assert visible_values(bootstrap, output) == wanted


@clients("confluent", "aiokafka", "kafka_python", "franz", "sarama")
def test_each_process_tells_all_leaders(scene: Scene) -> None:
    scene.create()
    told = []
    for address in scene.cluster.bootstrap.split(","):
        writer = scene.writer(bootstrap=address)
        told.append(set(writer.do("leaders")[1:]))
        writer.leave()
    nodes = {leader.partition(":")[2] for leader in told[0]}
    assert nodes == {str(each + 1) for each in range(PROCESSES)}
    assert told == [told[0]] * PROCESSES


def test_franz_go_does_all_that_it_does_elsewhere(
    cluster: Broker, topic: str, builds: Builds
) -> None:
    require("go")
    first = cluster.bootstrap.partition(",")[0]
    assert "all steps passed" in run(str(builds.go() / "conformance"), first, topic, folder=HERE)


@pytest.mark.parametrize("through", range(PROCESSES))
def test_an_administrator_may_ask_any_process(cluster: Broker, topic: str, through: int) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap.split(",")[through]})
    admin.create_topics([NewTopic(topic, 6)])[topic].result(10)
    described = admin.list_topics(topic, timeout=10).topics[topic]
    assert sorted({each.leader for each in described.partitions.values()}) == [1, 2, 3]
    with pytest.raises(KafkaException, match="several processes"):
        admin.create_topics([NewTopic(topic + "-3", 1, 3)])[topic + "-3"].result(10)
    admin.delete_topics([topic])[topic].result(10)
