"""Producers, while brokers restart, hang, crash, and hand partitions over."""

import pytest

from broker_lite.errors import ClientError
from tests.conformance.cluster.scene import PARTITIONS, Scene, clients
from tests.support.reference_kafka import free_port

pytestmark = [pytest.mark.client, pytest.mark.slow]
KEEPS_TRYING = {"aiokafka", "kafka_python"}
"""Clients whose idempotent producer does not give a record up, or writes nothing after it."""


@clients("confluent", "aiokafka", "kafka_python", "java", "franz", "sarama")
def test_a_rolling_restart_loses_and_doubles_nothing(scene: Scene) -> None:
    scene.create()
    writer = scene.loaded()
    for broker in scene.cluster.brokers.values():
        broker.stop()
        scene.progress(writer)
        broker.up()
        scene.cluster.elect_preferred()
        scene.progress(writer)
    scene.finish(writer)


@clients("confluent", "aiokafka", "kafka_python", "java", "franz", "sarama")
def test_a_broker_crashes_and_comes_back_on_its_port(scene: Scene) -> None:
    scene.create()
    writer = scene.loaded()
    for broker in scene.cluster.brokers.values():
        broker.down()
        scene.progress(writer)
        broker.up()
        scene.cluster.elect_preferred()
        scene.progress(writer)
    scene.finish(writer)


@clients("confluent", "aiokafka", "kafka_python", "java", "franz", "sarama")
def test_leaders_move_and_the_answer_names_the_new_one(scene: Scene) -> None:
    leaders_move(scene)


@clients("confluent", "aiokafka", "kafka_python", "java", "franz")
def test_leaders_move_at_brokers_that_do_not_name_the_new_one(older_scene: Scene) -> None:
    leaders_move(older_scene)


def leaders_move(scene: Scene) -> None:
    scene.create()
    writer = scene.loaded()
    for _ in range(2):
        for partition in range(PARTITIONS):
            scene.move(partition)
        scene.progress(writer)
    scene.finish(writer)


@clients("confluent", "aiokafka", "kafka_python", "java", "franz", "sarama", "kafkajs")
def test_the_first_bootstrap_address_is_dead(scene: Scene) -> None:
    scene.create()
    bootstrap = f"127.0.0.1:{free_port()},{scene.cluster.brokers[2].bootstrap}"
    writer = scene.writer(bootstrap=bootstrap)
    for partition in range(PARTITIONS):
        assert writer.do("send", partition, "a") == ("send", str(partition), "0")
    writer.leave()


@clients("confluent", "aiokafka", "kafka_python", "franz", "sarama")
def test_each_broker_tells_all_leaders(scene: Scene) -> None:
    scene.create()
    leaders = {f"{each}:{scene.leader(each)}" for each in range(PARTITIONS)}
    for number, broker in enumerate(scene.cluster.brokers.values()):
        writer = scene.writer(bootstrap=broker.bootstrap)
        assert set(writer.do("leaders")[1:]) == leaders
        for partition in range(PARTITIONS):
            assert writer.do("send", partition, "a")[1:] == (str(partition), str(number))
        writer.leave()


@clients("confluent", "aiokafka", "kafka_python", "java", "franz", "sarama")
def test_a_leader_hangs(scene: Scene) -> None:
    scene.create()
    writer = scene.loaded()
    hung = scene.cluster.brokers[scene.leader(0)]
    hung.hang()
    scene.progress(writer)
    hung.up()
    scene.cluster.elect_preferred()
    scene.progress(writer)
    scene.finish(writer)


@clients("confluent", "aiokafka", "kafka_python", "java", "franz", "sarama")
def test_a_partition_has_no_leader_for_a_while(scene: Scene) -> None:
    scene.create()
    writer = scene.loaded()
    leader = scene.leader(0)
    for node in {1, 2, 3} - {leader}:
        scene.cluster.shrink_isr(scene.topic, 0, node=node)
    scene.cluster.brokers[leader].down()
    assert scene.leader(0) == -1
    scene.cluster.brokers[leader].up()
    scene.progress(writer)
    scene.finish(writer)


@clients("confluent", "aiokafka", "kafka_python", "franz", "sarama")
def test_all_brokers_are_away_for_a_while(scene: Scene) -> None:
    scene.create()
    writer = scene.loaded()
    for broker in scene.cluster.brokers.values():
        broker.down()
    scene.cluster.heal()
    scene.progress(writer)
    scene.finish(writer)


@clients("confluent", "aiokafka", "kafka_python", "java", "franz", "sarama", "kafkajs")
def test_fewer_replicas_than_acks_all_needs(scene: Scene) -> None:
    scene.create(1, min_insync_replicas=2)
    is_idempotent = "false" if scene.client.name in KEEPS_TRYING else "true"
    writer = scene.writer(delivery_ms=2000, idempotent=is_idempotent)
    assert writer.do("send", 0, "before") == ("send", "0", "0")
    followers = {1, 2, 3} - {scene.leader()}
    for node in followers:
        scene.cluster.shrink_isr(scene.topic, 0, node=node)
    refused = writer.ask("send", 0, "refused")
    assert refused.kind == "failed"
    for node in followers:
        scene.cluster.catch_up(scene.topic, 0, node=node)
    assert writer.do("send", 0, "after") == ("send", "0", "1")
    assert [each.value for each in scene.cluster.records(scene.topic)] == [b"before", b"after"]
    writer.leave()


@clients("confluent", "aiokafka", "kafka_python", "franz", "sarama")
def test_a_load_goes_on_once_acks_all_has_enough_replicas(scene: Scene) -> None:
    scene.create(min_insync_replicas=2)
    writer = scene.loaded()
    followers = {1, 2, 3} - {scene.leader()}
    for node in followers:
        scene.cluster.shrink_isr(scene.topic, 0, node=node)
    with pytest.raises(ClientError, match="NOT_ENOUGH_REPLICAS"):
        scene.cluster.produce(scene.topic, "refused", partition=0)
    for node in followers:
        scene.cluster.catch_up(scene.topic, 0, node=node)
    scene.progress(writer)
    scene.finish(writer)


# the idempotent producers of aiokafka and franz-go do not give up a record that may be written
@clients("confluent", "kafka_python", "java", "kafkajs")
def test_a_follower_fetches_nothing_and_acks_all_waits(scene: Scene) -> None:
    scene.create(1)
    # librdkafka asks for a producer id each 500 ms, and may ask thrice until it has one
    writer = scene.writer(delivery_ms=3000, request_ms=500)
    assert writer.do("send", 0, "before") == ("send", "0", "0")
    follower = min({1, 2, 3} - {scene.leader()})
    scene.cluster.lag(scene.topic, 0, node=follower)
    assert writer.ask("send", 0, "waited").kind == "failed"
    assert [each.value for each in scene.cluster.records(scene.topic)] == [b"before"]
    scene.cluster.catch_up(scene.topic, 0, node=follower)
    found = [each.value for each in scene.cluster.records(scene.topic)]
    assert found == [b"before", b"waited"]  # once, though the client sent it more often
    writer.leave()


@clients("confluent", "aiokafka", "kafka_python", "franz", "sarama", "kafkajs")
def test_acks_1_does_not_wait_for_a_follower(scene: Scene) -> None:
    scene.create(1)
    writer = scene.writer(acks="1", idempotent="false")
    scene.cluster.lag(scene.topic, 0, node=min({1, 2, 3} - {scene.leader()}))
    assert writer.do("send", 0, "a") == ("send", "0", "0")
    assert scene.cluster.records(scene.topic) == []
    writer.leave()
