"""What people give to Kafka's images, given to this one."""

import re
from pathlib import Path

import pytest

from tests.docker_entry.environments import ENVIRONMENTS, Environment
from tests.image.log_lines import wait_for_line
from tests.support.docker import Container, docker
from tests.support.raw_client import RawClient
from tests.support.told_addresses import told_addresses

LOOPBACK = "localhost"


def address_of(container: Container) -> str:
    """Its address on the network of the engine, which the host reaches."""
    form = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
    return docker("inspect", f"--format={form}", container.id)


@pytest.mark.parametrize("case", ENVIRONMENTS, ids=lambda case: case.name)
def test_variables_of_other_images(image: str, case: Environment) -> None:
    options = [f"--env={name}={text}" for name, text in case.variables.items()]
    with Container(options=[*options, "--hostname=broker"]) as container:
        wait_for_line(container)
        address = address_of(container)
        for listener in case.listeners:
            script = ("kafka-topics.sh", "--list", "--bootstrap-server")
            if listener.host == LOOPBACK:
                assert container.run(*script, f"localhost:{listener.port}").returncode == 0
            else:
                host, port = listener.told or ("localhost", listener.port)
                assert told_addresses(address, listener.port) == {f"{host} {port}"}
        for variable in case.ignored:
            assert re.search(rf"WARNING .* {variable}: .*; ignored$", container.log, re.MULTILINE)


def test_a_mounted_file_of_settings(image: str, tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(
        "node.id=5\nlisteners=PLAINTEXT://:19092\nadvertised.listeners=PLAINTEXT://a:1\n"
    )
    file.chmod(0o644)
    options = [f"--volume={file}:/mnt/shared/config/server.properties:ro", "--env=KAFKA_NODE_ID=6"]
    with Container(options=options) as container:
        wait_for_line(container)
        with RawClient(address_of(container), 19092) as client:
            (node,) = client.call("Metadata", 12, topics=[]).brokers
    assert (node.node_id, node.host, node.port) == (6, "a", 1)


@pytest.mark.parametrize(
    "arguments",
    [
        ("/etc/kafka/docker/run",),
        ("/etc/confluent/docker/run",),
        ("/opt/kafka/bin/kafka-server-start.sh", "/opt/kafka/config/server.properties"),
        (
            "/opt/bitnami/kafka/bin/kafka-server-start.sh",
            "/opt/kafka/config/kraft/server.properties",
        ),
        ("sh", "-c", "cd /opt/kafka; bin/kafka-server-start.sh config/server.properties"),
        ("bash", "-c", "kafka-server-start /etc/kafka/server.properties --override node.id=1"),
        ("serve", "--set", "num.partitions=2"),
        ("--set", "num.partitions=2"),
    ],
)
def test_ways_to_name_the_broker(image: str, arguments: tuple[str, ...]) -> None:
    with Container(*arguments) as container:
        wait_for_line(container)
        assert told_addresses(address_of(container), 9092) == {"localhost 9092"}
        container.stop()
        assert container.exit_code == 0
        assert "stopping on SIGTERM" in container.log


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("kafka-storage.sh", "random-uuid"), 0, r"[\w-]{22}"),
        (("/opt/kafka/bin/kafka-storage.sh", "random-uuid"), 0, r"[\w-]{22}"),
        (("storage", "random-uuid"), 0, r"[\w-]{22}"),
        (("sh", "-c", "kafka-storage random-uuid"), 0, r"[\w-]{22}"),
        (("--version",), 0, r"broker-lite \S+ \(scan: native, request path: native\)"),
        (("sh", "-c", "exit 3"), 3, ""),
        (("nosuch",), 2, r"broker-lite: nosuch: No such file or directory"),
    ],
)
def test_other_programs(image: str, arguments: tuple[str, ...], code: int, told: str) -> None:
    with Container(*arguments) as container:
        assert container.wait_for_end() == code
        assert re.fullmatch(told, container.log.strip()), container.log


def test_waiting_as_init_containers_do(image: str) -> None:
    with Container() as container:
        ready = container.run("cub", "kafka-ready", "-b", "localhost:9092", "1", "20")
        assert (ready.returncode, ready.stdout) == (0, ""), ready.stderr
        missing = container.run("cub", "kafka-ready", "-b", "localhost:9", "1", "0")
        assert missing.returncode == 1
        assert missing.stderr.startswith("broker-lite: localhost:9: ")


def test_volumes_of_other_images(image: str, volume: str) -> None:
    options = [f"--volume={volume}:/var/lib/kafka/data"]
    with Container("--topic", "kept", options=options) as container:
        wait_for_line(container)
        container.stop()
    with Container(options=options) as container:
        wait_for_line(container)
        listed = container.run("kafka-topics.sh", "--bootstrap-server", "localhost:9092", "--list")
    assert listed.stdout == "kept\n"


def test_a_directory_of_another_cluster(image: str, volume: str) -> None:
    options = [f"--volume={volume}:/data"]
    with Container(options=[*options, "--env=CLUSTER_ID=first"]) as container:
        wait_for_line(container)
        container.stop()
    with Container(options=[*options, "--env=CLUSTER_ID=second"]) as container:
        assert container.wait_for_end() == 2
        told = "broker-lite: data directory /data belongs to cluster first, not second"
        assert container.log.strip() == told
