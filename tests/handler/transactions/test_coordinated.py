"""What a broker answers that does not coordinate a transaction; measured with three Kafkas."""

import asyncio
from typing import Any

import pytest

from broker_lite.control.topics.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from broker_lite.handler.context import HandlerContext
from broker_lite.handler.transactions import offset_commit
from broker_lite.handler.transactions.check import Support, check_partitions
from broker_lite.wire import messages
from tests.handler.three_brokers import ThreeBrokers
from tests.support.handler_broker import OpenBroker

NAME = "x"


@pytest.fixture
def brokers(open_broker: OpenBroker) -> ThreeBrokers:
    return ThreeBrokers.open(open_broker)


def wrong(brokers: ThreeBrokers) -> int:
    return brokers.other(NAME, TRANSACTIONS_TOPIC)


def right(brokers: ThreeBrokers) -> int:
    return brokers.coordinator(NAME, TRANSACTIONS_TOPIC)


@pytest.mark.parametrize(
    ("name", "timeout_ms", "producer_id", "code"),
    [("x", 9, -1, 16), ("x", 0, -1, 50), ("", 0, -1, 42), ("x", 0, 1, 42), (None, 0, -1, 0)],
)
def test_c61_init_producer_id(
    brokers: ThreeBrokers, name: str | None, timeout_ms: int, producer_id: int, code: int
) -> None:
    answer = brokers.ask(
        wrong(brokers),
        "InitProducerId",
        5,
        transactional_id=name,
        transaction_timeout_ms=timeout_ms,
        producer_id=producer_id,
        producer_epoch=-1,
    )
    assert answer.error_code == code


@pytest.mark.parametrize(("name", "code"), [("x", 16), ("", 42)])
def test_c61_requests_of_a_transaction(brokers: ThreeBrokers, name: str, code: int) -> None:
    node_id = wrong(brokers)
    fields = {"transactional_id": name, "producer_id": 1, "producer_epoch": 0}
    added = brokers.ask(node_id, "AddOffsetsToTxn", 4, group_id="g", **fields)
    assert added.error_code == code
    ended = brokers.ask(node_id, "EndTxn", 5, committed=True, **fields)
    assert (ended.error_code, ended.producer_id, ended.producer_epoch) == (code, -1, -1)
    described = brokers.ask(node_id, "DescribeTransactions", 0, transactional_ids=[name])
    assert [each.error_code for each in described.transaction_states] == [code]


def topics_of(*asked: str) -> list[Any]:
    types = messages.AddPartitionsToTxnRequest
    return [types.AddPartitionsToTxnTopic(name=name, partitions=[0]) for name in asked]


@pytest.mark.parametrize(
    ("name", "topics", "codes"),
    [("x", ["t"], [16]), ("", ["t"], [42]), ("x", ["t", "no"], [55, 3])],
)
def test_c61_partitions_are_looked_at_first(
    brokers: ThreeBrokers, name: str, topics: list[str], codes: list[int]
) -> None:
    answer = brokers.ask(
        wrong(brokers),
        "AddPartitionsToTxn",
        3,
        v3_and_below_transactional_id=name,
        v3_and_below_producer_id=1,
        v3_and_below_topics=topics_of(*topics),
    )
    results = answer.results_by_topic_v3_and_below
    assert [each.results_by_partition[0].partition_error_code for each in results] == codes


@pytest.mark.parametrize("verify_only", [True, False])
def test_c61_transactions_of_brokers(brokers: ThreeBrokers, verify_only: bool) -> None:
    types = messages.AddPartitionsToTxnRequest
    transactions = [
        types.AddPartitionsToTxnTransaction(
            transactional_id=name, producer_id=1, verify_only=verify_only, topics=topics_of(topic)
        )
        for name, topic in (("x", "t"), ("", "t"), ("x2", "no"))
    ]
    answer = brokers.ask(wrong(brokers), "AddPartitionsToTxn", 5, transactions=transactions)
    codes = [
        each.topic_results[0].results_by_partition[0].partition_error_code
        for each in answer.results_by_transaction
    ]
    assert codes == [16, 42, 3]


def test_c61_transactions_are_listed_by_their_coordinator(brokers: ThreeBrokers) -> None:
    fields = {"transactional_id": NAME, "transaction_timeout_ms": 9}
    fields |= {"producer_id": -1, "producer_epoch": -1}
    assert brokers.ask(right(brokers), "InitProducerId", 5, **fields).error_code == 0
    listed = {
        node_id: len(brokers.ask(node_id, "ListTransactions", 1).transaction_states)
        for node_id in (1, 2, 3)
    }
    assert listed == {node_id: int(node_id == right(brokers)) for node_id in (1, 2, 3)}


def test_c61_several_brokers_coordinate_nothing_before_there_is_a_topic(
    open_broker: OpenBroker,
) -> None:
    """Measured: one FindCoordinator creates the topic."""
    fields = {"transactional_id": NAME, "transaction_timeout_ms": 9}
    fields |= {"producer_id": -1, "producer_epoch": -1}
    broker = open_broker(broker_lite_brokers="3")
    assert broker.call("InitProducerId", 5, **fields).error_code == 16
    assert TRANSACTIONS_TOPIC not in broker.cluster.topics
    errors = check_partitions(broker.context, NAME, (1, 0), [("t", 0)], Support.ADD)
    assert errors == {("t", 0): 15}


@pytest.mark.parametrize("support", Support)
def test_c70_partitions_are_checked_wherever_the_coordinator_is(
    brokers: ThreeBrokers, support: Support
) -> None:
    context = brokers.context
    for context.node_id in (1, 2, 3):
        assert check_partitions(context, NAME, (1, 0), [("t", 0)], support) == {("t", 0): 49}
    partition = context.transactions.topic.partition_of(NAME)
    brokers.set_leader(TRANSACTIONS_TOPIC, partition, -1)
    assert check_partitions(context, NAME, (1, 0), [("t", 0)], support) == {("t", 0): 15}


# -- TxnOffsetCommit goes to the coordinator of the group


def commit(
    brokers: ThreeBrokers, node_id: int, version: int, group_id: str, producer_id: int = 1
) -> list[Any]:
    types = messages.TxnOffsetCommitRequest
    topics = [
        types.TxnOffsetCommitRequestTopic(
            name=name,
            partitions=[
                types.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=3)
            ],
        )
        for name in ("t", "no")
    ]
    fields = {"transactional_id": NAME, "producer_id": producer_id, "group_id": group_id}
    answer = brokers.ask(node_id, "TxnOffsetCommit", version, topics=topics, **fields)
    return sorted((each.name, each.partitions[0].error_code) for each in answer.topics)


@pytest.mark.parametrize("version", [3, 4, 5])
def test_c60_offsets_of_a_transaction(brokers: ThreeBrokers, version: int) -> None:
    group, other = brokers.coordinator("g"), brokers.other("g")
    assert commit(brokers, other, version, "g") == [("no", 3), ("t", 16)]
    assert commit(brokers, other, version, "") == [("no", 3), ("t", 24)]
    assert commit(brokers, group, version, "g") == [("no", 3), ("t", 49)]


def test_c60_a_group_that_moves_while_its_transaction_is_checked(
    brokers: ThreeBrokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    node_id = brokers.coordinator("g")

    async def move(context: HandlerContext, _: int) -> None:
        partition = context.groups.partition_of("g")
        brokers.set_leader(OFFSETS_TOPIC, partition, brokers.other("g"))
        await asyncio.sleep(0)

    monkeypatch.setattr(offset_commit, "_refused", lambda *_: None)
    monkeypatch.setattr(offset_commit, "wait_for_coordinators", move)
    assert commit(brokers, node_id, 3, "g") == [("no", 3), ("t", 16)]


# -- WriteTxnMarkers


def test_c71_markers_are_written_by_leaders_only(brokers: ThreeBrokers) -> None:
    """Measured: 6 of a follower, 3 of a broker without a replica."""
    brokers.create("r12", (1, 2))
    brokers.create("only1", (1,))
    types = messages.WriteTxnMarkersRequest
    topics = [
        types.WritableTxnMarkerTopic(name=name, partition_indexes=list(range(count)))
        for name, count in (("t", 3), ("r12", 1), ("only1", 1), ("no", 1), (OFFSETS_TOPIC, 3))
    ]
    marker = types.WritableTxnMarker(producer_id=9, producer_epoch=0, topics=topics)
    offsets = brokers.cluster.topics[OFFSETS_TOPIC].partitions
    expected = {1: [[0], [0]], 2: [[6], [3]], 3: [[3], [3]]}
    for node_id, (r12, only1) in expected.items():
        answer = brokers.ask(node_id, "WriteTxnMarkers", 1, markers=[marker])
        (result,) = answer.markers
        codes = [[each.error_code for each in topic.partitions] for topic in result.topics]
        leads = [0 if index + 1 == node_id else 6 for index in range(3)]
        own = [0 if each.leader == node_id else 6 for each in offsets]
        assert codes == [leads, r12, only1, [3], own]
    brokers.set_leader("only1", 0, -1)
    answer = brokers.ask(1, "WriteTxnMarkers", 1, markers=[marker])
    assert answer.markers[0].topics[2].partitions[0].error_code == 6


def test_c69_offsets_are_committed_when_the_coordinator_of_their_group_is_back(
    brokers: ThreeBrokers,
) -> None:
    node_id, transactions = right(brokers), brokers.context.transactions
    fields = {"transactional_id": NAME, "producer_id": -1, "producer_epoch": -1}
    given = brokers.ask(node_id, "InitProducerId", 5, transaction_timeout_ms=9000, **fields)
    fields |= {"producer_id": given.producer_id, "producer_epoch": given.producer_epoch}
    leader = brokers.coordinator("g")
    assert commit(brokers, leader, 5, "g", given.producer_id) == [("no", 3), ("t", 0)]
    brokers.set_leader(OFFSETS_TOPIC, brokers.partition("g"), -1)
    ended = brokers.ask(node_id, "EndTxn", 5, committed=True, **fields)
    assert ended.error_code == 0

    def state() -> str:
        described = brokers.ask(node_id, "DescribeTransactions", 0, transactional_ids=[NAME])
        return str(described.transaction_states[0].transaction_state)

    assert state() == "PrepareCommit"
    back = next(each for each in (1, 2, 3) if each != leader)
    brokers.set_leader(OFFSETS_TOPIC, brokers.partition("g"), back)
    transactions.on_time()
    assert state() == "CompleteCommit"
    group = messages.OffsetFetchRequest.OffsetFetchRequestGroup(group_id="g", topics=None)
    (fetched,) = brokers.ask(back, "OffsetFetch", 8, groups=[group], require_stable=True).groups
    (topic,) = fetched.topics
    assert [each.committed_offset for each in topic.partitions] == [3]
