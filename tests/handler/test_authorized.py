"""What handlers ask before they do what a client wants."""

from collections.abc import Iterator

import pytest

from broker_lite.handler import authorized
from broker_lite.security.acls.acl import CLUSTER_NAME, Operation, Permission, ResourceType
from broker_lite.security.principal import Principal
from tests.support.acls import acl, apply_acls
from tests.support.handler_broker import HandlerBroker

TOPIC, CLUSTER = ResourceType.TOPIC, ResourceType.CLUSTER


def unread() -> Iterator[str]:
    pytest.fail("without an authorizer nobody looks at the names")
    yield ""


def test_x41_without_an_authorizer_everything_is_allowed(broker: HandlerBroker) -> None:
    context = broker.context
    assert authorized.is_allowed(context, Operation.READ, TOPIC, "t")
    assert authorized.is_allowed_on_cluster(context, Operation.ALTER)
    assert authorized.is_allowed_by_any(context, Operation.WRITE, TOPIC)
    assert not authorized.denied_names(context, Operation.READ, TOPIC, unread())


def test_x42_with_one_it_decides(broker: HandlerBroker) -> None:
    context = broker.context
    apply_acls(
        context,
        acl(Operation.READ),
        acl(Operation.DESCRIBE, CLUSTER, CLUSTER_NAME),
    )
    assert authorized.is_allowed(context, Operation.READ, TOPIC, "t")
    assert not authorized.is_allowed(context, Operation.WRITE, TOPIC, "t")
    assert authorized.is_allowed_on_cluster(context, Operation.DESCRIBE)
    assert not authorized.is_allowed_on_cluster(context, Operation.ALTER)
    assert authorized.is_allowed_by_any(context, Operation.READ, TOPIC)
    assert not authorized.is_allowed_by_any(context, Operation.WRITE, TOPIC)
    names = ["t", "u", "v", "t", "u"]
    assert authorized.denied_names(context, Operation.READ, TOPIC, names) == {"u", "v"}


def test_x45_p_91_the_bit_fields_without_an_authorizer_are_full(broker: HandlerBroker) -> None:
    asked = [ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER]
    fields = [authorized.authorized_operations(broker.context, one, "t") for one in asked]
    assert fields == [3576, 3400, 8096]


def test_x45_p_91_the_bit_fields_have_what_is_allowed(broker: HandlerBroker) -> None:
    context = broker.context
    apply_acls(
        context,
        acl(Operation.READ),
        acl(Operation.ALL, ResourceType.GROUP),
        acl(Operation.DELETE, ResourceType.GROUP, permission=Permission.DENY),
        acl(Operation.ALTER_CONFIGS, CLUSTER, CLUSTER_NAME),
    )
    asked = [(ResourceType.TOPIC, "t"), (ResourceType.TOPIC, "u"), (ResourceType.GROUP, "t")]
    fields = [authorized.authorized_operations(context, *one) for one in asked]
    assert fields == [1 << 3 | 1 << 8, 0, 3400 & ~(1 << 6)]
    assert authorized.authorized_operations(context, CLUSTER) == 1 << 10 | 1 << 11
    context.principal = Principal("User", "root")
    assert authorized.authorized_operations(context, CLUSTER) == 8096


def test_p_91_nothing_is_told_if_nobody_asked() -> None:
    assert authorized.if_asked(False, 3576) == -2147483648
    assert authorized.if_asked(True, 3576) == 3576
