"""R-34, R-37, R-65, R-68: records that are sound are measured, others are told."""

import struct

import pytest

from broker_lite.pipeline.read import measured
from broker_lite.pipeline.read.measured import Measured, Unsound, measure_batch, measure_legacy
from broker_lite.record.batch import RecordBatch
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.codecs.compression import Codec
from broker_lite.record.legacy.messages import LegacyMessage
from tests.log.batches import batch as raw_batch
from tests.log.batches import record
from tests.pipeline.support import T0, legacy_message, legacy_wrapper

EVERY = 0, 1 << 62


def view(data: bytes) -> RecordBatch:
    return RecordBatch(memoryview(b"\xaa" * 3 + data), 3, len(data))


def built(codec: int, **fields: int) -> bytes:
    builder = BatchBuilder(base_offset=10, codec=codec, **fields)
    builder.append(T0, b"k", b"value", [(b"h", b"xy")])
    builder.append(T0 + 5, None, None)
    return builder.build()


@pytest.mark.parametrize("codec", list(Codec), ids=lambda codec: codec.name)
def test_totals(codec: Codec) -> None:
    found = measure_batch(view(built(codec)), *EVERY)
    assert found.totals == (2, 1, 5, 1, 1, 2)
    assert (found.record_count, found.base_offset, found.base_timestamp) == (2, 10, T0)
    assert (found.append_time_ms, found.timestamp_type) == (None, 0)
    assert measure_batch(view(built(codec)), 11, 12).totals == (1, 0, 0, 0, 0, 0)


def test_r_33_append_time() -> None:
    found = measure_batch(view(built(0, log_append_time_ms=T0 + 99)), *EVERY)
    assert (found.append_time_ms, found.timestamp_type) == (T0 + 99, 1)


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        pytest.param(raw_batch(b"", count=1), "R-37", id="R-37 fewer"),
        pytest.param(raw_batch(record() * 2, count=1), "R-37", id="R-37 more"),
        pytest.param(raw_batch(b"", count=-1), "R-37", id="R-37 count"),
        pytest.param(raw_batch(record(length_error=1)), "R-37", id="R-34 longer than it is"),
        pytest.param(raw_batch(b"", attributes=7), "R-75", id="R-75 codec 7"),
        pytest.param(raw_batch(b"no lz4", attributes=3), "R-82", id="R-82 codec"),
    ],
)
def test_unsound_batches(data: bytes, rule: str) -> None:
    with pytest.raises(Unsound) as caught:
        measure_batch(view(data), *EVERY)
    assert caught.value.rule == rule
    assert caught.value.text


def test_r_37_with_no_records_the_stream_is_not_opened() -> None:
    found = measure_batch(view(raw_batch(b"?", count=0, attributes=3)), *EVERY)
    assert found.totals == (0,) * 6


@pytest.mark.as_written
def test_r_84_records_that_unfold_too_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "PLAIN_BYTES_MAX", 20)
    with pytest.raises(Unsound, match="take more than 20 bytes"):
        measure_batch(view(built(Codec.ZSTD)), *EVERY)
    with pytest.raises(Unsound, match="larger than 20 bytes"):
        legacy(legacy_wrapper(0, [legacy_message(0, None, b"v")]))


def legacy(data: bytes, *, check_crc: bool = True) -> list[Measured]:
    message = LegacyMessage(memoryview(data), 0, len(data))
    return measure_legacy(message, *EVERY, check_crc=check_crc)


def test_r_67_a_run_for_each_kind_of_timestamp() -> None:
    inner = [
        legacy_message(0, b"a", b"b", magic=0),
        legacy_message(1, b"c", None),
        legacy_message(2, None, b"d"),
    ]
    first, second = legacy(legacy_wrapper(12, inner))
    assert (first.base_offset, first.record_count, first.timestamp_type) == (10, 1, -1)
    assert (second.base_offset, second.record_count, second.timestamp_type) == (11, 2, 0)
    assert second.totals == (2, 1, 1, 0, 0, 0)


def test_r_60_timestamps_of_every_size() -> None:
    for timestamp_ms in (-(2**63), 2**63 - 1):
        (found,) = legacy(legacy_message(0, None, None, timestamp_ms=timestamp_ms))
        assert found.totals[0] == 1


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        pytest.param(legacy_wrapper(9, []), "R-68", id="R-68 empty set"),
        pytest.param(
            legacy_wrapper(
                9, [legacy_message(at, None, None, magic=0) for at in (0, 2**31)], magic=0
            ),
            "R-65",
            id="R-65 offsets far apart",
        ),
        pytest.param(
            legacy_wrapper(9, [legacy_message(at, None, None, magic=0) for at in (5, 4)], magic=0),
            "R-65",
            id="R-65 offsets that fall",
        ),
        pytest.param(
            legacy_message(0, None, None)[:26] + struct.pack(">ii", 99, -1),
            "R-06",
            id="R-06 a key longer than its message",
        ),
    ],
)
def test_unsound_messages(data: bytes, rule: str) -> None:
    with pytest.raises(Unsound) as caught:
        legacy(data)
    assert caught.value.rule == rule


def test_r_68_checksums_inside_of_a_set() -> None:
    inner = bytearray(legacy_message(0, b"k", b"v"))
    inner[12] ^= 1
    data = legacy_wrapper(0, [bytes(inner)])
    assert len(legacy(data, check_crc=False)) == 1
    with pytest.raises(Unsound, match="checksum"):
        legacy(data)
