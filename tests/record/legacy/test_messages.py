"""R-60 to R-68, R-79: messages of magic 0 and 1; TV-40 to TV-52 as the Java client reads them."""

import gzip
import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.errors import BrokerError, CorruptMessage, InvalidRecord, UnknownServerError
from broker_lite.record.codecs.compression import compress
from broker_lite.record.codecs.decompressed import Bounds
from broker_lite.record.legacy.message_builder import encode_message
from broker_lite.record.legacy.messages import LegacyMessage, LegacyRecord, iterate_legacy
from tests.pipeline.support import T0, legacy_message, legacy_wrapper
from tests.record.support import vectors

NO_TYPE, CREATE_TIME, LOG_APPEND_TIME = -1, 0, 1

MESSAGES = [vector for vector in vectors("legacy.json") if "says" in vector]
FIELD = re.compile(
    r"offset (?P<offset>\d+), size (?P<size>\d+), crc (?P<crc>[0-9a-f]+), attributes (?P<bits>\d+)"
    r"(?:, timestamp (?P<timestamp>\d+))?"
    r'(?:, key (?P<key>null|"[^"]*"), value (?P<value>null|"[^"]*"))?'
)


def view(data: bytes) -> LegacyMessage:
    """The message in the middle of other bytes."""
    buffer = memoryview(b"\xaa" * 7 + data + b"\xaa" * 40)
    return LegacyMessage(buffer, 7, len(data))


def read(data: bytes, **options: Any) -> list[LegacyRecord]:
    return list(iterate_legacy(view(data), **options))


def told(text: str) -> bytes | None:
    return None if text == "null" else text.strip('"').encode()


@pytest.mark.parametrize("vector", MESSAGES, ids=lambda vector: vector["id"])
def test_tv_40_to_tv_52(vector: dict[str, Any]) -> None:
    outer, *inner = FIELD.finditer(vector["says"])
    message = view(bytes.fromhex(vector["hex"]))
    assert message.magic == ("v1" in vector["title"])
    assert message.last_offset == int(outer["offset"])
    assert message.length == int(outer["size"]) == message.size_bytes - 12
    assert message.crc == int(outer["crc"], 16)
    assert message.crc_is_valid()
    assert message.attributes == int(outer["bits"])
    assert message.timestamp == int(outer["timestamp"] or -1)
    assert message.next_offset == message.last_offset + 1
    records = list(iterate_legacy(message, check_inner=True))
    said = inner or [outer]
    first_offset = 100 if inner else message.last_offset
    assert [record.offset for record in records] == list(
        range(first_offset, first_offset + len(said))
    )
    for record, fields in zip(records, said, strict=True):
        assert record.timestamp == int(fields["timestamp"] or -1)
        assert record.key == told(fields["key"])
        assert record.value == told(fields["value"])
        assert record.timestamp_type == message.timestamp_type


def test_all_vectors_are_there() -> None:
    assert [vector["id"] for vector in MESSAGES] == [f"TV-{number}" for number in range(40, 53)]


@pytest.mark.parametrize(
    ("magic", "attributes", "timestamp_type"),
    [
        pytest.param(0, 0, NO_TYPE, id="R-63 magic 0"),
        pytest.param(0, 8, NO_TYPE, id="R-62 magic 0 has no such bit"),
        pytest.param(1, 0, CREATE_TIME, id="R-62 create time"),
        pytest.param(1, 8, LOG_APPEND_TIME, id="R-62 append time"),
    ],
)
def test_timestamp_types(magic: int, attributes: int, timestamp_type: int) -> None:
    data = legacy_message(3, b"k", b"v", magic=magic, attributes=attributes)
    (record,) = read(data)
    assert record == LegacyRecord(3, T0 if magic else -1, timestamp_type, b"k", b"v")


def inner(*offsets: int, magic: int = 1, **fields: Any) -> list[bytes]:
    return [
        legacy_message(offset, None, b"%d" % at, magic=magic, timestamp_ms=T0 + at, **fields)
        for at, offset in enumerate(offsets)
    ]


@pytest.mark.parametrize(
    ("magic", "wrapper_offset", "offsets", "expected"),
    [
        pytest.param(1, 12, (0, 1, 2), [10, 11, 12], id="R-65 relative"),
        pytest.param(1, 12, (0, 3, 5), [7, 10, 12], id="R-65 relative, compacted"),
        pytest.param(0, 12, (10, 11, 12), [10, 11, 12], id="R-65 magic 0: absolute"),
        pytest.param(1, 0, (0, 1, 2), [0, 1, 2], id="R-66 wrapper at 0"),
        pytest.param(1, 2, (0, 1, 2), [0, 1, 2], id="R-66 wrapper at its last"),
    ],
)
def test_offsets_of_a_set(
    magic: int, wrapper_offset: int, offsets: tuple[int, ...], expected: list[int]
) -> None:
    data = legacy_wrapper(wrapper_offset, inner(*offsets, magic=magic), magic=magic)
    assert [record.offset for record in read(data)] == expected


def test_r_67_the_append_time_of_a_wrapper_is_that_of_all() -> None:
    data = legacy_wrapper(2, inner(0, 1, 2), attributes=8)
    assert [(one.timestamp, one.timestamp_type) for one in read(data)] == [
        (T0, LOG_APPEND_TIME)
    ] * 3


def test_r_67_else_each_has_its_own() -> None:
    found = read(legacy_wrapper(2, inner(0, 1, 2)))
    assert [one.timestamp for one in found] == [T0, T0 + 1, T0 + 2]


def wrapper(value: bytes | None, *, codec: int = 1, offset: int = 9, magic: int = 1) -> bytes:
    return legacy_message(offset, None, value, magic=magic, attributes=codec)


def packed(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


SHORT = bytearray(legacy_message(1, None, b"v", magic=0))
SHORT[8:12] = (13).to_bytes(4, "big")


@pytest.mark.parametrize(
    ("data", "error"),
    [
        pytest.param(wrapper(None), InvalidRecord, id="R-68 null"),
        pytest.param(wrapper(compress(4, b"x"), codec=4), InvalidRecord, id="R-68 zstd"),
        pytest.param(wrapper(packed(SHORT)), CorruptMessage, id="R-68 inner below 14"),
        pytest.param(wrapper(packed(inner(0)[0][:-1])), InvalidRecord, id="R-68 none whole"),
        pytest.param(wrapper(packed(b"")), InvalidRecord, id="R-68 none"),
        pytest.param(wrapper(packed(legacy_wrapper(1, inner(0)))), InvalidRecord, id="R-68 nested"),
        pytest.param(wrapper(b"no gzip"), UnknownServerError, id="R-68 codec"),
        pytest.param(wrapper(b"", codec=5), UnknownServerError, id="R-62 no codec"),
        pytest.param(
            wrapper(packed(inner(12)[0])), InvalidRecord, id="R-66 wrapper below the last inner"
        ),
        pytest.param(
            wrapper(packed(inner(0, magic=2)[0])), CorruptMessage, id="R-68 magic 2 inside"
        ),
    ],
)
def test_sets_that_cannot_be_read(data: bytes, error: type[BrokerError]) -> None:
    with pytest.raises(error):
        read(data)


def test_r_68_a_cut_inner_message_and_the_rest_are_dropped() -> None:
    whole = inner(0, 1, 2)
    found = read(wrapper(packed(whole[0] + whole[1] + whole[2][:-1]), offset=1))
    assert [one.offset for one in found] == [0, 1]


def test_r_68_another_magic_inside_is_read() -> None:
    found = read(wrapper(packed(inner(0, magic=0)[0] + inner(1)[0]), offset=1))
    assert [one.timestamp_type for one in found] == [NO_TYPE, CREATE_TIME]


@pytest.mark.parametrize("magic", [0, 2, 3])
def test_v_33_a_produced_set_has_one_magic(magic: int) -> None:
    other = encode_message(1, magic, 0, T0, None, b"v")
    data = wrapper(packed(inner(0)[0] + other), offset=1)
    with pytest.raises(InvalidRecord, match=f"magic {magic} inside"):
        read(data, check_inner=True)


def test_v_33_a_message_of_another_magic_that_cannot_be_printed() -> None:
    other = bytearray(encode_message(1, 0, 0, -1, None, b"v"))
    other[16] = 7
    with pytest.raises(UnknownServerError):
        read(wrapper(packed(bytes(other)), offset=1), check_inner=True)


@pytest.mark.parametrize(
    ("attributes", "error"),
    [
        pytest.param(1, InvalidRecord, id="a codec"),
        pytest.param(4, InvalidRecord, id="zstd"),
        pytest.param(5, UnknownServerError, id="no codec"),
    ],
)
def test_r_68_the_codec_inside_is_looked_at_first(
    attributes: int, error: type[BrokerError]
) -> None:
    wrong = bytearray(inner(0)[0])
    wrong[17] = attributes
    with pytest.raises(error):
        read(wrapper(packed(bytes(wrong)), offset=0), check_inner=True)


def test_v_33_the_checksum_comes_before_the_fields() -> None:
    short = bytearray(legacy_message(0, None, None)[:26])
    short[8:12] = (14).to_bytes(4, "big")
    with pytest.raises(UnknownServerError):
        read(wrapper(packed(bytes(short)), offset=0))
    with pytest.raises(CorruptMessage, match="checksum"):
        read(wrapper(packed(bytes(short)), offset=0), check_inner=True)


def test_r_65_a_wrapper_may_have_a_key() -> None:
    data = legacy_message(1, b"key", packed(b"".join(inner(0, 1))), attributes=1)
    assert [one.value for one in read(data)] == [b"0", b"1"]


def test_r_68_checksums_inside_are_looked_at_when_asked() -> None:
    wrong = bytearray(inner(0)[0])
    wrong[12] ^= 1
    data = wrapper(packed(bytes(wrong)), offset=0)
    assert len(read(data)) == 1
    for asked in ("check_inner", "check_crc"):
        with pytest.raises(CorruptMessage, match="checksum"):
            read(data, **{asked: True})


def test_a_set_is_not_larger_than_allowed() -> None:
    data = legacy_wrapper(1, inner(0, 1))
    assert len(read(data, bounds=Bounds(70))) == 2
    with pytest.raises(UnknownServerError, match="larger than 69 bytes"):
        read(data, bounds=Bounds(69))


@pytest.mark.parametrize(
    ("size_bytes", "magic", "error"),
    [
        pytest.param(25, 0, CorruptMessage, id="R-06 below 14"),
        pytest.param(33, 1, UnknownServerError, id="R-06 magic 1, 14 to 21"),
    ],
)
def test_messages_too_small(size_bytes: int, magic: int, error: type[BrokerError]) -> None:
    data = legacy_message(0, None, None, magic=magic)
    with pytest.raises(error):
        LegacyMessage(memoryview(data), 0, size_bytes)


@pytest.mark.parametrize("key_length", [1, 5, 2**31 - 1])
def test_r_06_a_field_longer_than_its_message(key_length: int) -> None:
    data = bytearray(legacy_message(0, None, None))
    data[26:30] = key_length.to_bytes(4, "big")
    with pytest.raises(UnknownServerError):
        read(bytes(data))


def test_r_61_a_changed_byte_changes_the_checksum() -> None:
    data = bytearray(legacy_message(0, b"k", b"v"))
    data[-1] ^= 1
    assert not view(bytes(data)).crc_is_valid()


@given(
    edits=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=2),
    vector=st.sampled_from(MESSAGES),
)
@settings(max_examples=300)
def test_edited_bytes_give_records_or_an_error_of_the_protocol(
    edits: list[tuple[int, int]], vector: dict[str, Any]
) -> None:
    data = bytearray.fromhex(vector["hex"])
    for position, byte in edits:
        data[position % len(data)] = byte
    with suppress(BrokerError):
        assert all(isinstance(one.offset, int) for one in read(bytes(data), check_inner=True))
