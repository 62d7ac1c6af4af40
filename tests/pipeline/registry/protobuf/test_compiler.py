import base64
import subprocess
from typing import Any

import pytest

from broker_lite.pipeline.registry.errors import UnusableSchema
from broker_lite.pipeline.registry.protobuf import compiler
from broker_lite.pipeline.registry.protobuf.compiler import compiled
from broker_lite.pipeline.registry.settings import StoredSchema
from tests.pipeline.registry.protobuf_messages import PROTO3, stored

NESTED = """package a.b;
message One { message Inner { message Deep {} } map<string, Inner> by_name = 1; }
message Two { message Other {} }
"""
MONEY = PROTO3 + "package m; message Money { int64 cents = 1; }"
USES_MONEY = PROTO3 + 'import "common/money.proto"; message Price { m.Money money = 1; }'


def serialized(schema: StoredSchema, name: str) -> str:
    file = compiled(schema).pool.FindFileByName(name)
    return base64.b64encode(file.serialized_pb).decode()


def test_the_paths_of_messages() -> None:
    names = compiled(stored(PROTO3 + NESTED)).names
    assert dict(names) == {
        (0,): "a.b.One",
        (0, 0): "a.b.One.Inner",
        (0, 0, 0): "a.b.One.Inner.Deep",
        (0, 1): "a.b.One.ByNameEntry",
        (1,): "a.b.Two",
        (1, 0): "a.b.Two.Other",
    }


def test_imports() -> None:
    schema = stored(USES_MONEY, ("common/money.proto", MONEY))
    assert compiled(schema).names == {(0,): "Price"}
    assert compiled(schema) is compiled(schema)
    built_in = 'import "google/protobuf/timestamp.proto";'
    uses = PROTO3 + built_in + "message M { google.protobuf.Timestamp at = 1; }"
    assert compiled(stored(uses)).names == {(0,): "M"}


def test_serialized_descriptors_need_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    with_times = MONEY.replace(";", '; import "google/protobuf/timestamp.proto";', 1)
    texts = stored(USES_MONEY, ("common/money.proto", with_times))
    main = serialized(texts, compiler.MAIN)
    money = serialized(texts, "common/money.proto")
    compiled.cache_clear()
    monkeypatch.setattr(subprocess, "run", None)
    made = compiled(stored(main, ("common/money.proto", money)))
    assert made.names == {(0,): "Price"}
    assert made.pool.FindMessageTypeByName("m.Money").fields[0].name == "cents"
    with pytest.raises(UnusableSchema, match="is a text, and the schema that imports it a descrip"):
        compiled(stored(main, ("common/money.proto", MONEY)))
    with pytest.raises(UnusableSchema, match="no Protobuf schema"):
        compiled(stored(main))


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (stored("junk"), "no Protobuf schema: the_schema.proto:1:1: "),
        (stored(PROTO3 + "message A { B b = 1; }"), '"B" is not defined'),
        (stored(USES_MONEY), "common/money.proto"),
        (stored(PROTO3, ("../up.proto", PROTO3)), "is no name of a .proto"),
        (stored(PROTO3, ("sub/../../up.proto", PROTO3)), "is no name of a .proto"),
        (stored(PROTO3, ("/up.proto", PROTO3)), "is no name of a .proto"),
        (stored(PROTO3, ("", PROTO3)), "is no name of a .proto"),
    ],
)
def test_no_schema(schema: StoredSchema, expected: str) -> None:
    with pytest.raises(UnusableSchema, match=expected) as caught:
        compiled(schema)
    assert "\n" not in str(caught.value)


def test_a_compiler_that_hangs_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(command: list[str], *, timeout: float, **_: Any) -> None:
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(subprocess, "run", hang)
    with pytest.raises(UnusableSchema, match="protoc was not done within 60 s"):
        compiled(stored(PROTO3 + "message Slow {}"))
