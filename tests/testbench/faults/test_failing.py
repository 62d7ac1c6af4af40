"""Errors for what a rule chooses: the rest is done, and the answer tells both."""

import asyncio
from typing import Any

import pytest

from broker_lite.errors import ErrorCode
from broker_lite.handler.context import CloseConnection
from broker_lite.handler.table import APIS
from broker_lite.record.builder import BatchBuilder
from broker_lite.testbench.faults.wire_faults import FaultAnswer
from broker_lite.wire import messages
from tests.support.handler_broker import join
from tests.testbench.conftest import FaultyBroker, SentBytes, request_of

NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER


def records(count: int = 1) -> bytes:
    builder = BatchBuilder()
    for number in range(count):
        builder.append(1_700_000_000_000 + number, b"k", b"v%d" % number)
    return bytes(builder.build())


def produce(
    bench: FaultyBroker,
    *indexes: int,
    topic_id: bytes = bytes(16),
    version: int = 9,
    acks: int = -1,
) -> Any:
    kind = messages.ProduceRequest
    partitions = [kind.PartitionProduceData(index=each, records=records()) for each in indexes]
    topic = kind.TopicProduceData(
        name="orders" if version < 13 else "", topic_id=topic_id, partition_data=partitions
    )
    return bench.call("Produce", version, acks=acks, timeout_ms=1000, topic_data=[topic])


def end_offset(bench: FaultyBroker, partition: int) -> int:
    return bench.broker.cluster.log("orders", partition).log_end_offset


def by_partition(answer: Any) -> dict[int, int]:
    return {
        each.index: each.error_code
        for topic in answer.responses
        for each in topic.partition_responses
    }


@pytest.mark.parametrize(("applied", "ends"), [(False, [1, 0]), (True, [1, 1])])
def test_p07_without_an_answer_the_connection_is_closed(
    bench: FaultyBroker, applied: bool, ends: list[int]
) -> None:
    bench.topic()
    rule = {"topic": "orders", "partitions": [1], "error": NOT_LEADER.name, "applied": applied}
    fault = bench.rule(keys=["Produce"], **rule)
    kind = messages.ProduceRequest
    partitions = [kind.PartitionProduceData(index=each, records=records()) for each in (0, 1)]
    topic = kind.TopicProduceData(name="orders", partition_data=partitions)
    body = kind(acks=0, timeout_ms=1000, topic_data=[topic])
    answer = asyncio.run(bench.answer(request_of(kind, 9, body)))
    assert isinstance(answer, FaultAnswer)
    with pytest.raises(CloseConnection, match=f"fault {fault.id} .* fails a Produce with acks=0"):
        asyncio.run(answer.leave(SentBytes()))
    assert [end_offset(bench, each) for each in (0, 1)] == ends
    assert fault.hits == 1


def test_one_member_of_those_that_leave_fails(bench: FaultyBroker) -> None:
    fault = bench.rule(keys=["LeaveGroup"], resource="ghost", error="FENCED_INSTANCE_ID", count=3)
    member = messages.LeaveGroupRequest.MemberIdentity
    ghosts = [member(member_id="ghost"), member(group_instance_id="ghost", member_id="")]
    for ghost in ghosts:
        members = [ghost, member(member_id="m1")]
        answer = bench.call("LeaveGroup", 4, group_id="g", members=members)
        assert answer.error_code == 0
        told = {each.group_instance_id or each.member_id: each for each in answer.members}
        assert told["ghost"].error_code == ErrorCode.FENCED_INSTANCE_ID
        assert told["m1"].error_code == ErrorCode.UNKNOWN_MEMBER_ID  # the handler's own
    assert (fault.hits, fault.state().not_applied) == (2, 0)
    bench.call("LeaveGroup", 4, group_id="g", members=[member(member_id="m1")])
    assert fault.hits == 2


@pytest.mark.parametrize("version", [3, 9, 13])
def test_one_partition_of_a_produce_fails(version: int, bench: FaultyBroker) -> None:
    topic_id = bench.topic()
    fault = bench.rule(keys=["Produce"], topic="orders", partitions=[1], error=NOT_LEADER.name)
    answer = produce(bench, 0, 1, 2, topic_id=topic_id, version=version)
    assert by_partition(answer) == {0: 0, 1: NOT_LEADER, 2: 0}
    assert [end_offset(bench, each) for each in range(3)] == [1, 0, 1]
    assert len(answer.responses) == 1
    failed = next(each for each in answer.responses[0].partition_responses if each.error_code)
    assert failed.base_offset == -1
    assert fault.hits == 1
    assert not any(by_partition(produce(bench, 1, topic_id=topic_id, version=version)).values())


def test_a_produce_of_which_all_fails_is_not_handled(bench: FaultyBroker) -> None:
    bench.topic()
    bench.rule(keys=["Produce"], error=NOT_LEADER.name)
    bench.handled.clear()
    assert by_partition(produce(bench, 0, 1)) == {0: NOT_LEADER, 1: NOT_LEADER}
    assert bench.handled == []
    assert end_offset(bench, 0) == 0


@pytest.mark.parametrize("said", [None, True])
def test_the_work_is_done_and_the_error_told(said: bool | None, bench: FaultyBroker) -> None:
    bench.topic()
    fields = {"applied": True} if said else {}
    bench.rule(keys=["Produce"], partitions=[0], error="REQUEST_TIMED_OUT", **fields)
    answer = produce(bench, 0, 1)
    assert by_partition(answer) == {0: ErrorCode.REQUEST_TIMED_OUT, 1: 0}
    assert (end_offset(bench, 0), end_offset(bench, 1)) == (1, 1)


def test_the_work_of_a_timeout_is_not_done_if_the_rule_says_so(bench: FaultyBroker) -> None:
    bench.topic()
    bench.rule(keys=["Produce"], error="REQUEST_TIMED_OUT", applied=False)
    produce(bench, 0)
    assert end_offset(bench, 0) == 0


def fetch(bench: FaultyBroker, indexes: tuple[int, ...], version: int = 12, **fields: Any) -> Any:
    kind = messages.FetchRequest
    partitions = [
        kind.FetchPartition(partition=each, fetch_offset=0, partition_max_bytes=1 << 20)
        for each in indexes
    ]
    topics = [kind.FetchTopic(topic="orders", partitions=partitions)] if indexes else []
    fields = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, "topics": topics, **fields}
    return bench.call("Fetch", version, **fields)


def fetched(answer: Any) -> dict[int, int]:
    return {
        each.partition_index: each.error_code
        for topic in answer.responses
        for each in topic.partitions
    }


def test_one_partition_of_a_fetch_fails(bench: FaultyBroker) -> None:
    bench.topic()
    produce(bench, 0, 1)
    bench.rule(keys=["Fetch"], topic="ord*", partitions=[1], error=NOT_LEADER.name)
    answer = fetch(bench, (0, 1))
    assert fetched(answer) == {0: 0, 1: NOT_LEADER}
    by_index = {each.partition_index: each for each in answer.responses[0].partitions}
    assert bytes(by_index[0].records or b"")
    assert not by_index[1].records
    assert by_index[1].high_watermark == -1


def test_a_partition_that_a_session_leaves_out_fails_too(bench: FaultyBroker) -> None:
    bench.topic()
    first = fetch(bench, (0, 1), session_epoch=0)
    bench.rule(keys=["Fetch"], topic="orders", partitions=[1], error=NOT_LEADER.name)
    again = {"session_id": first.session_id, "session_epoch": 1, "max_wait_ms": 5000}
    assert fetched(fetch(bench, (), **again)) == {1: NOT_LEADER}


def test_a_session_tells_what_it_could_not_tell_before(bench: FaultyBroker) -> None:
    bench.topic()
    produce(bench, 0)
    bench.rule(keys=["Fetch"], topic="orders", error=NOT_LEADER.name)
    first = fetch(bench, (0, 1), session_epoch=0)
    assert fetched(first) == {0: NOT_LEADER, 1: NOT_LEADER}
    for epoch in (1, 2):
        again = {"session_id": first.session_id, "session_epoch": epoch}
        answer = fetch(bench, (), **again)
        assert fetched(answer) == ({0: 0, 1: 0} if epoch == 1 else {0: 0})
        by_index = {each.partition_index: each for each in answer.responses[0].partitions}
        assert by_index[0].records


def test_an_error_of_a_session_is_that_of_the_whole_fetch(bench: FaultyBroker) -> None:
    bench.topic()
    bench.rule(keys=["Fetch"], topic="orders", error="FETCH_SESSION_ID_NOT_FOUND")
    answer = fetch(bench, (0,))
    assert (answer.error_code, answer.responses) == (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, [])


def test_a_large_request(bench: FaultyBroker) -> None:
    kind = messages.CreateTopicsRequest
    topics = [
        kind.CreatableTopic(name=f"a-topic-{number:04}", num_partitions=1, replication_factor=1)
        for number in range(600)
    ]
    bench.rule(keys=["CreateTopics"], topic="a-topic-0007", error="POLICY_VIOLATION")
    answer = bench.call("CreateTopics", 5, topics=topics, timeout_ms=1000)
    codes = {each.name: each.error_code for each in answer.topics}
    assert codes.pop("a-topic-0007") == ErrorCode.POLICY_VIOLATION
    assert set(codes.values()) == {0}
    assert len(codes) == 599 == len(bench.broker.cluster.topics) - 1
    wanted = [messages.MetadataRequest.MetadataRequestTopic(name=each.name) for each in topics]
    bench.rule(keys=["Metadata"], topic="a-topic-0008", error="LEADER_NOT_AVAILABLE")
    answer = bench.call("Metadata", 9, topics=wanted, allow_auto_topic_creation=False)
    failed = {each.name for each in answer.topics if each.error_code == 5}
    assert failed == {"a-topic-0008"}


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("Heartbeat", {"group_id": "g"}),
        ("InitProducerId", {"transactional_id": "x", "transaction_timeout_ms": 1}),
        ("EndTxn", {"transactional_id": "x"}),
        ("ListGroups", {}),
        ("OffsetDelete", {"group_id": "g"}),
    ],
)
def test_an_error_of_the_whole(name: str, fields: dict[str, Any], bench: FaultyBroker) -> None:
    bench.rule(keys=[name], error="COORDINATOR_LOAD_IN_PROGRESS")
    bench.handled.clear()
    key = messages.message(f"{name}Request").api_key
    assert key is not None
    answer = bench.call(name, APIS[key].max_version, **fields)
    assert answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert bench.handled == []


def test_a_broker_that_does_not_know_a_version_of_api_versions(bench: FaultyBroker) -> None:
    bench.rule(keys=["ApiVersions"], versions=[3, 5], error="UNSUPPORTED_VERSION")
    kind = messages.ApiVersionsRequest
    request = request_of(kind, 4, kind(client_software_name="a", client_software_version="1"))
    parts = asyncio.run(bench.answer(request))
    assert parts is not None
    value, _ = messages.ApiVersionsResponse.decode(join(parts), 0)
    [known] = value.api_keys
    assert value.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert (known.api_key, known.min_version, known.max_version) == (18, 0, 3)


def test_a_version_without_an_error_is_served(bench: FaultyBroker) -> None:
    bench.topic()
    fault = bench.rule(keys=["Metadata"], top_level=True, error="REBOOTSTRAP_REQUIRED")
    answer = bench.call("Metadata", 9, topics=None)
    assert "orders" in {each.name for each in answer.topics}
    assert (fault.hits, fault.state().not_applied) == (0, 1)
    assert fault.state().reasons == ["Metadata: version 9 of the answer has no error of the whole"]
    assert bench.call("Metadata", 13, topics=None).error_code == ErrorCode.REBOOTSTRAP_REQUIRED
    assert fault.hits == 1


@pytest.mark.parametrize(
    ("api", "version", "topics"),
    [("Metadata", 0, []), ("Metadata", 12, None), ("DescribeTopicPartitions", 0, [])],
)
def test_a_request_about_all_topics_names_each(
    bench: FaultyBroker, api: str, version: int, topics: list[Any] | None
) -> None:
    bench.topic("orders")
    bench.topic("paid")
    fault = bench.rule(keys=[api], topic="orders", error="LEADER_NOT_AVAILABLE")
    found = {each.name: each.error_code for each in bench.call(api, version, topics=topics).topics}
    assert {name for name, code in found.items() if code} == {"orders"}
    assert found["orders"] == ErrorCode.LEADER_NOT_AVAILABLE
    assert found["paid"] == 0
    assert fault.hits == 1


def test_a_metadata_request_about_no_topic_names_none(bench: FaultyBroker) -> None:
    bench.topic("orders")
    fault = bench.rule(keys=["Metadata"], topic="orders", error="LEADER_NOT_AVAILABLE")
    assert bench.call("Metadata", 12, topics=[]).topics == []
    assert fault.hits == 0
