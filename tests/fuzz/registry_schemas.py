"""Random Avro schemas, each with a maker of values, and Protobuf messages filled at random.

A maker gives a value twice: as fastavro writes it, and as the column has to show it.
"""

import datetime
import random
import struct
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from tests.pipeline.registry.protobuf_messages import stored

Maker = Callable[[random.Random], tuple[Any, Any]]
"""Gives a value for the writer, and the same as Arrow's to_pylist() shows it."""

DEPTH_MAX: Final = 3
EPOCH: Final = datetime.datetime(1970, 1, 1)
LETTERS: Final = "aZ0 \n\x00\u00e9\u2603\U0001f600"


class Schemas:
    """Makes schemas; the names of their types differ."""

    def __init__(self, source: random.Random) -> None:
        self._source = source
        self._names = 0

    def record(self, depth: int = 0) -> tuple[dict[str, Any], Maker]:
        """A record of up to five fields."""
        fields = [self.type(depth + 1) for _ in range(self._source.randint(1, 5))]
        schema = {
            "type": "record",
            "name": self._name(),
            "fields": [
                {"name": f"f{index}", "type": kind} for index, (kind, _) in enumerate(fields)
            ],
        }

        def make(source: random.Random) -> tuple[Any, Any]:
            made = {f"f{index}": maker(source) for index, (_, maker) in enumerate(fields)}
            written = {name: value for name, (value, _) in made.items()}
            return written, {name: shown for name, (_, shown) in made.items()}

        return schema, make

    def type(self, depth: int) -> tuple[Any, Maker]:
        """Any type; near DEPTH_MAX only those without others inside."""
        choices = [self._plain, self._logical, self._named]
        if depth < DEPTH_MAX:
            choices += [self._array, self._map, self._optional, self._union, self.record]
        return self._source.choice(choices)(depth)

    def _name(self) -> str:
        self._names += 1
        return f"T{self._names}"

    def _plain(self, _: int) -> tuple[Any, Maker]:
        kind = self._source.choice(list(PLAIN))
        return kind, PLAIN[kind]

    def _logical(self, _: int) -> tuple[Any, Maker]:
        return self._source.choice(LOGICAL)

    def _named(self, _: int) -> tuple[Any, Maker]:
        if self._source.random() < 0.5:
            symbols = ["A", "B", "C"]
            schema = {"type": "enum", "name": self._name(), "symbols": symbols}
            return schema, lambda source: (found := source.choice(symbols), found)
        size = self._source.randint(1, 20)
        schema = {"type": "fixed", "name": self._name(), "size": size}
        return schema, lambda source: (found := source.randbytes(size), found)

    def _array(self, depth: int) -> tuple[Any, Maker]:
        # Items of no bytes are refused.
        kind, maker = self._not_null(depth)

        def make(source: random.Random) -> tuple[Any, Any]:
            made = [maker(source) for _ in range(source.randint(0, 4))]
            return [value for value, _ in made], [shown for _, shown in made]

        return {"type": "array", "items": kind}, make

    def _map(self, depth: int) -> tuple[Any, Maker]:
        kind, maker = self.type(depth + 1)

        def make(source: random.Random) -> tuple[Any, Any]:
            made = {text(source): maker(source) for _ in range(source.randint(0, 3))}
            written = {key: value for key, (value, _) in made.items()}
            return written, [(key, shown) for key, (_, shown) in made.items()]

        return {"type": "map", "values": kind}, make

    def _not_null(self, depth: int) -> tuple[Any, Maker]:
        while True:
            kind, maker = self.type(depth + 1)
            if not _is_empty(kind):
                return kind, maker

    def _optional(self, depth: int) -> tuple[Any, Maker]:
        while True:
            kind, maker = self.type(depth + 1)
            if not isinstance(kind, list) and kind != "null":
                break

        def make(source: random.Random) -> tuple[Any, Any]:
            return (None, None) if source.random() < 0.3 else maker(source)

        return ["null", kind], make

    def _union(self, depth: int) -> tuple[Any, Maker]:
        """A union of three or more, with branches that differ by their Python types or names."""
        branches: list[tuple[Any, Maker]] = [(kind, PLAIN[kind]) for kind in UNION]
        self._source.shuffle(branches)
        del branches[self._source.randint(2, len(branches)) :]
        named = [self._named(depth), self.record(DEPTH_MAX - 1)][: self._source.randint(0, 2)]
        branches += named
        self._source.shuffle(branches)

        def make(source: random.Random) -> tuple[Any, Any]:
            if source.random() < 0.2:
                return None, None
            index = source.randrange(len(branches))
            kind, maker = branches[index]
            value, shown = maker(source)
            members: dict[str, Any] = dict.fromkeys(
                f"member{each}" for each in range(len(branches))
            )
            members[f"member{index}"] = shown
            name = kind["name"] if isinstance(kind, dict) else kind
            return (name, value), members  # else fastavro writes the first that takes the value

        return ["null", *(kind for kind, _ in branches)], make


def _is_empty(kind: Any) -> bool:
    """Whether values of a type take no bytes."""
    if isinstance(kind, dict) and kind["type"] == "record":
        return all(_is_empty(field["type"]) for field in kind["fields"])
    return bool(kind == "null")


def text(source: random.Random) -> str:
    """A short text, with letters of one to four bytes."""
    return "".join(source.choices(LETTERS, k=source.choice((0, 1, 3, 20))))


def _whole(bits: int) -> Maker:
    limit = 1 << bits - 1

    def make(source: random.Random) -> tuple[Any, Any]:
        value = source.choice((0, 1, -1, 64, -limit, limit - 1, source.randrange(-limit, limit)))
        return value, value

    return make


def _float(source: random.Random) -> tuple[Any, Any]:
    value = struct.unpack("<f", struct.pack("<f", source.uniform(-1e30, 1e30)))[0]
    return value, value


def _double(source: random.Random) -> tuple[Any, Any]:
    value = source.choice((0.0, 0.1, 1e300, source.gauss(0, 1e6)))
    return value, value


def _bytes(source: random.Random) -> tuple[Any, Any]:
    value = source.randbytes(source.choice((0, 1, 70)))
    return value, value


def _moment(unit_us: int, zone: datetime.tzinfo | None) -> Maker:
    def make(source: random.Random) -> tuple[Any, Any]:
        micros = source.randrange(-(10**15), 10**16) // unit_us * unit_us
        value = (EPOCH + datetime.timedelta(microseconds=micros)).replace(tzinfo=zone)
        return value, value

    return make


def _date(source: random.Random) -> tuple[Any, Any]:
    value = datetime.date.fromordinal(source.randint(1, datetime.date.max.toordinal()))
    return value, value


def _time(unit_us: int) -> Maker:
    def make(source: random.Random) -> tuple[Any, Any]:
        units = source.randrange(86_400 * 10**6 // unit_us)
        return (EPOCH + datetime.timedelta(microseconds=units * unit_us)).time(), units

    return make


def _uuid(source: random.Random) -> tuple[Any, Any]:
    value = uuid.UUID(int=source.getrandbits(128))
    return value, str(value)


def _decimal(precision: int, scale: int) -> Maker:
    def make(source: random.Random) -> tuple[Any, Any]:
        value = Decimal(source.randint(-(10**precision) + 1, 10**precision - 1)).scaleb(-scale)
        return value, value

    return make


PLAIN: Final[dict[str, Maker]] = {
    "null": lambda _: (None, None),
    "boolean": lambda source: (found := source.random() < 0.5, found),
    "int": _whole(32),
    "long": _whole(64),
    "float": _float,
    "double": _double,
    "bytes": _bytes,
    "string": lambda source: (found := text(source), found),
}
UNION: Final = ("boolean", "long", "double", "bytes", "string")
LOGICAL: Final[list[tuple[Any, Maker]]] = [
    ({"type": "long", "logicalType": "timestamp-millis"}, _moment(1000, datetime.UTC)),
    ({"type": "long", "logicalType": "timestamp-micros"}, _moment(1, datetime.UTC)),
    ({"type": "long", "logicalType": "local-timestamp-millis"}, _moment(1000, None)),
    ({"type": "long", "logicalType": "local-timestamp-micros"}, _moment(1, None)),
    ({"type": "int", "logicalType": "date"}, _date),
    ({"type": "int", "logicalType": "time-millis"}, _time(1000)),
    ({"type": "long", "logicalType": "time-micros"}, _time(1)),
    ({"type": "string", "logicalType": "uuid"}, _uuid),
    ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 4}, _decimal(9, 4)),
    ({"type": "bytes", "logicalType": "decimal", "precision": 25, "scale": 0}, _decimal(25, 0)),
]

MESSAGES: Final = stored(
    'syntax = "proto3"; package fuzz; message Other { bytes b = 1; }'
    " message All { int32 a = 1; sint64 b = 2; fixed32 c = 3; uint64 d = 4; double e = 5;"
    " bool f = 6; string g = 7; bytes h = 8; State i = 9; Inner j = 10; optional int64 k = 11;"
    " oneof one { string l = 12; int32 m = 13; } repeated int32 n = 14; repeated Inner o = 15;"
    " map<int32, string> p = 16; map<string, Inner> q = 17; float r = 18;"
    " message Inner { int64 x = 1; repeated string y = 2; } enum State { ZERO = 0; ONE = 1; } }"
)


def fill(source: random.Random, message: Any) -> dict[str, Any]:
    """Fill a message of fuzz.All at random; return what its column has to show."""
    shown: dict[str, Any] = {}
    makers = {"a": _whole(32), "b": _whole(64), "e": _double, "f": PLAIN["boolean"], "h": _bytes}
    makers |= {"g": PLAIN["string"], "r": _float, "k": _whole(64), "m": _whole(32)}
    makers |= {"l": PLAIN["string"]}
    one = source.choice(("l", "m", None))
    for name, maker in makers.items():
        value = maker(source)[0]
        is_left_out = source.random() < 0.3 if name == "k" else name in "lm" and name != one
        if is_left_out:
            shown[name] = None
        else:
            setattr(message, name, value)
            shown[name] = value
    message.c, message.d = source.getrandbits(32), source.getrandbits(64)
    message.i = source.choice((0, 1, 99))
    shown |= {
        "c": message.c,
        "d": Decimal(message.d),
        "i": {0: "ZERO", 1: "ONE", 99: "99"}[message.i],
    }
    shown["j"] = _fill_inner(source, message.j) if source.random() < 0.5 else None
    shown["n"] = [_whole(32)(source)[0] for _ in range(source.randint(0, 3))]
    message.n.extend(shown["n"])
    shown["o"] = [_fill_inner(source, message.o.add()) for _ in range(source.randint(0, 3))]
    for key in range(source.randint(0, 3)):
        message.p[key] = text(source)
    shown["p"] = sorted(message.p.items())
    shown["q"] = []
    for key in range(source.randint(0, 2)):
        shown["q"].append((f"k{key}", _fill_inner(source, message.q[f"k{key}"])))
    return shown


def _fill_inner(source: random.Random, inner: Any) -> dict[str, Any]:
    inner.SetInParent()
    inner.x = _whole(64)(source)[0]
    inner.y.extend(text(source) for _ in range(source.randint(0, 2)))
    return {"x": inner.x, "y": list(inner.y)}
