"""F-61: entries rewritten for clients of magic 0 and 1."""

import pytest

from broker_lite.errors import BrokerError, UnknownServerError, UnsupportedCompressionType
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.codecs.decompressed import Bounds
from broker_lite.record.control import EndTransactionMarker, end_transaction_batch
from broker_lite.record.framing import Entry
from broker_lite.record.legacy.down_conversion import down_convert
from broker_lite.record.legacy.message_builder import LegacySetBuilder, encode_message
from broker_lite.record.legacy.messages import LegacyMessage, LegacyRecord, iterate_legacy

T0 = 1_700_000_000_000
FIELDS = ((b"k", b"v"), (None, b""), (b"", None))


def batch(codec: int = 0, append_time_ms: int | None = None, base_offset: int = 100) -> bytes:
    builder = BatchBuilder(base_offset=base_offset, codec=codec, log_append_time_ms=append_time_ms)
    for number, (key, value) in enumerate(FIELDS):
        builder.append(T0 + number, key, value, [(b"h", b"x")], offset=base_offset + 2 * number)
    return builder.build()


def convert(
    data: bytes | bytearray, magic: int, first_offset: int = 0, bytes_max: int = 1 << 20
) -> bytes:
    entry = Entry(0, len(data), data[16])
    found = down_convert(
        memoryview(data),
        entry,
        magic,
        first_offset=first_offset,
        bounds=Bounds(bytes_max),
    )
    return bytes(found)


def expected(magic: int, codec: int, append_time_ms: int | None = None) -> bytes:
    builder = LegacySetBuilder(magic, codec=codec, log_append_time_ms=append_time_ms)
    for number, (key, value) in enumerate(FIELDS):
        builder.append(100 + 2 * number, T0 + number, key, value)
    return builder.build()


@pytest.mark.parametrize("codec", [0, 1, 2, 3])
@pytest.mark.parametrize("append_time_ms", [None, T0 + 99])
@pytest.mark.parametrize("magic", [0, 1])
def test_f61_a_batch_becomes_a_set_of_its_codec(
    magic: int, append_time_ms: int | None, codec: int
) -> None:
    data = batch(codec, append_time_ms)
    assert convert(data, magic) == expected(magic, codec, append_time_ms)


def test_f61_a_wrapper_of_magic_1_becomes_one_of_magic_0() -> None:
    for append_time_ms in (None, T0 + 99):
        assert convert(expected(1, 3, append_time_ms), 0) == expected(0, 3)


def test_f61_a_message_of_magic_1_becomes_one_of_magic_0() -> None:
    data = encode_message(7, 1, 0, T0, b"k", b"v")
    assert convert(data, 0) == encode_message(7, 0, 0, -1, b"k", b"v")
    assert convert(data, 0, first_offset=8) == b""


@pytest.mark.parametrize(("own", "magic"), [(0, 0), (0, 1), (1, 1)])
def test_f61_what_the_client_knows_is_copied(own: int, magic: int) -> None:
    data = expected(own, 1)
    assert convert(data, magic) == data


def test_f61_plain_records_below_the_fetch_offset_are_left_out() -> None:
    data = convert(batch(), 1, first_offset=101)
    first = LegacyMessage(memoryview(data), 0, 12 + int.from_bytes(data[8:12], "big"))
    assert first.last_offset == 102
    assert convert(batch(), 1, first_offset=105) == b""


def test_f61_compressed_ones_are_not() -> None:
    assert convert(batch(1), 1, first_offset=105) == expected(1, 1)


def test_f61_control_batches_are_dropped() -> None:
    marker = end_transaction_batch(5, 0, EndTransactionMarker(True, 4), timestamp=T0)
    assert convert(marker, 1) == b""


def test_f61_transactional_batches_are_not() -> None:
    builder = BatchBuilder(producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
    builder.append(T0, b"k", b"v")
    data = convert(builder.build(), 1)
    message = LegacyMessage(memoryview(data), 0, len(data))
    assert list(iterate_legacy(message)) == [LegacyRecord(0, T0, 0, b"k", b"v")]


def negative_time() -> bytes:
    data = bytearray(batch())
    data[27:35] = (-5).to_bytes(8, "big", signed=True)
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        pytest.param(batch(4), UnsupportedCompressionType, id="F-61 zstd"),
        pytest.param(batch(1)[:-9], UnknownServerError, id="R-76 a codec that fails"),
        pytest.param(negative_time(), UnknownServerError, id="R-50 a timestamp below -1"),
    ],
)
def test_f61_what_cannot_be_converted(data: bytes, error: type[BrokerError]) -> None:
    with pytest.raises(error):
        convert(data, 1)


def test_v45_a_batch_is_not_decompressed_without_limit() -> None:
    builder = BatchBuilder(codec=1)
    builder.append(T0, None, bytes(1 << 20))
    with pytest.raises(UnknownServerError, match="larger than 1000 bytes"):
        convert(builder.build(), 1, bytes_max=1000)
    wrapper = LegacySetBuilder(1, codec=1)
    wrapper.append(0, T0, None, bytes(1 << 20))
    with pytest.raises(UnknownServerError, match="larger than 1000 bytes"):
        convert(wrapper.build(), 0, bytes_max=1000)
