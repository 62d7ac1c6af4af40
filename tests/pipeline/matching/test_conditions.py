"""Conditions of records, and what they allow of a batch by its header and its bytes."""

import pytest

from broker_lite.pipeline.matching.conditions import (
    EVERY_RECORD,
    Conditions,
    HeaderCondition,
)
from broker_lite.pipeline.matching.json_condition import JsonCondition
from broker_lite.record.batch import RecordBatch
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.records import Record, iterate_records

HEADERS = ((b"trace", b"1"), (b"empty", None))


def batch(log_append_time_ms: int | None = None) -> RecordBatch:
    """A batch of three records, whose times go back."""
    builder = BatchBuilder(log_append_time_ms=log_append_time_ms)
    builder.append(20, b"key", b'{"id": "x"}', HEADERS)
    builder.append(10, None, b"value")
    builder.append(15, b"other", None)
    data = builder.build()
    return RecordBatch(memoryview(data), 0, len(data))


def found(conditions: Conditions) -> list[int]:
    """The offsets of the records for which the conditions hold."""
    one = batch()
    offsets = [each.offset for each in iterate_records(one) if conditions.hold(each)]
    if offsets:
        assert conditions.allow_times_of(one)
        assert conditions.allow_bytes(bytes(one.records_data))
    return offsets


@pytest.mark.parametrize(
    ("conditions", "offsets"),
    [
        (EVERY_RECORD, [0, 1, 2]),
        (Conditions(keys=frozenset([b"key", b"missing"])), [0]),
        (Conditions(keys=frozenset()), []),
        (Conditions(keys=frozenset([b""])), []),
        (Conditions(headers=(HeaderCondition(b"trace", None),)), [0]),
        (Conditions(headers=(HeaderCondition(b"trace", b"1"),)), [0]),
        (Conditions(headers=(HeaderCondition(b"trace", b"2"),)), []),
        (Conditions(headers=(HeaderCondition(b"empty", b""),)), []),
        (
            Conditions(headers=(HeaderCondition(b"trace", None), HeaderCondition(b"no", None))),
            [],
        ),
        (Conditions(texts=(b"va",)), [1]),
        (Conditions(texts=(b"the",)), [2]),
        (Conditions(texts=(b"va", b"lue")), [1]),
        (Conditions(texts=(b"va", b"the")), []),
        (Conditions(texts=(b"trace",)), []),
        (Conditions(json=JsonCondition("id == 'x'")), [0]),
        (Conditions(from_ms=15), [0, 2]),
        (Conditions(until_ms=15), [1]),
        (Conditions(from_ms=15, until_ms=20, keys=frozenset([b"key"])), []),
    ],
)
def test_records(conditions: Conditions, offsets: list[int]) -> None:
    assert found(conditions) == offsets


@pytest.mark.parametrize(
    "conditions",
    [
        Conditions(keys=frozenset([b"missing"])),
        Conditions(headers=(HeaderCondition(b"trace", b"missing"),)),
        Conditions(headers=(HeaderCondition(b"missing", None),)),
        Conditions(texts=(b"value", b"missing")),
        Conditions(json=JsonCondition("missing.id")),
    ],
)
def test_bytes_that_cannot_have_it(conditions: Conditions) -> None:
    assert conditions.is_of_content
    assert not conditions.allow_bytes(bytes(batch().records_data))


def test_many_keys_and_short_ones_are_not_looked_for_in_bytes() -> None:
    assert Conditions(keys=frozenset(b"key-%d" % number for number in range(9))).sought == []
    assert Conditions(keys=frozenset([b"k"])).sought == []
    assert Conditions(keys=frozenset([b"long", b"k"])).sought == []
    assert Conditions(keys=frozenset([b"long", b"keys"])).sought == [[b"keys", b"long"]]


@pytest.mark.parametrize(
    ("from_ms", "until_ms", "append_time_ms", "is_allowed"),
    [
        (20, None, None, True),
        (21, None, None, False),
        (None, 10, None, True),  # the header does not know the earliest time
        (None, 30, 30, False),
        (None, 31, 30, True),
    ],
)
def test_times_of_a_header(
    from_ms: int | None, until_ms: int | None, append_time_ms: int | None, is_allowed: bool
) -> None:
    conditions = Conditions(from_ms=from_ms, until_ms=until_ms)
    assert conditions.allow_times_of(batch(append_time_ms)) == is_allowed
    assert not conditions.is_of_content


def test_a_record_without_anything() -> None:
    record = Record(0, -1, None, None, (), -1, 6, 0, 0, 0)
    assert EVERY_RECORD.hold(record)
    assert not Conditions(texts=(b"x",)).hold(record)
    assert not Conditions(json=JsonCondition("@")).hold(record)


def test_no_keys_at_all_are_found_nowhere() -> None:
    conditions = Conditions(keys=frozenset())
    assert conditions.sought == []
    assert not conditions.hold_key_and_value(b"k", None)
