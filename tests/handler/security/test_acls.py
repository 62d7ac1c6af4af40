"""ACLs without an authorizer, as a Kafka 4.3.1 answers."""

from typing import Any

import pytest

from broker_lite.handler.context import CloseConnection
from broker_lite.wire import messages
from tests.support.handler_broker import HandlerBroker

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
