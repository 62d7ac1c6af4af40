"""ACLs by the control API: they are those of the admin clients, and hold at once."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from broker_lite.testing import Broker, BrokerFailed

AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
PATH = "/v1/acls"
ACL = {
    "resource_type": "TOPIC",
    "name": "t",
    "principal": "User:user",
    "operation": "WRITE",
    "pattern_type": "LITERAL",
    "host": "*",
    "permission": "ALLOW",
}
TIMEOUT_S = 30


@pytest.fixture(scope="module")
def started() -> Iterator[Broker]:
    settings = {"authorizer.class.name": AUTHORIZER}
    with Broker(settings, security="sasl_plaintext", topics=["t"]) as broker:
        yield broker


@pytest.fixture
def broker(started: Broker) -> Broker:
    started.control("DELETE", PATH)
    return started


def _ask(broker: Broker, method: str, query: str = "", body: Any = None) -> Any:
    return broker.control(method, f"{PATH}{query}", body)


def _without_defaults(acl: dict[str, str]) -> dict[str, str]:
    return {name: acl[name] for name in ("resource_type", "name", "principal", "operation")}


def _error_of_produce(broker: Broker) -> int | None:
    errors: list[KafkaError | None] = []
    producer = Producer({**broker.client_config("confluent")})
    producer.produce("t", "x", on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(TIMEOUT_S) == 0
    (error,) = errors
    return None if error is None else error.code()


def test_p162_p163_an_acl_holds_from_the_next_request_on(broker: Broker) -> None:
    assert _error_of_produce(broker) == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert _ask(broker, "POST", body=_without_defaults(ACL)) == [ACL]
    assert _error_of_produce(broker) is None
    assert _ask(broker, "DELETE", "?operation=WRITE") == [ACL]
    assert _error_of_produce(broker) == KafkaError.TOPIC_AUTHORIZATION_FAILED


def test_an_admin_client_sees_them(broker: Broker) -> None:
    _ask(broker, "POST", body={**ACL, "pattern_type": "PREFIXED", "permission": "DENY"})
    admin = AdminClient({**broker.client_config("confluent", user="admin")})
    everything = AclBindingFilter(
        *(ResourceType.ANY, None, ResourcePatternType.ANY, None, None),
        *(AclOperation.ANY, AclPermissionType.ANY),
    )
    (found,) = admin.describe_acls(everything).result(TIMEOUT_S)
    assert (found.name, found.resource_pattern_type) == ("t", ResourcePatternType.PREFIXED)
    assert found.permission_type == AclPermissionType.DENY


def test_several_are_created_together_or_none(broker: Broker) -> None:
    second = {**ACL, "operation": "READ"}
    assert _ask(broker, "POST", body={"acls": [ACL, second, ACL]}) == [ACL, second, ACL]
    assert _ask(broker, "GET") == [ACL, second]
    _ask(broker, "DELETE")
    wrong = {**ACL, "resource_type": "CLUSTER"}
    with pytest.raises(BrokerFailed, match=r"acls\[1\].*The only valid name for the CLUSTER"):
        _ask(broker, "POST", body={"acls": [ACL, wrong]})
    assert _ask(broker, "GET") == []


def test_p163_selectors(broker: Broker) -> None:
    acls = [
        {**ACL, "name": "orders"},
        {**ACL, "name": "ord", "pattern_type": "PREFIXED", "principal": "User:bob"},
        {**ACL, "name": "*", "operation": "READ"},
        {**ACL, "resource_type": "GROUP", "name": "orders", "permission": "DENY"},
    ]
    _ask(broker, "POST", body={"acls": acls})
    for query, expected in (
        ("", acls),
        ("?limit=1", acls[:1]),
        ("?resource_type=TOPIC", acls[:3]),
        ("?resource_type=TOPIC&name=orders", acls[:1]),
        ("?resource_type=TOPIC&name=orders&pattern_type=MATCH", acls[:3]),
        ("?principal=User:bob", acls[1:2]),
        ("?operation=READ", acls[2:3]),
        ("?permission=DENY&host=*", acls[3:]),
        ("?pattern_type=LITERAL&name=none", []),
    ):
        assert _ask(broker, "GET", query) == expected, query
    assert _ask(broker, "DELETE", "?pattern_type=PREFIXED") == acls[1:2]
    assert _ask(broker, "DELETE", "?name=orders") == [acls[0], acls[3]]
    assert _ask(broker, "GET") == acls[2:3]


@pytest.mark.parametrize(
    ("method", "query", "body", "reason"),
    [
        ("POST", "", {**ACL, "operation": "ANY"}, "Invalid enum value 'ANY'"),
        ("POST", "", {**ACL, "principal": "user"}, "no colon is present"),
        ("POST", "", {**ACL, "user": "bob"}, "user"),
        ("POST", "", {**ACL, "name": "n" * 8192}, "length <= 8191"),
        ("POST", "", {"acls": [{**ACL, "name": ""}]}, "Invalid empty resource name"),
        ("GET", "?operation=FLY", None, "Invalid enum value 'FLY'"),
        ("GET", "?limit=0", None, "limit"),
        ("DELETE", "?limit=1", None, "limit"),
        ("DELETE", "?topic=t", None, "topic"),
    ],
)
def test_wrong_requests(broker: Broker, method: str, query: str, body: Any, reason: str) -> None:
    with pytest.raises(BrokerFailed, match=reason):
        _ask(broker, method, query, body)
    assert _ask(broker, "GET") == []


@pytest.mark.parametrize(("method", "body"), [("GET", None), ("POST", ACL), ("DELETE", None)])
def test_x41_without_an_authorizer_it_is_refused(
    broker_factory: Any, method: str, body: Any
) -> None:
    with pytest.raises(BrokerFailed, match=r"has no authorizer, .* set authorizer\.class\.name="):
        broker_factory().control(method, PATH, body)


def test_a_script_takes_one_away(broker: Broker) -> None:
    _ask(broker, "POST", body=ACL)
    script = {
        "steps": [
            {
                "when": {"match": {"keys": ["Produce"], "topic": "t"}},
                "do": {"method": "DELETE", "path": f"{PATH}?resource_type=TOPIC&name=t"},
            }
        ],
        "expect": {"requests": [{"keys": ["Produce"], "topic": "t"}], "others_ok": None},
    }
    with broker.script(json.loads(json.dumps(script))):
        assert _error_of_produce(broker) is None
    assert _error_of_produce(broker) == KafkaError.TOPIC_AUTHORIZATION_FAILED
