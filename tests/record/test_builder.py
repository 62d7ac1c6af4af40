"""R-50 to R-55; TV-01 to TV-38 rebuilt from their records."""

from typing import Any

import pytest

from broker_lite.errors import UnknownServerError
from broker_lite.record.builder import (
    BatchBuilder,
    normalised_header_key,
)
from broker_lite.record.records import iterate_records
from tests.record.support import BATCHES, batch_of, raw_record

# zstd's bytes depend on the version of its library; empty batches are the cleaner's.
REBUILT = [
    vector
    for vector in BATCHES.values()
    if vector["records"] and vector["id"] not in ("TV-14", "TV-15", "TV-34")
]


def builder_for(vector: dict[str, Any]) -> BatchBuilder:
    batch = batch_of(vector["hex"])
    builder = BatchBuilder(
        base_offset=batch.base_offset,
        codec=batch.codec,
        log_append_time_ms=batch.max_timestamp if batch.is_log_append_time else None,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        is_transactional=batch.is_transactional,
        is_control=batch.is_control,
        leader_epoch=batch.leader_epoch,
        delete_horizon_ms=batch.delete_horizon_ms,
    )
    for record in iterate_records(batch):
        builder.append(
            batch.base_timestamp + record.timestamp_delta,
            record.key,
            record.value,
            record.headers,
            offset=record.offset,
        )
    builder.override_last_offset(batch.last_offset)
    return builder


@pytest.mark.parametrize("vector", REBUILT, ids=lambda vector: vector["id"])
def test_r_51_same_bytes_as_java(vector: dict[str, Any]) -> None:
    assert builder_for(vector).build().hex() == vector["hex"]


def test_v20_a_batch_begins_at_offset_0_unless_another_is_given() -> None:
    """A broker refuses any other base offset from a client."""
    builder = BatchBuilder()
    builder.append(1000, b"k", b"v")
    batch = batch_of(builder.build())
    assert (batch.base_offset, batch.last_offset) == (0, 0)


@pytest.mark.parametrize("name", ["TV-14", "TV-15"])
def test_r_51_zstd_same_records(name: str) -> None:
    batch = batch_of(builder_for(BATCHES[name]).build())
    batch.ensure_valid()
    assert list(iterate_records(batch)) == list(iterate_records(batch_of(BATCHES[name]["hex"])))


def test_r_51_tv_34_delete_horizon() -> None:
    """The cleaner's deltas are relative to the horizon."""
    before = batch_of(BATCHES["TV-33"]["hex"])
    builder = BatchBuilder(base_offset=3, leader_epoch=1, delete_horizon_ms=1700086500000)
    for record in iterate_records(before):
        builder.append(record.timestamp, record.key, record.value, offset=record.offset)
    assert builder.build().hex() == BATCHES["TV-34"]["hex"]


def test_r_17_a_negative_horizon_is_none() -> None:
    builder = BatchBuilder(delete_horizon_ms=-1)
    builder.append(5, b"k", b"v")
    batch = batch_of(builder.build())
    assert (batch.has_delete_horizon, batch.base_timestamp) == (False, 5)


def test_r_51_no_record_no_bytes() -> None:
    assert BatchBuilder().build() == b""
    assert BatchBuilder(is_transactional=True).build() == b""


def test_r_51_max_timestamp() -> None:
    builder = BatchBuilder()
    assert builder.max_timestamp == -1
    builder.append(-1, None, None)
    assert builder.max_timestamp == -1
    builder.append(7, None, None)
    builder.append(3, None, None)
    batch = batch_of(builder.build())
    assert (batch.base_timestamp, batch.max_timestamp) == (-1, 7)


def test_r_51_log_append_time() -> None:
    builder = BatchBuilder(log_append_time_ms=99)
    builder.append(5, b"k", b"v")
    batch = batch_of(builder.build())
    assert (batch.is_log_append_time, batch.base_timestamp, batch.max_timestamp) == (True, 5, 99)


def test_r_52_sequential_offsets() -> None:
    builder = BatchBuilder(base_offset=10)
    assert builder.next_sequential_offset == 10
    assert builder.append(0, b"", b"") == 10
    assert builder.append(0, b"", b"", offset=15) == 15
    assert builder.append(0, b"", b"") == 16
    assert builder.next_sequential_offset == 17
    assert [record.offset for record in iterate_records(batch_of(builder.build()))] == [10, 15, 16]


@pytest.mark.parametrize("count", [0, 1, 200])
def test_r_50_r_52_values_at_once_are_the_same_as_one_by_one(count: int) -> None:
    values = [b"v" * (number % 90) for number in range(count)]
    at_once, one_by_one = BatchBuilder(base_offset=40), BatchBuilder(base_offset=40)
    for builder in (at_once, one_by_one):
        builder.append(1000, b"key", None)
    at_once.append_values(990, values)
    for value in values:
        one_by_one.append(990, None, value)
    for builder in (at_once, one_by_one):
        builder.append(1010, None, b"last")
    assert at_once.build() == one_by_one.build()


def test_values_may_come_first() -> None:
    builder = BatchBuilder()
    builder.append_values(7, [b"a", b"b"])
    batch = batch_of(builder.build())
    assert [record.value for record in iterate_records(batch)] == [b"a", b"b"]
    assert (batch.base_timestamp, batch.max_timestamp) == (7, 7)


def test_r_50_values_of_an_impossible_time() -> None:
    builder = BatchBuilder()
    with pytest.raises(UnknownServerError):
        builder.append_values(-2, [b"a"])
    assert builder.build() == b""


def test_r_53_offset_of_the_max_timestamp() -> None:
    builder = BatchBuilder(base_offset=4)
    assert builder.max_timestamp_offset == -1
    builder.append(-1, b"", b"")
    assert builder.max_timestamp_offset == -1
    builder.append(9, b"", b"")
    builder.append(5, b"", b"")
    assert builder.max_timestamp_offset == 6


class TestIllegalArguments:
    """R-50."""

    def test_offset_does_not_increase(self) -> None:
        builder = BatchBuilder()
        builder.append(0, None, None, offset=5)
        for offset in (5, 4):
            with pytest.raises(UnknownServerError, match="Illegal offset"):
                builder.append(0, None, None, offset=offset)

    def test_offset_too_far(self) -> None:
        builder = BatchBuilder(base_offset=1)
        builder.append(0, None, None, offset=2**31)
        with pytest.raises(UnknownServerError, match="too far"):
            builder.append(0, None, None, offset=2**31 + 1)

    def test_negative_timestamp(self) -> None:
        with pytest.raises(UnknownServerError, match="Invalid negative timestamp -2"):
            BatchBuilder().append(-2, None, None)

    def test_too_many_records(self) -> None:
        builder = BatchBuilder()
        builder.record_count = 2**31 - 1
        with pytest.raises(UnknownServerError, match="2147483647 records"):
            builder.append(0, None, None)

    @pytest.mark.parametrize(
        ("fields", "text"),
        [
            ({"is_transactional": True}, "without a producer ID"),
            ({"producer_id": 1, "base_sequence": 0}, "producer epoch"),
            ({"producer_id": 1, "producer_epoch": 0}, "sequence number"),
            ({"codec": 5}, "Unknown compression type id: 5"),
        ],
    )
    def test_producer_fields(self, fields: dict[str, Any], text: str) -> None:
        def build() -> bytes:
            builder = BatchBuilder(**fields)
            builder.append(0, b"k", b"v")
            return builder.build()

        with pytest.raises(UnknownServerError, match=text):
            build()


class TestSizes:
    """R-38, R-54, R-55."""

    def test_r_54_uncompressed_is_exact(self) -> None:
        builder = BatchBuilder()
        assert builder.uncompressed_size_bytes == 0
        builder.append(0, b"k", b"v" * 500, [(b"h", None)])
        assert builder.uncompressed_size_bytes == len(builder.build())

    def test_r_55_room(self) -> None:
        builder = BatchBuilder()
        # no record yet: always room
        assert builder.has_room_for(0, 0, b"k", b"v" * 1000)
        builder.append(0, b"k", b"v")
        size_bytes = len(builder.build())
        assert not builder.has_room_for(size_bytes, 0, b"k", b"v")
        assert builder.has_room_for(size_bytes + 9, 0, b"k", b"v")
        assert not builder.has_room_for(size_bytes + 8, 0, b"k", b"v")


@pytest.mark.parametrize(
    ("key", "signs"),
    [
        ("", "."),
        ("41c3a4e282acf09f9880", "A\u00e4\u20ac\U0001f600."),
        ("80", "?."),
        ("c080", "??."),
        ("e08041", "??A."),
        ("e28241", "?A."),
        ("f0908041", "?A."),
        ("f4908080", "????."),
        ("f8888080", "????."),
        ("eda080", "?."),
        ("edbfbf41", "?A."),
        ("eda041", "?A."),
        ("eda0", "?."),
        ("ed80", "?."),
        ("ed", "?."),
        ("eda080edb080", "??."),
        ("e2eda080", "??."),
    ],
)
def test_r_32_header_keys_that_are_not_utf_8(key: str, signs: str) -> None:
    """What Java 17 makes of new String(bytes, UTF_8).getBytes(UTF_8); a ? is one U+FFFD."""
    expected = signs.rstrip(".").replace("?", "\ufffd").encode()
    assert normalised_header_key(bytes.fromhex(key)) == expected


@pytest.mark.parametrize("codec", [0, 1])
@pytest.mark.parametrize("append_time", [None, 5000])
def test_a_batch_like_another_with_records_that_are_written_already_r90(
    codec: int, append_time: int | None
) -> None:
    first = BatchBuilder(
        base_offset=10,
        codec=codec,
        log_append_time_ms=append_time,
        producer_id=7,
        producer_epoch=3,
        base_sequence=40,
        is_transactional=True,
        is_control=True,
        leader_epoch=2,
    )
    first.append(1000, b"k", b"v")
    data = first.build()
    given = batch_of(data)
    again = BatchBuilder.like(given, delete_horizon_ms=None)
    record = raw_record(key=b"\x02k", value=b"\x02v")
    again.take(record, record_count=1, base_timestamp=1000, max_timestamp=1000)
    again.override_last_offset(10)
    assert again.build() == data
    assert BatchBuilder.like(given, delete_horizon_ms=9).delete_horizon_ms == 9
