"""What is said of batches that are refused: expected and got, in numbers."""

import gzip

import pytest

from broker_lite.errors import BrokerError
from broker_lite.log.validate.produced_batch import validate_records
from broker_lite.log.validate.validated import ValidationConfig
from tests.log.batches import batch, record, records, sized

NOW_MS = 1_700_000_000_000
GZIP = 1


def reason(data: bytes, **config: object) -> str:
    """Rule and reason of a refusal."""
    topic = ValidationConfig(topic="t", **config)  # type: ignore[arg-type]
    with pytest.raises(BrokerError) as refused:
        validate_records(memoryview(bytearray(data)), topic, now_ms=NOW_MS)
    why = refused.value.why
    assert why is not None
    return f"{why.rule}: {why}"


SENDS = {
    "base offset": (
        batch(record(), base_offset=5),
        "V-20: the base offset is 5, a producer sends 0",
    ),
    "base offset of two": (
        batch(record(), base_offset=-1) * 2,
        "V-20: the base offset is -1, a producer sends 0",
    ),
    "checksum": (
        batch(record(), crc=1),
        "V-20: the CRC-32C of the bytes is 0xe99b8dd8, the batch says 0x00000001",
    ),
    "codec": (batch(record(), attributes=6), "V-20: there is no codec 6"),
    "no batch": (b"", "V-31: 0 batches where exactly one was expected"),
    "two batches": (batch(record()) * 2, "V-31: 2 batches where exactly one was expected"),
    "counts": (
        batch(record(), count=3, last_offset_delta=0),
        "V-32: the header says 3 records and a last offset delta of 0, where one record or more"
        " was expected, and a delta that is one less",
    ),
    "control batch": (
        batch(record(), attributes=0x20),
        "V-32: only the broker may write control batches",
    ),
    "sequence": (
        batch(record(), producer=(5, 2, -1)),
        "V-32: producer 5 epoch 2 sends the sequence -1, which is below 0",
    ),
    "cut record": (
        batch(records(1), count=2),
        "V-36: record 1 of 2, at byte 9 of the records: the batch ends within it",
    ),
    "record length": (
        batch(record(length_error=-1)),
        "V-36: record 0 of 1, at byte 0 of the records: its fields do not fit its length",
    ),
    "one record more": (
        batch(records(2)),
        "V-36: the header says 1 records, and more follow at byte 9 of them",
    ),
    "gzip garbage": (
        batch(b"garbage", attributes=GZIP),
        "V-45: record 0 of 1 cannot be decompressed: the gzip data is wrong",
    ),
    "offsets": (
        batch(gzip.compress(record(offset_delta=5)), attributes=GZIP),
        "V-42: the offset deltas of a compressed batch are not 0, 1, 2 and so on",
    ),
}


@pytest.mark.parametrize("name", SENDS)
def test_v20_v31_v32_v36_v42_v45_reasons(name: str) -> None:
    data, text = SENDS[name]
    assert reason(data) == text


def test_v20_size() -> None:
    data = batch(record(value=bytes(100)))
    text = f"V-20: the batch of {len(data)} bytes is above max.message.bytes=90"
    assert reason(data, max_message_bytes=90) == text
    assert reason(data * 2, max_message_bytes=90) == text


def test_v45_size_when_decompressed() -> None:
    data = batch(gzip.compress(record(value=bytes(5000))), attributes=GZIP)
    assert reason(data, decompressed_bytes_max=2000) == (
        "V-45: the batch decompresses to more than 2,000 bytes"
        " (broker.lite.decompressed.max.bytes), or has more than 65,536 frames and blocks"
    )


def test_v45_size_when_written_anew() -> None:
    """A header key that is not UTF-8 becomes three times as long."""
    data = batch(record(headers=b"\x02" + sized(b"\xff" * 1000) + b"\0"))
    assert reason(data, codec=GZIP, decompressed_bytes_max=2000) == (
        "V-45: the rewritten records take more than 2,000 bytes"
        " (broker.lite.decompressed.max.bytes)"
    )


def test_v45_records() -> None:
    assert reason(batch(records(4), count=4), batch_records_max=3) == (
        "V-45: the batch has 4 records, above broker.lite.batch.records.max=3"
    )


def test_v50_size_with_the_codec_of_the_topic() -> None:
    data = batch(gzip.compress(record(value=bytes(5000))), attributes=GZIP)
    text = reason(data, codec=0, max_message_bytes=1000)
    assert text.startswith("V-50: with the topic's codec or format the batch takes 5,0")
    assert text.endswith("bytes, which is above max.message.bytes=1000")


def test_v42_what_cannot_be_written_with_the_codec_of_the_topic() -> None:
    assert reason(batch(record(), timestamp=-5), codec=GZIP) == (
        "V-42: a record's timestamp is -5, below 0"
    )
    assert reason(batch(record(), producer=(7, -1, 0)), codec=GZIP) == (
        "V-42: producer id 7, epoch -1 and sequence 0 do not go together"
    )


def test_v33_first_record_without_a_key() -> None:
    data = batch(
        record() + record(key=None, offset_delta=1) + record(key=None, offset_delta=2), count=3
    )
    assert reason(data, is_compacted=True) == (
        "V-44: record 1 of 3, offset 1 in its batch: Compacted topic cannot accept message without"
        " key in topic partition t-0 (2 in all are wrong)"
    )


def test_v34_first_record_with_a_wrong_timestamp() -> None:
    data = batch(record(), timestamp=5)
    assert reason(data, before_max_ms=1000, after_max_ms=2000) == (
        "V-44: record 0 of 1, offset 0 in its batch: Timestamp 5 of message with offset 0 is out of"
        f" range. The timestamp should be within [{NOW_MS - 1000}, {NOW_MS + 2000}]"
        " (1 in all are wrong)"
    )
