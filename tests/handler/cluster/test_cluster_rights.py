"""APIs about the cluster, asked by clients that have no right to it, and by others."""

from typing import Any

import pytest

from broker_lite.handler.context import CloseConnection
from broker_lite.security.acls.acl import CLUSTER_NAME, Operation, ResourceType
from broker_lite.wire import messages
from tests.support.acls import acl, apply_acls
from tests.support.handler_broker import HandlerBroker

CLUSTER = (ResourceType.CLUSTER, CLUSTER_NAME)
NEEDS_ALTER = "Request needs ALTER permission."
NEEDS_DESCRIBE = "Request needs DESCRIBE permission."
DENIED = "Cluster authorization failed."


@pytest.fixture
def limited(broker: HandlerBroker) -> HandlerBroker:
    broker.cluster.create_topic("t")
    apply_acls(broker.context)
    return broker


def allow(broker: HandlerBroker, operation: Operation) -> None:
    apply_acls(broker.context, acl(operation, *CLUSTER))


def test_x58_operations_of_the_cluster(limited: HandlerBroker) -> None:
    def operations() -> int:
        answer = limited.call("DescribeCluster", 2, include_cluster_authorized_operations=True)
        assert answer.error_code == 0
        assert len(answer.brokers) == 1
        found: int = answer.cluster_authorized_operations
        return found

    allow(limited, Operation.CREATE)
    assert operations() == 0
    allow(limited, Operation.ALTER)
    assert operations() == 1 << Operation.ALTER | 1 << Operation.DESCRIBE


@pytest.mark.parametrize("version", range(1, 6))
def test_x59_log_directories(limited: HandlerBroker, version: int) -> None:
    def told() -> Any:
        return limited.call("DescribeLogDirs", version, topics=None)

    assert (told().error_code, told().results) == (31 if version >= 3 else 0, [])
    allow(limited, Operation.DESCRIBE)
    assert (told().error_code, len(told().results)) == (0, 1)


@pytest.mark.parametrize("version", range(3))
def test_x59_the_quorum(limited: HandlerBroker, version: int) -> None:
    kind = messages.DescribeQuorumRequest
    topic = kind.TopicData(
        topic_name="__cluster_metadata", partitions=[kind.PartitionData(partition_index=0)]
    )

    def told() -> Any:
        return limited.call("DescribeQuorum", version, topics=[topic])

    assert (told().error_code, told().topics) == (31, [])
    assert told().error_message == (NEEDS_DESCRIBE if version >= 2 else "")
    allow(limited, Operation.DESCRIBE)
    assert (told().error_code, len(told().topics)) == (0, 1)


def test_x59_ongoing_reassignments(limited: HandlerBroker) -> None:
    kind = messages.ListPartitionReassignmentsRequest
    topic = kind.ListPartitionReassignmentsTopics(name="t", partition_indexes=[0])

    def told(asked: Any) -> Any:
        return limited.call("ListPartitionReassignments", 0, topics=asked)

    answer = told([topic])
    assert (answer.error_code, answer.error_message) == (31, NEEDS_DESCRIBE)
    assert [one.name for one in answer.topics] == ["t"]
    assert told(None).topics == []
    allow(limited, Operation.DESCRIBE)
    assert told([topic]).error_code == 0


def test_x60_reassignments(limited: HandlerBroker) -> None:
    kind = messages.AlterPartitionReassignmentsRequest
    partition = kind.ReassignablePartition(partition_index=0, replicas=[1])
    topic = kind.ReassignableTopic(name="t", partitions=[partition])

    def told() -> Any:
        return limited.call("AlterPartitionReassignments", 1, topics=[topic])

    answer = told()
    assert (answer.error_code, answer.error_message) == (31, NEEDS_ALTER)
    assert [one.error_code for one in answer.responses[0].partitions] == [31]
    allow(limited, Operation.ALTER)
    assert told().error_code == 0


@pytest.mark.parametrize("version", range(3))
@pytest.mark.parametrize("asks_for_all", [True, False])
def test_x60_elections(limited: HandlerBroker, version: int, asks_for_all: bool) -> None:
    kind = messages.ElectLeadersRequest
    topics = None if asks_for_all else [kind.TopicPartitions(topic="t", partitions=[0])]

    def told() -> tuple[int, list[int]]:
        answer = limited.call("ElectLeaders", version, topic_partitions=topics)
        results = answer.replica_election_results
        return answer.error_code, [
            one.error_code for each in results for one in each.partition_result
        ]

    assert told() == (31 if version else 0, [] if asks_for_all else [31])
    allow(limited, Operation.ALTER)
    assert told() == (0, [] if asks_for_all else [84])


def test_x60_data_directories_of_replicas(limited: HandlerBroker) -> None:
    kind = messages.AlterReplicaLogDirsRequest
    topic = kind.AlterReplicaLogDirTopic(name="t", partitions=[0])

    def told() -> list[int]:
        directory = kind.AlterReplicaLogDir(path="/nowhere", topics=[topic])
        answer = limited.call("AlterReplicaLogDirs", 2, dirs=[directory])
        return [one.error_code for each in answer.results for one in each.partitions]

    assert told() == [31]
    allow(limited, Operation.ALTER)
    assert told() == [57]


def test_x60_brokers_and_features(limited: HandlerBroker) -> None:
    kind = messages.UpdateFeaturesRequest.FeatureUpdateKey
    update = kind(feature="nothing", max_version_level=1)

    def told() -> list[tuple[int, str]]:
        answers = [
            limited.call("UnregisterBroker", 0, broker_id=7),
            limited.call("UpdateFeatures", 2, feature_updates=[update]),
        ]
        return [(one.error_code, one.error_message) for one in answers]

    assert told() == [(31, NEEDS_ALTER)] * 2
    allow(limited, Operation.ALTER)
    assert [code for code, _ in told()] == [102, 95]


def test_x59_x60_quotas(limited: HandlerBroker) -> None:
    def told() -> Any:
        return limited.call("DescribeClientQuotas", 1, components=[])

    kind = messages.AlterClientQuotasRequest
    entity = kind.EntityData(entity_type="user", entity_name="u")
    entry = kind.EntryData(
        entity=[entity], ops=[kind.OpData(key="producer_byte_rate", value=1.0, remove=False)]
    )

    def alter() -> list[tuple[int, str | None, str | None]]:
        answer = limited.call("AlterClientQuotas", 1, entries=[entry], validate_only=True)
        return [
            (one.error_code, one.error_message, one.entity[0].entity_name) for one in answer.entries
        ]

    assert (told().error_code, told().error_message, told().entries) == (31, DENIED, None)
    assert alter() == [(31, "Request needs ALTER_CONFIGS permission.", "u")]
    allow(limited, Operation.ALTER_CONFIGS)
    assert told().error_code == 0
    assert alter() == [(0, None, "u")]


def test_x59_credentials_are_not_described(limited: HandlerBroker) -> None:
    name = messages.DescribeUserScramCredentialsRequest.UserName
    answer = limited.call("DescribeUserScramCredentials", 0, users=[name(name="u"), name(name="v")])
    assert (answer.error_code, answer.error_message) == (31, DENIED)
    assert [(one.user, one.error_code) for one in answer.results] == [("", 31), ("", 31)]
    with pytest.raises(CloseConnection):
        limited.call("DescribeUserScramCredentials", 0, users=None)
    allow(limited, Operation.DESCRIBE)
    assert limited.call("DescribeUserScramCredentials", 0, users=None).error_code == 0


def test_x60_credentials_are_not_altered(limited: HandlerBroker) -> None:
    kind = messages.AlterUserScramCredentialsRequest

    def told() -> list[tuple[str, int]]:
        deletions = [kind.ScramCredentialDeletion(name=name, mechanism=1) for name in "uvu"]
        answer = limited.call("AlterUserScramCredentials", 0, deletions=deletions, upsertions=[])
        return sorted((one.user, one.error_code) for one in answer.results)

    assert told() == [("u", 31), ("v", 31)]
    allow(limited, Operation.ALTER)
    assert told() == [("u", 91), ("v", 91)]
