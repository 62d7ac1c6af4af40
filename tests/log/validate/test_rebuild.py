"""V-42, V-50: batches for topics with a codec of their own. Rows probed on 4.3.1."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import zstandard

from broker_lite import errors
from broker_lite.log.validate import rebuild
from broker_lite.log.validate.produced_batch import validate_records
from broker_lite.log.validate.validated import ValidatedRecords, ValidationConfig
from broker_lite.record.codecs.compression import compress
from broker_lite.record.records import iterate_records
from tests.log.batches import BASE_TIMESTAMP, batch, gzipped, record, records, writable

NOW_MS = 1_795_267_000_000
GZIP = ValidationConfig(topic="g", codec=1, compression_level=9)
NONE = ValidationConfig(topic="u", codec=0)


def validate(data: bytes, config: ValidationConfig) -> ValidatedRecords:
    validated = validate_records(writable(data), config, now_ms=NOW_MS)
    assert validated.batch.crc_is_valid()
    assert validated.batch.size_bytes == len(validated.buffer)
    assert not validated.buffer.readonly
    return validated


@pytest.mark.parametrize("source", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("target", [0, 1, 2, 3, 4])
def test_every_pair_of_codecs(source: int, target: int) -> None:
    content = b"".join(
        record(b"k", b"v" * i, offset_delta=i, timestamp_delta=-i, headers=b"\x02\x02h\x01")
        for i in range(20)
    )
    data = batch(compress(source, content), attributes=source | 0x10, count=20, producer=(7, 1, 40))
    validated = validate(data, ValidationConfig(topic="t", codec=target))
    rebuilt = validated.batch
    assert rebuilt.codec == target
    assert (rebuilt.producer_id, rebuilt.producer_epoch, rebuilt.base_sequence) == (7, 1, 40)
    assert rebuilt.is_transactional
    assert not rebuilt.is_log_append_time
    assert rebuilt.base_timestamp == rebuilt.max_timestamp == BASE_TIMESTAMP
    read = list(iterate_records(rebuilt))
    assert [(r.offset, r.timestamp, r.key, r.value, r.headers) for r in read] == [
        (i, BASE_TIMESTAMP - i, b"k", b"v" * i, ((b"h", None),)) for i in range(20)
    ]
    if source != target and target == 0:
        assert bytes(validated.buffer[61:]) == content


def test_v45_compressing_has_the_memory_of_a_decompressed_batch() -> None:
    """Level 22 of zstd would take 35 MB for these records, with a window of 2 MB."""
    config = ValidationConfig(
        topic="t",
        codec=4,
        compression_level=22,
        max_message_bytes=10_000_000,
        decompressed_bytes_max=4 << 20,
    )
    validated = validate(batch(record(value=bytes(2_000_000))), config)
    frame = zstandard.get_frame_parameters(bytes(validated.buffer[61:]))
    assert frame.window_size == 1 << 17


@pytest.mark.parametrize("is_large", [False, True])
def test_large_records_are_written_anew(is_large: bool) -> None:
    value = bytes(1_000_000 if is_large else 1000)
    content = record(b"k", value, offset_delta=5) + record(b"l", value, offset_delta=7)
    validated = validate(gzipped(content, count=2), replace(NONE, max_message_bytes=3_000_000))
    read = list(iterate_records(validated.batch))
    assert [(r.offset_delta, r.key, r.value) for r in read] == [(0, b"k", value), (1, b"l", value)]


def test_r50_more_than_2_gb_of_records_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Header keys that are not UTF-8 grow threefold, and the bound may be set above 2 GB."""

    def full(*_: object) -> Any:
        return SimpleNamespace(stop=lambda: None, measure=lambda *_: 1)

    monkeypatch.setattr(rebuild, "RecordRewriter", full)
    with pytest.raises(errors.UnknownServerError):
        validate(gzipped(record(offset_delta=5)), NONE)


def test_offsets_are_renumbered() -> None:
    content = record(offset_delta=5, timestamp_delta=4) + record(None, None, offset_delta=9)
    for data in (gzipped(content, count=2), batch(content, count=2, attributes=0x1C0)):
        config = NONE if data[22] & 1 else GZIP
        validated = validate(data, config)
        read = list(iterate_records(validated.batch))
        assert [(r.offset_delta, r.timestamp_delta) for r in read] == [(0, 0), (1, -4)]
        assert [r.key for r in read] == [b"k", None]
        assert validated.batch.base_timestamp == BASE_TIMESTAMP + 4
        assert validated.max_timestamp == BASE_TIMESTAMP + 4
        assert validated.batch.attributes == validated.batch.codec


def test_unused_attributes_go() -> None:
    """R-13."""
    assert validate(batch(record(), attributes=0x1C0), GZIP).batch.attributes == 1


def test_log_append_time_bit() -> None:
    """R-33: every record of such a batch has the batch's max timestamp."""
    data = batch(records(2), count=2, attributes=8, max_timestamp=NOW_MS - 50)
    validated = validate(data, GZIP)
    assert not validated.batch.is_log_append_time
    assert [r.timestamp for r in iterate_records(validated.batch)] == [NOW_MS - 50] * 2
    assert validated.max_timestamp == NOW_MS - 50


def test_append_time_topic() -> None:
    """V-42: append time and type in the header, the records keep their deltas."""
    config = ValidationConfig(topic="t", codec=3, is_append_time=True)
    validated = validate(gzipped(records(3), count=3), config)
    assert validated.batch.attributes == 0x0B
    assert validated.batch.max_timestamp == NOW_MS
    assert validated.batch.base_timestamp == BASE_TIMESTAMP
    assert validated[2:] == (3, NOW_MS, NOW_MS)


@pytest.mark.parametrize(
    ("data", "config", "error"),
    [
        pytest.param(
            batch(record(), timestamp=-2), GZIP, errors.UnknownServerError, id="V-90-timestamp--2"
        ),
        pytest.param(
            batch(record(), producer=(7, -1, 0)),
            GZIP,
            errors.UnknownServerError,
            id="R-50-epoch--1",
        ),
        pytest.param(
            batch(record(), producer=(-2, -1, -1)),
            GZIP,
            errors.UnknownServerError,
            id="R-50-producer--2",
        ),
        pytest.param(
            batch(record(), producer=(-2, 0, -1)),
            GZIP,
            errors.UnknownServerError,
            id="R-50-sequence--1",
        ),
        pytest.param(
            batch(record(), attributes=16), GZIP, errors.UnknownServerError, id="R-50-transactional"
        ),
        pytest.param(
            gzipped(record(length_error=1)), NONE, errors.InvalidRecord, id="V-90-record-length"
        ),
        pytest.param(
            gzipped(record(value=bytes(3_000_000))), NONE, errors.MessageTooLarge, id="V-50"
        ),
    ],
)
def test_refused(data: bytes, config: ValidationConfig, error: type[errors.BrokerError]) -> None:
    with pytest.raises(error) as raised:
        validate(data, config)
    assert raised.value.message is None


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(batch(record(), timestamp=-1), id="R-50-timestamp--1"),
        pytest.param(batch(record(), producer=(-2, 0, 0)), id="R-50-producer--2-with-sequence"),
        pytest.param(batch(record(attributes=0x7F)), id="V-42-record-attributes"),
    ],
)
def test_accepted(data: bytes) -> None:
    assert validate(data, GZIP).record_count == 1


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        pytest.param(record(), record(), id="V-42-as-it-was"),
        pytest.param(record(attributes=1), record(), id="V-42-R-30-attributes"),
        pytest.param(b"\x90\x00" + record()[1:], record(), id="V-42-R-23-length"),
        pytest.param(
            bytes.fromhex("0c000000030500"), bytes.fromhex("0c000000010100"), id="V-42-R-31-null"
        ),
        pytest.param(
            record(headers=b"\x02\x04\xffA\x00"),
            record(headers=b"\x02\x08\xef\xbf\xbdA\x00"),
            id="V-42-R-32-not-utf-8",
        ),
        pytest.param(
            record(headers=b"\x02\x06\xed\xa0\x80\x01"),
            record(headers=b"\x02\x06\xef\xbf\xbd\x01"),
            id="V-42-R-32-surrogate",
        ),
        pytest.param(
            record(headers=b"\x02\x04\xc3\xa4\x01"),
            record(headers=b"\x02\x04\xc3\xa4\x01"),
            id="V-42-R-32-utf-8",
        ),
    ],
)
def test_records_are_written_as_kafka_writes_them(sent: bytes, stored: bytes) -> None:
    assert bytes(validate(gzipped(sent), NONE).buffer[61:]) == stored
