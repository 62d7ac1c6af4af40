from collections.abc import Iterator

import pytest

from broker_lite.testing import Broker, BrokerFailed

AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker({"authorizer.class.name": AUTHORIZER}, security="sasl_plaintext") as started:
        yield started


def test_acls_are_added_listed_and_removed(broker: Broker) -> None:
    broker.add_acl("TOPIC", "t", "User:user", "WRITE")
    broker.add_acl("GROUP", "g", "User:*", "READ", pattern_type="PREFIXED", permission="DENY")
    first = {
        "resource_type": "TOPIC",
        "name": "t",
        "principal": "User:user",
        "operation": "WRITE",
        "pattern_type": "LITERAL",
        "host": "*",
        "permission": "ALLOW",
    }
    assert broker.acls("TOPIC") == [first]
    assert [each["name"] for each in broker.acls(principal="User:*")] == ["g"]
    assert broker.remove_acls("TOPIC", "t", operation="WRITE") == [first]
    assert [each["name"] for each in broker.acls()] == ["g"]
    assert len(broker.remove_acls()) == 1
    assert broker.acls() == []


def test_what_is_refused(broker: Broker) -> None:
    with pytest.raises(BrokerFailed, match="Invalid enum value 'FLY'"):
        broker.add_acl("TOPIC", "t", "User:user", "FLY")
    with pytest.raises(BrokerFailed, match="user"):
        broker.acls(user="bob")
