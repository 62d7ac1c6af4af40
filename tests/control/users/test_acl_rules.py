"""New ACLs and filters; what requests with them are answered is in handler/security."""

import pytest

from broker_lite.control.users.acl_rules import (
    AclFilter,
    check_filter,
    check_new,
    is_for_filters_only,
)
from broker_lite.errors import InvalidRequest
from broker_lite.security.acls.acl import Acl, Operation, PatternType, Permission, ResourceType
from tests.support.acls import acl

READ = acl(Operation.READ)
EVERYTHING = AclFilter(
    ResourceType.ANY, None, PatternType.ANY, None, None, Operation.ANY, Permission.ANY
)


def test_p162_an_acl_of_known_parts_may_be_created() -> None:
    check_new(READ)
    assert not is_for_filters_only(READ)


@pytest.mark.parametrize(
    "wrong",
    [
        READ._replace(name=""),
        READ._replace(principal="alice"),
        READ._replace(resource_type=ResourceType.CLUSTER),
        READ._replace(permission=Permission.UNKNOWN),
    ],
)
def test_p162_other_acls_may_not(wrong: Acl) -> None:
    with pytest.raises(InvalidRequest):
        check_new(wrong)


def test_p163_a_filter_of_one_acl_selects_it_alone() -> None:
    exact = AclFilter(*READ)
    assert exact.exact() == READ
    assert exact.selects(READ)
    assert not exact.selects(acl(Operation.WRITE))


@pytest.mark.parametrize(
    "one",
    [
        EVERYTHING,
        AclFilter(*READ)._replace(name=None),
        AclFilter(*READ)._replace(pattern_type=PatternType.MATCH),
        AclFilter(*READ)._replace(permission=Permission.ANY),
    ],
)
def test_p163_a_filter_of_several_acls(one: AclFilter) -> None:
    assert one.exact() is None
    assert one.selects(READ)
    check_filter(one)


def test_p163_a_filter_with_an_unknown_code() -> None:
    with pytest.raises(InvalidRequest, match=r"^Unknown patternFilter\.$"):
        check_filter(EVERYTHING._replace(pattern_type=PatternType.UNKNOWN))
    with pytest.raises(InvalidRequest, match=r"^Unknown entryFilter\.$"):
        check_filter(EVERYTHING._replace(operation=Operation.UNKNOWN))
