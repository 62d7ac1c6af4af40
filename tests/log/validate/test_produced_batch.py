"""V-20 to V-45: what validate_records refuses, takes and changes. Rows probed on 4.3.1."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broker_lite import errors
from broker_lite.errors import BrokerError
from broker_lite.log.validate.produced_batch import (
    AT_ONCE_BYTES_MAX,
    AT_ONCE_PARTS_MAX,
    AT_ONCE_REBUILT_BYTES_MAX,
    STREAM_PARTS_MAX,
    validate_records,
)
from broker_lite.log.validate.rejected import RejectedByTimestamp
from broker_lite.log.validate.validated import TakesLong, ValidatedRecords, ValidationConfig
from broker_lite.record.codecs.compression import compress
from broker_lite.record.records import iterate_records
from broker_lite.record.stopping import Stop, WorkStopped
from tests.log.batches import BASE_TIMESTAMP, batch, gzipped, record, records, writable

NOW_MS = 1_795_267_000_000
CONFIG = ValidationConfig(topic="t")
LARGE = record(value=b"x" * 1_048_576)


def validate(data: bytes, config: ValidationConfig = CONFIG) -> ValidatedRecords:
    return validate_records(writable(data), config, now_ms=NOW_MS, partition=0)


def vectors(*, refused: bool) -> Iterator[Any]:
    path = Path(__file__).parents[2] / "vectors" / "produce_outcomes.json"
    for vector in json.loads(path.read_text())["vectors"]:
        # Malformed first headers and shapes are the request level's, see test_validate_request.
        if refused == ("error" in vector) and vector["id"] not in {"N-09", "N-10", "N-24"}:
            yield pytest.param(vector, id=vector["id"])


@pytest.mark.parametrize("vector", list(vectors(refused=True)))
def test_refused_vector(vector: dict[str, Any]) -> None:
    with pytest.raises(BrokerError) as raised:
        validate(bytes.fromhex(vector["sent"]))
    assert raised.value.code == vector["error"]


@pytest.mark.parametrize("vector", list(vectors(refused=False)))
def test_accepted_vector(vector: dict[str, Any]) -> None:
    sent = bytes.fromhex(vector["sent"])
    validated = validate(sent)
    validated.batch.set_leader_epoch(0)
    validated.batch.set_last_offset(validated.record_count - 1)
    expected = bytes.fromhex(vector["stored"]) if "stored" in vector else sent
    expected = expected[:12] + b"\0\0\0\0" + expected[16 : len(validated.buffer)]
    assert bytes(validated.buffer) == expected
    assert validated.batch.crc_is_valid()


@pytest.mark.parametrize(
    ("data", "error"),
    [
        pytest.param(b"", errors.InvalidRecord, id="V-31-nothing"),
        pytest.param(batch(record())[:-1], errors.InvalidRecord, id="V-31-incomplete"),
        pytest.param(batch(record()) * 2, errors.InvalidRecord, id="V-31-two-batches"),
        pytest.param(batch(record(), magic=1), errors.InvalidRecord, id="V-09-magic-1"),
        pytest.param(batch(record(), base_offset=5), errors.InvalidRecord, id="V-20-base-5"),
        pytest.param(batch(record(), base_offset=-1), errors.InvalidRecord, id="V-20-base--1"),
        pytest.param(batch(record(), crc=1), errors.CorruptMessage, id="V-20-crc"),
        pytest.param(batch(LARGE), errors.MessageTooLarge, id="V-20-size"),
        pytest.param(batch(LARGE, base_offset=5), errors.InvalidRecord, id="V-20-base-then-size"),
        pytest.param(batch(LARGE, crc=1), errors.MessageTooLarge, id="V-20-size-then-crc"),
        pytest.param(
            batch(record(), attributes=5, crc=1), errors.CorruptMessage, id="V-20-crc-then-codec"
        ),
        pytest.param(batch(record(), attributes=6), errors.UnknownServerError, id="V-20-codec-6"),
        pytest.param(batch(record(), attributes=7), errors.UnknownServerError, id="V-20-codec-7"),
        pytest.param(
            batch(record())[:60].replace(b"\x3a", b"\x30", 1),
            errors.CorruptMessage,
            id="V-21-60-bytes",
        ),
        pytest.param(
            batch(record(), base_offset=5)[:60].replace(b"\x3a", b"\x30", 1),
            errors.InvalidRecord,
            id="V-20-base-then-header",
        ),
        pytest.param(
            batch(record()) + batch(record(), crc=1), errors.CorruptMessage, id="V-20-each-batch"
        ),
        pytest.param(
            batch(record()) + batch(LARGE), errors.MessageTooLarge, id="V-20-each-batch-size"
        ),
        pytest.param(
            batch(b"", count=0, last_offset_delta=0), errors.InvalidRecord, id="V-32-count-0"
        ),
        pytest.param(
            batch(b"", count=0, last_offset_delta=-1), errors.InvalidRecord, id="V-32-empty"
        ),
        pytest.param(
            batch(b"", count=-1, last_offset_delta=0), errors.InvalidRecord, id="V-32-count--1"
        ),
        pytest.param(
            batch(record(), last_offset_delta=-1), errors.InvalidRecord, id="V-32-delta--1"
        ),
        pytest.param(
            batch(records(2), count=2, last_offset_delta=0), errors.InvalidRecord, id="V-32-range"
        ),
        pytest.param(
            batch(record(), attributes=0x20), errors.InvalidRecord, id="V-32-V-63-control"
        ),
        pytest.param(
            batch(record(), producer=(5, 0, -1)), errors.InvalidRecord, id="V-32-sequence"
        ),
        pytest.param(batch(records(1), count=2), errors.InvalidRecord, id="V-36-too-few"),
        pytest.param(batch(records(2), count=1), errors.InvalidRecord, id="V-36-too-many"),
        pytest.param(
            batch(record(length_error=1)), errors.InvalidRecord, id="V-90-record-length-1-more"
        ),
        pytest.param(
            batch(record(length_error=-1)), errors.InvalidRecord, id="V-90-record-length-1-less"
        ),
        pytest.param(batch(b"\x01" + record()), errors.InvalidRecord, id="V-90-record-length--1"),
        pytest.param(
            batch(b"\x80\x80\x80\x80\x80\x01" + record()[1:]),
            errors.UnknownServerError,
            id="V-90-record-length-6-bytes",
        ),
        pytest.param(
            gzipped(b"\x80\x80\x80\x80\x80\x01" + record()[1:]),
            errors.InvalidRecord,
            id="V-90-gzip-record-length-6-bytes",
        ),
        pytest.param(
            batch(record(headers=b"\x01")), errors.InvalidRecord, id="V-90-header-count--1"
        ),
        pytest.param(
            batch(record(headers=b"\x02")), errors.InvalidRecord, id="V-90-header-missing"
        ),
        pytest.param(
            batch(record(headers=b"\x02\x01\x01")), errors.InvalidRecord, id="V-90-header-key--1"
        ),
        pytest.param(batch(b"", attributes=1), errors.UnknownServerError, id="V-90-gzip-no-bytes"),
        pytest.param(gzipped(b""), errors.InvalidRecord, id="V-90-gzip-empty-stream"),
        pytest.param(batch(b"", attributes=2), errors.UnknownServerError, id="V-90-snappy-empty"),
        *(
            pytest.param(
                batch(b"garbagegarbage", attributes=codec),
                errors.UnknownServerError,
                id=f"V-90-garbage-codec-{codec}",
            )
            for codec in (1, 3, 4)
        ),
        pytest.param(
            batch(b"\xff" * 7, attributes=2), errors.UnknownServerError, id="V-90-garbage-codec-2"
        ),
        pytest.param(
            batch(gzip.compress(record())[:-4], attributes=1),
            errors.UnknownServerError,
            id="V-90-gzip-trailer-cut",
        ),
        pytest.param(
            batch(gzip.compress(record())[:-8] + b"\0" * 8, attributes=1),
            errors.UnknownServerError,
            id="V-90-gzip-trailer-wrong",
        ),
        pytest.param(gzipped(records(2)), errors.InvalidRecord, id="V-90-gzip-too-many"),
        pytest.param(gzipped(records(1), count=2), errors.InvalidRecord, id="V-90-gzip-too-few"),
        pytest.param(
            batch(gzip.compress(record())[:-4], count=2, attributes=1),
            errors.UnknownServerError,
            id="V-90-gzip-too-few-and-cut",
        ),
        pytest.param(
            batch(gzip.compress(records(2))[:-8] + b"\0" * 8, attributes=1),
            errors.InvalidRecord,
            id="V-90-gzip-too-many-and-trailer-wrong",
        ),
        pytest.param(
            gzipped(record(headers=b"\x01")), errors.InvalidRecord, id="V-90-gzip-header-count--1"
        ),
        pytest.param(
            gzipped(record(offset_delta=5) + record(offset_delta=9), count=2),
            errors.UnknownServerError,
            id="V-42-gzip-offsets-5-9",
        ),
    ],
)
def test_refused(data: bytes, error: type[BrokerError]) -> None:
    with pytest.raises(BrokerError) as raised:
        validate(data)
    assert type(raised.value) is error
    assert raised.value.message is None


def test_size_at_the_limit() -> None:
    """V-20: equality with max.message.bytes is allowed."""
    data = batch(record())
    validate(data, ValidationConfig(topic="t", max_message_bytes=len(data)))
    with pytest.raises(errors.MessageTooLarge):
        validate(data, ValidationConfig(topic="t", max_message_bytes=len(data) - 1))


def test_decompressed_size_at_the_limit() -> None:
    """V-45: a limit of our own, answered with MESSAGE_TOO_LARGE."""
    content = record(value=bytes(100_000))
    data = gzipped(content)
    validate(data, ValidationConfig(topic="t", decompressed_bytes_max=len(content)))
    with pytest.raises(errors.MessageTooLarge):
        validate(data, ValidationConfig(topic="t", decompressed_bytes_max=len(content) - 1))


def validate_now(data: bytes, config: ValidationConfig = CONFIG) -> ValidatedRecords:
    return validate_records(writable(data), config, now_ms=NOW_MS, at_once=True)


@pytest.mark.parametrize(
    ("codec", "bytes_max"), [(None, AT_ONCE_BYTES_MAX), (3, AT_ONCE_REBUILT_BYTES_MAX)]
)
def test_v45_what_is_large_is_not_done_at_once(codec: int | None, bytes_max: int) -> None:
    """Nothing was changed then: it is validated by a thread, with the topic's limit."""
    config = ValidationConfig(topic="t", codec=codec)
    value_bytes = bytes_max - (len(record(value=bytes(bytes_max - 99))) - (bytes_max - 99))
    small, large = (record(value=bytes(value_bytes + more)) for more in (0, 1))
    assert (len(small), len(large)) == (bytes_max, bytes_max + 1)
    assert validate_now(gzipped(small), config).record_count == 1
    with pytest.raises(TakesLong):
        validate_now(gzipped(large), config)
    assert validate(gzipped(large), config).record_count == 1
    below = ValidationConfig(topic="t", codec=codec, decompressed_bytes_max=bytes_max)
    with pytest.raises(errors.DecompressedTooLarge):
        validate(gzipped(large), below)


def test_v45_streams_of_many_parts() -> None:
    """Each costs some microseconds, also when there is nothing in it."""
    member = gzip.compress(b"", mtime=0)
    config = ValidationConfig(topic="t", max_message_bytes=2_000_000)
    for parts, error in (
        (AT_ONCE_PARTS_MAX - 1, None),
        (AT_ONCE_PARTS_MAX, TakesLong),
        (STREAM_PARTS_MAX, errors.DecompressedTooLarge),
    ):
        data = batch(gzip.compress(record()) + member * parts, attributes=1)
        if error is None:
            assert validate_now(data, config).record_count == 1
            continue
        with pytest.raises(error):
            validate_records(writable(data), config, now_ms=NOW_MS, at_once=error is TakesLong)


def test_v45_a_batch_of_very_many_records() -> None:
    """It is refused by what its header says, after the other checks of the header."""
    config = ValidationConfig(topic="t", batch_records_max=3)
    assert validate(batch(records(3), count=3), config).record_count == 3
    nonsense = b"not even gzip"
    for data in (batch(records(4), count=4), batch(nonsense, count=4, attributes=1)):
        with pytest.raises(errors.TooManyRecords) as raised:
            validate(data, config)
        assert raised.value.code == errors.ErrorCode.MESSAGE_TOO_LARGE
    with pytest.raises(errors.InvalidRecord):
        validate(batch(nonsense, count=4, attributes=1, last_offset_delta=9), config)


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("target", [None, 4])
def test_a_validation_can_be_stopped(codec: int, target: int | None) -> None:
    stop = Stop()
    stop.set()
    data = batch(compress(codec, records(3)), count=3, attributes=codec)
    config = ValidationConfig(topic="t", codec=target)
    with pytest.raises(WorkStopped):
        validate_records(writable(data), config, now_ms=NOW_MS, stop=stop)


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("target", [None, "same"])
def test_unchanged_in_place(codec: int, target: str | None) -> None:
    """V-30, V-40, V-42: a right batch keeps all its bytes."""
    content = record() + record(offset_delta=1, timestamp_delta=5)
    data = batch(
        compress(codec, content),
        count=2,
        attributes=codec,
        max_timestamp=BASE_TIMESTAMP + 5,
        producer=(5, 0, 7),
    )
    sent = writable(data)
    config = ValidationConfig(topic="t", codec=codec if target else None)
    validated = validate_records(sent, config, now_ms=NOW_MS)
    assert bytes(validated.buffer) == data
    assert validated.buffer.obj is sent.obj
    assert validated[2:] == (2, BASE_TIMESTAMP + 5, -1)
    assert not validated.is_append_time


@pytest.mark.parametrize(
    ("data", "stored"),
    [
        pytest.param(batch(record()) + b"\0" * 5, None, id="V-91-5-trailing-bytes"),
        pytest.param(batch(record()) + batch(record())[:-1], None, id="V-91-partial-second"),
        pytest.param(batch(record(), leader_epoch=77), None, id="V-91-leader-epoch"),
        pytest.param(batch(record(), producer=(5, -1, 0)), None, id="V-91-epoch--1"),
        pytest.param(batch(record(), producer=(-2, -1, -1)), None, id="V-91-producer--2"),
        pytest.param(batch(record(), attributes=0x40), None, id="V-91-attributes-0x0040"),
        pytest.param(batch(record(), attributes=0x80), None, id="V-91-attributes-0x0080"),
        pytest.param(batch(record(), attributes=0x100), None, id="V-91-attributes-0x0100"),
        pytest.param(batch(record(), attributes=0x10), None, id="V-91-transactional-no-producer"),
        pytest.param(
            batch(record(), attributes=0x108), batch(record()), id="V-34-LogAppendTime-bit-cleared"
        ),
        pytest.param(
            batch(record(), max_timestamp=7), batch(record()), id="V-40-max-timestamp-too-low"
        ),
        pytest.param(
            batch(record(), max_timestamp=NOW_MS), batch(record()), id="V-40-max-timestamp-too-high"
        ),
        pytest.param(gzipped(record(), max_timestamp=7), gzipped(record()), id="V-42-gzip-max"),
        pytest.param(batch(record(attributes=0x7F)), None, id="V-91-record-attributes"),
        pytest.param(batch(record(headers=b"\x02\x00\x01")), None, id="V-91-header-empty-key"),
        pytest.param(batch(record(headers=b"\x02\x02\xff\x01")), None, id="V-91-header-not-utf8"),
        pytest.param(batch(record() + record(), count=2), None, id="V-35-offset-deltas-0-0"),
        pytest.param(
            batch(record(offset_delta=5) + record(offset_delta=9), count=2),
            None,
            id="V-35-offset-deltas-5-9",
        ),
        pytest.param(batch(record(offset_delta=-1)), None, id="V-35-offset-delta--1"),
        pytest.param(batch(record(), timestamp=-1), None, id="V-91-timestamp--1"),
        pytest.param(
            batch(record(), timestamp=-2),
            batch(record(), timestamp=-2, max_timestamp=-1),
            id="V-91-timestamp--2",
        ),
        pytest.param(
            gzipped(record(), timestamp=-2),
            gzipped(record(), timestamp=-2, max_timestamp=-1),
            id="V-91-gzip-timestamp--2",
        ),
        pytest.param(
            batch(gzip.compress(record(), mtime=0) + b"rest", attributes=1),
            None,
            id="V-91-gzip-trailing-garbage",
        ),
        pytest.param(gzipped(record(length_error=1)), None, id="V-91-gzip-record-length"),
    ],
)
def test_accepted(data: bytes, stored: bytes | None) -> None:
    validated = validate(data)
    if stored is None:
        stored = data[: len(validated.buffer)]
    assert bytes(validated.buffer) == stored
    assert validated.batch.crc_is_valid()
    assert validated.batch.size_bytes == len(validated.buffer)


@pytest.mark.parametrize("codec", [0, 1])
def test_log_append_time(codec: int) -> None:
    """V-34, V-40: any timestamp is good, type and max timestamp are set, the size stays."""
    content = record(timestamp_delta=NOW_MS)
    data = batch(compress(codec, content), attributes=codec, timestamp=2**62)
    config = ValidationConfig(topic="t", is_append_time=True)
    validated = validate(data, config)
    assert len(validated.buffer) == len(data)
    assert validated.batch.is_log_append_time
    assert validated.batch.crc_is_valid()
    assert validated[2:] == (1, NOW_MS, NOW_MS)
    assert validated.is_append_time
    assert [r.timestamp for r in iterate_records(validated.batch)] == [NOW_MS]


def test_vector_of_an_append() -> None:
    """TV-55 to TV-57."""
    produced = batch(record())
    assert validate(produced).buffer == produced
    config = ValidationConfig(topic="t", is_append_time=True)
    validated = validate_records(writable(produced), config, now_ms=1700000009999)
    validated.batch.set_last_offset(41)
    validated.batch.set_leader_epoch(6)
    assert bytes(validated.buffer).hex() == (
        "00000000000000290000003a0000000602499e0aa20008000000000000018bcfe56800"
        "0000018bcfe58f0fffffffffffffffffffffffffffff0000000110000000026b027600"
    )


def test_structure_comes_before_records() -> None:
    """V-33: a structure error in a later record hides the record error before it."""
    content = record(key=None) + record(offset_delta=1, length_error=1)
    with pytest.raises(errors.InvalidRecord) as raised:
        validate(batch(content, count=2), ValidationConfig(topic="t", is_compacted=True))
    assert not isinstance(raised.value, RejectedByTimestamp)
    assert raised.value.message is None
