"""Produce by clients whose rights are limited: X-46, X-63."""

from typing import Any

import pytest

from broker_lite.handler.context import CloseConnection
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.security.acls.authorizer import Authorizer
from broker_lite.security.principal import Principal
from broker_lite.wire import messages
from tests.handler.data_apis import PRODUCE, TOPIC, Handlers
from tests.handler.transactions.transaction_requests import NAME, TRANSACTIONAL, Transactor
from tests.log.batches import batch, record
from tests.support.acls import acl, apply_acls
from tests.support.handler_broker import HandlerBroker

DATA = batch(record())
WRITE = acl(Operation.WRITE)


def request(*names: str | bytes, transactional_id: str | None = None, data: bytes = DATA) -> Any:
    """A record for partition 0 of each topic, by name or by id."""
    types = messages.ProduceRequest
    return types(
        acks=-1,
        timeout_ms=1000,
        transactional_id=transactional_id,
        topic_data=[
            types.TopicProduceData(
                name="" if isinstance(name, bytes) else name,
                topic_id=name if isinstance(name, bytes) else bytes(16),
                partition_data=[types.PartitionProduceData(index=0, records=data)],
            )
            for name in names
        ],
    )


def codes(handlers: Handlers, value: Any, version: int = 8) -> dict[str | bytes, int]:
    """The error of each topic."""
    answer = handlers.now(PRODUCE, version, value)
    return {
        topic.topic_id if version >= 13 else topic.name: topic.partition_responses[0].error_code
        for topic in answer.responses
    }


def test_x46_denied_topics_are_refused_and_the_others_go_on(handlers: Handlers) -> None:
    handlers.create("other")
    apply_acls(handlers.context, WRITE)
    value = request("other", TOPIC, "unknown")
    assert codes(handlers, value) == {TOPIC: 0, "other": 29, "unknown": 29}
    assert handlers.log().log_end_offset == 1
    assert handlers.log(0, "other").log_end_offset == 0


def test_x46_a_right_on_a_topic_that_is_not_there_shows_that_it_is_not(handlers: Handlers) -> None:
    apply_acls(handlers.context, acl(Operation.WRITE, name="unknown"))
    assert codes(handlers, request("unknown")) == {"unknown": 3}


def test_x63_an_unknown_id_is_no_secret(handlers: Handlers) -> None:
    other = handlers.create("other")
    apply_acls(handlers.context, WRITE)
    known, unknown = handlers.topic_id(), b"u" * 16
    value = request(known, other, unknown)
    assert codes(handlers, value, 13) == {known: 0, other: 29, unknown: 100}


def test_x46_with_acks_0_a_denied_topic_closes_the_connection(handlers: Handlers) -> None:
    handlers.create("other")
    apply_acls(handlers.context, WRITE)
    value = request("other", TOPIC)
    value.acks = 0
    with pytest.raises(CloseConnection, match="error 29"):
        handlers.now(PRODUCE, 8, value)
    assert handlers.log().log_end_offset == 1


def test_x46_v06_a_malformed_header_fails_also_what_is_denied(handlers: Handlers) -> None:
    apply_acls(handlers.context, WRITE)
    value = request(TOPIC, "other")
    value.topic_data[1].partition_data[0].records = bytes(20)
    assert codes(handlers, value) == {TOPIC: 2, "other": 2}


def test_x46_records_of_a_denied_topic_are_not_looked_at_otherwise(handlers: Handlers) -> None:
    apply_acls(handlers.context, WRITE)
    assert codes(handlers, request("other", data=batch(record(), magic=1))) == {"other": 29}


@pytest.mark.parametrize("version", [8, 11, 12])
def test_x46_transactional_records_need_the_id(producer: Transactor, version: int) -> None:
    handlers = producer.broker
    data = batch(record(), attributes=TRANSACTIONAL, producer=(*producer.producer, 0))
    value = request(TOPIC, "unknown", transactional_id=NAME, data=data)
    apply_acls(handlers.context, WRITE)
    assert codes(handlers, value, version) == {TOPIC: 53, "unknown": 53}
    apply_acls(handlers.context, WRITE, acl(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, NAME))
    expected = 0 if version == 12 else 48 if version == 8 else 120
    assert codes(handlers, value, version) == {TOPIC: expected, "unknown": 29}


def test_x46_v07_a_transaction_without_an_id_fails_the_whole_request(handlers: Handlers) -> None:
    apply_acls(handlers.context, WRITE)
    data = batch(record(), attributes=TRANSACTIONAL, producer=(1, 0, 0))
    assert codes(handlers, request(TOPIC, "other", data=data)) == {TOPIC: 53, "other": 53}


def test_x46_an_id_without_transactional_records_is_not_asked_about(handlers: Handlers) -> None:
    apply_acls(handlers.context, WRITE)
    assert codes(handlers, request(TOPIC, transactional_id=NAME)) == {TOPIC: 0}


class Counting(Authorizer):
    """Counts the questions."""

    asked = 0

    def allows(
        self,
        principal: Principal,
        host: str,
        operation: Operation,
        resource_type: ResourceType,
        name: str,
    ) -> bool:
        self.asked += 1
        return super().allows(principal, host, operation, resource_type, name)


def test_x46_each_topic_is_decided_once(handlers: Handlers) -> None:
    index = apply_acls(handlers.context, WRITE)
    handlers.context.authorizer = counting = Counting(index)
    value = request(*[TOPIC, "other"] * 5)
    for topic in value.topic_data:
        topic.partition_data *= 20
    handlers.now(PRODUCE, 8, value)
    assert counting.asked == 2


@pytest.mark.usefixtures("short_turns")
def test_x46_a_request_of_very_many_partitions(broker: HandlerBroker) -> None:
    broker.cluster.create_topic(TOPIC)
    apply_acls(broker.context, WRITE)
    value = request(*(f"no-{number}" for number in range(1500)), TOPIC)
    answer = broker.request("Produce", 8, value)
    found = {topic.name: topic.partition_responses[0].error_code for topic in answer.responses}
    assert found.pop(TOPIC) == 0
    assert len(found) == 1500
    assert set(found.values()) == {29}
