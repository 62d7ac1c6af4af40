"""A broker with an authorizer and users of SASL/PLAIN: a real Kafka, and broker-lite."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

from broker_lite.testing import Broker
from broker_lite.wire import messages
from tests.support.raw_client import Closed, RawClient
from tests.support.reference_kafka import ReferenceKafka, free_port

SUPER_USER: Final = "admin"
USERS: Final = ("alice", "bob", "carol", "dave")
CLOSED: Final = "closed"
SILENT: Final = "silent"
TIMEOUT_S: Final = 15.0

_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_LOGINS: Final = " ".join(f'user_{name}="{name}-secret"' for name in (SUPER_USER, *USERS))
SETTINGS: Final = {
    "listener.security.protocol.map": (
        "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT"
    ),
    "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl.plain.sasl.jaas.config": f"{_MODULE} {_LOGINS};",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": f"User:{SUPER_USER};User:ANONYMOUS",
    "group.consumer.min.session.timeout.ms": "1000",
    "log.retention.ms": "-1",  # no record is gone on one side only
}
_OURS: Final = {
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "group.initial.rebalance.delay.ms": "0",
    "node.id": "1",
    "default.replication.factor": "1",
}


class Side:
    """One of the two brokers, and a connection to it for each user.

    Attributes:
        port: of the SASL listener.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self._connections: dict[str, RawClient] = {}

    def ask(self, user: str, name: str, version: int, value: Any) -> Any:
        """Send a request as a user; a connection that is closed is opened again next time."""
        try:
            connection = self._connections.get(user)
            if connection is None:
                connection = self._connections[user] = log_in(self.port, user)
            return connection.request(getattr(messages, f"{name}Request"), value, version)
        except (Closed, ConnectionError):
            self.hang_up(user)
            return CLOSED
        except TimeoutError:
            self.hang_up(user)
            return SILENT

    def call(self, user: str, name: str, version: int, **fields: Any) -> Any:
        """Send a request by the fields of its body."""
        return self.ask(user, name, version, getattr(messages, f"{name}Request")(**fields))

    def hang_up(self, user: str) -> None:
        """Close the connection of a user."""
        connection = self._connections.pop(user, None)
        if connection is not None:
            connection.close()

    def close(self) -> None:
        """Close all connections."""
        for user in [*self._connections]:
            self.hang_up(user)


def log_in(port: int, user: str) -> RawClient:
    """A connection of somebody who has authenticated with SASL/PLAIN."""
    client = RawClient("127.0.0.1", port, timeout_s=TIMEOUT_S)
    client.call("SaslHandshake", 1, mechanism="PLAIN")
    token = f"\0{user}\0{user}-secret".encode()
    answer = client.call("SaslAuthenticate", 2, auth_bytes=token)
    assert answer.error_code == 0, answer.error_message
    return client


class Sides:
    """A real Kafka and broker-lite with the same settings; a context manager."""

    def __init__(self, folder: Path, more: Mapping[str, str] | None = None) -> None:
        kafka_port, our_plain, our_port = free_port(), free_port(), free_port()
        self._kafka = ReferenceKafka(
            folder / "kafka",
            settings={**SETTINGS, **(more or {})},
            more_listeners=f",SASL://127.0.0.1:{kafka_port}",
            is_short_lived=True,
        )
        addresses = f"PLAINTEXT://127.0.0.1:{our_plain},SASL://127.0.0.1:{our_port}"
        listeners = {"listeners": addresses, "advertised.listeners": addresses}
        self._ours = Broker({**SETTINGS, **_OURS, **(more or {}), **listeners}, port=our_plain)
        self.kafka = Side(kafka_port)
        self.ours = Side(our_port)

    @property
    def both(self) -> tuple[Side, Side]:
        """The real Kafka, and broker-lite."""
        return self.kafka, self.ours

    def __enter__(self) -> Self:
        self._kafka.start()
        self._ours.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kafka.close()
        self.ours.close()
        self._ours.stop()
        self._kafka.stop()
