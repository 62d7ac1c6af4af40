"""Rules choose by what APIs name: errors reach the right entries."""

from typing import Any

import pytest

from broker_lite.errors import ErrorCode
from broker_lite.wire import messages
from tests.testbench.conftest import FaultyBroker


@pytest.mark.parametrize("version", [1, 12, 13])
def test_topics_of_metadata(version: int, bench: FaultyBroker) -> None:
    bench.topic()
    bench.topic("other")
    bench.rule(keys=["Metadata"], topic="orders", error="LEADER_NOT_AVAILABLE")
    kind = messages.MetadataRequest
    topics = [kind.MetadataRequestTopic(name=name) for name in ("orders", "other")]
    answer = bench.call("Metadata", version, topics=topics)
    assert {each.name: (each.error_code, len(each.partitions)) for each in answer.topics} == {
        "orders": (ErrorCode.LEADER_NOT_AVAILABLE, 0),
        "other": (0, 3),
    }
    assert answer.brokers


@pytest.mark.parametrize("version", [1, 12])
def test_a_partition_of_metadata(version: int, bench: FaultyBroker) -> None:
    topic_id = bench.topic()
    bench.rule(keys=["Metadata"], topic="orders", partitions=[1, 7], error="LEADER_NOT_AVAILABLE")
    kind = messages.MetadataRequest
    wanted = kind.MetadataRequestTopic(name="orders")
    if version == 12:
        wanted = kind.MetadataRequestTopic(topic_id=topic_id, name=None)
    [topic] = bench.call("Metadata", version, topics=[wanted]).topics
    assert (topic.error_code, topic.name) == (0, "orders")
    assert [(each.error_code, each.leader_id) for each in topic.partitions] == [
        (0, 1),
        (ErrorCode.LEADER_NOT_AVAILABLE, -1),
        (0, 1),
    ]


def test_users_and_quotas_have_names(bench: FaultyBroker) -> None:
    bench.rule(keys=["AlterClientQuotas"], resource="u2", error="POLICY_VIOLATION")
    kind = messages.AlterClientQuotasRequest
    entries = [
        kind.EntryData(
            entity=[kind.EntityData(entity_type="user", entity_name=name)],
            ops=[kind.OpData(key="producer_byte_rate", value=1.0)],
        )
        for name in (None, "u1", "u2")
    ]
    answer = bench.call("AlterClientQuotas", 1, entries=entries)
    failed = [each for each in answer.entries if each.error_code == ErrorCode.POLICY_VIOLATION]
    assert [part.entity_name for each in failed for part in each.entity] == ["u2"]
    bench.rule(keys=["DescribeUserScramCredentials"], resource="u2", error="POLICY_VIOLATION")
    users = messages.DescribeUserScramCredentialsRequest
    wanted = [users.UserName(name=name) for name in ("u1", "u2")]
    answer = bench.call("DescribeUserScramCredentials", 0, users=wanted)
    codes = {each.user: each.error_code for each in answer.results}
    assert codes["u2"] == ErrorCode.POLICY_VIOLATION != codes["u1"]


@pytest.mark.parametrize("version", [0, 3, 6])
def test_find_coordinator(version: int, bench: FaultyBroker) -> None:
    bench.rule(keys=["FindCoordinator"], group="g", error="COORDINATOR_NOT_AVAILABLE")
    if version < 4:
        answer = bench.call("FindCoordinator", version, key="g")
        failed = answer
    else:
        answer = bench.call("FindCoordinator", version, coordinator_keys=["g", "h"])
        failed, well = answer.coordinators
        assert (well.key, well.error_code) == ("h", 0)
    assert (failed.error_code, failed.node_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1)


@pytest.mark.parametrize("version", [5, 6])
def test_delete_topics_by_name_and_by_id(version: int, bench: FaultyBroker) -> None:
    topic_id = bench.topic()
    bench.topic("other")
    bench.rule(keys=["DeleteTopics"], topic="orders", error="TOPIC_DELETION_DISABLED")
    kind = messages.DeleteTopicsRequest
    fields: dict[str, Any] = {"topic_names": ["orders", "other"]}
    if version == 6:
        states = [kind.DeleteTopicState(topic_id=topic_id), kind.DeleteTopicState(name="other")]
        fields = {"topics": states}
    answer = bench.call("DeleteTopics", version, timeout_ms=1000, **fields)
    codes = sorted(each.error_code for each in answer.responses)
    assert codes == [0, ErrorCode.TOPIC_DELETION_DISABLED]
    assert "orders" in bench.broker.cluster.topics
    assert "other" not in bench.broker.cluster.topics


@pytest.mark.parametrize("version", [3, 4, 5])
def test_add_partitions_to_a_transaction(version: int, bench: FaultyBroker) -> None:
    bench.topic()
    kind = messages.AddPartitionsToTxnRequest
    topics = [kind.AddPartitionsToTxnTopic(name="orders", partitions=[0, 1])]
    bench.rule(keys=["AddPartitionsToTxn"], partitions=[1], error="CONCURRENT_TRANSACTIONS")
    if version < 4:
        answer = bench.call(
            "AddPartitionsToTxn",
            version,
            v3_and_below_transactional_id="x",
            v3_and_below_topics=topics,
        )
        [topic] = answer.results_by_topic_v3_and_below
    else:
        transaction = kind.AddPartitionsToTxnTransaction(transactional_id="x", topics=topics)
        answer = bench.call("AddPartitionsToTxn", version, transactions=[transaction])
        [result] = answer.results_by_transaction
        assert result.transactional_id == "x"
        [topic] = result.topic_results
    codes = {each.partition_index: each.partition_error_code for each in topic.results_by_partition}
    assert codes[1] == ErrorCode.CONCURRENT_TRANSACTIONS
    assert codes[0] not in (0, ErrorCode.CONCURRENT_TRANSACTIONS)  # there is no such transaction


@pytest.mark.parametrize(
    ("version", "selectors"),
    [(7, {}), (7, {"topic": "orders"}), (8, {}), (8, {"topic": "orders"}), (1, {"group": "g"})],
)
def test_offset_fetch(version: int, selectors: dict[str, str], bench: FaultyBroker) -> None:
    bench.topic()
    code = ErrorCode.UNSTABLE_OFFSET_COMMIT
    bench.rule(keys=["OffsetFetch"], error=code.name, **selectors)
    kind = messages.OffsetFetchRequest
    if version < 8:
        topic = kind.OffsetFetchRequestTopic(name="orders", partition_indexes=[0])
        answer = bench.call("OffsetFetch", version, group_id="g", topics=[topic])
    else:
        named = kind.OffsetFetchRequestTopics(name="orders", partition_indexes=[0])
        group = kind.OffsetFetchRequestGroup(group_id="g", topics=[named])
        [answer] = bench.call("OffsetFetch", version, groups=[group]).groups
    if selectors.get("topic") or version == 1:
        assert [each.error_code for each in answer.topics[0].partitions] == [code]
        assert answer.error_code == 0
    else:
        assert answer.error_code == code


def test_acls_by_their_order(bench: FaultyBroker) -> None:
    kind = messages.CreateAclsRequest
    creations = [
        kind.AclCreation(
            resource_type=2,
            resource_name=name,
            resource_pattern_type=3,
            principal="User:a",
            host="*",
            operation=3,
            permission_type=3,
        )
        for name in ("a", "b", "c")
    ]
    bench.rule(keys=["CreateAcls"], resource="b", error="POLICY_VIOLATION", count=2)
    answer = bench.call("CreateAcls", 3, creations=creations)
    assert [each.error_code == ErrorCode.POLICY_VIOLATION for each in answer.results] == [
        False,
        True,
        False,
    ]


def test_configs_of_a_resource(bench: FaultyBroker) -> None:
    bench.topic()
    bench.topic("other")
    bench.rule(keys=["DescribeConfigs"], resource="orders", error="INVALID_CONFIG")
    kind = messages.DescribeConfigsRequest
    wanted = [
        kind.DescribeConfigsResource(resource_type=2, resource_name=name, configuration_keys=None)
        for name in ("orders", "other")
    ]
    answer = bench.call("DescribeConfigs", 4, resources=wanted)
    found = {each.resource_name: (each.error_code, bool(each.configs)) for each in answer.results}
    assert found == {"orders": (ErrorCode.INVALID_CONFIG, False), "other": (0, True)}
