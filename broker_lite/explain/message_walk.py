"""Walk the fields of one message: the same fields, versions and rules as its generated decoder.

The decoder decides whether a message is valid; this only lists what it would read. Tokens, keys
and passwords are not shown.

See: P-20 to P-34.
"""

from collections.abc import Callable
from typing import Final

from broker_lite.explain.listing import Reader
from broker_lite.explain.values import shown_text
from broker_lite.wire.codegen import Layout
from broker_lite.wire.primitives import (
    FIXED_FORMATS,
    STRING_BYTES_MAX,
    TAGS_MAX,
    UNDERFLOW,
    DecodeError,
    read_uvarint,
)
from broker_lite.wire.schema import Field
from broker_lite.wire.secret_fields import SECRET_FIELDS, is_secret_config

HIDDEN: Final = "(not shown)"
_UUID: Final = "uuid"
_VARINT_BYTES_MAX: Final = 5

OnRecords = Callable[[Reader, str, int], None]
"""Lists the bytes of a records field: called with the reader, the path and the position after."""


def list_records_as_bytes(reader: Reader, path: str, end: int) -> None:
    """List the bytes of a records field as one field."""
    reader.content(end - reader.position, "bytes", f"{path}.bytes")


class MessageWalk:
    """Walks one message version.

    Args:
        layout: of the version.
        reader: at the first byte; its data ends where the message may end.
        on_records: lists the bytes of records fields.
    """

    def __init__(
        self, layout: Layout, reader: Reader, on_records: OnRecords = list_records_as_bytes
    ) -> None:
        self._layout = layout
        self._reader = reader
        self._on_records = on_records
        self._name = ""

    def walk(self, prefix: str = "") -> None:
        """List all fields of the message.

        Args:
            prefix: in front of their paths, with its dot.

        Raises:
            Unreadable: the message ends before, or a length in it is wrong.
            ListFull: there are more fields than may be listed.
        """
        self._struct(self._layout.schema.name, prefix)

    def _struct(self, struct: str, prefix: str) -> None:
        for field in self._layout.plain_fields(struct):
            self._field(field, prefix + field.attribute)
        if self._layout.flexible:
            self._tags(struct, prefix)

    def _field(self, field: Field, path: str, *, is_tagged: bool = False) -> None:
        if field.is_array:
            self._array(field, path)
        elif not field.is_struct:
            self._primitive(field, path, nullable=self._layout.is_nullable(field))
        elif not self._layout.is_nullable(field) or self._is_there(path, is_tagged=is_tagged):
            self._struct(field.element_type, f"{path}.")

    def _is_there(self, path: str, *, is_tagged: bool) -> bool:
        """Read the marker of a struct that may be null: a uvarint in a tag, else an int8."""
        reader = self._reader
        if is_tagged:
            is_there = self._uvarint("uvarint", path) > 0
        else:
            is_there = reader.fixed("int8", path) >= 0
        reader.annotate("a struct follows" if is_there else "null")
        return is_there

    def _primitive(self, field: Field, path: str, *, nullable: bool) -> None:
        reader = self._reader
        if field.element_type == _UUID:
            size = FIXED_FORMATS[_UUID][1]
            reader.need(size, _UUID, path)
            value = bytes(reader.data[reader.position : reader.position + size])
            reader.add(size, _UUID, path, value.hex())
        elif field.element_type in FIXED_FORMATS:
            reader.fixed(field.element_type, path)
        elif field.element_type == "string":
            self._string(field, path, nullable=nullable)
        else:
            self._bytes(field, path, nullable=nullable)

    def _string(self, field: Field, path: str, *, nullable: bool) -> None:
        reader = self._reader
        compact = self._layout.field_is_flexible(field)
        type_name = _type_name("string", compact=compact, nullable=nullable)
        length, size = self._length(type_name, path, compact=compact, short=True)
        if length < 0 and nullable:
            reader.add(size, type_name, path, None, "null")
            return
        self._check_length(length, size, type_name, path)
        if length > STRING_BYTES_MAX:
            reader.cannot_read(size, type_name, path, f"at most {STRING_BYTES_MAX} bytes", length)
        start = reader.position + size
        content = reader.data[start : start + length]
        text = str(content, "utf-8", "replace")
        note = "" if text.encode() == content else "not UTF-8"
        if field.attribute == "name":
            self._name = text
        if field.attribute == "value" and self._name and is_secret_config(self._name):
            text = HIDDEN
        shown = shown_text(text, reader.budget.value_bytes_max)
        reader.add_shown(size + length, type_name, path, shown, note)

    def _bytes(self, field: Field, path: str, *, nullable: bool) -> None:
        reader = self._reader
        compact = self._layout.field_is_flexible(field)
        type_name = _type_name(field.element_type, compact=compact, nullable=nullable)
        length, size = self._length(type_name, path, compact=compact)
        if length < 0 and nullable:
            reader.add(size, type_name, path, None, "null")
            return
        self._check_length(length, size, type_name, path)
        reader.add(size, type_name, path, length, "length")
        end = reader.position + length
        if field.element_type == "records":
            self._on_records(reader, path, end)
        elif field.attribute in SECRET_FIELDS:
            reader.add(length, "bytes", f"{path}.bytes", HIDDEN)
        else:
            reader.content(length, "bytes", f"{path}.bytes")

    def _array(self, field: Field, path: str) -> None:
        reader = self._reader
        compact = self._layout.field_is_flexible(field)
        nullable = self._layout.is_nullable(field)
        type_name = _type_name("array", compact=compact, nullable=nullable)
        count, size = self._length(type_name, path, compact=compact)
        if count < 0 and nullable:
            reader.add(size, type_name, path, None, "null")
            return
        left = reader.end - reader.position - size
        if count < 0 or count * self._layout.element_size_min(field) > left:
            expected = f"no more elements than {left} bytes can hold"
            reader.cannot_read(size, type_name, path, expected, count)
        reader.add(size, type_name, path, count, "elements")
        for index in range(count):
            element = f"{path}[{index}]"
            if field.is_struct:
                self._struct(field.element_type, f"{element}.")
            else:
                self._primitive(field, element, nullable=False)

    def _tags(self, struct: str, prefix: str) -> None:
        reader = self._reader
        path = f"{prefix}_tagged_fields"
        count = self._uvarint("uvarint", path)
        if count > TAGS_MAX:
            reader.is_wrong(f"at most {TAGS_MAX}")
        known = {field.tag: field for field in self._layout.tagged_fields(struct)}
        for index in range(count):
            self._tag(f"{path}[{index}]", known, prefix)

    def _tag(self, path: str, known: dict[int, Field], prefix: str) -> None:
        reader = self._reader
        tag = self._uvarint("uvarint", f"{path}.tag")
        size = self._uvarint("uvarint", f"{path}.size")
        if not 0 <= size <= reader.end - reader.position:
            reader.is_wrong(f"at most {reader.end - reader.position}")
        field = known.get(tag)
        if field is None:
            reader.content(size, "bytes", f"{path}.bytes", f"unknown tagged field {tag}")
            return
        size_index = len(reader.fields) - 1
        reader.fields[size_index - 1] = reader.fields[size_index - 1]._replace(note=field.name)
        start = reader.position
        self._field(field, prefix + field.attribute, is_tagged=True)
        if reader.position != start + size:
            expected = f"{reader.position - start}, as the field has"
            reader.is_wrong(expected, len(reader.fields) - size_index)

    def _uvarint(self, type_name: str, path: str) -> int:
        """Read and list an unsigned varint."""
        value, size = self._read_uvarint(type_name, path)
        self._reader.add(size, type_name, path, value)
        return value

    def _read_uvarint(self, type_name: str, path: str) -> tuple[int, int]:
        reader = self._reader
        try:
            value, end = read_uvarint(reader.data, reader.position)
        except UNDERFLOW:
            expected = "a length that ends before the bytes do"
            reader.cannot_read(reader.end - reader.position, type_name, path, expected)
        except DecodeError:
            expected = f"at most {_VARINT_BYTES_MAX} bytes"
            reader.cannot_read(_VARINT_BYTES_MAX, type_name, path, expected)
        return value, end - reader.position

    def _length(
        self, type_name: str, path: str, *, compact: bool, short: bool = False
    ) -> tuple[int, int]:
        """Read a length or count without listing it.

        Returns:
            The length, below 0 for null, and the size of the length itself.
        """
        if compact:
            value, size = self._read_uvarint(type_name, path)
            return value - 1, size
        fixed = "int16" if short else "int32"
        size = FIXED_FORMATS[fixed][1]
        self._reader.need(size, type_name, path)
        return self._reader.peek(fixed), size

    def _check_length(self, length: int, size: int, type_name: str, path: str) -> None:
        reader = self._reader
        left = reader.end - reader.position - size
        if length < 0:
            reader.cannot_read(size, type_name, path, "0 bytes or more", length)
        if length > left:
            reader.cannot_read(size, type_name, path, f"at most {left} bytes", length)


def _type_name(kind: str, *, compact: bool, nullable: bool) -> str:
    words = ["compact"] if compact else []
    if nullable:
        words.append("nullable")
    return " ".join([*words, kind])
