"""What goes wrong in idempotent producers."""

from typing import Any

import pytest

from broker_lite.handler.context import CloseConnection
from broker_lite.testbench.journal.entry_facts import EntryFacts
from broker_lite.testbench.journal.lint.producers import (
    REMEMBERED_MAX,
    AcksOfIdempotent,
    NewSequences,
)
from broker_lite.wire import messages
from tests.testbench.journal.recorded import Client, batch, produce, produced, recording

PRODUCE = messages.ProduceRequest


@pytest.mark.parametrize(
    ("acks", "producer_id", "count"), [(1, 5, 1), (0, 5, 1), (-1, 5, 0), (1, -1, 0)]
)
def test_acks(acks: int, producer_id: int, count: int) -> None:
    rule = AcksOfIdempotent()
    body = produce(batch(producer_id=producer_id), acks=acks)
    rule.see(EntryFacts(Client(recording()).send(PRODUCE, body, 9, produced())))
    found = list(rule.findings())
    assert [each.count for each in found] == [1] * count
    assert all(each.severity == "error" for each in found)


def sequences(*sent: tuple[bytes, Any]) -> list[list[str]]:
    """The examples that the rule finds."""
    rule = NewSequences()
    client = Client(recording())
    for records, answer in sent:
        rule.see(EntryFacts(client.send(PRODUCE, produce(records), 9, answer)))
    return [each.requests for each in rule.findings()]


LONG = bytes(5000)


@pytest.mark.parametrize("content", [b"same", LONG])
@pytest.mark.parametrize("answer", [None, CloseConnection("lost"), produced(7)])
def test_a_retry_with_another_sequence(content: bytes, answer: Any) -> None:
    first = batch(producer_id=1, sequence=4, content=content)
    again = batch(producer_id=1, sequence=5, content=content)
    assert sequences((first, answer), (again, produced())) == [["r2"]]
    assert sequences((first, answer), (again, answer), (first, produced())) == [["r2", "r3"]]
    assert sequences((first, answer), (first, produced()), (again, produced())) == []


def test_equal_records_are_no_retry() -> None:
    sent = [(batch(producer_id=1, sequence=number), produced()) for number in range(4)]
    assert sequences(*sent) == []


def test_a_producer_without_an_id_has_no_sequences() -> None:
    sent = [(batch(sequence=number), None) for number in range(4)]
    assert sequences(*sent) == []


def test_other_records_are_no_retry() -> None:
    first = batch(producer_id=1, sequence=4, content=b"aaaa")
    other = batch(producer_id=1, sequence=5, content=b"bbbb")
    assert sequences((first, None), (other, None)) == []


def test_what_is_remembered_is_bounded() -> None:
    def sent(sequence: int, number: int) -> tuple[bytes, None]:
        return batch(producer_id=1, sequence=sequence, content=number.to_bytes(4, "big")), None

    lost = [sent(9, number) for number in range(REMEMBERED_MAX + 1)]
    again = [sent(8, number) for number in (0, REMEMBERED_MAX)]
    assert sequences(*lost, *again) == [[f"r{REMEMBERED_MAX + 3}"]]
