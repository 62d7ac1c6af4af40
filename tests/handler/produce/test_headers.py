"""The headers of batches in a Produce (V-06, V-07, V-09, V-10, V-21), all rows probed on 4.3.1."""

import struct

import pytest

from broker_lite import errors
from broker_lite.control.metadata.topic import PartitionRegistration, Topic
from broker_lite.errors import BrokerError
from broker_lite.handler.produce.check import (
    Accepted,
    base_sequence,
    check_one_producer,
    check_record_set,
    is_transactional,
)
from broker_lite.wire.produce import Topics
from tests.log.batches import batch, record

GOOD = batch(record())
TRANSACTIONAL = batch(record(), attributes=0x10, producer=(5, 0, 0))


def with_length(length: int, data: bytes = GOOD) -> bytes:
    return data[:8] + struct.pack(">i", length) + data[12:]


def short(length: int, data: bytes = GOOD) -> bytes:
    """A complete entry whose header is cut off."""
    return with_length(length, data)[: 12 + length]


def with_magic(magic: int) -> bytes:
    return GOOD[:16] + struct.pack("b", magic) + GOOD[17:]


def topics(sets: list[bytes | None]) -> Topics:
    views = [memoryview(data) if data is not None else None for data in sets]
    return [("t", None, list(enumerate(views)))]


@pytest.mark.parametrize(
    ("sets", "expected"),
    [
        pytest.param([GOOD], False, id="V-07-plain"),
        pytest.param([GOOD, TRANSACTIONAL], True, id="V-07-transactional"),
        pytest.param([TRANSACTIONAL, with_magic(3)], True, id="V-06-stops-at-the-first"),
        pytest.param([TRANSACTIONAL[:-1]], False, id="V-07-incomplete"),
        pytest.param([TRANSACTIONAL[:16]], False, id="V-06-no-header"),
        pytest.param([b"", None, b"\0" * 11], False, id="V-06-nothing-to-read"),
        pytest.param([with_magic(1)], False, id="V-07-legacy-has-no-bit"),
        pytest.param([with_length(0x7FFFFFF3)], False, id="V-90-length-0x7ffffff3"),
        pytest.param([short(14)[:17]], False, id="V-06-17-bytes"),
    ],
)
def test_is_transactional(sets: list[bytes | None], expected: bool) -> None:
    assert is_transactional(topics(sets)) is expected


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        pytest.param(
            with_length(13),
            errors.CorruptMessage,
            "Record size 13 is less than the minimum record overhead (14)",
            id="V-90-length-13",
        ),
        pytest.param(
            with_length(-1),
            errors.CorruptMessage,
            "Record size -1 is less than the minimum record overhead (14)",
            id="V-90-length--1",
        ),
        pytest.param(
            b"\0" * 12,
            errors.CorruptMessage,
            "Record size 0 is less than the minimum record overhead (14)",
            id="V-06-12-bytes",
        ),
        pytest.param(
            with_magic(3),
            errors.CorruptMessage,
            "Invalid magic found in record: 3",
            id="V-90-magic-3",
        ),
        pytest.param(
            with_magic(-1)[:20],
            errors.CorruptMessage,
            "Invalid magic found in record: -1",
            id="V-90-magic--1",
        ),
        pytest.param(
            with_length(0x7FFFFFF4), errors.UnknownServerError, None, id="V-90-length-0x7ffffff4"
        ),
        pytest.param(
            with_length(0x7FFFFFFF), errors.UnknownServerError, None, id="V-90-length-0x7fffffff"
        ),
    ],
)
def test_the_first_header_fails_the_request(
    data: bytes, error: type[BrokerError], message: str | None
) -> None:
    with pytest.raises(error) as raised:
        is_transactional(topics([GOOD, data]))
    assert raised.value.message == message


@pytest.mark.parametrize(
    ("data", "version"),
    [
        pytest.param(GOOD, 3, id="V-09-one-batch"),
        pytest.param(GOOD + b"\0" * 5, 13, id="V-91-5-trailing-bytes"),
        pytest.param(GOOD + GOOD[:-1], 8, id="V-91-partial-second-batch"),
        pytest.param(batch(record(), attributes=4), 7, id="V-09-zstd-since-7"),
        pytest.param(batch(record(), attributes=5), 7, id="V-90-codec-5-is-left-to-V-20"),
        pytest.param(short(39), 8, id="V-21-39"),
        pytest.param(short(48), 8, id="V-21-48"),
        pytest.param(short(39, TRANSACTIONAL[:43] + b"\xff" * 27), 8, id="V-10-no-producer-id"),
    ],
)
def test_record_set_passes(data: bytes, version: int) -> None:
    assert check_record_set(memoryview(data), version) is None


def test_record_set_gives_the_transactional_producer() -> None:
    """V-10."""
    assert check_record_set(memoryview(TRANSACTIONAL), 8) == (5, 0)
    assert check_record_set(memoryview(batch(record(), producer=(5, 0, 0))), 8) is None
    later = batch(record(), attributes=0x10, producer=(5, 0, 7))
    assert base_sequence(memoryview(later)) == 7


@pytest.mark.parametrize(
    ("data", "version", "error"),
    [
        pytest.param(None, 8, errors.InvalidRecord, id="V-02-null"),
        pytest.param(b"", 8, errors.InvalidRecord, id="V-90-no-bytes"),
        pytest.param(GOOD[:1], 8, errors.InvalidRecord, id="V-90-1-byte"),
        pytest.param(GOOD[:16], 8, errors.InvalidRecord, id="V-90-16-bytes"),
        pytest.param(GOOD[:17], 8, errors.InvalidRecord, id="V-90-17-bytes"),
        pytest.param(GOOD[:-1], 8, errors.InvalidRecord, id="V-90-one-byte-short"),
        pytest.param(with_length(0x10000000), 8, errors.InvalidRecord, id="V-90-length-2-28"),
        pytest.param(with_magic(0), 8, errors.InvalidRecord, id="V-90-magic-0"),
        pytest.param(with_magic(1), 8, errors.InvalidRecord, id="V-90-magic-1"),
        pytest.param(GOOD + GOOD, 8, errors.InvalidRecord, id="V-90-two-batches"),
        pytest.param(GOOD + with_magic(3), 8, errors.CorruptMessage, id="V-09-second-magic"),
        pytest.param(GOOD + with_length(13), 8, errors.CorruptMessage, id="V-09-second-length"),
        pytest.param(GOOD + b"\0" * 12, 8, errors.CorruptMessage, id="V-09-12-zero-bytes"),
        pytest.param(
            GOOD + with_length(0x7FFFFFFF), 8, errors.UnknownServerError, id="V-09-second-overflow"
        ),
        pytest.param(
            batch(record(), attributes=4),
            6,
            errors.UnsupportedCompressionType,
            id="V-09-zstd-before-7",
        ),
        pytest.param(
            batch(record(), attributes=4) + GOOD,
            6,
            errors.UnsupportedCompressionType,
            id="V-09-zstd-beats-second-batch",
        ),
        pytest.param(
            batch(record(), attributes=5), 6, errors.UnknownServerError, id="V-09-codec-5-before-7"
        ),
        pytest.param(short(14), 8, errors.UnknownServerError, id="V-21-14"),
        pytest.param(short(38), 8, errors.UnknownServerError, id="V-21-38"),
        pytest.param(
            short(40, TRANSACTIONAL), 8, errors.UnknownServerError, id="V-21-no-producer-epoch"
        ),
        pytest.param(
            short(44, TRANSACTIONAL), 8, errors.UnknownServerError, id="V-21-no-base-sequence"
        ),
    ],
)
def test_record_set_is_refused(data: bytes | None, version: int, error: type[BrokerError]) -> None:
    with pytest.raises(error) as raised:
        check_record_set(memoryview(data) if data is not None else None, version)
    assert type(raised.value) is error
    assert raised.value.message is None


def accepted(*producers: tuple[int, int] | None) -> list[Accepted]:
    partitions = (PartitionRegistration(1),)
    topic = Topic(name="t", topic_id=bytes(16), partitions=partitions, overrides={})
    return [Accepted(topic, 0, memoryview(b""), producer) for producer in producers]


def test_one_transactional_producer() -> None:
    """V-10."""
    check_one_producer([])
    check_one_producer(accepted((5, 0), None, (5, 0)))
    with pytest.raises(errors.InvalidProducerIdMapping) as raised:
        check_one_producer(accepted((5, 0), (5, 1)))
    assert raised.value.message == "Transactional records contained more than one producer ID"
