import pyarrow as pa
import pytest

from broker_lite.pipeline.registry.errors import BadMessage, UnusableSchema
from broker_lite.pipeline.registry.protobuf.result import ProtobufResult
from broker_lite.pipeline.registry.settings import Format, StoredSchema
from tests.pipeline.registry.protobuf_messages import PROTO3, framed, message_class, stored

BOTH = stored(
    PROTO3 + "package p; message A { int32 n = 1; message In { string s = 1; } } message B {}"
)
NEWER = stored(PROTO3 + "package p; message A { int32 n = 1; string more = 2; }")
REQUIRED = stored('syntax = "proto2"; message R { required int32 n = 1; optional string s = 2; }')


def test_messages_by_their_indexes() -> None:
    first = message_class(BOTH, "p.A")(n=5)
    assert ProtobufResult(BOTH).reader_of(BOTH)(framed(first)) == {"n": 5}
    inner = message_class(BOTH, "p.A.In")(s="a")
    read = ProtobufResult(BOTH, "p.A.In").reader_of(BOTH)
    assert read(framed(inner, b"\x04\0\0")) == {"s": "a"}
    with pytest.raises(BadMessage, match=r"^is of p\.A, not of p\.A\.In$"):
        read(framed(first))
    with pytest.raises(BadMessage, match=r"^is of no type at the indexes \[3\], not of"):
        read(framed(first, b"\x02\x06"))
    with pytest.raises(BadMessage, match="message indexes"):
        read(b"\0\0\0\0\1")


def test_older_and_newer_messages() -> None:
    newer = message_class(NEWER, "p.A")(n=5, more="x")
    assert ProtobufResult(BOTH).reader_of(NEWER)(framed(newer)) == {"n": 5}
    older = message_class(BOTH, "p.A")(n=5)
    assert ProtobufResult(NEWER).reader_of(BOTH)(framed(older)) == {"n": 5, "more": ""}


@pytest.mark.parametrize("payload", [b"\x08", b"\x12\x05ab", b"\x12\x01\xff", b"\x07", b"\xff"])
def test_damage(payload: bytes) -> None:
    read = ProtobufResult(NEWER).reader_of(NEWER)
    with pytest.raises(BadMessage, match=r"^is no p\.A: "):
        read(b"\0\0\0\0\1\0" + payload)


def test_proto2() -> None:
    read = ProtobufResult(REQUIRED).reader_of(REQUIRED)
    assert read(b"\0\0\0\0\1\0\x08\5") == {"n": 5, "s": None}
    with pytest.raises(BadMessage, match="lacks required fields: n"):
        read(b"\0\0\0\0\1\0\x12\1a")
    # Protobuf does not check texts of proto2, and gives bytes for one that is no UTF-8.
    odd = read(b"\0\0\0\0\1\0\x08\5\x12\1\xff")
    with pytest.raises(pa.ArrowInvalid, match="utf8"):
        pa.array([odd], ProtobufResult(REQUIRED).type)


@pytest.mark.parametrize(
    ("schema", "message", "expected"),
    [
        (BOTH, "p.C", r"no message p\.C, only p\.A, p\.A\.In, p\.B"),
        (stored(PROTO3), None, "it has no message"),
        (stored("junk"), None, "no Protobuf schema"),
    ],
)
def test_schemas_of_no_use(schema: StoredSchema, message: str | None, expected: str) -> None:
    with pytest.raises(UnusableSchema, match=expected):
        ProtobufResult(schema, message)


def test_a_writer_of_another_format() -> None:
    with pytest.raises(UnusableSchema, match="it is no Protobuf schema"):
        ProtobufResult(BOTH).reader_of(StoredSchema(Format.AVRO, '"int"'))
