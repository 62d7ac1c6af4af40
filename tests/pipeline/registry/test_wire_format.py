"""Also tests: broker_lite.pipeline.registry.errors."""

import pytest

from broker_lite.pipeline.registry.errors import BadMessage
from broker_lite.pipeline.registry.wire_format import message_indexes, schema_id_of

FRAME = bytes((0, 0, 0, 0, 7))


@pytest.mark.parametrize(
    ("message", "expected"),
    [(FRAME, 7), (FRAME + b"payload", 7), (b"\0\xff\xff\xff\xff", 2**32 - 1), (bytes(5), 0)],
)
def test_the_schema_id(message: bytes, expected: int) -> None:
    assert schema_id_of(message) == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (b"", "has 0 bytes, too few for a schema id"),
        (FRAME[:4], "has 4 bytes, too few for a schema id"),
        (b"\1" + bytes(16), "begins with the byte 1, not with 0 and a schema id"),
        (b'{"a": 1}', "begins with the byte 123, not with 0 and a schema id"),
    ],
)
def test_no_frame(message: bytes, expected: str) -> None:
    with pytest.raises(BadMessage, match=f"^{expected}$"):
        schema_id_of(message)


@pytest.mark.parametrize(
    ("path", "indexes"),
    [
        (b"\0", (0,)),
        (b"\x02\0", (0,)),
        (b"\x02\x02", (1,)),
        (b"\x04\x02\x04", (1, 2)),
        (b"\x02\x80\x02", (128,)),
    ],
)
def test_message_indexes(path: bytes, indexes: tuple[int, ...]) -> None:
    assert message_indexes(FRAME + path + b"rest") == (indexes, len(FRAME + path))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (b"", "ends within its message indexes"),
        (b"\x04\x02", "ends within its message indexes"),
        (b"\x02\x80", "ends within its message indexes"),
        (b"\x01", "has -1 message indexes"),
        (b"\x42", "has 33 message indexes"),
        (b"\x02\x01", "has the message index -1"),
        (b"\xff\xff\xff\xff\xff\xff\x01", "has a message index of more than 5 bytes"),
    ],
)
def test_damaged_message_indexes(path: bytes, expected: str) -> None:
    with pytest.raises(BadMessage, match=f"^{expected}$"):
        message_indexes(FRAME + path)
