"""ACLs of a data directory that goes back and forth between broker-lite and a real Kafka."""

from pathlib import Path
from typing import Any

import pytest

from broker_lite.testing import Broker
from broker_lite.wire import messages
from tests.interchange.test_directories import SNAPSHOTS
from tests.support.raw_client import RawClient
from tests.support.reference_kafka import ReferenceKafka
from tests.support.toolchain import require

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
FILTER = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "principal_filter": None,
    "host_filter": None,
    "pattern_type_filter": 1,
    "operation": 1,
    "permission_type": 1,
}


def create(client: RawClient, name: str, pattern_type: int) -> None:
    creation = messages.CreateAclsRequest.AclCreation(
        resource_type=2,
        resource_name=name,
        resource_pattern_type=pattern_type,
        principal="User:alice",
        host="*",
        operation=3,
        permission_type=3,
    )
    assert client.call("CreateAcls", 3, creations=[creation]).results[0].error_code == 0


def delete(client: RawClient, name: str) -> None:
    one: Any = messages.DeleteAclsRequest.DeleteAclsFilter(
        **{**FILTER, "resource_name_filter": name}
    )
    (result,) = client.call("DeleteAcls", 3, filters=[one]).filter_results
    assert (result.error_code, len(result.matching_acls)) == (0, 1)


def listed(client: RawClient) -> list[tuple[str, int]]:
    answer = client.call("DescribeAcls", 3, **FILTER)
    return sorted((one.resource_name, one.pattern_type) for one in answer.resources)


@pytest.mark.kafka
@pytest.mark.slow
def test_s97_acls_of_either_are_there_for_the_other(tmp_path: Path) -> None:
    require("java", "mvn")
    kafka = ReferenceKafka(
        tmp_path / "kafka", settings={**AUTHORIZER, **SNAPSHOTS}, is_short_lived=True
    )
    with kafka, RawClient("127.0.0.1", kafka.port) as client:
        for name, pattern_type in (("t", 3), ("gone", 3), ("p-", 4)):
            create(client, name, pattern_type)
        delete(client, "gone")
    ours = Broker({**AUTHORIZER, "node.id": "1"}, data_dir=kafka.log_dir)
    with ours, RawClient("127.0.0.1", ours.port) as client:
        assert listed(client) == [("p-", 4), ("t", 3)]
        delete(client, "t")
        create(client, "u", 3)
    with kafka, RawClient("127.0.0.1", kafka.port) as client:
        assert listed(client) == [("p-", 4), ("u", 3)]
