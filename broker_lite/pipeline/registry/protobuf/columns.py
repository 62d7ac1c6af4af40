"""Protobuf types as Arrow types, and messages as the values that Arrow takes.

Messages become structs, repeated fields arrays, enums the names of their values (the number as text
where the schema has no name). Unsigned numbers get a type that holds them: uint32 becomes a long,
uint64 a decimal. Timestamp becomes a timestamp, Duration an interval, a wrapper its value.

A field that can tell whether it is set, and is not, is null: messages, members of a oneof,
`optional` ones and those of proto2. One with a default in the schema has that, one of proto3 its
zero.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from broker_lite.pipeline.registry.errors import UnusableSchema

FIELDS_MAX: Final = 10_000
NESTING_MAX: Final = 100

Descriptor = Any
"""A google.protobuf.descriptor.Descriptor, of a message."""
FieldDescriptor = Any
"""A google.protobuf.descriptor.FieldDescriptor."""
Message = Any
"""A google.protobuf.message.Message."""

Value = Any
Convert = Callable[[Value], Value]

_UINT64: Final = pa.decimal128(20, 0)
# By the numbers of FieldDescriptor.TYPE_…, which are those of descriptor.proto.
_SCALARS: Final[Mapping[int, pa.DataType]] = {
    1: pa.float64(),
    2: pa.float32(),
    3: pa.int64(),
    4: _UINT64,
    5: pa.int32(),
    6: _UINT64,
    7: pa.int64(),
    8: pa.bool_(),
    9: pa.string(),
    12: pa.binary(),
    13: pa.int64(),
    14: pa.string(),
    15: pa.int32(),
    16: pa.int64(),
    17: pa.int32(),
    18: pa.int64(),
}
_ENUM: Final = 14
_UNSIGNED: Final = (4, 6)
_MICROS: Final = 1_000_000
_WRAPPERS: Final = frozenset(
    f"google.protobuf.{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)


def _micros(message: Message) -> int:
    """Return the time of a Timestamp or a Duration; both have seconds and nanos."""
    seconds, nanos = message.seconds, message.nanos
    # Towards zero: a Duration has both of one sign.
    whole = abs(nanos) // 1000
    return int(seconds * _MICROS + (whole if nanos >= 0 else -whole))


_SPECIAL: Final[Mapping[str, tuple[pa.DataType, Convert]]] = {
    "google.protobuf.Timestamp": (pa.timestamp("us", tz="UTC"), _micros),
    "google.protobuf.Duration": (pa.duration("us"), _micros),
}


class Shape:
    """The type of a message's column, and how its values are made.

    Args:
        descriptor: of the message.

    Raises:
        UnusableSchema: the message contains itself, or has too many fields.
    """

    def __init__(self, descriptor: Descriptor) -> None:
        self._open: list[str] = []
        self._fields = 0
        self.has_required = False
        self.type, self.convert = self._message(descriptor)

    def _message(self, descriptor: Descriptor) -> tuple[pa.DataType, Convert]:
        name = descriptor.full_name
        if name in _SPECIAL:
            return _SPECIAL[name]
        if name in _WRAPPERS:
            kind, change = self._single(descriptor.fields_by_name["value"])
            if change is None:
                return kind, lambda message: message.value
            return kind, lambda message: change(message.value)
        if name in self._open:
            raise UnusableSchema(f"the message {name} contains itself, which no column can hold")
        if len(self._open) == NESTING_MAX:
            raise UnusableSchema(f"its messages are nested more than {NESTING_MAX} deep")
        self._open.append(name)
        fields, getters = [], []
        for field in descriptor.fields:
            self._fields += 1
            if self._fields > FIELDS_MAX:
                raise UnusableSchema(f"it has more than {FIELDS_MAX:,} fields")
            self.has_required |= field.is_required
            kind, getter = self._field(field)
            fields.append(pa.field(field.name, kind))
            getters.append((field.name, getter))
        self._open.pop()
        return pa.struct(fields), lambda message: {name: get(message) for name, get in getters}

    def _field(self, field: FieldDescriptor) -> tuple[pa.DataType, Convert]:
        """Return the type of a field, and what takes it out of a message."""
        name = field.name
        if field.is_repeated:
            return self._repeated(field)
        kind, change = self._single(field)
        change = change or _same
        if field.has_presence and not field.has_default_value:
            return (
                kind,
                lambda message: change(getattr(message, name)) if message.HasField(name) else None,
            )
        if change is _same:
            return kind, lambda message: getattr(message, name)
        return kind, lambda message: change(getattr(message, name))

    def _repeated(self, field: FieldDescriptor) -> tuple[pa.DataType, Convert]:
        name, message_type = field.name, field.message_type
        if message_type is None or not message_type.GetOptions().map_entry:
            kind, change = self._single(field)
            item = change or _same
            element = pa.list_(pa.field("element", kind))
            return element, lambda message: [item(each) for each in getattr(message, name)]
        key_kind, key_change = self._single(message_type.fields_by_name["key"])
        kind, change = self._single(message_type.fields_by_name["value"])
        key_of, value_of = key_change or _same, change or _same
        return pa.map_(key_kind, kind), lambda message: [
            (key_of(key), value_of(value)) for key, value in getattr(message, name).items()
        ]

    def _single(self, field: FieldDescriptor) -> tuple[pa.DataType, Convert | None]:
        """Return the type of one value of a field, and how it changes, None if it does not."""
        if field.message_type is not None:
            return self._message(field.message_type)
        kind = _SCALARS[field.type]
        if field.type == _ENUM:
            names = {value.number: value.name for value in reversed(field.enum_type.values)}
            return kind, lambda number: names.get(number) or str(number)
        return kind, Decimal if field.type in _UNSIGNED else None


def _same(value: Value) -> Value:
    return value
