"""Clients whose rights are taken away in the midst of a transaction, and of a group.

A script does it at our broker, by the control API; at a real Kafka 4.3.1 an admin client does.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from broker_lite.testing import Broker
from tests.support.reference_kafka import ReferenceKafka, free_port
from tests.support.toolchain import require

pytestmark = [pytest.mark.client, pytest.mark.slow]

AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
HEARTBEAT_MS = 200
SETTINGS = {
    "authorizer.class.name": AUTHORIZER,
    "group.consumer.min.heartbeat.interval.ms": f"{HEARTBEAT_MS}",
    "group.consumer.heartbeat.interval.ms": f"{HEARTBEAT_MS}",
}
PASSWORDS = {"admin": "admin-secret", "user": "user-secret"}
TIMEOUT_S = 30
Acl = tuple[ResourceType, str, AclOperation]
Take = Callable[[], None]


class Rights(NamedTuple):
    """A broker whose clients have the rights that ACLs give them.

    Attributes:
        bootstrap: HOST:PORT for clients that log in.
        taking: takes the name of an API and an ACL; within the context, the function that it gives
            returns when the ACL is not there any more. One request of the API has to come before.
    """

    bootstrap: str
    taking: Callable[[str, Acl], AbstractContextManager[Take]]

    def config(self, user: str) -> dict[str, str | int | float | bool]:
        """The settings of a user's client."""
        return {
            "bootstrap.servers": self.bootstrap,
            "security.protocol": "sasl_plaintext",
            "sasl.mechanism": "PLAIN",
            "sasl.username": user,
            "sasl.password": PASSWORDS[user],
        }

    def give(self, *acls: Acl) -> None:
        """Give rights to the user."""
        admin = AdminClient(self.config("admin"))
        for made in admin.create_acls([_binding(AclBinding, acl) for acl in acls]).values():
            made.result(TIMEOUT_S)
        _until(lambda: all(_is_there(admin, acl) for acl in acls))


@pytest.fixture(
    scope="module", params=["broker-lite", pytest.param("Kafka", marks=pytest.mark.kafka)]
)
def rights(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Rights]:
    if request.param == "Kafka":
        yield from _kafka(tmp_path_factory.mktemp("kafka"))
    else:
        yield from _broker_lite()


def _broker_lite() -> Iterator[Rights]:
    with Broker(SETTINGS, security="sasl_plaintext") as broker:

        @contextmanager
        def taking(api: str, acl: Acl) -> Iterator[Take]:
            resource_type, name, operation = acl
            selectors = {
                "resource_type": resource_type.name,
                "name": name,
                "operation": operation.name,
            }
            step = {
                "when": {"match": {"keys": [api]}},
                "do": {"method": "DELETE", "path": f"/v1/acls?{urlencode(selectors)}"},
            }
            with broker.script({"steps": [step]}) as script:
                yield script.wait

        yield Rights(broker.bootstrap, taking)


def _kafka(folder: Path) -> Iterator[Rights]:
    require("java", "mvn")
    port = free_port()
    users = "".join(f' user_{name}="{password}"' for name, password in PASSWORDS.items())
    settings = {
        "listener.security.protocol.map": (
            "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT"
        ),
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl.plain.sasl.jaas.config": (
            f"org.apache.kafka.common.security.plain.PlainLoginModule required{users};"
        ),
        **SETTINGS,
        "super.users": "User:admin;User:ANONYMOUS",
    }
    kafka = ReferenceKafka(
        folder,
        settings=settings,
        more_listeners=f",SASL://127.0.0.1:{port}",
        is_short_lived=True,
    )
    with kafka:

        @contextmanager
        def taking(_api: str, acl: Acl) -> Iterator[Take]:
            def take() -> None:
                admin = AdminClient(rights.config("admin"))
                (gone,) = admin.delete_acls([_binding(AclBindingFilter, acl)]).values()
                assert len(gone.result(TIMEOUT_S)) == 1
                _until(lambda: not _is_there(admin, acl))

            yield take

        rights = Rights(f"127.0.0.1:{port}", taking)
        yield rights


def _binding(kind: Callable[..., AclBinding], acl: Acl) -> AclBinding:
    resource_type, name, operation = acl
    return kind(
        *(resource_type, name, ResourcePatternType.LITERAL, "User:user", "*"),
        *(operation, AclPermissionType.ALLOW),
    )


def _is_there(admin: AdminClient, acl: Acl) -> bool:
    return bool(admin.describe_acls(_binding(AclBindingFilter, acl)).result(TIMEOUT_S))


def _until(is_so: Callable[[], bool]) -> None:
    """Ask again until it is so; a real Kafka changes its ACLs a moment after it has answered."""
    while not is_so():
        pass


@pytest.fixture
def topic(rights: Rights, topic: str) -> str:
    """A new topic."""
    admin = AdminClient(rights.config("admin"))
    (made,) = admin.create_topics([NewTopic(topic, 1)]).values()
    made.result(TIMEOUT_S)
    return topic


def _code(act: Callable[[], object]) -> tuple[str, str]:
    """The name of a client's error, and what it demands; empty for none."""
    try:
        act()
    except KafkaException as caught:
        error: KafkaError = caught.args[0]
        demands = {"abort": error.txn_requires_abort(), "end": error.fatal()}
        return error.name(), " ".join(name for name, is_so in demands.items() if is_so)
    return "", ""


def _send(producer: Producer, topic: str) -> str:
    """Send a record; return the name of the error of its delivery, empty for none."""
    told: list[str] = []
    producer.produce(
        topic, b"x", on_delivery=lambda error, _: told.append(error.name() if error else "")
    )
    assert producer.flush(TIMEOUT_S) == 0
    return told[0]


# What a producer is told after the loss: of the delivery, of the commit, and of an abort. Kafka
# 4.3.1 and confluent-kafka 2.16.1.
LOSSES: Mapping[str, tuple[str, tuple[str, str], tuple[str, str]]] = {
    "topic": (
        "TOPIC_AUTHORIZATION_FAILED",
        ("TOPIC_AUTHORIZATION_FAILED", "abort"),
        ("", ""),
    ),
    "transactional id": (
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        ("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "abort"),
        ("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "end"),
    ),
}


@pytest.mark.parametrize("lost", LOSSES)
def test_x46_a_producer_loses_a_right_in_a_transaction(
    rights: Rights, topic: str, lost: str
) -> None:
    on_topic = (ResourceType.TOPIC, topic, AclOperation.WRITE)
    on_id = (ResourceType.TRANSACTIONAL_ID, topic, AclOperation.WRITE)
    rights.give(on_topic, on_id)
    producer = Producer({**rights.config("user"), "transactional.id": topic})
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    with rights.taking("Produce", on_topic if lost == "topic" else on_id) as take:
        assert _send(producer, topic) == ""
        take()
        found = (
            _send(producer, topic),
            _code(lambda: producer.commit_transaction(TIMEOUT_S)),
            _code(lambda: producer.abort_transaction(TIMEOUT_S)),
        )
    assert found == LOSSES[lost]


# With the classic protocol, librdkafka tells of refused commits, and goes on to send heartbeats,
# which are refused. With the new one, the first refused heartbeat ends the consumer. Kafka 4.3.1.
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_x51_x52_a_consumer_loses_its_group(rights: Rights, topic: str, protocol: str) -> None:
    on_group = (ResourceType.GROUP, topic, AclOperation.READ)
    rights.give(on_group, (ResourceType.TOPIC, topic, AclOperation.READ))
    producer = Producer(rights.config("admin"))
    producer.produce(topic, b"x")
    assert producer.flush(TIMEOUT_S) == 0
    settings: dict[str, str | int | float | bool] = {
        "group.id": topic,
        "group.protocol": protocol,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    with (
        closing(Consumer({**rights.config("user"), **settings})) as consumer,
        rights.taking("OffsetCommit", on_group) as take,
    ):
        consumer.subscribe([topic])
        (message,) = consumer.consume(1, TIMEOUT_S)
        assert message.error() is None
        consumer.commit(message, asynchronous=False)
        take()
        told = _code(lambda: consumer.commit(message, asynchronous=False))
        # A heartbeat may be refused before the commit is.
        ended = [("_FATAL", "")] if protocol == "consumer" else []
        assert told in [("GROUP_AUTHORIZATION_FAILED", ""), *ended]
        if protocol == "consumer" and told not in ended:
            (message,) = consumer.consume(1, TIMEOUT_S)
            error = message.error()
            assert error is not None
            assert error.name() == "_FATAL"
            assert "ConsumerGroupHeartbeat fatal error: Broker: Group auth" in error.str()
