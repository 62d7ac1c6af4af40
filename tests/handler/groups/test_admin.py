"""ListGroups, DescribeGroups and DeleteGroups through their handlers, in every version."""

import pytest

from broker_lite.handler.authorized import GROUP_OPERATIONS, NOT_ASKED
from tests.handler.groups.group_requests import break_log, member_of
from tests.support.handler_broker import HandlerBroker, one


@pytest.mark.parametrize("version", range(6))
def test_g102_every_version_lists(broker: HandlerBroker, version: int) -> None:
    member_of(broker)
    answer = broker.call("ListGroups", version)
    group = one(answer.groups)
    assert (answer.error_code, group.group_id, group.protocol_type) == (0, "g", "consumer")
    assert group.group_state == ("Stable" if version >= 4 else "")
    assert group.group_type == ("classic" if version >= 5 else "")


@pytest.mark.parametrize("version", range(7))
def test_g103_every_version_describes(broker: HandlerBroker, version: int) -> None:
    member_id = member_of(broker)
    group = one(broker.call("DescribeGroups", version, groups=["g"]).groups)
    assert (group.error_code, group.group_state, group.protocol_data) == (0, "Stable", "range")
    member = one(group.members)
    assert (member.member_id, member.client_host) == (member_id, "/127.0.0.1")
    assert (member.member_metadata, member.member_assignment) == (b"m", b"a")
    assert group.authorized_operations == NOT_ASKED


@pytest.mark.parametrize(("version", "error", "operations"), [(5, 0, True), (6, 69, False)])
def test_g103_authorized_operations_are_told_of_what_is_found(
    broker: HandlerBroker, version: int, error: int, operations: bool
) -> None:
    member_of(broker)
    fields = {"groups": ["g", "nobody"], "include_authorized_operations": True}
    found, missing = broker.call("DescribeGroups", version, **fields).groups
    assert found.authorized_operations == GROUP_OPERATIONS
    assert (missing.error_code, missing.group_state) == (error, "Dead")
    assert missing.authorized_operations == (GROUP_OPERATIONS if operations else NOT_ASKED)


@pytest.mark.parametrize("version", range(4))
def test_g104_every_version_deletes(broker: HandlerBroker, version: int) -> None:
    member_of(broker)
    answer = broker.call("DeleteGroups", version, groups_names=["g", "nobody"])
    assert {one.group_id: one.error_code for one in answer.results} == {"g": 68, "nobody": 69}
    broker.clock.step(10_000)
    broker.context.groups.on_time()
    assert one(broker.call("DeleteGroups", version, groups_names=["g"]).results).error_code == 0
    assert broker.call("ListGroups", 4).groups == []


def test_g23_before_there_is_a_topic(broker: HandlerBroker) -> None:
    broker.finds_coordinator = False
    listed = broker.call("ListGroups", 5)
    assert (listed.error_code, listed.groups) == (0, [])
    described = broker.call("DescribeGroups", 6, groups=["g", ""]).groups
    assert [(group.error_code, group.group_state) for group in described] == [(16, ""), (16, "")]
    deleted = broker.call("DeleteGroups", 2, groups_names=["g", "", "g"]).results
    assert [(group.group_id, group.error_code) for group in deleted] == [("g", 16), ("", 16)]


def test_groups_that_cannot_be_read(broker: HandlerBroker) -> None:
    member_of(broker)
    break_log(broker)
    assert broker.call("ListGroups", 4).error_code == 16
    group = one(broker.call("DescribeGroups", 5, groups=["g"]).groups)
    assert (group.group_id, group.error_code) == ("g", 16)
    result = one(broker.call("DeleteGroups", 2, groups_names=["g", "g"]).results)
    assert (result.group_id, result.error_code) == ("g", 16)
