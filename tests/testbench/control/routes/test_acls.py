"""ACLs by the control API: they are those of the admin clients, and hold at once."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
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

from broker_lite.errors import KafkaStorageError
from broker_lite.testbench.control.resource import Call
from broker_lite.testbench.control.routes import acls
from broker_lite.testing import Broker, BrokerFailed
from tests.support.handler_broker import HandlerBroker, handler_broker
from tests.support.small_disk import files_end_at
from tests.testbench.conftest import Others

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
    given = [
        {**ACL, "name": "orders"},
        {**ACL, "name": "ord", "pattern_type": "PREFIXED", "principal": "User:bob"},
        {**ACL, "name": "*", "operation": "READ"},
        {**ACL, "resource_type": "GROUP", "name": "orders", "permission": "DENY"},
    ]
    _ask(broker, "POST", body={"acls": given})
    for query, expected in (
        ("", given),
        ("?limit=1", given[:1]),
        ("?resource_type=TOPIC", given[:3]),
        ("?resource_type=TOPIC&name=orders", given[:1]),
        ("?resource_type=TOPIC&name=orders&pattern_type=MATCH", given[:3]),
        ("?principal=User:bob", given[1:2]),
        ("?operation=READ", given[2:3]),
        ("?permission=DENY&host=*", given[3:]),
        ("?pattern_type=LITERAL&name=none", []),
    ):
        assert _ask(broker, "GET", query) == expected, query
    assert _ask(broker, "DELETE", "?pattern_type=PREFIXED") == given[1:2]
    assert _ask(broker, "DELETE", "?name=orders") == [given[0], given[3]]
    assert _ask(broker, "GET") == given[2:3]


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


def _call(broker: HandlerBroker, **parts: Any) -> Call:
    life: Any = SimpleNamespace(cluster=broker.cluster)
    bench: Any = SimpleNamespace(life=life)
    return Call(bench, {}, parts.get("query"), parts.get("body"))


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    new = msgspec.convert(ACL, acls.NewAcl)
    with handler_broker(tmp_path, {"authorizer.class.name": AUTHORIZER}) as broker:
        asyncio.run(acls.create(_call(broker, body=new)))
        log = broker.cluster.logs.data_dir / "__cluster_metadata-0" / f"{0:020d}.log"
        second = msgspec.structs.replace(new, operation="READ")
        with files_end_at(log.stat().st_size):
            for work in (
                acls.create(_call(broker, body=second)),
                acls.delete(_call(broker, query=acls.AclSelectors())),
            ):
                with pytest.raises(KafkaStorageError):
                    asyncio.run(work)
        found = asyncio.run(acls.list_acls(_call(broker, query=acls.AclPage())))
        assert [each.operation for each in found] == ["WRITE"]


@pytest.mark.parametrize("work", ["create", "list", "delete"])
def test_other_tasks_run_meanwhile(tmp_path: Path, others: Others, work: str) -> None:
    forms = [msgspec.convert({**ACL, "name": f"t{n}"}, acls.NewAcl) for n in range(100)]
    with handler_broker(tmp_path, {"authorizer.class.name": AUTHORIZER}) as broker:
        new = _call(broker, body=acls.Acls(acls=forms))
        if work != "create":
            asyncio.run(acls.create(new))
        made = {
            "create": lambda: acls.create(new),
            "list": lambda: acls.list_acls(_call(broker, query=acls.AclPage())),
            "delete": lambda: acls.delete(_call(broker, query=acls.AclSelectors())),
        }
        assert asyncio.run(others.while_running(made[work]())) >= 100


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
