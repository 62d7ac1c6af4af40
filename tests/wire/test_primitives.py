import pytest

from broker_lite.wire import primitives
from broker_lite.wire.primitives import DecodeError, EncodeError

UVARINTS = [
    (0, "00"),
    (1, "01"),
    (127, "7f"),
    (128, "8001"),
    (300, "ac02"),
    (16383, "ff7f"),
    (16384, "808001"),
    (2097151, "ffff7f"),
    (2097152, "80808001"),
    (268435455, "ffffff7f"),
    (268435456, "8080808001"),
    (2147483647, "ffffffff07"),
]


@pytest.mark.parametrize(("value", "encoded"), UVARINTS, ids=lambda each: f"P-22 TV-93 {each}")
def test_uvarint(value: int, encoded: str) -> None:
    data = bytes.fromhex(encoded)
    assert primitives.encode_uvarint(value) == data
    assert primitives.read_uvarint(data, 0) == (value, len(data))
    assert primitives.read_uvarint(memoryview(b"\xff" + data + b"\xff"), 1) == (
        value,
        len(data) + 1,
    )
    for length in range(len(data)):
        with pytest.raises(IndexError):
            primitives.read_uvarint(data[:length], 0)


@pytest.mark.parametrize(
    ("encoded", "value"),
    [
        pytest.param("8000", 0, id="P-22 not the shortest form"),
        pytest.param("8080808000", 0, id="P-22 five bytes for 0"),
        pytest.param("ffffffff0f", -1, id="P-22 32 bits are signed, as in Kafka"),
        pytest.param("8080808008", -(1 << 31), id="P-22 bit 31"),
        pytest.param("8080808070", 0, id="P-22 bits above 31 are lost"),
    ],
)
def test_odd_uvarint(encoded: str, value: int) -> None:
    data = bytes.fromhex(encoded)
    assert primitives.read_uvarint(data, 0) == (value, len(data))


def test_uvarint_of_six_bytes_p22_p08() -> None:
    with pytest.raises(DecodeError, match="longer than 5 bytes"):
        primitives.read_uvarint(bytes.fromhex("808080808000"), 0)


@pytest.mark.parametrize("value", [-1, -(1 << 31), 1 << 32])
def test_encode_uvarint_out_of_range_p22(value: int) -> None:
    with pytest.raises(EncodeError):
        primitives.encode_uvarint(value)


def test_encode_uvarint_of_32_bits_p22() -> None:
    assert primitives.encode_uvarint((1 << 32) - 1).hex() == "ffffffff0f"


@pytest.mark.parametrize("flexible", [False, True], ids=["P-23", "P-24"])
@pytest.mark.parametrize("text", ["", "topic", "größer", "n" * 200, "n" * 32767], ids=len)
def test_strings(text: str, *, flexible: bool) -> None:
    encoded = primitives.encode_string(text, flexible=flexible)
    read = primitives.read_compact_string if flexible else primitives.read_string
    assert read(b"head" + encoded + b"rest", 4) == (text, 4 + len(encoded))
    with pytest.raises(DecodeError):
        read(encoded[:-1] if text else b"\0" if flexible else b"\xff\xff", 0)


@pytest.mark.parametrize("flexible", [False, True], ids=["P-23", "P-24"])
def test_nullable_strings(*, flexible: bool) -> None:
    null = primitives.encode_nullable_string(None, flexible=flexible)
    assert null.hex() == ("00" if flexible else "ffff")
    for text in ("", "topic"):
        expected = primitives.encode_string(text, flexible=flexible)
        assert primitives.encode_nullable_string(text, flexible=flexible) == expected


@pytest.mark.parametrize("flexible", [False, True], ids=["P-23", "P-24"])
def test_a_string_too_long(*, flexible: bool) -> None:
    with pytest.raises(EncodeError):
        primitives.encode_string("n" * 32768, flexible=flexible)


@pytest.mark.parametrize(
    ("count", "old", "compact"),
    [(-1, "ffffffff", "00"), (0, "00000000", "01"), (300, "0000012c", "ad02")],
)
def test_encode_count_p25_p26_p27(count: int, old: str, compact: str) -> None:
    assert primitives.encode_count(count, flexible=False).hex() == old
    assert primitives.encode_count(count, flexible=True).hex() == compact


def test_skip_tags_p29_p30() -> None:
    assert primitives.skip_tags(b"\0rest", 0) == 1
    encoded = primitives.encode_tags([(tag, b"ab" * 100) for tag in range(16)], None)
    assert primitives.skip_tags(b"x" + encoded + b"rest", 1) == 1 + len(encoded)
    with pytest.raises(DecodeError):
        primitives.skip_tags(encoded[:-1], 0)
    with pytest.raises(IndexError):
        primitives.skip_tags(encoded[:-202], 0)


@pytest.mark.parametrize("count", ["11", "808080800100", "ffffffff07"])
def test_no_more_than_16_tagged_fields_in_one_place_p34(count: str) -> None:
    """Two bytes are one: a frame of 100 MB, read without a pause, takes half a minute."""
    tags = bytes.fromhex("0500" * 17)
    with pytest.raises(DecodeError, match="tagged fields"):
        primitives.skip_tags(bytes.fromhex(count) + tags, 0)
    with pytest.raises(DecodeError, match="tagged fields"):
        primitives.read_tags(tags, 0, 17)


def test_read_tags_p30() -> None:
    data = bytes.fromhex("ff 05 02 abcd 00 00 05 01 ee ff")
    tags = [(5, b"\xab\xcd"), (0, b""), (5, b"\xee")]
    assert primitives.read_tags(data, 1, 3) == (tags, 10)
    assert primitives.read_tags(memoryview(data), 1, 3) == (tags, 10)
    assert primitives.read_tags(data, 3, 0) == (None, 3)
    assert primitives.read_tags(data, 3, -1) == (None, 3)  # a count of 2^31 or more, as in Kafka


@pytest.mark.parametrize("size", ["03", "ffffffff07", "ffffffff0f"])
def test_tag_size_past_the_end_p34(size: str) -> None:
    with pytest.raises(DecodeError, match="tag 7"):
        primitives.read_tag(bytes.fromhex(f"07{size}abcd"), 0)


def test_encode_tags_in_order_p29() -> None:
    encoded = primitives.encode_tags([(3, b"c"), (1, b"a")], [(2, b""), (300, b"z" * 200)])
    assert encoded.hex() == "04" + "010161" + "0200" + "030163" + "ac02c801" + "7a" * 200
    assert primitives.encode_tags(None, None) == b"\0"


def test_encode_tags_twice_p29() -> None:
    with pytest.raises(EncodeError, match="tag 1 occurs twice"):
        primitives.encode_tags([(1, b"a")], [(1, b"b")])


def test_short_arrays_p27() -> None:
    unpack = primitives.array_unpackers("h")
    pack = primitives.array_packers("B", "h")
    assert len(unpack) == len(pack) == primitives.ARRAY_SHORT_MAX
    assert pack[2](3, 1, -1) == b"\x03\x00\x01\xff\xff"
    assert unpack[2](b"\x00\x01\xff\xff", 0) == (1, -1)


@pytest.mark.parametrize("flexible", [False, True], ids=["P-23", "P-24"])
def test_a_text_that_grows_too_long_is_refused(*, flexible: bool) -> None:
    read = primitives.read_compact_string if flexible else primitives.read_string
    grown = primitives.STRING_BYTES_MAX // 3
    for count, is_refused in ((grown, False), (grown + 1, True)):
        text = b"\xff" * count
        head = primitives.encode_uvarint(count + 1) if flexible else count.to_bytes(2, "big")
        if is_refused:
            with pytest.raises(DecodeError, match="not UTF-8, and too long"):
                read(head + text, 0)
        else:
            assert read(head + text, 0)[0] == "\ufffd" * count
