"""F-16: what a reader of a synthetic log gets, offset by offset."""

import pytest

from broker_lite.errors import ErrorCode, OffsetOutOfRange, UnknownServerError
from broker_lite.log.canned.endless import EndlessPlan, EndlessRecords, SyntheticTopic
from broker_lite.log.canned.run import CannedSlice
from broker_lite.log.canned.runs import CannedRuns, RunPlace
from broker_lite.record.canned import START_MS, CannedShape

SHAPE = CannedShape(1000, 1000)
RUN_RECORDS = SHAPE.record_count


def endless(end_offset: int = 1 << 62, shape: CannedShape = SHAPE) -> EndlessRecords:
    shape = shape._replace(tail_records=end_offset % shape.batch_records)
    return EndlessRecords(EndlessPlan(shape, end_offset), CannedRuns())


def never() -> None:
    raise AssertionError("nobody waits")


def read(
    records: EndlessRecords,
    offset: int,
    max_bytes: int = 1 << 20,
    *,
    answered_bytes: int = 0,
    min_one_batch: bool = True,
) -> CannedSlice | None:
    return records.read(
        offset,
        max_bytes=max_bytes,
        answered_bytes=answered_bytes,
        min_one_batch=min_one_batch,
        leader_epoch=3,
        wake=never,
    )


@pytest.mark.parametrize(
    ("offset", "batch"),
    [(0, 0), (999, 0), (1000, 1), (10**9, 10**6), ((1 << 62) - 1, 2**62 // 1000)],
)
def test_f10_the_batch_that_holds_the_offset_comes_first(offset: int, batch: int) -> None:
    found = read(endless(), offset)
    assert found is not None
    assert (found.batch, found.leader_epoch) == (batch, 3)


def test_f11_sizes() -> None:
    records = endless()
    whole = read(records, 0, 10**7)
    assert whole is not None
    assert whole.size_bytes == 10**7
    first_bytes = whole.run.size_of(0, whole.batch_end)
    least = read(records, 0, 0)
    assert least is not None
    assert least.size_bytes == first_bytes
    assert read(records, 0, first_bytes - 1, min_one_batch=False) is None
    exact = read(records, 0, first_bytes, min_one_batch=False)
    assert exact is not None
    assert exact.size_bytes == first_bytes
    with pytest.raises(UnknownServerError):
        read(records, 0, -1)


def test_f16_of_small_batches_an_answer_has_a_bounded_part() -> None:
    records = endless(shape=CannedShape(1, 100))
    found = read(records, 0, 50 << 20)
    assert found is not None
    bytes_max = found.size_bytes
    assert bytes_max == 2048 * found.run.size_of(0, 10)
    rest = read(records, 0, 50 << 20, answered_bytes=bytes_max - 50_000, min_one_batch=False)
    assert rest is not None
    assert rest.size_bytes == 50_000
    assert read(records, 0, 50 << 20, answered_bytes=5 << 20, min_one_batch=False) is None


def test_f16_the_end_inside_of_a_batch() -> None:
    records = endless(2500)
    found = read(records, 2400, 10**7)
    assert found is not None
    assert (found.batch, found.batch_end) == (2, 2)
    assert found.size_bytes == found.run.size_of(2, 2) == records.available_bytes(2400, never)
    all_of_it = read(records, 0, 10**7)
    assert all_of_it is not None
    assert all_of_it.size_bytes == all_of_it.run.size_to_end(0, 2) < 3 * 1_020_000
    assert read(records, 2500) is None
    assert records.available_bytes(2500, never) == 0


@pytest.mark.parametrize("offset", [-1, 2501])
def test_f05_out_of_range(offset: int) -> None:
    with pytest.raises(OffsetOutOfRange):
        read(endless(2500), offset)
    with pytest.raises(OffsetOutOfRange):
        endless(2500).available_bytes(offset, never)


def test_f16_an_empty_log() -> None:
    records = endless(0)
    assert read(records, 0) is None
    assert records.max_timestamp_offset() is None
    assert records.offset_for_timestamp(0) is None


def test_f16_until_the_run_is_made_there_is_nothing() -> None:
    runs = CannedRuns()
    started: list[RunPlace] = []
    runs.start = started.append
    records = EndlessRecords(EndlessPlan(SHAPE, 5000), runs)
    assert records.available_bytes(0, lambda: None) == 0
    assert read(records, 5000) is None
    assert len(started) == 1


@pytest.mark.parametrize(
    ("end_offset", "last"),
    [(1 << 62, RUN_RECORDS - 1), (3000, 2999), (3500, 2999), (500, 499)],
)
def test_f72_timestamps(end_offset: int, last: int) -> None:
    records = endless(end_offset)
    assert records.max_timestamp_offset() == (START_MS + last, last)
    assert records.offset_for_timestamp(START_MS + last) == (START_MS + last, last)
    assert records.offset_for_timestamp(START_MS + last + 1) is None
    assert records.offset_for_timestamp(START_MS + 77) == (START_MS + 77, 77)
    assert records.offset_for_timestamp(5) == (START_MS, 0)


def test_f81_every_known_epoch_ends_at_the_end() -> None:
    records = endless(5000)
    assert records.end_offset_for(0, 3) == (0, 5000)
    assert records.end_offset_for(3, 3) == (3, 5000)
    assert records.end_offset_for(4, 3) == (-1, -1)
    assert records.end_offset_for(-1, 3) == (-1, -1)


def test_f16_the_refusal_has_a_text() -> None:
    refused = SyntheticTopic()
    assert refused.code is ErrorCode.POLICY_VIOLATION
    assert refused.message is not None
    assert "broker.lite.load.mode" in refused.message
