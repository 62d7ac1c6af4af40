"""Which address the image's broker tells a client, by how the client came."""

import json
from collections.abc import Iterator
from uuid import uuid4

import pytest

from tests.support.docker import Container, docker, free_port
from tests.support.told_addresses import told_addresses

PORT = 9092
EXPLICIT_PORT = 9093


def told_on(network: str, client_image: str, dialled: str) -> str:
    """What a client in a container of its own is told."""
    arguments = (client_image, "-L", "-J", "-b", f"{dialled}:{PORT}")
    (broker,) = json.loads(docker("run", "--rm", f"--network={network}", *arguments))["brokers"]
    name: str = broker["name"]
    return name


def address_on(container: Container, network: str) -> str:
    """A container's address on a network, by its id."""
    text = docker("inspect", "--format={{json .NetworkSettings.Networks}}", container.id)
    (found,) = (one for one in json.loads(text).values() if one["NetworkID"] == network)
    address: str = found["IPAddress"]
    return address


@pytest.fixture
def other_network(engine: None) -> Iterator[str]:
    """One whose name is before the other's, so that a container of both has its gateway."""
    identity = docker("network", "create", f"broker-lite-other-{uuid4().hex}")
    yield identity
    docker("network", "rm", identity)


def test_without_configuration(client_image: str, network: str, other_network: str) -> None:
    """The second network joins a running broker, and becomes the one with the gateway."""
    host_port = free_port()
    options = (
        *(f"--network={network}", "--network-alias=broker"),
        f"--publish=127.0.0.1:{host_port}:{PORT}",
    )
    with Container(options=options, host_port=host_port) as container:
        container.wait_for_answer()
        assert told_addresses("127.0.0.1", host_port) == {f"localhost {PORT}"}
        docker("network", "connect", "--alias=broker", other_network, container.id)
        container.wait_for_answer()
        assert told_addresses("127.0.0.1", host_port) == {f"localhost {PORT}"}
        for one in (network, other_network):
            address = address_on(container, one)
            for dialled in ("broker", address):
                assert told_on(one, client_image, dialled) == f"{address}:{PORT}"


def test_with_another_published_port_and_with_an_explicit_address(
    client_image: str, network: str
) -> None:
    host_port, explicit_port = free_port(), free_port()
    options = (
        *(f"--network={network}", "--network-alias=broker"),
        f"--publish=127.0.0.1:{host_port}:{PORT}",
        f"--publish=127.0.0.1:{explicit_port}:{EXPLICIT_PORT}",
        f"--env=KAFKA_BROKER_LITE_GATEWAY_ADVERTISED=localhost:{host_port}",
        f"--env=KAFKA_LISTENERS=PLAINTEXT://:{PORT},EXPLICIT://:{EXPLICIT_PORT}",
        "--env=KAFKA_ADVERTISED_LISTENERS=EXPLICIT://broker.example:19093",
        "--env=KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=PLAINTEXT:PLAINTEXT,EXPLICIT:PLAINTEXT",
    )
    with Container(options=options, host_port=host_port) as container:
        container.wait_for_answer()
        assert told_addresses("127.0.0.1", host_port) == {f"localhost {host_port}"}
        assert told_addresses("127.0.0.1", explicit_port) == {"broker.example 19093"}
        address = address_on(container, network)
        assert told_on(network, client_image, "broker") == f"{address}:{PORT}"
