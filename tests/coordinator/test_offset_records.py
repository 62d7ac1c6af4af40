"""The records of committed offsets against the generated codec."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.coordinator.offset_records import (
    NO_EXPIRY,
    CommittedOffset,
    decode_offset_key,
    decode_offset_value,
    encode_offset_key,
    encode_offset_value,
)
from broker_lite.wire import ZERO_UUID, DecodeError, messages

INT64 = st.integers(-(2**63), 2**63 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
TEXT = st.one_of(st.text(max_size=20), st.integers(120, 300).map(lambda n: "é" * n))
TOPIC_ID = st.one_of(st.just(ZERO_UUID), st.binary(min_size=16, max_size=16))
OFFSET = st.builds(
    CommittedOffset,
    offset=INT64,
    leader_epoch=INT32,
    metadata=TEXT,
    commit_ms=INT64,
    expire_ms=st.just(NO_EXPIRY),
    topic_id=TOPIC_ID,
)


def by_codec(committed: CommittedOffset, version: int) -> bytes:
    value = messages.OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_ms,
        expire_timestamp=committed.expire_ms,
        topic_id=committed.topic_id,
    )
    return version.to_bytes(2) + messages.OffsetCommitValue.encode(value, version)


def read_by_codec(data: bytes) -> CommittedOffset | None:
    try:
        version = int.from_bytes(data[:2], signed=True)
        value: Any = messages.OffsetCommitValue.decode(data, version, 2)[0]
    except DecodeError:
        return None
    return CommittedOffset(
        value.offset,
        value.leader_epoch,
        value.metadata,
        value.commit_timestamp,
        value.expire_timestamp,
        value.topic_id,
    )


@settings(max_examples=60)
@given(TEXT, TEXT, INT32)
def test_key_is_that_of_the_codec_g66(group_id: str, topic: str, partition: int) -> None:
    key = messages.OffsetCommitKey(group=group_id, topic=topic, partition=partition)
    encoded = encode_offset_key(group_id, topic, partition)
    assert encoded == b"\x00\x01" + messages.OffsetCommitKey.encode(key, 0)
    assert decode_offset_key(encoded) == (group_id, topic, partition)


@pytest.mark.parametrize("size", range(19))
def test_every_prefix_of_a_key_is_refused(size: int) -> None:
    key = encode_offset_key("group", "top", 1)
    assert len(key) == 18
    if size < len(key):
        with pytest.raises(DecodeError):
            decode_offset_key(key[:size])


@pytest.mark.parametrize("key", ["0001ffff000174000000", "00010001670000ff", "00010001ff000174"])
def test_odd_keys_are_the_codecs_to_judge(key: str) -> None:
    data = bytes.fromhex(key)
    with pytest.raises(DecodeError):
        decode_offset_key(data)


def test_a_key_with_bytes_after_it_is_read_by_the_codec() -> None:
    assert decode_offset_key(encode_offset_key("g", "t", 1) + b"x") == ("g", "t", 1)


@settings(max_examples=100)
@given(OFFSET)
def test_value_without_expiry_is_v4_g66(committed: CommittedOffset) -> None:
    encoded = encode_offset_value(committed)
    assert encoded == by_codec(committed, 4)
    assert decode_offset_value(encoded) == committed


@settings(max_examples=50)
@given(OFFSET, st.integers(0, 2**63 - 1))
def test_value_with_expiry_is_v1_g66(committed: CommittedOffset, expire_ms: int) -> None:
    committed = committed._replace(expire_ms=expire_ms)
    encoded = encode_offset_value(committed)
    assert encoded == by_codec(committed, 1)
    assert decode_offset_value(encoded) == committed._replace(leader_epoch=-1, topic_id=ZERO_UUID)


@settings(max_examples=50)
@given(OFFSET, st.integers(0, 4))
def test_every_version_is_read(committed: CommittedOffset, version: int) -> None:
    encoded = by_codec(committed, version)
    assert decode_offset_value(encoded) == read_by_codec(encoded)


@settings(max_examples=200)
@given(OFFSET, st.data())
def test_edited_values_are_read_as_the_codec_reads_them(
    committed: CommittedOffset, data: st.DataObject
) -> None:
    edited = bytearray(encode_offset_value(committed))
    for _ in range(data.draw(st.integers(1, 2))):
        edited[data.draw(st.integers(0, len(edited) - 1))] = data.draw(st.integers(0, 255))
    value = bytes(edited[: data.draw(st.integers(0, len(edited)))])
    expected = read_by_codec(value)
    if expected is None:
        with pytest.raises(DecodeError):
            decode_offset_value(value)
    else:
        assert decode_offset_value(value) == expected
