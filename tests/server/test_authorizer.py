"""An authorizer in whole brokers: plain listeners, users of SASL, several nodes, restarts.

Also tests: broker_lite.server.node_maker.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broker_lite.testing import Broker, BrokerFailed
from broker_lite.wire import messages
from tests.differential.acl_sides import SETTINGS, log_in
from tests.support.raw_client import RawClient
from tests.support.reference_kafka import free_port

AUTHORIZER = {"authorizer.class.name": SETTINGS["authorizer.class.name"]}
CREATION = {
    "resource_type": 2,
    "resource_name": "t",
    "resource_pattern_type": 3,
    "principal": "User:ANONYMOUS",
    "host": "127.0.0.1",
    "operation": 3,
    "permission_type": 3,
}


def topic_code(client: RawClient) -> int:
    topic = messages.MetadataRequest.MetadataRequestTopic(name="t")
    answer = client.call("Metadata", 12, topics=[topic], allow_auto_topic_creation=False)
    code: int = answer.topics[0].error_code
    return code


def create(client: RawClient, **fields: Any) -> int:
    creation = messages.CreateAclsRequest.AclCreation(**CREATION | fields)
    code: int = client.call("CreateAcls", 3, creations=[creation]).results[0].error_code
    return code


def connect(address: str) -> RawClient:
    host, _, port = address.rpartition(":")
    return RawClient(host, int(port))


def test_x42_everybody_on_a_plain_listener_is_anonymous(tmp_path: Path) -> None:
    with (
        Broker({**AUTHORIZER, "super.users": "User:x"}, topics=["t"], data_dir=tmp_path) as broker,
        connect(broker.bootstrap) as client,
    ):
        assert topic_code(client) == 29
        assert create(client) == 31


def test_x42_the_acls_of_all_nodes_are_the_same_after_a_restart_too(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    everybody = {**AUTHORIZER, "allow.everyone.if.no.acl.found": "true"}
    with Broker(everybody, topics=["t:1"], brokers=2, data_dir=directory) as broker:
        first, second = (connect(address) for address in broker.addresses)
        with first, second:
            assert topic_code(second) == 0
            assert create(first, principal="User:bob") == 0
            assert topic_code(first) == topic_code(second) == 29
            assert create(second, operation=8) == 0
            assert topic_code(first) == topic_code(second) == 0
    with Broker(AUTHORIZER, brokers=2, data_dir=directory) as broker:
        first, second = (connect(address) for address in broker.addresses)
        with first, second:
            assert topic_code(first) == topic_code(second) == 0
            assert create(first) == 31


@pytest.fixture
def sasl_port() -> Iterator[int]:
    """The port of a listener of SASL; admin is a super user."""
    plain, sasl = free_port(), free_port()
    addresses = f"PLAINTEXT://127.0.0.1:{plain},SASL://127.0.0.1:{sasl}"
    listeners = {"listeners": addresses, "advertised.listeners": addresses}
    settings = {**SETTINGS, **listeners, "super.users": "User:admin"}
    with Broker(settings, topics=["t"], port=plain):
        yield sasl


def test_x42_users_of_sasl_have_rights_of_their_own(sasl_port: int) -> None:
    clients = [log_in(sasl_port, user) for user in ("admin", "alice", "bob")]
    admin, alice, bob = clients
    assert [topic_code(one) for one in clients] == [0, 29, 29]
    assert create(admin, principal="User:alice") == 0
    assert [topic_code(one) for one in clients] == [0, 0, 29]
    assert create(admin, principal="User:bob", host="10.0.0.1") == 0
    assert create(alice) == 31
    assert topic_code(bob) == 29
    for one in clients:
        one.close()


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (
            {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"},
            "authorizer.class.name: there is no class kafka.security.authorizer.AclAuthorizer",
        ),
        ({**AUTHORIZER, "super.users": "admin"}, "super.users: admin: write User:NAME"),
    ],
)
def test_a_broker_that_cannot_be_protected_does_not_start(
    settings: dict[str, str], told: str
) -> None:
    with pytest.raises(BrokerFailed, match=told), Broker(settings):
        pass
