"""Several processes in the image: as many as the container has CPUs, or as it is told."""

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.docker import Container, free_ports

CLIENT_TIMEOUT_S = 30
PARTITIONS = 4


@pytest.mark.parametrize(
    "options",
    [
        ("--env=KAFKA_BROKER_LITE_PROCESSES=2",),
        ("--env=KAFKA_BROKER_LITE_PROCESSES=auto", "--cpus=2"),
    ],
    ids=["as told", "one for each CPU"],
)
def test_each_process_is_reached_at_its_port(image: str, options: tuple[str, ...]) -> None:
    port = free_ports(2)
    given = (
        f"--publish=127.0.0.1:{port}-{port + 1}:{port}-{port + 1}",
        f"--env=KAFKA_LISTENERS=PLAINTEXT://:{port}",
        *options,
    )
    with Container(options=given, host_port=port) as container:
        container.wait_until_healthy()
        admin = AdminClient({"bootstrap.servers": f"localhost:{port}"})
        admin.create_topics([NewTopic("t", PARTITIONS)])["t"].result(CLIENT_TIMEOUT_S)
        told = admin.list_topics("t", timeout=CLIENT_TIMEOUT_S)
        assert sorted(told.brokers) == [1, 2]
        assert {one.leader for one in told.topics["t"].partitions.values()} == {1, 2}
        producer = Producer({"bootstrap.servers": f"localhost:{port + 1}"})
        for partition in range(PARTITIONS):
            producer.produce("t", b"v", partition=partition)
        assert producer.flush(CLIENT_TIMEOUT_S) == 0
        assert read_partitions(f"localhost:{port}") == set(range(PARTITIONS))
        container.stop()
        assert container.exit_code == 0
        assert "started again" not in container.log


def read_partitions(bootstrap: str) -> set[int | None]:
    config = {"bootstrap.servers": bootstrap, "group.id": "g", "auto.offset.reset": "earliest"}
    consumer = Consumer(config)
    consumer.subscribe(["t"])
    found = consumer.consume(PARTITIONS, CLIENT_TIMEOUT_S)
    consumer.close()
    return {each.partition() for each in found}
