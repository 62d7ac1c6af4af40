"""What bytes are, and where they come from."""

import pytest

from broker_lite.explain import CannotExplain
from broker_lite.explain.kinds import (
    api_of,
    from_base64,
    from_hex,
    guess_kind,
    is_hex,
)
from broker_lite.record.legacy.message_builder import encode_message
from tests.explain.test_frames import produce, request, sized
from tests.log.batches import batch, records

GOOD = batch(records(2), count=2)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (GOOD, "batch"),
        (GOOD + b"more", "batch"),
        (GOOD[:40], "batch"),
        (batch(b"", length=3), "batch"),
        (batch(records(2), base_offset=2**40), "batch"),
        (encode_message(5, 0, 0, 0, b"k", b"v"), "batch"),
        (produce(GOOD), "request"),
        (sized(produce(GOOD)), "request"),
        (sized(produce(GOOD))[:50], "request"),
        (request(18, 0, b""), "request"),
    ],
)
def test_kinds_are_guessed(data: bytes, kind: str) -> None:
    assert guess_kind(data) == kind


@pytest.mark.parametrize("data", [b"", b"ab", b"\x7f" * 40, b"GET / HTTP/1.1"])
def test_something_else(data: bytes) -> None:
    with pytest.raises(CannotExplain, match="neither a request nor a batch begins like this"):
        guess_kind(data)


@pytest.mark.parametrize(
    ("text", "data"),
    [
        (b"00ff", b"\0\xff"),
        (b"0x00 0xFF\n", b"\0\xff"),
        (b"00:ff\n01 02\n", b"\0\xff\1\2"),
    ],
)
def test_hex(text: bytes, data: bytes) -> None:
    assert is_hex(text)
    assert from_hex(text) == data


@pytest.mark.parametrize("text", [b"", b" \n", b"abc", b"xyz", b"\x00\x00", b"0x", GOOD])
def test_what_is_not_hex(text: bytes) -> None:
    assert not is_hex(text)


@pytest.mark.parametrize("text", [b"abc", b"xy", b"\xff\xff"])
def test_hex_that_is_wrong(text: bytes) -> None:
    with pytest.raises(CannotExplain, match="this is not hex"):
        from_hex(text)


@pytest.mark.parametrize("text", [b"AP8=", b"AP8", b"A P\n8=\n"])
def test_base64(text: bytes) -> None:
    assert from_base64(text) == b"\0\xff"
    assert from_base64(b"-_8") == from_base64(b"+/8=")


@pytest.mark.parametrize("text", [b"A", b"A*8=", b"\xff\xff\xff\xff"])
def test_base64_that_is_wrong(text: bytes) -> None:
    with pytest.raises(CannotExplain, match="this is not base64"):
        from_base64(text)


@pytest.mark.parametrize("text", ["Fetch:13", "fetch:13", "1:13"])
def test_apis_by_name_and_number(text: str) -> None:
    assert api_of(text) == (1, 13)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Fetsch:1", "there is no API 'Fetsch': write NAME:VERSION, such as Fetch:13"),
        ("999:1", "there is no API '999': write NAME:VERSION, such as Fetch:13"),
        ("Fetch", "FetchResponse has the versions 0 to 18: write Fetch:18"),
        ("Fetch:99", "FetchResponse has the versions 0 to 18: write Fetch:18"),
        ("", "there is no API '': write NAME:VERSION, such as Fetch:13"),
    ],
)
def test_there_is_no_such_api(text: str, message: str) -> None:
    with pytest.raises(CannotExplain, match=f"^{message}$"):
        api_of(text)
