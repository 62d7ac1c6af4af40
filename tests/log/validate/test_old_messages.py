"""V-41, V-42, V-92, R-92, TV-58: what old producers send becomes one v2 batch."""

import gzip
import json
import re
import tracemalloc
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.errors import (
    BrokerError,
    CorruptMessage,
    InvalidRecord,
    MessageTooLarge,
    TooManyRecords,
    UnknownServerError,
)
from broker_lite.log.validate.old_messages import (
    OLD_SET_BYTES_MAX,
    NothingToAppend,
    check_old_record_set,
    validate_old_records,
)
from broker_lite.log.validate.rejected import RejectedByTimestamp
from broker_lite.log.validate.validated import ValidatedRecords, ValidationConfig
from broker_lite.record.batch import walk
from broker_lite.record.codecs.compression import compress
from broker_lite.record.legacy.message_builder import LegacySetBuilder, encode_message
from broker_lite.record.records import iterate_records
from tests.log.batches import batch, record, records

NOW_MS = 1_700_000_100_000
T0 = 1_700_000_000_000
APPEND_TIME = 8
HUGE = 9223372036854775807
PLAIN = ValidationConfig(topic="t", after_max_ms=HUGE)
COMPACTED = ValidationConfig(topic="t", is_compacted=True)
STAMPED = ValidationConfig(topic="t", is_append_time=True)
NARROW = ValidationConfig(topic="t", before_max_ms=1000, after_max_ms=1000)

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "legacy.json").read_text())["vectors"]
STORED: dict[str, str] = next(each["stored"] for each in VECTORS if each["id"] == "TV-58")
SENT = {each["id"]: bytes.fromhex(each["hex"]) for each in VECTORS if "hex" in each}


def validate(data: bytes, config: ValidationConfig = PLAIN) -> ValidatedRecords:
    return validate_old_records(memoryview(bytearray(data)), config, now_ms=NOW_MS)


def content(found: ValidatedRecords) -> list[tuple[int, bytes | None, bytes | None]]:
    return [(each.timestamp, each.key, each.value) for each in iterate_records(found.batch)]


def message(
    value: bytes | None = b"v",
    *,
    magic: int = 1,
    offset: int = 0,
    bits: int = 0,
    timestamp: int = T0,
    key: bytes | None = b"k",
) -> bytes:
    return encode_message(offset, magic, bits, timestamp, key, value)


def wrapper(*inner: bytes, magic: int = 1, offset: int = 0, bits: int = 1) -> bytes:
    data = gzip.compress(b"".join(inner), mtime=0)
    return message(data, magic=magic, offset=offset or len(inner) - 1, bits=bits, key=None)


@pytest.mark.parametrize("name", STORED)
def test_tv_58_as_kafka_stores_it(name: str) -> None:
    found = validate(SENT[name])
    found.batch.buffer[12:16] = bytes(4)  # the leader epoch, which the log writes
    stored = STORED[name]
    if not stored.startswith("same"):
        assert bytes(found.buffer) == bytes.fromhex(stored)
        return
    one = found.batch
    told = dict(re.findall(r"(\w+) (?:0x)?(-?[0-9a-f]+)[,;]", stored))
    assert one.attributes == int(told["attributes"], 16) == SENT[name][17]
    assert (one.base_offset, one.last_offset_delta) == (0, int(told["lastOffsetDelta"]))
    assert (one.base_timestamp, one.max_timestamp) == (
        int(told["baseTimestamp"]),
        int(told["maxTimestamp"]),
    )
    assert (one.producer_id, one.producer_epoch, one.base_sequence) == (-1, -1, -1)
    assert one.crc_is_valid()
    keys = [(each.key, each.value) for each in iterate_records(one)]
    assert keys == [(b"k%d" % number, b"v%d" % number) for number in range(3)]
    if name in {"TV-43", "TV-49"}:  # the same compressor
        assert one.length == int(told["length"])


@pytest.mark.parametrize("magic", [0, 1])
def test_v92_messages_of_any_offsets_are_counted(magic: int) -> None:
    data = b"".join(message(b"%d" % n, magic=magic, offset=9 - n) for n in range(3))
    found = validate(data)
    assert found.record_count == 3
    assert (found.batch.base_offset, found.batch.last_offset_delta) == (0, 2)
    time = T0 if magic else -1
    assert content(found) == [(time, b"k", b"%d" % number) for number in range(3)]
    assert found.max_timestamp == time
    assert found.log_append_time_ms == -1


@pytest.mark.parametrize(
    ("offsets", "outer"),
    [((0, 1, 2), 2), ((0, 1, 2), 0), ((0, 0, 0), 5), ((7, 3, 9), 9)],
    ids=str,
)
def test_v92_wrappers_of_odd_offsets(offsets: Sequence[int], outer: int) -> None:
    inner = [message(b"%d" % number, offset=number) for number in offsets]
    packed = gzip.compress(b"".join(inner))
    found = validate(message(packed, bits=1, offset=outer))
    assert [value for _, _, value in content(found)] == [b"%d" % number for number in offsets]
    assert found.batch.codec == 1


def test_v92_a_cut_message_at_the_end_is_left_out() -> None:
    assert validate(message() + message()[:-1]).record_count == 1
    assert validate(wrapper(message(), message()[:-1])).record_count == 1


@pytest.mark.parametrize("data", [b"", b"\0" * 11, message()[:-1]], ids=["none", "few", "cut"])
def test_v22_nothing_to_append(data: bytes) -> None:
    with pytest.raises(NothingToAppend) as raised:
        validate(data)
    assert raised.value.code == 0


def test_v92_one_v2_batch() -> None:
    data = batch(records(2), count=2)
    assert bytes(validate(data).buffer) == data


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("source", [0, 1, 2, 3])
def test_v42_the_topics_codec_counts(source: int, codec: int) -> None:
    builder = LegacySetBuilder(1, codec=source)
    for number in range(3):
        builder.append(number, T0 + number, None, b"%d" % number)
    found = validate(builder.build(), ValidationConfig(topic="t", codec=codec))
    assert found.batch.codec == codec
    assert content(found) == [(T0 + number, None, b"%d" % number) for number in range(3)]


@pytest.mark.parametrize("data", [message(), wrapper(message(), message())])
def test_v34_append_time(data: bytes) -> None:
    found = validate(data, STAMPED)
    assert found.log_append_time_ms == found.max_timestamp == NOW_MS
    assert found.batch.is_log_append_time
    assert {time for time, _, _ in content(found)} == {NOW_MS}


def test_v34_the_bit_of_append_time_is_cleared() -> None:
    for data in (message(bits=APPEND_TIME), wrapper(message(), bits=1 | APPEND_TIME)):
        found = validate(data)
        assert not found.batch.is_log_append_time
        assert content(found) == [(T0, b"k", b"v")]


WRONG_CRC = bytearray(message())
WRONG_CRC[13] ^= 1
SHORT = encode_message(0, 0, 0, -1, None, None)


def with_crc(data: bytes, **bytes_at: int) -> bytes:
    """Change bytes and give the message the checksum for them."""
    changed = bytearray(data)
    for name, byte in bytes_at.items():
        changed[int(name[2:])] = byte
    changed[12:16] = zlib.crc32(changed[16:]).to_bytes(4, "big")
    return bytes(changed)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        pytest.param(message() + message(magic=0), InvalidRecord, id="V-32 v1 then v0"),
        pytest.param(bytes(WRONG_CRC), CorruptMessage, id="R-06 wrong CRC"),
        pytest.param(with_crc(SHORT, at16=1), UnknownServerError, id="R-06 v1 below 22"),
        pytest.param(with_crc(message(), at29=9), UnknownServerError, id="R-06 key too long"),
        pytest.param(with_crc(message(), at34=9), UnknownServerError, id="R-06 value too long"),
        pytest.param(batch(record()) * 2, InvalidRecord, id="V-31 two v2 batches"),
        pytest.param(batch(record()) + message(), InvalidRecord, id="V-31 v2 and v1"),
        pytest.param(message() + batch(record()), InvalidRecord, id="V-32 v1 and v2"),
        pytest.param(wrapper(message()) * 2, InvalidRecord, id="V-31 two wrappers"),
        pytest.param(wrapper(message()) + message(), InvalidRecord, id="V-31 wrapper and plain"),
        pytest.param(message(None, bits=1), InvalidRecord, id="R-68 null"),
        pytest.param(wrapper(), InvalidRecord, id="R-68 nothing inside"),
        pytest.param(wrapper(message(), message(magic=0)), InvalidRecord, id="V-33 magic inside"),
        pytest.param(wrapper(wrapper(message())), InvalidRecord, id="R-68 nested"),
        pytest.param(
            message(compress(4, message()), bits=4), InvalidRecord, id="R-68 a wrapper of zstd"
        ),
        pytest.param(message(b"", bits=1), UnknownServerError, id="R-76 empty"),
        pytest.param(message(b"garbage", bits=2), UnknownServerError, id="R-77 garbage"),
        pytest.param(message(bits=5), UnknownServerError, id="V-20 codec 5"),
        pytest.param(wrapper(bytes(WRONG_CRC)), CorruptMessage, id="V-33 CRC inside"),
        pytest.param(batch(record(), base_offset=5), InvalidRecord, id="V-20 base offset"),
        pytest.param(batch(record(), crc=1), CorruptMessage, id="V-20 CRC of v2"),
        pytest.param(batch(b"")[:40], NothingToAppend, id="V-22 cut v2"),
        pytest.param(batch(b"", length=39)[:51], CorruptMessage, id="R-06 short v2"),
        pytest.param(message(timestamp=-2), UnknownServerError, id="V-41 negative timestamp"),
        pytest.param(
            wrapper(message(timestamp=-2), message()), UnknownServerError, id="V-42 inside"
        ),
        pytest.param(
            message(bits=APPEND_TIME, timestamp=-1), RejectedByTimestamp, id="V-34 type and -1"
        ),
        pytest.param(message(bytes(1_048_600)), MessageTooLarge, id="V-20 size"),
    ],
)
def test_v92_rejected(data: bytes, error: type[BrokerError]) -> None:
    with pytest.raises(error):
        validate(data)


@pytest.mark.parametrize(
    ("data", "config", "error"),
    [
        pytest.param(message(key=None), COMPACTED, InvalidRecord, id="V-33 key"),
        pytest.param(message(bits=APPEND_TIME), STAMPED, RejectedByTimestamp, id="V-34 type"),
        pytest.param(
            wrapper(message(), bits=1 | APPEND_TIME), STAMPED, RejectedByTimestamp, id="V-34 both"
        ),
        pytest.param(message(), NARROW, RejectedByTimestamp, id="V-34 old"),
        pytest.param(
            message(timestamp=NOW_MS + 1001), NARROW, RejectedByTimestamp, id="V-34 ahead"
        ),
        pytest.param(
            message(key=None) + message(timestamp=1), COMPACTED, InvalidRecord, id="V-44 first"
        ),
        pytest.param(
            wrapper(message(key=None), message(timestamp=HUGE)),
            COMPACTED,
            RejectedByTimestamp,
            id="V-44 a timestamp counts more",
        ),
        pytest.param(
            wrapper(message(timestamp=HUGE), message(key=None)),
            COMPACTED,
            RejectedByTimestamp,
            id="V-44 in any order",
        ),
        pytest.param(
            wrapper(message(timestamp=-2), message(key=None)),
            COMPACTED,
            InvalidRecord,
            id="V-42 checks come before writing",
        ),
        pytest.param(
            message(timestamp=-2) + message(key=None),
            ValidationConfig(topic="t", is_compacted=True, codec=1),
            InvalidRecord,
            id="V-42 also of messages",
        ),
        pytest.param(
            message(timestamp=-2) + message(),
            ValidationConfig(topic="t", codec=1),
            UnknownServerError,
            id="V-42 then writing",
        ),
        pytest.param(
            message(timestamp=-2) + message(key=None), COMPACTED, UnknownServerError, id="V-41"
        ),
        pytest.param(
            wrapper(message(bytes(2000))),
            ValidationConfig(topic="t", codec=0, max_message_bytes=500),
            MessageTooLarge,
            id="V-50",
        ),
        pytest.param(
            wrapper(message(bytes(2000))),
            ValidationConfig(topic="t", decompressed_bytes_max=1000),
            MessageTooLarge,
            id="V-45",
        ),
    ],
)
def test_v92_rejected_by_the_topic(
    data: bytes, config: ValidationConfig, error: type[BrokerError]
) -> None:
    with pytest.raises(error):
        validate(data, config)


def test_v45_a_bomb_is_refused() -> None:
    data = wrapper(message(bytes(OLD_SET_BYTES_MAX)))
    assert len(data) < 50_000
    with pytest.raises(MessageTooLarge):
        validate(data)


def test_v45_many_small_messages_are_not_kept_in_a_list() -> None:
    small = encode_message(0, 0, 0, -1, None, None)
    data = wrapper(*[small] * 3_000, magic=0)
    tracemalloc.start()
    try:
        found = validate(data)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.record_count == 3_000
    assert peak_bytes < 10 * 3_000 * len(small) + (1 << 18)  # the codec has tables


@pytest.mark.parametrize("data", [b"", message()[:20], message() * 2, batch(record())])
def test_v10_sets_that_may_be_looked_at_further(data: bytes) -> None:
    assert len(list(check_old_record_set(memoryview(data)))) == len(list(walk(data)))


@pytest.mark.parametrize(
    ("data", "error"),
    [
        pytest.param(None, InvalidRecord, id="V-02"),
        pytest.param(message() + bytes(12), CorruptMessage, id="V-06 length 0"),
        pytest.param(batch(b"", length=38)[:50], UnknownServerError, id="V-21"),
    ],
)
def test_v10_sets_that_fail_the_request(data: bytes | None, error: type[BrokerError]) -> None:
    with pytest.raises(error):
        list(check_old_record_set(None if data is None else memoryview(data)))


SOUND: list[Any] = [
    message() * 3,
    wrapper(message(), message()),
    wrapper(message(magic=0), magic=0),
]


@settings(max_examples=150)
@given(
    data=st.sampled_from(SOUND),
    changes=st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=3),
    cut=st.integers(0, 40),
)
def test_hostile_sets_are_refused_or_become_one_sound_batch(
    data: bytes, changes: list[tuple[int, int]], cut: int
) -> None:
    """V-92: nothing but an error of the protocol, or a batch that Kafka's reader takes."""
    changed = bytearray(data)
    for position, byte in changes:
        changed[position % len(changed)] = byte
    sent = with_crc(bytes(changed)) if cut == 40 else bytes(changed[: len(changed) - cut])
    try:
        found = validate(sent)
    except BrokerError:
        return
    assert found.batch.crc_is_valid()
    assert len(list(walk(found.buffer))) == 1
    assert len(content(found)) == found.record_count


def test_v45_more_messages_than_a_batch_may_have() -> None:
    config = ValidationConfig(topic="t", after_max_ms=HUGE, batch_records_max=1)
    assert content(validate(message(b"a"), config)) == [(T0, b"k", b"a")]
    with pytest.raises(TooManyRecords):
        validate(message(b"a") + message(b"b", offset=1), config)
