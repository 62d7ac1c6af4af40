import random

import pytest

from broker_lite.wire import DecodeError, headers, messages
from broker_lite.wire.headers import RequestHeader

OLD: dict[int, int] = {}
FLEXIBLE = dict.fromkeys(range(-(1 << 15), 1 << 15), -(1 << 15))
"""Every API in every version."""


@pytest.mark.parametrize(
    ("frame", "flexible_from", "header"),
    [
        pytest.param(
            "0003 0004 0000004d 0004 74657374",
            OLD,
            RequestHeader(3, 4, 77, "test", 14, False),
            id="P-40",
        ),
        pytest.param(
            "0012 0000 ffffffff ffff",
            OLD,
            RequestHeader(18, 0, -1, None, 10, False),
            id="P-15 null",
        ),
        pytest.param(
            "0012 0000 00000001 0000", OLD, RequestHeader(18, 0, 1, "", 10, False), id="empty"
        ),
        pytest.param(
            "0003 000c 0000004d 0004 74657374 00",
            FLEXIBLE,
            RequestHeader(3, 12, 77, "test", 15, True),
            id="P-41 int16 client id, tags",
        ),
        pytest.param(
            "0003 000c 0000004d ffff 02 0701ab 0900",
            FLEXIBLE,
            RequestHeader(3, 12, 77, None, 16, True),
            id="P-41 unknown tags",
        ),
        pytest.param(
            "03e7 7fff 00000000 0002 ffc3",
            OLD,
            RequestHeader(999, 32767, 0, "\ufffd\ufffd", 12, False),
            id="P-14, unknown API",
        ),
    ],
)
def test_request_header(frame: str, flexible_from: dict[int, int], header: RequestHeader) -> None:
    data = bytes.fromhex(frame)
    assert headers.decode_request_header(memoryview(data), flexible_from) == header
    body = data + b"body"
    assert headers.decode_request_header(body, flexible_from) == header
    for length in range(len(data)):
        with pytest.raises(DecodeError):
            headers.decode_request_header(memoryview(data)[:length], flexible_from)


def test_more_tagged_fields_than_any_header_has_p34() -> None:
    frame = bytes.fromhex("0003 000c 0000004d ffff 11" + "0500" * 17)
    with pytest.raises(DecodeError, match="tagged fields"):
        headers.decode_request_header(frame, FLEXIBLE)


@pytest.mark.parametrize(("key", "version"), [(3, 11), (3, -1), (4, 32767), (-1, 32767)])
def test_not_flexible_p44(key: int, version: int) -> None:
    frame = key.to_bytes(2, signed=True) + version.to_bytes(2, signed=True) + bytes(6)
    header = headers.decode_request_header(frame, {3: 12})
    assert header == (key, version, 0, "", 10, False)
    assert headers.decode_request_header(frame + b"\0", {key: version}).flexible


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
        headers.decode_request_header(bytes.fromhex(frame), FLEXIBLE)


def test_request_header_like_the_schema_p32() -> None:
    """The generated codec of the schema agrees, also that the client id is never compact."""
    message = messages.RequestHeader
    for version, flexible_from in ((1, OLD), (2, FLEXIBLE)):
        value = message(
            request_api_key=3, request_api_version=12, correlation_id=77, client_id="test"
        )
        data = message.encode(value, version)
        expected = (3, 12, 77, "test", len(data), version == 2)
        assert headers.decode_request_header(data, flexible_from) == expected


def test_edited_headers_p03() -> None:
    edits = random.Random(5)
    frame = bytes.fromhex("0003 000c 0000004d 0004 74657374 01 0702abcd")
    for _ in range(2000):
        edited = bytearray(frame)
        edited[edits.randrange(len(frame))] = edits.randrange(256)
        try:
            header = headers.decode_request_header(edited, FLEXIBLE)  # type: ignore[arg-type]
        except DecodeError:
            continue
        assert header.body_position <= len(edited)


@pytest.mark.parametrize(
    ("is_flexible", "expected"),
    [
        pytest.param(False, "0000004d", id="P-42 v0, P-43"),
        pytest.param(True, "0000004d00", id="P-42 v1"),
    ],
)
def test_response_header(is_flexible: bool, expected: str) -> None:
    assert headers.encode_response_header(77, is_flexible).hex() == expected


def test_api_versions_example_p45() -> None:
    response = messages.ApiVersionsResponse
    value = response(
        error_code=35, api_keys=[response.ApiVersion(api_key=18, min_version=0, max_version=5)]
    )
    frame = headers.encode_response_header(77, flexible=False) + response.encode(value, 0)
    assert frame.hex() == "0000004d002300000001001200000005"
