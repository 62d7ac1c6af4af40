"""Producers and transactions with limited rights: X-54, X-60, X-61."""

from pathlib import Path
from typing import Any

import pytest

from broker_lite.security.acls.acl import CLUSTER_NAME, Operation, Permission, ResourceType
from broker_lite.wire import messages
from tests.handler.data_apis import DESCRIBE_PRODUCERS, INIT_PRODUCER_ID, TOPIC, Handlers
from tests.handler.transactions.transaction_requests import (
    ADD_PARTITIONS,
    DESCRIBE,
    LIST,
    MARKERS,
    NAME,
    Transactor,
    add_request,
)
from tests.support.acls import acl, apply_acls

ID, CLUSTER, GROUP = (*(ResourceType.TRANSACTIONAL_ID, ResourceType.CLUSTER, ResourceType.GROUP),)
WRITE_ID = acl(Operation.WRITE, ID, NAME)
WRITE = acl(Operation.WRITE)
INTERNAL = "__transaction_state"


def on_cluster(operation: Operation) -> Any:
    return acl(operation, CLUSTER, CLUSTER_NAME)


@pytest.mark.parametrize(
    ("rights", "code"),
    [
        ([on_cluster(Operation.IDEMPOTENT_WRITE)], 0),
        ([acl(Operation.WRITE, name="whatever")], 0),
        ([acl(Operation.WRITE, name="*")], 0),
        ([acl(Operation.READ)], 31),
        ([WRITE_ID], 31),
        ([acl(Operation.ALL), acl(Operation.ALL, name="*", permission=Permission.DENY)], 31),
    ],
)
def test_t12_x54_an_idempotent_producer(handlers: Handlers, rights: list[Any], code: int) -> None:
    apply_acls(handlers.context, *rights)
    answer = handlers.now(
        INIT_PRODUCER_ID, 4, messages.InitProducerIdRequest(transactional_id=None)
    )
    assert answer.error_code == code
    assert (answer.producer_id, answer.producer_epoch) == ((-1, -1) if code else (0, 0))


def test_t12_x54_rights_come_before_t13(producer: Transactor) -> None:
    handlers = producer.broker
    value = messages.InitProducerIdRequest(transactional_id=NAME, producer_id=7, producer_epoch=-1)
    apply_acls(handlers.context, on_cluster(Operation.IDEMPOTENT_WRITE), WRITE)
    assert handlers.now(INIT_PRODUCER_ID, 4, value).error_code == 53
    apply_acls(handlers.context, WRITE_ID)
    assert handlers.now(INIT_PRODUCER_ID, 4, value).error_code == 42


def added(producer: Transactor, topics: dict[str, list[int]], version: int = 3) -> Any:
    answer = producer.broker.now(ADD_PARTITIONS, version, add_request(producer, topics, version))
    return {
        topic.name: [each.partition_error_code for each in topic.results_by_partition]
        for topic in answer.results_by_topic_v3_and_below
    }


def test_t28_x54_all_partitions_or_none(producer: Transactor) -> None:
    handlers = producer.broker
    handlers.create("other")
    apply_acls(handlers.context, WRITE_ID, WRITE, acl(Operation.WRITE, name="gone"))
    topics = {TOPIC: [0, 9], "other": [0], "unknown": [0], "gone": [0]}
    expected = {TOPIC: [55, 3], "other": [29], "unknown": [29], "gone": [3]}
    assert added(producer, topics) == expected
    assert added(producer, {TOPIC: [0]}) == {TOPIC: [0]}
    apply_acls(handlers.context, WRITE)
    assert added(producer, topics) == {name: [53] * len(each) for name, each in topics.items()}


def test_t28_nobody_adds_internal_topics(producer: Transactor) -> None:
    assert INTERNAL in producer.broker.cluster.topics
    assert added(producer, {INTERNAL: [0], TOPIC: [0]}) == {INTERNAL: [29], TOPIC: [55]}
    apply_acls(producer.broker.context, WRITE_ID, acl(Operation.ALL, name="*"))
    assert added(producer, {INTERNAL: [0], TOPIC: [0]}) == {INTERNAL: [29], TOPIC: [55]}


def test_x54_only_brokers_send_several_transactions(producer: Transactor) -> None:
    value = add_request(producer, {TOPIC: [0]}, 5)
    apply_acls(producer.broker.context, WRITE_ID, WRITE)
    answer = producer.broker.now(ADD_PARTITIONS, 5, value)
    assert (answer.error_code, answer.results_by_transaction) == (31, [])
    apply_acls(producer.broker.context, on_cluster(Operation.CLUSTER_ACTION))
    assert producer.add(0, version=5) == [0]


def test_t32_x54_add_offsets(producer: Transactor) -> None:
    read_group = acl(Operation.READ, GROUP, "g")
    for rights, code in (
        ([read_group], 53),
        ([WRITE_ID], 30),
        ([], 53),
        ([WRITE_ID, read_group], 0),
    ):
        apply_acls(producer.broker.context, *rights)
        assert producer.add_group() == code


def test_t46_x54_end(producer: Transactor) -> None:
    producer.add(0)
    apply_acls(producer.broker.context, WRITE)
    assert producer.end(version=3) == 53
    apply_acls(producer.broker.context, WRITE_ID)
    assert producer.end(version=3) == 0


@pytest.mark.parametrize(
    ("rights", "code"),
    [
        ([on_cluster(Operation.ALTER)], 0),
        ([on_cluster(Operation.CLUSTER_ACTION)], 0),
        ([on_cluster(Operation.DESCRIBE), WRITE, WRITE_ID], 31),
    ],
)
def test_t59_x60_markers(producer: Transactor, rights: list[Any], code: int) -> None:
    producer.add(0)
    producer.produce(0, version=11)
    handlers = producer.broker
    apply_acls(handlers.context, *rights)
    types = messages.WriteTxnMarkersRequest
    topics = [
        types.WritableTxnMarkerTopic(name=name, partition_indexes=[0])
        for name in (TOPIC, "unknown")
    ]
    marker = types.WritableTxnMarker(
        producer_id=producer.producer[0], producer_epoch=producer.producer[1], topics=topics
    )
    (answer,) = handlers.now(MARKERS, 1, types(markers=[marker])).markers
    found = [each.error_code for topic in answer.topics for each in topic.partitions]
    assert found == ([0, 3] if code == 0 else [31, 31])
    assert handlers.log().log_end_offset == (2 if code == 0 else 1)


def describe(handlers: Handlers, *ids: str) -> list[tuple[str, int, list[str]]]:
    value = messages.DescribeTransactionsRequest(transactional_ids=list(ids))
    return [
        (each.transactional_id, each.error_code, [topic.topic for topic in each.topics])
        for each in handlers.now(DESCRIBE, 0, value).transaction_states
    ]


def test_x61_transactions_are_described_without_hidden_topics(producer: Transactor) -> None:
    handlers = producer.broker
    handlers.create("other")
    assert added(producer, {TOPIC: [0], "other": [0]}) == {TOPIC: [0], "other": [0]}
    apply_acls(handlers.context, acl(Operation.DESCRIBE, ID, NAME), acl(Operation.READ))
    expected = [("hidden", 53, []), (NAME, 0, [TOPIC])]
    assert describe(handlers, "hidden", NAME) == expected
    handlers.context.authorizer = None
    assert describe(handlers, NAME) == [(NAME, 0, ["other", TOPIC])]


def test_x61_transactions_are_listed_that_the_client_may_describe(producer: Transactor) -> None:
    handlers = producer.broker
    assert Transactor(handlers, "hidden").init() == 0
    apply_acls(handlers.context, acl(Operation.WRITE, ID, NAME))
    value = messages.ListTransactionsRequest()
    answer = handlers.now(LIST, 2, value)
    assert [each.transactional_id for each in answer.transaction_states] == [NAME]
    assert answer.error_code == 0


def test_x61_producers(handlers: Handlers) -> None:
    apply_acls(handlers.context, acl(Operation.READ), acl(Operation.DESCRIBE, name="other"))
    types = messages.DescribeProducersRequest
    names = (TOPIC, "other", "un known")
    topics = [types.TopicRequest(name=name, partition_indexes=[0]) for name in names]
    answer = handlers.now(DESCRIBE_PRODUCERS, 0, types(topics=topics))
    found = [
        (each.partitions[0].error_code, each.partitions[0].error_message) for each in answer.topics
    ]
    assert found[:2] == [(0, None), (29, "Topic authorization failed.")]
    assert found[2][0] == 17


def test_t69_x54_two_phases_need_a_right_of_their_own(tmp_path: Path) -> None:
    handlers = Handlers(tmp_path, settings={"transaction.two.phase.commit.enable": "true"})
    asked = messages.InitProducerIdRequest(transactional_id=NAME, enable2_pc=True)
    codes = []
    for rights in (
        [WRITE_ID],
        [acl(Operation.TWO_PHASE_COMMIT, ID, NAME)],
        [WRITE_ID, acl(Operation.TWO_PHASE_COMMIT, ID, NAME)],
    ):
        apply_acls(handlers.context, *rights)
        codes.append(handlers.now(INIT_PRODUCER_ID, 6, asked).error_code)
    handlers.cluster.close()
    assert codes == [53, 53, 0]
