"""R-50, R-60 to R-67, R-79: the bytes of TV-40 to TV-52 come out of the builder."""

from typing import Any

import pytest

from broker_lite.errors import UnknownServerError
from broker_lite.record.legacy.message_builder import LegacySetBuilder, encode_message, message_size
from broker_lite.record.legacy.messages import LegacyMessage, LegacyRecord, iterate_legacy
from tests.record.support import vectors

VECTORS = [vector for vector in vectors("legacy.json") if "says" in vector]
T0 = 1_700_000_000_000


def view(data: bytes) -> LegacyMessage:
    return LegacyMessage(memoryview(data), 0, len(data))


def records(data: bytes) -> list[LegacyRecord]:
    return list(iterate_legacy(view(data), check_inner=True))


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_tv_40_to_tv_52_are_written_as_java_does(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    message = view(data)
    append_time_ms = message.timestamp if message.timestamp_type == 1 else None
    builder = LegacySetBuilder(
        message.magic, codec=message.codec, log_append_time_ms=append_time_ms
    )
    plain_bytes = 0
    for record in iterate_legacy(message):
        builder.append(record.offset, record.timestamp, record.key, record.value)
        plain_bytes += message_size(message.magic, record.key, record.value)
    built = builder.build()
    assert builder.size_bytes == plain_bytes
    if message.codec in {2, 3}:  # another compressor, so other bytes in the same frame
        assert records(built) == list(iterate_legacy(message))
        head = data.index(b"\xff\xff\xff\xff") + 8
        assert built[16 : head - 4] == data[16 : head - 4]
        assert built[head : head + 7] == data[head : head + 7]
    else:
        assert built == data


def test_r_64_a_plain_set_is_its_messages() -> None:
    builder = LegacySetBuilder(1)
    builder.append(3, T0, b"k", None)
    builder.append(7, -1, None, b"v")
    assert builder.build() == (
        encode_message(3, 1, 0, T0, b"k", None) + encode_message(7, 1, 0, -1, None, b"v")
    )


@pytest.mark.parametrize("codec", [0, 1, 2, 3])
@pytest.mark.parametrize("magic", [0, 1])
def test_no_records_are_no_bytes(magic: int, codec: int) -> None:
    assert LegacySetBuilder(magic, codec=codec).build() == b""


@pytest.mark.parametrize("codec", [1, 2, 3])
def test_r_65_offsets_with_gaps_come_back(codec: int) -> None:
    for magic in (0, 1):
        builder = LegacySetBuilder(magic, codec=codec)
        for offset in (10, 13, 40):
            builder.append(offset, T0 + offset, None, b"%d" % offset)
        data = builder.build()
        assert view(data).last_offset == 40
        assert [record.offset for record in records(data)] == [10, 13, 40]


def test_r_67_append_time_is_in_the_wrapper_and_in_its_messages() -> None:
    builder = LegacySetBuilder(1, codec=1, log_append_time_ms=T0)
    builder.append(0, 5, None, b"a")
    data = builder.build()
    assert view(data).timestamp == T0
    assert view(data).attributes == 9
    assert records(data) == [LegacyRecord(0, T0, 1, None, b"a")]


def test_r_62_magic_0_has_no_timestamp_type() -> None:
    builder = LegacySetBuilder(0, log_append_time_ms=T0)
    builder.append(0, 5, None, b"a")
    assert builder.build() == encode_message(0, 0, 0, -1, None, b"a")


def test_r_79_the_header_checksum_of_magic_0_is_refused_by_magic_1() -> None:
    builder = LegacySetBuilder(0, codec=3)
    builder.append(0, -1, None, b"a")
    data = builder.build()
    assert records(data) == [LegacyRecord(0, -1, -1, None, b"a")]
    historic = view(data).key_and_value()[1]
    assert historic is not None
    newer = encode_message(0, 1, 3, T0, None, bytes(historic))
    with pytest.raises(UnknownServerError):
        records(newer)


@pytest.mark.parametrize(
    ("magic", "codec"), [(2, 0), (-1, 0), (0, 4), (1, 4), (1, 5)], ids=lambda value: str(value)
)
def test_r_50_no_such_set(magic: int, codec: int) -> None:
    with pytest.raises(UnknownServerError):
        LegacySetBuilder(magic, codec=codec)


@pytest.mark.parametrize(
    ("offset", "timestamp"),
    [pytest.param(4, T0, id="offset"), pytest.param(6, -2, id="timestamp")],
)
def test_r_50_what_may_not_be_appended(offset: int, timestamp: int) -> None:
    builder = LegacySetBuilder(1)
    builder.append(4, T0, None, None)
    with pytest.raises(UnknownServerError):
        builder.append(offset, timestamp, None, None)
