"""What is found in requests by the schema: topics, partitions, groups, transactional ids."""

from types import SimpleNamespace
from typing import Any

import pytest

from broker_lite.handler.context import Request
from broker_lite.testbench.facts import Facts, api_name
from broker_lite.wire import messages
from broker_lite.wire.structs import Struct

TOPIC_ID = bytes(range(16))


def facts(kind: Any, body: Struct, version: int) -> Facts:
    context: Any = SimpleNamespace(
        node_id=2,
        listener=SimpleNamespace(name="PLAINTEXT"),
        software="lib 1.0",
        connection_id=5,
        cluster=SimpleNamespace(topics_by_id={TOPIC_ID: SimpleNamespace(name="by-id")}),
    )
    frame = b"header" + kind.encode(body, version)
    request = Request(kind.api_key, version, 1, "me", memoryview(bytearray(frame)), 6, False)
    return Facts(context, request)


def test_the_header_and_the_client() -> None:
    found = facts(messages.HeartbeatRequest, messages.HeartbeatRequest(group_id="g"), 4)
    assert (found.api, found.version, found.node_id, found.listener) == (
        "Heartbeat",
        4,
        2,
        "PLAINTEXT",
    )
    assert (found.client_id, found.software, found.connection) == ("me", "lib 1.0", "c5")
    assert found.entities.groups == {"g"}
    assert not found.entities.topics


@pytest.mark.parametrize("version", [9, 13])
def test_produce_by_name_and_by_id(version: int) -> None:
    kind = messages.ProduceRequest
    partition = kind.PartitionProduceData
    topic = kind.TopicProduceData(
        name="t", topic_id=TOPIC_ID, partition_data=[partition(index=i) for i in (3, 1)]
    )
    body = kind(transactional_id="x", acks=-1, timeout_ms=1, topic_data=[topic])
    found = facts(kind, body, version).entities
    name = "t" if version < 13 else "by-id"
    assert found.topics == {name}
    assert found.partitions == {name: {1, 3}}
    assert found.transactional_ids == {"x"}
    assert found.topic_ids == (set() if version < 13 else {TOPIC_ID})


def test_lists_of_partitions_and_of_transactions() -> None:
    kind = messages.AddPartitionsToTxnRequest
    topics = [kind.AddPartitionsToTxnTopic(name="a", partitions=[0, 4])]
    transaction = kind.AddPartitionsToTxnTransaction(
        transactional_id="tx", producer_id=1, topics=topics
    )
    found = facts(kind, kind(transactions=[transaction]), 5).entities
    assert (found.partitions, found.transactional_ids) == ({"a": {0, 4}}, {"tx"})


@pytest.mark.parametrize(("key_type", "attribute"), [(0, "groups"), (1, "transactional_ids")])
def test_what_find_coordinator_asks_for(key_type: int, attribute: str) -> None:
    kind = messages.FindCoordinatorRequest
    old = facts(kind, kind(key="k", key_type=key_type), 3)
    new = facts(kind, kind(coordinator_keys=["k", "l"], key_type=key_type), 4)
    assert getattr(old.entities, attribute) == {"k"}
    assert getattr(new.entities, attribute) == {"k", "l"}


def test_a_group_of_an_older_version_is_none() -> None:
    kind = messages.OffsetFetchRequest
    group = kind.OffsetFetchRequestGroup(group_id="g", topics=[])
    assert facts(kind, kind(groups=[group]), 9).entities.groups == {"g"}


def test_resources() -> None:
    kind = messages.DescribeConfigsRequest
    resource = kind.DescribeConfigsResource(resource_type=2, resource_name="t")
    assert facts(kind, kind(resources=[resource]), 4).entities.resources == {"t"}


def test_what_cannot_be_decoded_names_nothing() -> None:
    found = facts(messages.HeartbeatRequest, messages.HeartbeatRequest(), 4)
    cut = Facts(found.context, found.request._replace(position=len(found.request.body) - 1))
    assert cut.body is None
    assert cut.entities.groups == set()
    assert api_name(999) == "999"
