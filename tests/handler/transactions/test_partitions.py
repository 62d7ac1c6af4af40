"""AddPartitionsToTxn and AddOffsetsToTxn: T-28 to T-32."""

import pytest

from broker_lite.wire import messages
from tests.handler.transactions.transaction_requests import ADD_PARTITIONS, Transactor, add_request


@pytest.mark.parametrize("version", range(6))
def test_t29_partitions_are_added(producer: Transactor, version: int) -> None:
    assert producer.add(0, 1, version=version) == [0, 0]
    assert producer.state == "Ongoing"


@pytest.mark.parametrize("version", range(6))
def test_t28_all_or_none(producer: Transactor, version: int) -> None:
    assert producer.add(0, 2, 1, -1, version=version) == [55, 3, 55, 3]
    assert producer.add(0, topic="unknown", version=version) == [3]
    assert producer.state == "Empty"


@pytest.mark.parametrize(("version", "code"), [(0, 47), (1, 47), (2, 90), (4, 90)])
def test_t29_t30_another_epoch(producer: Transactor, version: int, code: int) -> None:
    producer.producer = (0, 1)
    assert producer.add(0, 1, version=version) == [code, code]


def test_t31_to_ask_only(producer: Transactor) -> None:
    producer.add(0)
    for version in (4, 5):
        value = add_request(producer, {"t": [0, 1]}, version, verify_only=True)
        (result,) = producer.broker.now(ADD_PARTITIONS, version, value).results_by_transaction
        (topic,) = result.topic_results
        codes = [each.partition_error_code for each in topic.results_by_partition]
        assert (result.transactional_id, topic.name, codes) == ("x", "t", [0, 120])


def test_t31_no_transaction_at_all(producer: Transactor) -> None:
    value = messages.AddPartitionsToTxnRequest(transactions=[])
    assert producer.broker.now(ADD_PARTITIONS, 5, value).results_by_transaction == []


def test_t32_a_group(producer: Transactor) -> None:
    assert producer.add_group() == 0
    assert producer.state == "Ongoing"
    producer.producer = (0, 3)
    assert [producer.add_group(version=version) for version in range(5)] == [47, 47, 90, 90, 90]
    producer.producer = (8, 0)
    assert producer.add_group() == 49
