"""Produce answered as the outcome matrices say: V-90, V-91."""

import gzip

import pytest

from tests.handler.data_apis import Handlers, outcome, plain
from tests.log.batches import batch, record, records

GOOD = batch(record())
TRANSACTIONAL = 0x10
GZIP = 1


def long_length() -> bytes:
    """A record whose length varint has six bytes."""
    return b"\x80\x80\x80\x80\x80\x01" + record()


ONE = batch(record())
REJECTED = {
    "no bytes": (b"", 87, -1),
    "1 byte": (b"\0", 87, -1),
    "16 bytes": (ONE[:16], 87, -1),
    "17-byte header only": (ONE[:17], 87, -1),
    "one byte short": (ONE[:-1], 87, -1),
    "length 0x10000000": (batch(record(), length=0x10000000), 87, -1),
    "length 0x7ffffff3": (batch(record(), length=0x7FFFFFF3), 87, -1),
    "magic 0": (batch(record(), magic=0), 87, -1),
    "magic 1": (batch(record(), magic=1), 87, -1),
    "two batches": (ONE + ONE, 87, -1),
    "second header malformed": (ONE + bytes(12), 2, -1),
    "wrong CRC": (batch(record(), crc=1), 2, -1),
    "base offset 5": (batch(record(), base_offset=5), 87, 0),
    "base offset -1": (batch(record(), base_offset=-1), 87, 0),
    "count 0, delta 0": (batch(record(), count=0, last_offset_delta=0), 87, 0),
    "count 0, delta -1": (batch(record(), count=0), 87, 0),
    "count -1": (batch(record(), count=-1), 87, 0),
    "delta -1": (batch(record(), last_offset_delta=-1), 87, 0),
    "count 2, delta 0": (batch(record(), count=2, last_offset_delta=0), 87, 0),
    "count 2, one record": (batch(record(), count=2), 87, 0),
    "count 1, two records": (batch(records(2)), 87, 0),
    "control bit": (batch(record(), attributes=0x20), 87, 0),
    "producer id 5, sequence -1": (batch(record(), producer=(5, 0, -1)), 87, 0),
    "codec 5": (batch(record(), attributes=5), -1, 0),
    "codec 7": (batch(record(), attributes=7), -1, 0),
    "record length +1": (batch(record(length_error=1)), 87, 0),
    "record length -1": (batch(record(length_error=-1)), 87, 0),
    "record length negative": (batch(record(length_error=-100)), 87, 0),
    "record length varint of 6 bytes": (batch(long_length()), -1, 0),
    "header count -1": (batch(record(headers=b"\1")), 87, 0),
    "header count 1 without bytes": (batch(record(headers=b"\2")), 87, 0),
    "header key length -1": (batch(record(headers=b"\2\1\1")), 87, 0),
    "larger than max.message.bytes": (batch(record(value=bytes(1_048_600))), 10, -1),
    "larger, wrong CRC": (batch(record(value=bytes(1_048_600)), crc=1), 10, -1),
    "larger, base offset 5": (batch(record(value=bytes(1_048_600)), base_offset=5), 87, 0),
    "gzip garbage": (batch(b"garbage", attributes=GZIP), -1, 0),
    "gzip truncated": (batch(gzip.compress(record())[:-6], attributes=GZIP), -1, 0),
    "gzip empty": (batch(b"", attributes=GZIP), -1, 0),
    "snappy garbage": (batch(b"garbage", attributes=2), -1, 0),
    "lz4 garbage": (batch(b"garbage", attributes=3), -1, 0),
    "zstd garbage": (batch(b"garbage", attributes=4), -1, 0),
    "gzip too many": (batch(gzip.compress(records(2)), attributes=GZIP), 87, 0),
    "gzip too few": (batch(gzip.compress(record()), count=2, attributes=GZIP), 87, 0),
    "gzip header count -1": (
        batch(gzip.compress(record(headers=b"\1")), attributes=GZIP),
        87,
        0,
    ),
    "gzip offsets 5, 9": (
        batch(
            gzip.compress(record(offset_delta=5) + record(offset_delta=9)),
            count=2,
            attributes=GZIP,
        ),
        -1,
        0,
    ),
}


@pytest.mark.parametrize("name", REJECTED)
def test_v90_rejected(handlers: Handlers, name: str) -> None:
    data, code, start = REJECTED[name]
    assert outcome(handlers.produce(data)[0]) == plain(code, start)
    assert handlers.log().log_end_offset == 0


@pytest.mark.parametrize(
    ("attributes", "timestamp", "topic_type"),
    [
        pytest.param(8, -1, "CreateTime", id="V-90 timestamp -1 with LogAppendTime bit"),
        pytest.param(8, 0, "LogAppendTime", id="V-90 the bit on a LogAppendTime topic"),
    ],
)
def test_v90_timestamp_type(
    handlers: Handlers, attributes: int, timestamp: int, topic_type: str
) -> None:
    handlers.create("typed", message_timestamp_type=topic_type)
    bad = batch(record(), attributes=attributes, timestamp=timestamp)
    assert outcome(handlers.produce(bad, topic="typed")[0])[:5] == (32, -1, -1, 0, 1)


ACCEPTED = {
    "5 trailing bytes": ONE + bytes(5),
    "a partial second batch": ONE + ONE[:-1],
    "leader epoch 77": batch(record(), leader_epoch=77),
    "producer id 5 with epoch -1": batch(record(), producer=(5, -1, 0)),
    "producer id -2": batch(record(), producer=(-2, 0, 0)),
    "attributes 0x0040": batch(record(), attributes=0x40),
    "attributes 0x0100": batch(record(), attributes=0x100),
    "LogAppendTime bit": batch(record(), attributes=8),
    "maxTimestamp wrong": batch(record(), max_timestamp=5),
    "record attributes 0x7f": batch(record(attributes=0x7F)),
    "offset deltas 0, 0": batch(record() * 2, count=2),
    "timestamp -1": batch(record(), timestamp=-1),
    "timestamp -2": batch(record(), timestamp=-2),
    "gzip trailing garbage": batch(gzip.compress(record()) + b"garbage", attributes=GZIP),
    "gzip two members": batch(
        gzip.compress(record()) + gzip.compress(record(offset_delta=1)), count=2, attributes=GZIP
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_v91_accepted_although_odd(handlers: Handlers, name: str) -> None:
    assert outcome(handlers.produce(ACCEPTED[name])[0]) == (0, 0, -1, 0, 0, None)
    assert handlers.produce(GOOD)[0].base_offset == handlers.log().log_end_offset - 1


@pytest.mark.parametrize("transactional_id", ["", "unknown"])
def test_v91_transactional_bit_without_producer_id(
    handlers: Handlers, transactional_id: str
) -> None:
    odd = batch(record(), attributes=TRANSACTIONAL)
    (answer,) = handlers.produce(odd, transactional_id=transactional_id)
    assert outcome(answer)[:2] == (0, 0)
    assert handlers.log().last_stable_offset == 1
