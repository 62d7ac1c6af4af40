"""Decisions of the authorizer, and the index from which it makes them.

Also tests: broker_lite.security.acls.index.
"""

from typing import Any

import pytest

from broker_lite.security.acls.acl import Acl, Operation, PatternType, Permission, ResourceType
from broker_lite.security.acls.authorizer import Authorizer, acl_host
from broker_lite.security.acls.index import AclIndex
from broker_lite.security.principal import ANONYMOUS, Principal
from tests.support.acls import ALICE, acl

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
DENY = Permission.DENY
PREFIXED = PatternType.PREFIXED
HOST = "10.0.0.1"


def allows(
    acls: list[Acl],
    operation: Operation = Operation.READ,
    *,
    principal: Principal = ALICE,
    host: str = HOST,
    resource_type: ResourceType = TOPIC,
    name: str = "t",
) -> bool:
    return Authorizer(AclIndex(acls)).allows(principal, host, operation, resource_type, name)


def test_x42_a_super_user_may_do_what_is_denied() -> None:
    index = AclIndex([acl(Operation.ALL, permission=DENY)])
    authorizer = Authorizer(index, super_users=frozenset({"User:alice"}))
    assert authorizer.allows(ALICE, HOST, Operation.READ, TOPIC, "t")
    assert authorizer.allows_by_any(ALICE, HOST, Operation.WRITE, TOPIC)


@pytest.mark.parametrize(
    ("given", "allowed"),
    [
        (acl(Operation.READ), True),
        (acl(Operation.READ, name="u"), False),
        (acl(Operation.READ, name="T"), False),
        (acl(Operation.READ, GROUP), False),
        (acl(Operation.READ, name="*"), True),
        (acl(Operation.READ, name="t", pattern_type=PREFIXED), True),
        (acl(Operation.READ, name="*", pattern_type=PREFIXED), False),
        (acl(Operation.READ, name="tt", pattern_type=PREFIXED), False),
        (acl(Operation.READ, principal="User:bob"), False),
        (acl(Operation.READ, principal="User:*"), True),
        (acl(Operation.READ, principal="Group:alice"), False),
        (acl(Operation.READ, host=HOST), True),
        (acl(Operation.READ, host="10.0.0.2"), False),
        (acl(Operation.READ, principal="User:*", host=HOST), True),
    ],
)
def test_x42_which_acls_are_about_a_request(given: Acl, allowed: bool) -> None:
    assert allows([given]) is allowed


def test_x42_a_prefix_holds_for_every_name_that_begins_with_it() -> None:
    given = [
        acl(Operation.READ, name="a", pattern_type=PREFIXED),
        acl(Operation.WRITE, name="abc", pattern_type=PREFIXED),
        acl(Operation.CREATE, name="abd", pattern_type=PREFIXED),
    ]
    assert allows(given, Operation.READ, name="abcd")
    assert allows(given, Operation.WRITE, name="abcd")
    assert not allows(given, Operation.CREATE, name="abcd")
    assert not allows(given, Operation.WRITE, name="ab")


@pytest.mark.parametrize(
    "denying",
    [
        acl(Operation.READ, permission=DENY),
        acl(Operation.ALL, permission=DENY),
        acl(Operation.READ, name="*", permission=DENY),
        acl(Operation.READ, name="t", pattern_type=PREFIXED, permission=DENY),
        acl(Operation.READ, principal="User:*", permission=DENY),
        acl(Operation.READ, host=HOST, permission=DENY),
    ],
)
@pytest.mark.parametrize("allowing", [acl(Operation.READ), acl(Operation.ALL)])
def test_x42_what_is_denied_is_not_allowed(allowing: Acl, denying: Acl) -> None:
    assert not allows([allowing, denying])
    assert not allows([denying, allowing])


def test_x42_a_resource_without_acls_is_everybodys_if_the_setting_says_so() -> None:
    index = AclIndex([acl(Operation.READ, name="t", principal="User:bob")])
    index.add(acl(Operation.READ, name="p", pattern_type=PREFIXED, principal="User:bob"))
    authorizer = Authorizer(index, allow_if_no_acl=True)
    assert authorizer.allows(ALICE, HOST, Operation.READ, TOPIC, "u")
    assert authorizer.allows(ALICE, HOST, Operation.READ, GROUP, "t")
    assert not authorizer.allows(ALICE, HOST, Operation.READ, TOPIC, "t")
    assert not authorizer.allows(ALICE, HOST, Operation.READ, TOPIC, "part")
    index.add(acl(Operation.READ, name="*", principal="User:bob"))
    assert not authorizer.allows(ALICE, HOST, Operation.READ, TOPIC, "u")


@pytest.mark.parametrize(
    ("given", "implied"),
    [
        (Operation.READ, {Operation.DESCRIBE}),
        (Operation.WRITE, {Operation.DESCRIBE}),
        (Operation.DELETE, {Operation.DESCRIBE}),
        (Operation.ALTER, {Operation.DESCRIBE}),
        (Operation.ALTER_CONFIGS, {Operation.DESCRIBE_CONFIGS}),
        (Operation.DESCRIBE, set()),
        (Operation.CREATE, set()),
        (Operation.DESCRIBE_CONFIGS, set()),
        (Operation.ALL, set(Operation) - {Operation.UNKNOWN, Operation.ANY}),
    ],
)
def test_x43_what_an_operation_implies(given: Operation, implied: set[Operation]) -> None:
    asked = [one for one in Operation if one > Operation.ALL]
    found = {one for one in asked if allows([acl(given)], one)}
    assert found | {given} == implied | {given}


def test_x43_a_denied_operation_implies_no_other() -> None:
    given = [acl(Operation.ALL), acl(Operation.READ, permission=DENY)]
    assert not allows(given, Operation.READ)
    assert allows(given, Operation.DESCRIBE)


def test_x42_an_acl_that_is_removed_does_not_hold_any_more() -> None:
    acls = [
        acl(operation, name=name, pattern_type=kind, permission=permission)
        for operation in (Operation.READ, Operation.WRITE)
        for name in ("t", "*")
        for kind in (PatternType.LITERAL, PREFIXED)
        for permission in (Permission.ALLOW, DENY)
    ]
    index = AclIndex(acls)
    for one in acls:
        index.add(one)
    assert index.find("User:alice", HOST, TOPIC, "t") == (24, 24)
    for one in acls:
        index.remove(one)
    assert index.find("User:alice", HOST, TOPIC, "t") is None
    assert index.find("User:alice", HOST, TOPIC, "*x") is None


@pytest.mark.parametrize(
    ("acls", "allowed"),
    [
        ([], False),
        ([acl(Operation.WRITE)], True),
        ([acl(Operation.ALL)], True),
        ([acl(Operation.WRITE, host="10.0.0.2")], False),
        ([acl(Operation.WRITE, principal="User:*")], True),
        ([acl(Operation.WRITE, GROUP)], False),
        ([acl(Operation.READ)], False),
        ([acl(Operation.WRITE), acl(Operation.WRITE, permission=DENY)], False),
        ([acl(Operation.WRITE), acl(Operation.WRITE, name="*", permission=DENY)], False),
        (
            [acl(Operation.WRITE, name="*"), acl(Operation.WRITE, permission=DENY)],
            True,
        ),
        (
            [
                acl(Operation.WRITE, name="tab"),
                acl(Operation.WRITE, name="ta", pattern_type=PREFIXED, permission=DENY),
            ],
            False,
        ),
        (
            [
                acl(Operation.WRITE, name="t", pattern_type=PREFIXED),
                acl(Operation.WRITE, name="ta", pattern_type=PREFIXED, permission=DENY),
            ],
            True,
        ),
        (
            [
                acl(Operation.WRITE, name="t", pattern_type=PREFIXED),
                acl(Operation.WRITE, name="t", permission=DENY),
            ],
            True,
        ),
    ],
)
def test_x42_any_resource_of_a_type(acls: list[Acl], allowed: bool) -> None:
    authorizer = Authorizer(AclIndex(acls))
    assert authorizer.allows_by_any(ALICE, HOST, Operation.WRITE, TOPIC) is allowed


def test_x42_any_resource_of_a_type_where_no_acls_are() -> None:
    authorizer = Authorizer(AclIndex(), allow_if_no_acl=True)
    assert authorizer.allows_by_any(ANONYMOUS, HOST, Operation.WRITE, TOPIC)


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("::1", "0:0:0:0:0:0:0:1"),
        ("fe80::0a1%eth0", "fe80:0:0:0:0:0:0:a1%eth0"),
        ("2001:DB8::F", "2001:db8:0:0:0:0:0:f"),
        ("no:address", "no:address"),
    ],
)
def test_x42_addresses_are_compared_as_java_writes_them(address: str, host: str) -> None:
    assert acl_host(address) == host
    assert allows([acl(Operation.READ, host=host)], host=address)


class Watched(str):
    """A name that counts how often a prefix is taken of it."""

    count = 0

    def __getitem__(self, part: Any) -> str:  # type: ignore[explicit-override]
        self.count += 1
        return super().__getitem__(part)


def test_x42_a_decision_costs_the_same_however_many_acls_there_are() -> None:
    prefixes = [f"{number:0{3 + number % 3}}" for number in range(2500)]
    acls = [acl(Operation.READ, name=name, pattern_type=PREFIXED) for name in prefixes]
    acls += [acl(Operation.WRITE, name=f"topic-{number}") for number in range(2500)]
    name = Watched("topic-7")
    authorizer = Authorizer(AclIndex(acls))
    assert authorizer.operations(ALICE, HOST, TOPIC, name) == (
        1 << Operation.WRITE | 1 << Operation.DESCRIBE
    )
    # one look-up for each length that a prefix has
    assert name.count == 3
