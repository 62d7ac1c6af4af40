"""Who is asked about a partition: C-30, C-32, and each API that only a leader may answer."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.errors import (
    FencedLeaderEpoch,
    NotLeaderOrFollower,
    UnknownLeaderEpoch,
    UnknownTopicOrPartition,
)
from broker_lite.handler.leadership import check_leader, check_leader_epoch
from broker_lite.wire import messages
from tests.log.batches import batch, record
from tests.support.handler_broker import HandlerBroker, OpenBroker, one

LEADER, FOLLOWER, STRANGER = 1, 2, 3
EPOCH = 2


@pytest.fixture
def broker(open_broker: OpenBroker) -> HandlerBroker:
    """A partition that is led in epoch 2 by broker 1, followed by broker 2, unknown to broker 3."""
    opened = open_broker(broker_lite_brokers="3")
    cluster = opened.cluster
    new = NewTopic("t", assignments=((0, (LEADER, FOLLOWER)),))
    (topic,) = cluster.create_topics([cluster.plan_topic(new)])
    cluster.make_logs(topic)
    for _ in range(EPOCH):
        topic = cluster.topics["t"]
        before = topic.partitions[0]
        after = before._replace(leader_epoch=before.leader_epoch + 1)
        cluster.controller.alter(topic, 0, after)
    cluster.log("t", 0).append_batch(batch(record()), now_ms=1)
    return opened


def refusal(
    broker: HandlerBroker, node_id: int, epoch: int = -1, *, may_follow: bool = False
) -> type[Exception] | None:
    log = broker.cluster.log("t", 0)
    try:
        check_leader(broker.cluster, node_id, log, epoch, may_follow=may_follow)
    except (NotLeaderOrFollower, FencedLeaderEpoch, UnknownLeaderEpoch) as error:
        return type(error)
    return None


@pytest.mark.parametrize(
    ("node_id", "epoch", "expected"),
    [
        (LEADER, -1, None),
        (LEADER, EPOCH, None),
        (LEADER, EPOCH - 1, FencedLeaderEpoch),
        (LEADER, EPOCH + 1, UnknownLeaderEpoch),
        # The epoch is looked at before the question who leads.
        (FOLLOWER, -1, NotLeaderOrFollower),
        (FOLLOWER, EPOCH, NotLeaderOrFollower),
        (FOLLOWER, EPOCH - 1, FencedLeaderEpoch),
        (FOLLOWER, EPOCH + 1, UnknownLeaderEpoch),
        # A broker without a replica knows no epoch.
        (STRANGER, -1, NotLeaderOrFollower),
        (STRANGER, EPOCH - 1, NotLeaderOrFollower),
        (STRANGER, EPOCH + 1, NotLeaderOrFollower),
    ],
)
def test_c32_the_leader_answers(
    broker: HandlerBroker, node_id: int, epoch: int, expected: type[Exception] | None
) -> None:
    assert refusal(broker, node_id, epoch) is expected


@pytest.mark.parametrize(
    ("node_id", "epoch", "expected"),
    [
        (LEADER, EPOCH, None),
        (FOLLOWER, -1, None),
        (FOLLOWER, EPOCH, None),
        (FOLLOWER, EPOCH - 1, FencedLeaderEpoch),
        (FOLLOWER, EPOCH + 1, UnknownLeaderEpoch),
        (STRANGER, -1, NotLeaderOrFollower),
        (STRANGER, EPOCH - 1, NotLeaderOrFollower),
    ],
)
def test_c32_at_times_a_follower_answers(
    broker: HandlerBroker, node_id: int, epoch: int, expected: type[Exception] | None
) -> None:
    assert refusal(broker, node_id, epoch, may_follow=True) is expected


def test_c32_without_a_leader_nobody_answers(broker: HandlerBroker) -> None:
    for node_id in (FOLLOWER, LEADER):
        broker.cluster.controller.fence(node_id)
    for node_id in (LEADER, FOLLOWER, STRANGER):
        assert refusal(broker, node_id) is NotLeaderOrFollower
    assert refusal(broker, LEADER, EPOCH) is FencedLeaderEpoch


def test_c32_who_leads_is_asked_anew_after_each_election(broker: HandlerBroker) -> None:
    broker.cluster.controller.fence(LEADER)
    assert refusal(broker, LEADER) is NotLeaderOrFollower
    assert refusal(broker, FOLLOWER) is None
    assert refusal(broker, FOLLOWER, EPOCH) is FencedLeaderEpoch
    assert refusal(broker, FOLLOWER, EPOCH + 1) is None


def test_c32_a_replica_that_was_taken_away_is_no_replica(broker: HandlerBroker) -> None:
    topic = broker.cluster.topics["t"]
    before = topic.partitions[0]
    moved = before._replace(
        replicas=(LEADER, STRANGER), isr=(LEADER, STRANGER), leader_epoch=before.leader_epoch + 1
    )
    broker.cluster.controller.alter(topic, 0, moved)
    assert refusal(broker, FOLLOWER, EPOCH, may_follow=True) is NotLeaderOrFollower
    assert refusal(broker, STRANGER, EPOCH, may_follow=True) is FencedLeaderEpoch
    assert refusal(broker, STRANGER, EPOCH + 1, may_follow=True) is None


def test_c32_a_partition_that_is_gone_has_no_replicas(broker: HandlerBroker) -> None:
    log = broker.cluster.log("t", 0)
    broker.cluster.delete_topics([broker.cluster.topics["t"]])
    with pytest.raises(NotLeaderOrFollower):
        check_leader(broker.cluster, FOLLOWER, log)
    with pytest.raises(UnknownTopicOrPartition):
        broker.cluster.log("t", 0)


@pytest.mark.parametrize(
    ("epoch", "error"), [(EPOCH - 1, FencedLeaderEpoch), (EPOCH + 1, UnknownLeaderEpoch)]
)
def test_f05_f20_the_epochs_have_to_be_the_same(
    broker: HandlerBroker, epoch: int, error: type[Exception]
) -> None:
    log = broker.cluster.log("t", 0)
    check_leader_epoch(log, EPOCH)
    check_leader_epoch(log, -1)
    with pytest.raises(error):
        check_leader_epoch(log, epoch)


# -- the APIs


def fetch(broker: HandlerBroker, version: int = 13, epoch: int = -1, replica_id: int = -1) -> Any:
    request = messages.FetchRequest
    partition = request.FetchPartition(
        partition=0, partition_max_bytes=1 << 20, current_leader_epoch=epoch
    )
    topic = request.FetchTopic(
        topic="t", topic_id=broker.cluster.topics["t"].topic_id, partitions=[partition]
    )
    fields: dict[str, Any] = {"topics": [topic], "min_bytes": 0, "max_bytes": 1 << 20}
    if version >= 15:
        fields["replica_state"] = request.ReplicaState(replica_id=replica_id)
    else:
        fields["replica_id"] = replica_id
    response = broker.call("Fetch", version, **fields)
    return one(one(response.responses).partitions)


def fetch_code(broker: HandlerBroker, epoch: int) -> int:
    code: int = fetch(broker, 10, epoch).error_code
    return code


def produce_code(broker: HandlerBroker, epoch: int) -> int:
    del epoch
    request = messages.ProduceRequest
    partition = request.PartitionProduceData(index=0, records=bytes(batch(record())))
    topic = request.TopicProduceData(name="t", partition_data=[partition])
    response = broker.call("Produce", 9, acks=1, timeout_ms=1, topic_data=[topic])
    code: int = one(one(response.responses).partition_responses).error_code
    return code


def list_offsets_code(broker: HandlerBroker, epoch: int) -> int:
    request = messages.ListOffsetsRequest
    partition = request.ListOffsetsPartition(
        partition_index=0, timestamp=-1, current_leader_epoch=epoch
    )
    topic = request.ListOffsetsTopic(name="t", partitions=[partition])
    response = broker.call("ListOffsets", 7, replica_id=-1, topics=[topic])
    code: int = one(one(response.topics).partitions).error_code
    return code


def epoch_end_code(broker: HandlerBroker, epoch: int) -> int:
    request = messages.OffsetForLeaderEpochRequest
    partition = request.OffsetForLeaderPartition(
        partition=0, leader_epoch=0, current_leader_epoch=epoch
    )
    topic = request.OffsetForLeaderTopic(topic="t", partitions=[partition])
    response = broker.call("OffsetForLeaderEpoch", 4, replica_id=-1, topics=[topic])
    code: int = one(one(response.topics).partitions).error_code
    return code


def delete_records_code(broker: HandlerBroker, epoch: int) -> int:
    del epoch
    request = messages.DeleteRecordsRequest
    partition = request.DeleteRecordsPartition(partition_index=0, offset=0)
    topic = request.DeleteRecordsTopic(name="t", partitions=[partition])
    response = broker.call("DeleteRecords", 2, topics=[topic])
    code: int = one(one(response.topics).partitions).error_code
    return code


def producers_code(broker: HandlerBroker, epoch: int) -> int:
    del epoch
    request = messages.DescribeProducersRequest
    topic = request.TopicRequest(name="t", partition_indexes=[0])
    response = broker.call("DescribeProducers", 0, topics=[topic])
    code: int = one(one(response.topics).partitions).error_code
    return code


def marker_code(broker: HandlerBroker, epoch: int) -> int:
    del epoch
    request = messages.WriteTxnMarkersRequest
    topic = request.WritableTxnMarkerTopic(name="t", partition_indexes=[0])
    marker = request.WritableTxnMarker(producer_id=1, transaction_result=True, topics=[topic])
    response = broker.call("WriteTxnMarkers", 1, markers=[marker])
    code: int = one(one(one(response.markers).topics).partitions).error_code
    return code


Ask = Callable[[HandlerBroker, int], int]
WITH_EPOCH: Sequence[Ask] = (fetch_code, list_offsets_code, epoch_end_code)


@pytest.mark.parametrize(
    ("ask", "leader", "follower", "stranger"),
    [
        (produce_code, 0, 6, 6),
        (fetch_code, 0, 6, 6),
        (list_offsets_code, 0, 6, 6),
        (epoch_end_code, 0, 6, 6),
        (delete_records_code, 0, 6, 6),
        (producers_code, 0, 0, 6),
        (marker_code, 0, 6, 3),
    ],
    ids=lambda each: each.__name__ if callable(each) else str(each),
)
def test_p71_each_api_is_answered_where_the_partition_is(
    broker: HandlerBroker, ask: Ask, leader: int, follower: int, stranger: int
) -> None:
    found = []
    for node_id in (LEADER, FOLLOWER, STRANGER):
        broker.talk_to(node_id)
        found.append(ask(broker, -1))
    assert found == [leader, follower, stranger]


@pytest.mark.parametrize("ask", WITH_EPOCH, ids=lambda ask: ask.__name__)
@pytest.mark.parametrize(
    ("node_id", "codes"),
    [(LEADER, [74, 0, 75]), (FOLLOWER, [74, 6, 75]), (STRANGER, [6, 6, 6])],
    ids=["leader", "follower", "stranger"],
)
def test_c32_an_epoch_is_checked_where_there_is_a_replica(
    broker: HandlerBroker, ask: Ask, node_id: int, codes: list[int]
) -> None:
    broker.talk_to(node_id)
    assert [ask(broker, epoch) for epoch in (EPOCH - 1, EPOCH, EPOCH + 1)] == codes


@pytest.mark.parametrize("version", range(4, 18))
@pytest.mark.parametrize("replica_id", [-1, -2])
def test_c30_followers_are_read_from_version_11_on(
    broker: HandlerBroker, version: int, replica_id: int
) -> None:
    """F-02: a debugging consumer (-2) may read no more than others do."""
    broker.talk_to(FOLLOWER)
    answer = fetch(broker, version, replica_id=replica_id)
    assert answer.error_code == (0 if version >= 11 else 6)
    assert (answer.high_watermark, bool(answer.records)) == (
        (1, True) if version >= 11 else (-1, False)
    )


@pytest.mark.parametrize("version", range(4, 18))
def test_c30_a_follower_may_fetch_from_the_leader_only(broker: HandlerBroker, version: int) -> None:
    broker.talk_to(FOLLOWER)
    assert fetch(broker, version, replica_id=STRANGER).error_code == 6


@pytest.mark.parametrize("version", [11, 17])
def test_c30_a_broker_without_a_replica_is_not_read_from(
    broker: HandlerBroker, version: int
) -> None:
    broker.talk_to(STRANGER)
    assert fetch(broker, version).error_code == 6


def test_produce_changes_nothing_at_a_follower(broker: HandlerBroker) -> None:
    """C-32."""
    before = broker.cluster.log("t", 0).log_end_offset
    for node_id in (FOLLOWER, STRANGER):
        broker.talk_to(node_id)
        assert produce_code(broker, -1) == 6
    assert broker.cluster.log("t", 0).log_end_offset == before
