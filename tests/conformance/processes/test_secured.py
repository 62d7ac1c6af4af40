"""Clients that log in at any process, and the rights that they have there."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from broker_lite.testing import Broker

pytestmark = [pytest.mark.client, pytest.mark.slow]

PROCESSES = 2
TIMEOUT_S = 30
USERS = {"bob": "of bob", "eve": "of eve"}
AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


@pytest.fixture(scope="module")
def secured() -> Iterator[Broker]:
    settings: dict[str, object] = {
        "broker.lite.processes": str(PROCESSES),
        "authorizer.class.name": AUTHORIZER,
        "super.users": "User:admin",
    }
    with Broker(settings, security="sasl_ssl", users=USERS) as broker:
        yield broker


def admin(broker: Broker) -> AdminClient:
    return AdminClient({**broker.client_config("confluent", user="admin")})


def addresses(broker: Broker) -> list[str]:
    """Where the brokers are, one for each process."""
    found = broker.bootstrap.split(",")
    assert len(found) == PROCESSES
    return found


def create(broker: Broker, topic: str) -> None:
    client = admin(broker)
    client.create_topics([NewTopic(topic, 2 * PROCESSES)])[topic].result(TIMEOUT_S)


def allow(
    broker: Broker, kind: ResourceType, name: str, user: str, operation: AclOperation
) -> None:
    binding = AclBinding(
        *(kind, name, ResourcePatternType.LITERAL, f"User:{user}", "*"),
        *(operation, AclPermissionType.ALLOW),
    )
    client = admin(broker)
    client.create_acls([binding])[binding].result(TIMEOUT_S)


def refusals(broker: Broker, topic: str, user: str, mechanism: str = "SCRAM-SHA-512") -> list[int]:
    """Why records for each partition are refused; nothing for those that are written."""
    config = broker.client_config("confluent", user=user, mechanism=mechanism)
    producer, codes = Producer({**config}), []

    def delivered(error: KafkaError | None, _: object) -> None:
        if error is not None:
            codes.append(error.code())

    for partition in range(2 * PROCESSES):
        producer.produce(topic, b"v", partition=partition, on_delivery=delivered)
    assert producer.flush(TIMEOUT_S) == 0
    return codes


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"])
def test_who_may_write_writes_to_all_processes(secured: Broker, topic: str, mechanism: str) -> None:
    create(secured, topic)
    allow(secured, ResourceType.TOPIC, topic, "bob", AclOperation.WRITE)
    assert refusals(secured, topic, "bob", mechanism) == []
    assert set(refusals(secured, topic, "eve", mechanism)) == {
        KafkaError.TOPIC_AUTHORIZATION_FAILED
    }


def test_a_right_holds_in_all_processes_once_it_is_given(secured: Broker, topic: str) -> None:
    create(secured, topic)
    for name, operation in (("eve", AclOperation.DESCRIBE), ("bob", AclOperation.READ)):
        allow(secured, ResourceType.TOPIC, topic, name, operation)
    denied = [KafkaError.TOPIC_AUTHORIZATION_FAILED] * 2 * PROCESSES
    assert refusals(secured, topic, "eve") == denied
    allow(secured, ResourceType.TOPIC, topic, "eve", AclOperation.WRITE)
    assert refusals(secured, topic, "eve") == []
    allow(secured, ResourceType.GROUP, topic, "bob", AclOperation.READ)
    config = secured.client_config("confluent", user="bob")
    reader = Consumer({**config, "group.id": topic, "auto.offset.reset": "earliest"})
    reader.subscribe([topic])
    read = {reader.consume(1, TIMEOUT_S)[0].partition() for _ in range(2 * PROCESSES)}
    assert read == set(range(2 * PROCESSES))
    reader.close()


def test_a_user_who_is_made_later_logs_in_everywhere(secured: Broker, topic: str) -> None:
    create(secured, topic)
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    upsertion = UserScramCredentialUpsertion(topic, info, b"secret")
    client = admin(secured)
    for future in client.alter_user_scram_credentials([upsertion]).values():
        future.result(TIMEOUT_S)
    allow(secured, ResourceType.TOPIC, topic, topic, AclOperation.WRITE)
    config = secured.client_config("confluent", user="bob") | {
        "sasl.username": topic,
        "sasl.password": "secret",
        "sasl.mechanism": "SCRAM-SHA-512",
    }
    for address in secured.client_config("confluent")["bootstrap.servers"].split(","):
        listed = AdminClient({**config, "bootstrap.servers": address}).list_topics(
            timeout=TIMEOUT_S
        )
        assert listed.topics.keys() >= {topic}


def test_a_wrong_password_is_refused_everywhere(secured: Broker) -> None:
    config = secured.client_config("confluent", user="bob") | {"sasl.password": "wrong"}
    for address in addresses(secured):
        with pytest.raises(KafkaException):
            AdminClient({**config, "bootstrap.servers": address}).list_topics(timeout=3)


def test_rules_and_the_journal_see_secured_clients_of_all_processes(
    secured: Broker, topic: str
) -> None:
    create(secured, topic)
    allow(secured, ResourceType.TOPIC, topic, "bob", AclOperation.WRITE)
    secured.record_requests("headers")
    with secured.fault("Produce", error="NOT_LEADER_OR_FOLLOWER", topic=topic, count=4) as fault:
        assert refusals(secured, topic, "bob") == []  # it tries again
        assert fault.hits == 4
    refused = [each for each in secured.requests("Produce") if each.errors]
    assert len(refused) == 4
    assert {each.node for each in secured.requests("Produce")} == {1, 2}
    secured.record_requests("off")


def test_a_certificate_is_wanted_everywhere(topic: str) -> None:
    settings = {"broker.lite.processes": str(PROCESSES)}
    with Broker(settings, security="mtls", users=USERS) as broker:
        broker.create_topic(topic, 2 * PROCESSES)
        assert refusals(broker, topic, "bob") == []
        config = broker.client_config("confluent", user="bob")
        assert len(broker.records(topic)) == 2 * PROCESSES
        without = {key: value for key, value in config.items() if "certificate" not in key}
        without = {key: value for key, value in without.items() if not key.startswith("ssl.key")}
        for address in config["bootstrap.servers"].split(","):
            nobody = AdminClient({**without, "bootstrap.servers": address})
            with pytest.raises(KafkaException):
                nobody.list_topics(timeout=3)
