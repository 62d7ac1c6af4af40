"""Poison in the answer of a Fetch; the log keeps what is right."""

from typing import Any

import pytest

from broker_lite.record.batch import parse_header
from broker_lite.testbench.faults.poison.catalogue import POISONS
from broker_lite.wire import messages
from tests.testbench.conftest import FaultyBroker
from tests.testbench.faults.test_failing import fetch, produce, records


def produced(bench: FaultyBroker, *indexes: int) -> None:
    kind = messages.ProduceRequest
    partitions = [kind.PartitionProduceData(index=each, records=records(3)) for each in indexes]
    topic = kind.TopicProduceData(name="orders", partition_data=partitions)
    bench.call("Produce", 9, acks=-1, timeout_ms=1000, topic_data=[topic])


def data_of(answer: Any) -> dict[int, bytes]:
    return {
        each.partition_index: bytes(each.records or b"")
        for topic in answer.responses
        for each in topic.partitions
    }


@pytest.mark.parametrize("name", POISONS)
def test_the_first_chosen_partition_is_spoiled_once(name: str, bench: FaultyBroker) -> None:
    bench.topic()
    produced(bench, 0, 1, 2)
    right = data_of(fetch(bench, (0, 1, 2)))
    fault = bench.rule(keys=["Fetch"], topic="orders", partitions=[1, 2], poison=name)
    answer = fetch(bench, (0, 1, 2))
    wrong = data_of(answer)
    assert fault.hits == 1, fault.state().reasons
    assert {each: len(data) for each, data in wrong.items()} == {
        each: len(data) for each, data in right.items()
    }
    assert [each for each in right if right[each] != wrong[each]] == [1]
    stable = {
        each.partition_index: each.last_stable_offset for each in answer.responses[0].partitions
    }
    assert stable == {0: 3, 1: 0 if name == "open-transaction" else 3, 2: 3}
    assert data_of(fetch(bench, (0, 1, 2))) == right


def test_an_answer_without_records_is_left_alone(bench: FaultyBroker) -> None:
    bench.topic()
    fault = bench.rule(keys=["Fetch"], topic="orders", partitions=[1], poison="bad-crc")
    produce(bench, 0)
    fetch(bench, (0, 1))
    assert fault.state().reasons == ["Fetch: the answer has no records of what is chosen"]
    produce(bench, 1)
    spoiled = data_of(fetch(bench, (0, 1)))[1]
    assert fault.hits == 1
    assert parse_header(spoiled).base_offset == 0


def test_only_fetch_can_be_poisoned(bench: FaultyBroker) -> None:
    fault = bench.rule(poison="bad-crc")
    bench.call("Heartbeat", 4, group_id="g")
    assert fault.state().reasons == ["Heartbeat: only a Fetch answer has records"]
