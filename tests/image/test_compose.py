"""The compose files of the project, and one that was written for Kafka's own image."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.docker import IMAGE, PROJECT, docker, free_ports
from tests.support.told_addresses import told_addresses

TIMEOUT_S = 240
FOLDER = PROJECT / "docker"


class Compose:
    """`docker compose` with one file."""

    def __init__(self, file: Path, port: int = 0, **variables: str) -> None:
        self._command = ["docker", "compose", "--file", str(file), "--project-name", "broker-test"]
        own = {"BROKER_LITE_IMAGE": IMAGE, "PORT": str(port)}
        self._environment = {**os.environ, **own, **variables}

    def run(self, *arguments: str) -> str:
        """Run one of its commands, which has to end well; return all that it printed."""
        done = subprocess.run(
            [*self._command, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_S,
            env=self._environment,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def down(self) -> None:
        """Remove everything."""
        self.run("down", "--volumes", "--timeout=2", "--remove-orphans")


@pytest.fixture
def started(image: str) -> Iterator[list[Compose]]:
    """Those that are to be taken down."""
    found: list[Compose] = []
    yield found
    for one in found:
        one.down()


def test_a_broker_alone(started: list[Compose], port: int) -> None:
    compose = Compose(FOLDER / "compose.yaml", port)
    started.append(compose)
    compose.run("up", "--wait")
    assert told_addresses("127.0.0.1", port) == {f"localhost {port}"}
    compose.run("stop")
    code = docker(
        "inspect", "--format={{.State.ExitCode}}", compose.run("ps", "--all", "--quiet").strip()
    )
    assert code == "0"


def test_three_brokers(started: list[Compose], client_image: str) -> None:
    port = free_ports(3)
    compose = Compose(FOLDER / "compose-brokers.yaml", port, PORTS=f"{port}-{port + 2}")
    started.append(compose)
    compose.run("up", "--wait")
    for dialled in range(port, port + 3):
        told = {f"localhost {one}" for one in range(port, port + 3)}
        assert told_addresses("127.0.0.1", dialled) == told
    arguments = (client_image, "-L", "-J", "-b", "kafka:9092")
    text = docker("run", "--rm", "--network=broker-test_default", *arguments)
    names = [broker["name"].rpartition(":") for broker in json.loads(text)["brokers"]]
    assert [name[2] for name in names] == ["9092", "9093", "9094"]
    assert {name[0] for name in names} != {"localhost"}


def test_an_application_in_two_languages(started: list[Compose]) -> None:
    compose = Compose(FOLDER / "compose-apps.yaml")
    started.append(compose)
    compose.run("build", "worker", "client")
    printed = compose.run("up", "--exit-code-from=client")
    assert "ada: receipt for order 0" in printed


def test_several_named_listeners(started: list[Compose], port: int) -> None:
    compose = Compose(FOLDER / "compose-listeners.yaml", port)
    started.append(compose)
    printed = compose.run("up", "--exit-code-from=client")
    assert "Created topic greetings." in printed
    assert "| hello" in printed


def test_a_file_for_kafka_s_image_with_only_the_name_changed(
    started: list[Compose], tmp_path: Path
) -> None:
    text = Path(__file__).with_name("apache.yaml").read_text()
    file = tmp_path / "compose.yaml"
    file.write_text(text.replace("apache/kafka:4.1.0", IMAGE))
    compose = Compose(file)
    started.append(compose)
    # `up --exit-code-from` would end with the first container that ends: the one that initialises
    printed = compose.run("run", "--rm", "client")
    assert "one\t1" in printed
    assert "Created topic orders." in compose.run("logs", "kafka-init")
