"""The common parts of the two generators: the layout of a message version, compiling its source.

A codec is one Python function per message and version, written as text and compiled at first use.
All structs are inlined. Neighbouring fixed-width fields, together with the length or count that
follows them, are one precompiled struct. A function takes everything it uses from its own
namespace.

Rule: P-172.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from struct import Struct as Packer
from typing import Any, Final

from broker_lite.wire.primitives import FIXED_FORMATS
from broker_lite.wire.schema import Field, MessageSchema
from broker_lite.wire.structs import Struct

INDENT: Final = "    "


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One message at one version."""

    schema: MessageSchema  # from the file that describes this version
    version: int
    classes: Mapping[str, type[Struct]]
    attributes: Mapping[str, tuple[Field, ...]]  # of each struct, over all versions

    @property
    def flexible(self) -> bool:
        """True if this version has compact lengths and tagged fields."""
        return self.version in self.schema.flexible

    def field_is_flexible(self, field: Field) -> bool:
        """True if a field has a compact length (P-32)."""
        return self.flexible and (field.flexible is None or self.version in field.flexible)

    def plain_fields(self, struct: str) -> Iterator[Field]:
        """Yield the fields that are on the wire in order."""
        for field in self.schema.structs[struct]:
            if self.version in field.versions and self.version not in field.tagged:
                yield field

    def tagged_fields(self, struct: str) -> list[Field]:
        """Return the fields that are tagged in this version, in the order of their tags."""
        fields = self.schema.structs[struct]
        tagged = [field for field in fields if self.version in field.tagged]
        return sorted(tagged, key=lambda field: field.tag)

    def absent_fields(self, struct: str) -> Iterator[Field]:
        """Yield the fields of the class that this version does not have."""
        names = {
            field.name
            for field in self.schema.structs[struct]
            if self.version in field.versions or self.version in field.tagged
        }
        for field in self.attributes[struct]:
            if field.name not in names:
                yield field

    def has_field(self, struct: str, attribute: str) -> bool:
        """True if this version has a field of a struct."""
        return any(
            field.attribute == attribute and self.version in field.versions
            for field in self.schema.structs.get(struct, ())
        )

    def is_nullable(self, field: Field) -> bool:
        """True if a field may be null."""
        return self.version in field.nullable

    def element_size_min(self, field: Field) -> int:
        """Return the least number of bytes of one element of an array, at least 1.

        A count is refused if the remaining bytes are too few for so many elements of this size. An
        element of no bytes counts as one, because Kafka compares the count with the bytes that
        remain.

        See: P-34.
        """
        return max(1, self._type_size_min(field, is_array=False))

    def _type_size_min(self, field: Field, *, is_array: bool) -> int:
        if not is_array and field.element_type in FIXED_FORMATS:
            return FIXED_FORMATS[field.element_type][1]
        if not is_array and field.is_struct:
            return self._struct_size_min(field.element_type)
        if self.field_is_flexible(field):
            return 1
        return 2 if field.element_type == "string" and not is_array else 4

    def _struct_size_min(self, struct: str) -> int:
        size = int(self.flexible)
        for field in self.plain_fields(struct):
            if field.is_struct and not field.is_array and self.is_nullable(field):
                size += 1
            else:
                size += self._type_size_min(field, is_array=field.is_array)
        return size


class Source:
    """The text of one function while it is written, with the names that it uses."""

    __slots__ = ("_counter", "_depth", "_lines", "namespace")

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace
        self._lines: list[str] = []
        self._depth = 0
        self._counter = 0

    def line(self, text: str) -> None:
        """Add one line at the present depth."""
        self._lines.append(INDENT * self._depth + text)

    def indent(self, change: int = 1) -> None:
        """Go one level deeper, or back with -1."""
        self._depth += change

    def name(self, prefix: str) -> str:
        """Return a new local name."""
        self._counter += 1
        return f"{prefix}{self._counter}"

    def unpacker(self, formats: str) -> str:
        """Return the name of a precompiled reader of neighbouring fields."""
        name = f"u_{_identifier(formats)}"
        if name not in self.namespace:
            self.namespace[name] = Packer(f">{formats}").unpack_from
        return name

    def packer(self, formats: str) -> str:
        """Return the name of a precompiled writer of neighbouring fields."""
        name = f"p_{_identifier(formats)}"
        if name not in self.namespace:
            self.namespace[name] = Packer(f">{formats}").pack
        return name

    def compile(self, function: str, title: str) -> Callable[..., Any]:
        """Compile the text and return the function of that name."""
        code = compile("\n".join(self._lines), f"<{title}>", "exec", dont_inherit=True)
        exec(code, self.namespace)  # noqa: S102 - the text is made from our own data files
        compiled: Callable[..., Any] = self.namespace[function]
        return compiled


def _identifier(formats: str) -> str:
    return formats.replace("?", "o")
