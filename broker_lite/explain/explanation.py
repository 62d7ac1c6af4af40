"""What is told of bytes: their fields in order, the field that is refused, and the reason.

Every byte belongs to one field. A field that could not be read is `unreadable`; a field that the
broker's own checks refuse is `refused`. What comes after one of the two is `not read`, because a
broker stops there; its value is shown all the same if it can be guessed.
"""

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"
BYTES_MAX: Final = 1024 * 1024
"""So many decompressed bytes of a part are told to machines that ask for them."""
Value = str | int | float | bool | None


class Limits(NamedTuple):
    """How much is told.

    Attributes:
        fields_max: of all parts together; some fields of a refused record are told besides.
        value_bytes_max: of each text and each run of bytes; the rest is left out.
    """

    fields_max: int = 10_000
    value_bytes_max: int = 256


class State(StrEnum):
    """What became of a field."""

    READ = "read"
    REFUSED = "refused"
    UNREADABLE = "unreadable"
    NOT_READ = "not read"
    NOT_LISTED = "not listed"


class Refused(NamedTuple):
    """Why the broker refuses the bytes.

    Attributes:
        error: the name of the error in the answer; None if the broker closes the connection, or if
            a reader of the log finds the error.
        code: its number.
        rule: the id of the broken rule.
        text: what is wrong, as the broker logs it.
        path: of the field; None if no field can be named.
        expected: what the field should be, if that can be said shortly.
        got: what it is.
    """

    error: str | None
    code: int | None
    rule: str
    text: str
    path: str | None = None
    expected: str | None = None
    got: str | None = None

    def as_json(self) -> dict[str, Json]:
        """Return all attributes."""
        return dict(self._asdict())


class Field(NamedTuple):
    """One field.

    Attributes:
        offset: of its first byte; of its part, or of the file.
        size: in bytes; 0 for an empty key, value or tagged struct.
        type: as Kafka's schemas call it, such as int32, varint or compact string.
        path: its name, with the names of everything around it.
        value: a number, or text; bytes are text if they are printable UTF-8, else hex.
        note: what the value means.
        form: "text" or "hex" for bytes, else None.
        left_out: how many bytes or characters of the value are not shown.
        state: whether it was read.
        refused: why it is refused.
    """

    offset: int
    size: int
    type: str
    path: str
    value: Value
    note: str = ""
    form: str | None = None
    left_out: int = 0
    state: State = State.READ
    refused: Refused | None = None

    def as_json(self) -> dict[str, Json]:
        """Return what every field has, and the other attributes where they say something."""
        found: dict[str, Json] = {
            "offset": self.offset,
            "size": self.size,
            "type": self.type,
            "path": self.path,
            "value": _json_value(self.value),
        }
        if self.note:
            found["note"] = self.note
        if self.form is not None:
            found["form"] = self.form
        if self.left_out:
            found["left_out"] = self.left_out
        if self.state is not State.READ:
            found["state"] = self.state.value
        if self.refused is not None:
            found["refused"] = self.refused.as_json()
        return found


class Part(NamedTuple):
    """The decompressed content of one batch; the offsets of its fields begin at 0.

    Attributes:
        of: path of the field that holds the compressed bytes.
        codec: its name.
        data: the decompressed bytes.
        fields: of the records.
    """

    of: str
    codec: str
    data: bytes | memoryview
    fields: list[Field]

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return len(self.data)

    def as_json(self, *, with_bytes: bool = False) -> dict[str, Json]:
        """Return what it is, and with_bytes also the first bytes, in base64."""
        told: dict[str, Json] = {
            "of": self.of,
            "codec": self.codec,
            "size": self.size,
            "fields": [each.as_json() for each in self.fields],
        }
        if with_bytes:
            told["bytes"] = base64.b64encode(self.data[:BYTES_MAX]).decode()
        return told


@dataclass(slots=True)
class Explanation:
    """The fields of some bytes, and whether the broker takes them.

    Attributes:
        kind: request, response, batch or segment.
        fields: of the bytes as they are.
        parts: what was compressed.
        refusals: the first one is that of the first field.
        notes: how the bytes were judged, and what was left out: a line each.
    """

    kind: str
    fields: list[Field] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    refusals: list[Refused] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def refused(self) -> Refused | None:
        """The first refusal, None if the broker takes the bytes."""
        return self.refusals[0] if self.refusals else None

    def as_json(self, *, with_bytes: bool = False) -> dict[str, Json]:
        """Return one object for machines.

        Args:
            with_bytes: tell the decompressed bytes of each part, too, up to BYTES_MAX.
        """
        parts = [part.as_json(with_bytes=with_bytes) for part in self.parts]
        found: dict[str, Json] = {
            "kind": self.kind,
            "fields": [each.as_json() for each in self.fields],
            "refused": None if self.refused is None else self.refused.as_json(),
            "records": {"parts": parts} if parts else None,
        }
        if self.refusals[1:]:
            found["more_refused"] = [each.as_json() for each in self.refusals[1:]]
        if self.notes:
            found["notes"] = list(self.notes)
        return found


class CannotExplain(ValueError):
    """Nothing can be told of the bytes; the text is one line for a person."""


def _json_value(value: Value) -> Value:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no such number
    return value
