"""ACLs without and with an authorizer, as a Kafka 4.3.1 answers.

Also tests: broker_lite.handler.security.acl_changes.
"""

from pathlib import Path
from typing import Any

import pytest

from broker_lite.handler.authorized import is_allowed
from broker_lite.handler.context import CloseConnection
from broker_lite.handler.security import acl_changes, acls
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.security.acls.authorizer import Authorizer
from broker_lite.security.principal import Principal
from broker_lite.wire import messages
from tests.support.acls import ALICE, acl, apply_acls
from tests.support.handler_broker import HandlerBroker, handler_broker
from tests.support.small_disk import files_end_at

FILTER = {
    "resource_type_filter": 2,
    "resource_name_filter": "t",
    "principal_filter": None,
    "host_filter": None,
    "operation": 3,
    "permission_type": 3,
}
CREATION = {
    "resource_type": 2,
    "resource_name": "t",
    "principal": "User:x",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}
VERSIONS = range(4)


@pytest.mark.parametrize("version", VERSIONS)
def test_p163_x41_nothing_is_told(broker: HandlerBroker, version: int) -> None:
    answer = broker.call("DescribeAcls", version, **FILTER)
    assert (answer.error_code, answer.resources) == (54, [])
    assert answer.error_message == "No Authorizer is configured on the broker"


@pytest.mark.parametrize("version", VERSIONS)
def test_p162_x41_nothing_is_created(broker: HandlerBroker, version: int) -> None:
    creations = [messages.CreateAclsRequest.AclCreation(**CREATION)] * 2
    answer = broker.call("CreateAcls", version, creations=creations)
    found = [(one.error_code, one.error_message) for one in answer.results]
    assert found == [(54, "No Authorizer is configured.")] * 2


@pytest.mark.parametrize("version", VERSIONS)
def test_p163_x41_nothing_is_deleted(broker: HandlerBroker, version: int) -> None:
    filters = [messages.DeleteAclsRequest.DeleteAclsFilter(**FILTER)] * 2
    answer = broker.call("DeleteAcls", version, filters=filters)
    found = [(one.error_code, one.matching_acls) for one in answer.filter_results]
    assert found == [(54, [])] * 2


@pytest.mark.parametrize(
    "unknown",
    [{"operation": 0}, {"permission_type": 0}, {"resource_type": 0}, {"pattern_type": 0}],
    ids=lambda one: next(iter(one)),
)
def test_p162_p163_what_is_unknown_closes_the_connection(
    broker: HandlerBroker, unknown: dict[str, Any]
) -> None:
    filter_names = {"resource_type": "resource_type_filter", "pattern_type": "pattern_type_filter"}
    of_filter = FILTER | {filter_names.get(name, name): code for name, code in unknown.items()}
    names = {"pattern_type": "resource_pattern_type"}
    of_creation = CREATION | {names.get(name, name): code for name, code in unknown.items()}
    creation = messages.CreateAclsRequest.AclCreation(**of_creation)
    one = messages.DeleteAclsRequest.DeleteAclsFilter(**of_filter)
    for name, fields in (
        ("DescribeAcls", of_filter),
        ("CreateAcls", {"creations": [creation]}),
        ("DeleteAcls", {"filters": [one]}),
    ):
        with pytest.raises(CloseConnection, match="unknown element"):
            broker.call(name, 3, **fields)


# -- with an authorizer


ROOT = Principal("User", "root")
EVERYTHING = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}
UNEXPECTED = (-1, None)


@pytest.fixture
def admin(broker: HandlerBroker) -> HandlerBroker:
    """A broker whose client is a super user; the ACLs of the cluster are in force."""
    broker.context.principal = ROOT
    broker.context.authorizer = Authorizer(
        broker.cluster.acls.index(), super_users=frozenset({str(ROOT)})
    )
    return broker


def create(broker: HandlerBroker, *creations: dict[str, Any]) -> list[tuple[int, str | None]]:
    kind = messages.CreateAclsRequest.AclCreation
    answer = broker.call("CreateAcls", 3, creations=[kind(**CREATION | one) for one in creations])
    return [(one.error_code, one.error_message) for one in answer.results]


def described(broker: HandlerBroker, **fields: Any) -> list[tuple[Any, ...]]:
    answer = broker.call("DescribeAcls", 3, **EVERYTHING | fields)
    assert (answer.error_code, answer.error_message) == (0, "")
    return [
        (resource.resource_name, one.principal, one.host, one.operation, one.permission_type)
        for resource in answer.resources
        for one in resource.acls
    ]


def delete(broker: HandlerBroker, *filters: dict[str, Any]) -> list[tuple[int, list[str]]]:
    kind = messages.DeleteAclsRequest.DeleteAclsFilter
    answer = broker.call("DeleteAcls", 3, filters=[kind(**EVERYTHING | one) for one in filters])
    return [
        (one.error_code, [acl.resource_name for acl in one.matching_acls])
        for one in answer.filter_results
    ]


def test_p162_what_is_created_holds_at_once(admin: HandlerBroker) -> None:
    assert create(admin, {}, {"principal": "User:alice"}) == [(0, ""), (0, "")]
    admin.context.principal = ALICE
    assert is_allowed(admin.context, Operation.READ, ResourceType.TOPIC, "t")
    assert not is_allowed(admin.context, Operation.READ, ResourceType.TOPIC, "u")


def test_p162_what_is_there_already_is_no_error(admin: HandlerBroker) -> None:
    assert create(admin, {}, {}) == [(0, ""), (0, "")]
    end = admin.cluster.metadata_log.end_offset
    assert create(admin, {}) == [(0, "")]
    assert admin.cluster.metadata_log.end_offset == end
    assert described(admin) == [("t", "User:x", "*", 3, 3)]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"resource_name": ""}, "Invalid empty resource name"),
        ({"resource_type": 4}, "The only valid name for the CLUSTER resource is kafka-cluster"),
        (
            {"principal": "x"},
            "Could not parse principal from `x` (no colon is present separating the principal type "
            "from the principal name)",
        ),
        ({"resource_type": 99}, "Invalid resourceType UNKNOWN"),
        ({"resource_pattern_type": 99}, "Invalid patternType UNKNOWN"),
        ({"operation": 99}, "Invalid operation UNKNOWN"),
        ({"permission_type": 99}, "Invalid permissionType UNKNOWN"),
    ],
)
def test_p162_a_wrong_acl_fails_and_others_do_not(
    admin: HandlerBroker, wrong: dict[str, Any], message: str
) -> None:
    assert create(admin, wrong, {}) == [(42, message), (0, "")]
    assert len(described(admin)) == 1


@pytest.mark.parametrize(
    "odd", [{"host": ""}, {"host": "nowhere"}, {"principal": ":"}, {"operation": 12}]
)
def test_p162_what_kafka_does_not_check(admin: HandlerBroker, odd: dict[str, Any]) -> None:
    assert create(admin, odd) == [(0, "")]


@pytest.mark.parametrize(
    "only_in_filters",
    [
        {"resource_type": 1},
        {"resource_pattern_type": 1},
        {"resource_pattern_type": 2},
        {"operation": 1},
        {"permission_type": 1},
    ],
)
def test_p162_a_value_of_filters_fails_the_whole_request(
    admin: HandlerBroker, only_in_filters: dict[str, Any]
) -> None:
    assert create(admin, {}, only_in_filters) == [UNEXPECTED, UNEXPECTED]
    assert described(admin) == []


def test_p162_too_many_acls_of_one_request(
    admin: HandlerBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acl_changes, "RECORDS_MAX", 2)
    several = [{"resource_name": name} for name in "abc"]
    told = (44, "Unable to perform excessively large batch operation.")
    assert create(admin, *several) == [told] * 3
    assert create(admin, *several[:2], several[0]) == [(0, "")] * 3
    assert create(admin, *several) == [(0, "")] * 3
    assert delete(admin, {}, {"resource_name_filter": "a"}) == [(42, []), (42, [])]
    assert len(described(admin)) == 3
    assert delete(admin, {"resource_name_filter": "a"}) == [(0, ["a"])]


def test_p162_a_large_request(admin: HandlerBroker, short_turns: None) -> None:
    several = [{"resource_name": f"t{number}"} for number in range(600)]
    assert create(admin, *several) == [(0, "")] * 600
    assert len(described(admin)) == 600
    exact = {**FILTER, "principal_filter": "User:x", "host_filter": "*"}
    filters = [{**exact, "resource_name_filter": f"t{number}"} for number in range(601)]
    assert delete(admin, *filters) == [(0, [f"t{number}"]) for number in range(600)] + [(0, [])]
    assert described(admin) == []


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({}, ["t", "*", "p-", "*", "kafka-cluster"]),
        ({"resource_type_filter": 2}, ["t", "*", "p-", "*"]),
        ({"resource_type_filter": 3}, []),
        ({"resource_type_filter": 99}, []),
        ({"resource_name_filter": "t"}, ["t"]),
        ({"resource_name_filter": "t", "pattern_type_filter": 2}, ["t", "*"]),
        ({"resource_name_filter": "p-1", "pattern_type_filter": 2}, ["*", "p-"]),
        ({"resource_name_filter": "p-"}, ["p-"]),
        ({"resource_name_filter": "p-", "pattern_type_filter": 3}, []),
        ({"resource_name_filter": "p-1", "pattern_type_filter": 4}, []),
        ({"resource_name_filter": "*"}, ["*", "*"]),
        ({"resource_name_filter": "*", "pattern_type_filter": 3}, ["*"]),
        ({"pattern_type_filter": 4}, ["p-", "*"]),
        ({"principal_filter": "User:y"}, ["*"]),
        ({"host_filter": "10.0.0.1"}, ["p-"]),
        ({"operation": 7}, ["kafka-cluster"]),
        ({"operation": 2}, []),
        ({"permission_type": 2}, ["t"]),
    ],
)
def test_p163_what_filters_select(
    admin: HandlerBroker, asked: dict[str, Any], names: list[str]
) -> None:
    create(
        admin,
        {"permission_type": 2},
        {"resource_name": "*", "principal": "User:y"},
        {"resource_name": "p-", "resource_pattern_type": 4, "host": "10.0.0.1"},
        {"resource_name": "*", "resource_pattern_type": 4},
        {"resource_type": 4, "resource_name": "kafka-cluster", "operation": 7},
    )
    assert [one[0] for one in described(admin, **asked)] == names


def test_p163_deleted_acls_are_told_for_each_filter(admin: HandlerBroker) -> None:
    create(admin, {}, {"resource_name": "u"})
    answers = delete(admin, {"resource_name_filter": "u"}, {}, {"principal_filter": "nobody"})
    assert answers == [(0, ["u"]), (0, ["t", "u"]), (0, [])]
    assert described(admin) == []


def test_p163_an_unknown_code_in_a_filter_deletes_nothing(admin: HandlerBroker) -> None:
    create(admin, {})
    kind = messages.DeleteAclsRequest.DeleteAclsFilter
    wrong = [{"resource_type_filter": 99}, {"pattern_type_filter": 99}, {"operation": 99}]
    filters = [kind(**EVERYTHING | one) for one in [*wrong, {"permission_type": 99}]]
    answer = admin.call("DeleteAcls", 3, filters=filters)
    assert [(one.error_code, one.error_message) for one in answer.filter_results] == [
        (42, "Unknown patternFilter."),
        (42, "Unknown patternFilter."),
        (42, "Unknown entryFilter."),
        (42, "Unknown entryFilter."),
    ]
    assert len(described(admin)) == 1


def test_p163_an_answer_of_too_many_acls_is_not_made(
    admin: HandlerBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acls, "SELECTED_MAX", 3)
    create(admin, {}, {"resource_name": "u"})
    with pytest.raises(CloseConnection, match="DeleteAcls selects more than 3 ACLs"):
        delete(admin, {}, {})
    assert len(described(admin)) == 2


def test_x59_x60_who_may_do_it(broker: HandlerBroker) -> None:
    index = apply_acls(broker.context)
    answer = broker.call("DescribeAcls", 3, **EVERYTHING)
    assert (answer.error_code, answer.resources) == (31, [])
    denied = (31, "Request needs ALTER permission.")
    assert create(broker, {}, {"operation": 1}) == [denied, denied]
    assert delete(broker, {}, {"operation": 99}) == [(31, []), (31, [])]
    cluster = (ResourceType.CLUSTER, "kafka-cluster")
    index.add(acl(Operation.DESCRIBE, *cluster))
    assert described(broker) == []
    assert create(broker, {}) == [denied]
    index.add(acl(Operation.ALTER, *cluster))
    assert create(broker, {}) == [(0, "")]
    assert delete(broker, {}) == [(0, ["t"])]


def test_p162_a_full_disk_is_told(admin: HandlerBroker) -> None:
    create(admin, {"resource_name": "u"})
    log = admin.cluster.logs.data_dir / "__cluster_metadata-0" / f"{0:020d}.log"
    with files_end_at(log.stat().st_size):
        assert create(admin, {}) == [(56, None)]
    assert [one[0] for one in described(admin)] == ["u"]


def test_p162_a_restart_keeps_them(tmp_path: Path) -> None:
    with handler_broker(tmp_path) as broker:
        apply_acls(broker.context, principal=ROOT)
        create(broker, {}, {"resource_name": "p-", "resource_pattern_type": 4}, {"operation": 4})
        delete(broker, {"operation": 4})
        before = described(broker)
    with handler_broker(tmp_path) as broker:
        apply_acls(broker.context, principal=ROOT)
        assert described(broker) == before
        found = broker.cluster.acls.index().find("User:x", "h", ResourceType.TOPIC, "p-1")
        assert found == (1 << Operation.READ, 0)
    assert [one[0] for one in before] == ["t", "p-"]
