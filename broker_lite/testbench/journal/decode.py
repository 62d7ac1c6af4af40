"""Decode what the journal kept of a message, also if its end is missing, or bytes in its middle.

The codec of `wire` refuses such bytes, rightly. This one keeps the fields that it read until then.
It is slow, so whole messages are left to the codec of `wire`.

See: P-20 to P-30.
"""

from collections.abc import Sequence
from struct import unpack_from
from typing import Final, NamedTuple

from broker_lite.testbench.journal.batches import NotKept
from broker_lite.testbench.journal.plans import Plan, plan
from broker_lite.wire.messages import MessageType
from broker_lite.wire.primitives import (
    FIXED_FORMATS,
    UNDERFLOW,
    DecodeError,
    read_tag,
    read_uvarint,
)
from broker_lite.wire.schema import Field
from broker_lite.wire.structs import Struct

SMALL_BYTES: Final = 64 * 1024
ELEMENTS_MAX: Final = 10_000
"""A message of more elements is decoded in part: all of it would stop the broker for too long."""
FIELDS_MAX: Final = 20_000
"""So many fields of a part of a message are read, which takes about 20 ms."""


class Decoded(NamedTuple):
    """A message as far as it could be decoded.

    Attributes:
        struct: of a part of a message, it has only the attributes that were read.
        missing: why it is not the whole message; empty if it is.
    """

    struct: Struct
    missing: str


def decode(
    kind: MessageType,
    version: int,
    data: bytes,
    position: int = 0,
    *,
    gaps: Sequence[tuple[int, int]] = (),
    is_cut: bool = False,
) -> Decoded | None:
    """Decode a message as far as it goes; it never raises for any bytes.

    Args:
        kind: of the message.
        version: of the API.
        data: what was kept.
        position: where the message starts.
        gaps: positions in data at which bytes are missing, and how many.
        is_cut: whether the end is missing.

    Returns:
        None if there is no such version.
    """
    missing = "the rest was not kept" if is_cut else ""
    if not (is_cut or gaps):
        try:
            return Decoded(_whole(kind, version, data, position), "")
        except DecodeError as error:
            missing = str(error)
    found = plan(kind.name, version)
    if found is None:
        return None
    reader = _Reader(found, data, position, gaps)
    root = reader.new(found.root)
    try:
        reader.fill(root, found.root)
    except (*UNDERFLOW, DecodeError) as error:
        reason = str(error) if isinstance(error, DecodeError) else "it ends too early"
        return Decoded(root, missing or reason)
    return Decoded(root, "")


def _whole(kind: MessageType, version: int, data: bytes, position: int) -> Struct:
    if len(data) - position <= SMALL_BYTES:
        return kind.decode(data, version, position)[0]
    slices = kind.decode_slices(data, version, position, ELEMENTS_MAX)
    while True:
        try:
            next(slices)
        except StopIteration as end:
            struct: Struct = end.value[0]
            return struct


class _Reader:
    """Reads one message field by field, and adds each to its struct at once."""

    def __init__(
        self, of: Plan, data: bytes, position: int, gaps: Sequence[tuple[int, int]]
    ) -> None:
        self.plan = of
        self.data = data
        self.position = position
        self.gaps = dict(gaps)
        self.room = FIELDS_MAX

    def new(self, name: str) -> Struct:
        made = object.__new__(self.plan.layout.classes[name])
        made.unknown_tags = None
        return made

    def fill(self, struct: Struct, name: str) -> None:
        fields = self.plan.structs[name]
        for field in fields.plain:
            self.read(struct, field)
        if not self.plan.layout.flexible:
            return
        count, self.position = read_uvarint(self.data, self.position)
        for _ in range(count):
            tag, self.position, end = read_tag(self.data, self.position)
            known = fields.tagged.get(tag)
            if known is not None:
                self.read(struct, known, is_tagged=True)
            self.position = end

    def read(self, struct: Struct, field: Field, *, is_tagged: bool = False) -> None:
        self.count()
        if field.is_array:
            self.read_array(struct, field)
        elif field.is_struct:
            if self.plan.layout.is_nullable(field) and self.is_null(is_tagged):
                setattr(struct, field.attribute, None)
                return
            inner = self.new(field.element_type)
            setattr(struct, field.attribute, inner)
            self.fill(inner, field.element_type)
        elif field.element_type in FIXED_FORMATS:
            setattr(struct, field.attribute, self.fixed(field.element_type))
        else:
            self.read_text(struct, field)

    def count(self) -> None:
        """Count a field or an element."""
        self.room -= 1
        if self.room < 0:
            raise DecodeError("it has too many fields to be decoded as a whole")

    def is_null(self, is_tagged: bool) -> bool:
        if is_tagged:
            marker, self.position = read_uvarint(self.data, self.position)
            return marker <= 0
        return bool(self.fixed("int8") < 0)

    def fixed(self, kind: str) -> int:
        character, size = FIXED_FORMATS[kind]
        (value,) = unpack_from(f">{character}", self.data, self.position)
        self.position += size
        number: int = value
        return number

    def length(self, field: Field, *, short: bool) -> int:
        """Read a length or a count; negative for null."""
        if self.plan.layout.field_is_flexible(field):
            length, self.position = read_uvarint(self.data, self.position)
            return length - 1
        return self.fixed("int16" if short else "int32")

    def read_array(self, struct: Struct, field: Field) -> None:
        count = self.length(field, short=False)
        if count < 0:
            setattr(struct, field.attribute, None)
            return
        items: list[object] = []
        setattr(struct, field.attribute, items)
        for _ in range(count):
            self.count()
            before = self.position
            if field.is_struct:
                inner = self.new(field.element_type)
                items.append(inner)
                self.fill(inner, field.element_type)
            elif field.element_type in FIXED_FORMATS:
                items.append(self.fixed(field.element_type))
            else:
                length = self.length(field, short=field.element_type == "string")
                items.append(self.content(field, length))
            if self.position == before:  # elements of no bytes would never end
                raise DecodeError(f"{field.name}: empty elements")

    def read_text(self, struct: Struct, field: Field) -> None:
        length = self.length(field, short=field.element_type == "string")
        if length < 0:
            setattr(struct, field.attribute, None)
            return
        if field.element_type == "records":
            self.read_records(struct, field, length)
            return
        setattr(struct, field.attribute, self.content(field, length))

    def content(self, field: Field, length: int) -> str | bytes:
        end = self.position + length
        if length < 0 or end > len(self.data):
            raise DecodeError(f"{field.name}: length {length}")
        found = self.data[self.position : end]
        self.position = end
        return found.decode("utf-8", "replace") if field.element_type == "string" else found

    def read_records(self, struct: Struct, field: Field, length: int) -> None:
        """Take records as they are kept, or their size only where they are not."""
        end = self.position + length
        if length and self.gaps.get(self.position) == length:
            setattr(struct, field.attribute, NotKept(length))
            return
        if end > len(self.data):
            setattr(struct, field.attribute, NotKept(length))
            raise DecodeError("the records were not kept")
        setattr(struct, field.attribute, self.data[self.position : end])
        self.position = end
