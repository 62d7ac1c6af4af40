"""The list of fields while it grows, and a reader that adds what it reads."""

from collections.abc import Iterator
from contextlib import contextmanager
from struct import Struct
from typing import Final, NoReturn

from broker_lite.explain.explanation import Field, Limits, Refused, State, Value
from broker_lite.explain.values import Shown, shown_bytes
from broker_lite.record.varint import (
    VarintTooLong,
    VarintTruncated,
    decode_varint,
    decode_varlong,
)
from broker_lite.wire.primitives import FIXED_FORMATS

_VARINT_BYTES_MAX: Final = {"varint": 5, "varlong": 10}
_FIXED: Final = {name: Struct(f">{form}") for name, (form, _) in FIXED_FORMATS.items()}


class ListFull(Exception):
    """The list has as many fields as it may have."""


class Unreadable(Exception):
    """A field cannot be read; it is in the list already."""


class Budget:
    """How many fields may still be listed; shared by all lists of an explanation."""

    def __init__(self, limits: Limits) -> None:
        self.value_bytes_max = limits.value_bytes_max
        self.fields_left = limits.fields_max
        self.is_waived = False

    def take(self) -> None:
        """Count a field.

        Raises:
            ListFull: there are too many.
        """
        if self.is_waived:
            return
        if self.fields_left <= 0:
            raise ListFull
        self.fields_left -= 1

    @contextmanager
    def extended(self, fields: int) -> Iterator[None]:
        """Allow some more fields than are left, for what has to be listed in any case."""
        before = self.fields_left
        self.fields_left = fields
        try:
            yield
        finally:
            self.fields_left = before

    @contextmanager
    def waived(self) -> Iterator[None]:
        """Count nothing: for the few fields that are listed in any case."""
        before = self.is_waived
        self.is_waived = True
        try:
            yield
        finally:
            self.is_waived = before


class Reader:
    """Reads fields from a buffer and lists each.

    Args:
        data: all bytes.
        budget: of the explanation.
        shift: added to the offsets, for bytes that stand at some position of a file.
        start: of the first field.
        end: position after the last byte that belongs to the fields.

    Attributes:
        position: of the next field.
        fields: what was read.
    """

    def __init__(
        self,
        data: memoryview,
        budget: Budget,
        *,
        shift: int = 0,
        start: int = 0,
        end: int | None = None,
    ) -> None:
        self.data = data
        self.budget = budget
        self.shift = shift
        self.position = start
        self.end = len(data) if end is None else end
        self.fields: list[Field] = []

    def add(
        self,
        size: int,
        type_name: str,
        path: str,
        value: Value,
        note: str = "",
        *,
        state: State = State.READ,
    ) -> None:
        """List a field at the position, and go behind it.

        Raises:
            ListFull: there are too many.
        """
        self.budget.take()
        self.fields.append(
            Field(self.position + self.shift, size, type_name, path, value, note, state=state)
        )
        self.position += size

    def add_shown(
        self,
        size: int,
        type_name: str,
        path: str,
        shown: Shown,
        note: str = "",
        *,
        state: State = State.READ,
    ) -> None:
        """List a field whose value may have been cut; see add()."""
        self.budget.take()
        value, form, left_out = shown
        self.fields.append(
            Field(
                self.position + self.shift,
                size,
                type_name,
                path,
                value,
                note,
                form,
                left_out,
                state,
            )
        )
        self.position += size

    def content(self, size: int, type_name: str, path: str, note: str = "") -> None:
        """List bytes whose number is known and right."""
        shown = shown_bytes(
            self.data[self.position : self.position + size], self.budget.value_bytes_max
        )
        self.add_shown(size, type_name, path, shown, note)

    def peek(self, type_name: str) -> int:
        """Return a number of fixed size without listing it; the caller knows that it is there."""
        found: int = _FIXED[type_name].unpack_from(self.data, self.position)[0]
        return found

    def fixed(self, type_name: str, path: str, note: str = "") -> int:
        """Read and list a number of fixed size.

        Raises:
            Unreadable: the bytes end before.
        """
        size = _FIXED[type_name].size
        self.need(size, type_name, path)
        value = self.peek(type_name)
        self.add(size, type_name, path, value, note)
        return value

    def varint(self, path: str) -> int:
        """Read and list a zigzag varint.

        Raises:
            Unreadable: the bytes end before, or it is too long.
        """
        return self._varying("varint", path)

    def varlong(self, path: str) -> int:
        """Read and list a zigzag varlong; see varint()."""
        return self._varying("varlong", path)

    def _varying(self, type_name: str, path: str) -> int:
        decode = decode_varint if type_name == "varint" else decode_varlong
        try:
            value, end = decode(self.data, self.position, self.end)
        except VarintTooLong:
            size = min(_VARINT_BYTES_MAX[type_name], self.end - self.position)
            self.cannot_read(size, type_name, path, f"at most {size} bytes")
        except VarintTruncated:
            expected = f"a {type_name} that ends before the bytes do"
            self.cannot_read(self.end - self.position, type_name, path, expected)
        self.add(end - self.position, type_name, path, value)
        return value

    def need(self, size: int, type_name: str, path: str) -> None:
        """Check that so many bytes are there.

        Raises:
            Unreadable: they are not.
        """
        there = self.end - self.position
        if size > there:
            self.cannot_read(there, type_name, path, f"{size} bytes, and {there} are left")

    def cannot_read(
        self, size: int, type_name: str, path: str, expected: str, value: int | None = None
    ) -> NoReturn:
        """List bytes that are not the field that they should be.

        Args:
            size: how many bytes.
            type_name: of the field.
            path: of the field.
            expected: what it should be.
            value: of the field; else the bytes are shown.

        Raises:
            Unreadable: always.
        """
        shown = shown_bytes(
            self.data[self.position : self.position + size], self.budget.value_bytes_max
        )
        with self.budget.waived():
            if value is None:
                self.add_shown(size, type_name, path, shown, expected, state=State.UNREADABLE)
            else:
                self.add(size, type_name, path, value, expected, state=State.UNREADABLE)
        raise Unreadable

    def is_wrong(self, expected: str, back: int = 1) -> NoReturn:
        """Mark a field as the one that cannot be right, and stop; see suspect().

        Raises:
            Unreadable: always.
        """
        self.suspect(expected, back)
        raise Unreadable

    def suspect(self, expected: str, back: int = 1) -> None:
        """Mark a field as one that cannot be right.

        Args:
            expected: what it should be.
            back: 1 for the last field, 2 for the one before it.
        """
        self.fields[-back] = self.fields[-back]._replace(state=State.UNREADABLE, note=expected)

    def annotate(self, note: str) -> None:
        """Say what the last field means."""
        self.fields[-1] = self.fields[-1]._replace(note=note)

    def rest(self, path: str, note: str, state: State = State.NOT_READ) -> None:
        """List all bytes up to the end as one field, if there are any."""
        size = self.end - self.position
        if size <= 0:
            return
        shown = shown_bytes(self.data[self.position : self.end], self.budget.value_bytes_max)
        with self.budget.waived():
            self.add_shown(size, "bytes", path, shown, note, state=state)


def refuse(fields: list[Field], refused: Refused) -> Refused | None:
    """Mark the field that is refused, and everything after it as not read.

    Args:
        fields: some of them are changed.
        refused: its path names the field. A path of which there is no field stands for the first
            unreadable field below it; without a path, for the first unreadable one of all.

    Returns:
        The refusal with the path of the field; None if there is no such field.
    """
    index = _place(fields, refused.path)
    if index is None:
        return None
    found = fields[index]
    got = refused.got
    if got is None:
        got = "nothing" if found.value == "" else str(found.value)
    expected = refused.expected
    if expected is None and found.state is State.UNREADABLE:
        expected = found.note
    refused = refused._replace(path=found.path, got=got, expected=expected)
    fields[index] = found._replace(state=State.REFUSED, refused=refused)
    not_read(fields, index + 1)
    return refused


def refuse_one(fields: list[Field], refused: Refused) -> Refused:
    """Mark the field of this path, if it is listed, and nothing after it; return the refusal."""
    for index, each in enumerate(fields):
        if each.path == refused.path:
            refused = refused._replace(got=refused.got or str(each.note or each.value))
            fields[index] = each._replace(state=State.REFUSED, refused=refused)
    return refused


def not_read(fields: list[Field], start: int = 0) -> None:
    """Mark the fields from an index on as not read."""
    for index in range(start, len(fields)):
        if fields[index].state is State.READ:
            fields[index] = fields[index]._replace(state=State.NOT_READ)


def _place(fields: list[Field], path: str | None) -> int | None:
    first: int | None = None
    for index, each in enumerate(fields):
        if each.path == path:
            return index
        is_below = path is None or each.path.startswith(f"{path}.")
        if first is None and is_below and each.state is State.UNREADABLE:
            first = index
    return first
