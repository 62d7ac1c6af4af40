"""Framing: the headers of requests and answers."""

import random
from typing import Any, NamedTuple

import pytest

from broker_lite.protocol.framing import Request, decode_header, framed
from broker_lite.wire import DecodeError, messages

OLD: dict[int, int] = {}
FLEXIBLE = dict.fromkeys(range(-(1 << 15), 1 << 15), -(1 << 15))
"""Every API in every version."""


def decoded(frame: bytes | bytearray, flexible_from: dict[int, int]) -> tuple[Any, ...]:
    """All of a request but its body."""
    *fields, body, position, is_flexible = decode_header(memoryview(frame), flexible_from)
    assert body == frame
    return (*fields, position, is_flexible)


@pytest.mark.parametrize(
    ("frame", "flexible_from", "header"),
    [
        pytest.param(
            "0003 0004 0000004d 0004 74657374",
            OLD,
            (3, 4, 77, "test", 14, False),
            id="P-40",
        ),
        pytest.param(
            "0012 0000 ffffffff ffff",
            OLD,
            (18, 0, -1, None, 10, False),
            id="P-15 null",
        ),
        pytest.param("0012 0000 00000001 0000", OLD, (18, 0, 1, "", 10, False), id="empty"),
        pytest.param(
            "0003 000c 0000004d 0004 74657374 00",
            FLEXIBLE,
            (3, 12, 77, "test", 15, True),
            id="P-41 int16 client id, tags",
        ),
        pytest.param(
            "0003 000c 0000004d ffff 02 0701ab 0900",
            FLEXIBLE,
            (3, 12, 77, None, 16, True),
            id="P-41 unknown tags",
        ),
        pytest.param(
            "03e7 7fff 00000000 0002 ffc3",
            OLD,
            (999, 32767, 0, "\ufffd\ufffd", 12, False),
            id="P-14, unknown API",
        ),
    ],
)
def test_request_header(
    frame: str, flexible_from: dict[int, int], header: tuple[object, ...]
) -> None:
    data = bytes.fromhex(frame)
    assert decoded(data, flexible_from) == header
    assert decoded(data + b"body", flexible_from) == header
    for length in range(len(data)):
        with pytest.raises(DecodeError):
            decoded(data[:length], flexible_from)


def test_more_tagged_fields_than_any_header_has_p34() -> None:
    frame = bytes.fromhex("0003 000c 0000004d ffff 11" + "0500" * 17)
    with pytest.raises(DecodeError, match="tagged fields"):
        decoded(frame, FLEXIBLE)


@pytest.mark.parametrize(("key", "version"), [(3, 11), (3, -1), (4, 32767), (-1, 32767)])
def test_not_flexible_p44(key: int, version: int) -> None:
    frame = key.to_bytes(2, signed=True) + version.to_bytes(2, signed=True) + bytes(6)
    header = decoded(frame, {3: 12})
    assert header == (key, version, 0, "", 10, False)
    assert decoded(frame + b"\0", {key: version})[-1]


@pytest.mark.parametrize(
    "frame",
    [
        "0003 000c 0000004d 0005 74657374",  # P-34: length + 1
        "0003 000c 0000004d 7fff 74657374",
        "0003 000c 0000004d ffff 01 0705ab",  # tag size past the end
        "0003 000c 0000004d ffff 808080808000",
    ],
)
def test_length_out_of_range_p34(frame: str) -> None:
    with pytest.raises(DecodeError):
        decoded(bytes.fromhex(frame), FLEXIBLE)


def test_request_header_like_the_schema_p32() -> None:
    """The generated codec of the schema agrees, also that the client id is never compact."""
    message = messages.RequestHeader
    for version, flexible_from in ((1, OLD), (2, FLEXIBLE)):
        value = message(
            request_api_key=3, request_api_version=12, correlation_id=77, client_id="test"
        )
        data = message.encode(value, version)
        expected = (3, 12, 77, "test", len(data), version == 2)
        assert decoded(data, flexible_from) == expected


def test_edited_headers_p03() -> None:
    edits = random.Random(5)
    frame = bytes.fromhex("0003 000c 0000004d 0004 74657374 01 0702abcd")
    for _ in range(2000):
        edited = bytearray(frame)
        edited[edits.randrange(len(frame))] = edits.randrange(256)
        try:
            header = decoded(edited, FLEXIBLE)
        except DecodeError:
            continue
        assert header[-2] <= len(edited)


class Range(NamedTuple):
    size_bytes: int


def request(correlation_id: int, *, key: int = 3, flexible: bool = False) -> Request:
    return Request(key, 12, correlation_id, None, memoryview(b""), 0, flexible)


@pytest.mark.parametrize(
    ("key", "flexible", "expected"),
    [(3, True, "05 4d 00"), (3, False, "04 4d"), (18, True, "04 4d"), (18, False, "04 4d")],
    ids=["P-42 v1", "P-42 v0", "P-43 flexible", "P-43 old"],
)
def test_header_version(key: int, flexible: bool, expected: str) -> None:
    size, correlation_id, *tags = bytes.fromhex(expected)
    (head,) = framed(request(77, key=key, flexible=flexible), [])
    assert head == bytes([0, 0, 0, size, 0, 0, 0, correlation_id, *tags])


def test_api_versions_example_p45() -> None:
    response = messages.ApiVersionsResponse
    value = response(
        error_code=35, api_keys=[response.ApiVersion(api_key=18, min_version=0, max_version=5)]
    )
    (frame,) = framed(request(77, key=18, flexible=True), [response.encode(value, 0)])
    assert frame.hex() == "000000100000004d002300000001001200000005"


def test_p_42_one_part_is_joined_to_its_head() -> None:
    assert framed(request(-2), [b"body"]) == [b"\0\0\0\x08\xff\xff\xff\xfebody"]
    assert framed(request(7, flexible=True), [b"body"]) == [b"\0\0\0\x09\0\0\0\7\0body"]


def test_p_01_the_size_counts_parts_that_are_not_in_memory() -> None:
    parts = framed(request(7), [b"ab", Range(1000), b"c"])
    assert parts == [b"\0\0\x03\xef\0\0\0\7ab", Range(1000), b"c"]


def test_a_first_part_that_is_not_in_memory_keeps_its_place() -> None:
    assert framed(request(7), [Range(4)]) == [b"\0\0\0\x08\0\0\0\7", Range(4)]


def test_a_large_part_is_not_copied() -> None:
    large = bytes(1 << 20)
    parts = framed(request(7), [large])
    assert parts[1] is large
