"""Write the decode function of one message version: `decode(data, position) -> (value, position)`.

For large messages there is a second function: a generator that pauses after each few elements, and
that refuses a message of more than `room` elements.

In the generated code, `p` is the position and `size` the length of the data. A length is checked
against the remaining bytes before anything of that length is made. Reading past the end raises
IndexError or struct.error, which the caller turns into DecodeError.

Rule: P-14, P-179, P-28.
See: P-20 to P-34.
"""

from collections.abc import Callable, Generator
from struct import unpack_from
from typing import Any, Final

from broker_lite.wire.codegen import Layout, Source
from broker_lite.wire.primitives import (
    ARRAY_SHORT_MAX,
    FIXED_FORMATS,
    GROWS_ABOVE,
    STRING_BYTES_MAX,
    array_unpackers,
    check_tag_count,
    check_text,
    invalid_length,
    read_tag,
    read_tags,
    read_uvarint_rest,
    too_many,
)
from broker_lite.wire.schema import Field
from broker_lite.wire.structs import fresh_default

Decoder = Callable[[Any, int], tuple[Any, int]]
SliceDecoder = Callable[[Any, int, int], Generator[None, None, tuple[Any, int]]]

ELEMENTS_PER_SLICE: Final = 64
"""A power of two; so many elements take 100 to 300 microseconds."""

_UNPACKERS: Final = {
    character: array_unpackers(character)
    for character, _ in FIXED_FORMATS.values()
    if character != "16s"
}


def generate_decoder(layout: Layout) -> Decoder:
    """Generate, compile and return the decoder of one message version."""
    decoder: Decoder = _DecoderWriter(layout).write()
    return decoder


def generate_slice_decoder(layout: Layout) -> SliceDecoder:
    """Generate, compile and return the decoder of one message version that decodes in slices."""
    decoder: SliceDecoder = _DecoderWriter(layout, in_slices=True).write()
    return decoder


class _DecoderWriter:
    """Writes one function; fixed-width fields are collected in a run, read by one unpacker."""

    __slots__ = ("in_slices", "layout", "run_formats", "run_targets", "source")

    def __init__(self, layout: Layout, *, in_slices: bool = False) -> None:
        self.layout = layout
        self.in_slices = in_slices
        self.run_targets: list[str] = []
        self.run_formats: list[str] = []
        self.source = Source(
            {
                "bad": invalid_length,
                "check_tag_count": check_tag_count,
                "check_text": check_text,
                "rest": read_uvarint_rest,
                "too_many": too_many,
                "read_tag": read_tag,
                "read_tags": read_tags,
                "unpack_from": unpack_from,
                **{f"class_{name}": cls for name, cls in layout.classes.items()},
                **{f"array_{character}": table for character, table in _UNPACKERS.items()},
            }
        )

    def write(self) -> Callable[..., Any]:
        source = self.source
        room = ", room" if self.in_slices else ""
        source.line(f"def decode(data, p{room}, new=object.__new__):")
        source.indent()
        source.line("size = len(data)")
        if self.in_slices:
            source.line(f"pause = room - {ELEMENTS_PER_SLICE}")
        if any(
            field.element_type == "records"
            for fields in self.layout.schema.structs.values()
            for field in fields
        ):
            source.line("view = memoryview(data)")
        root = self.layout.schema.name
        value = self.write_struct(root)
        if self.in_slices:
            source.line("yield")  # so that a message without arrays is a generator, too
        source.line(f"return {value}, p")
        return source.compile("decode", f"decode {root} v{self.layout.version}")

    # -- runs of fixed-width fields

    def add_fixed(self, target: str, format_character: str) -> None:
        self.run_targets.append(target)
        self.run_formats.append(format_character)

    def flush(self) -> None:
        if not self.run_targets:
            return
        formats = "".join(self.run_formats)
        size = sum(_SIZES[character] for character in self.run_formats)
        targets = ", ".join(self.run_targets)
        comma = "," if len(self.run_targets) == 1 else ""
        self.source.line(f"{targets}{comma} = {self.source.unpacker(formats)}(data, p)")
        self.source.line(f"p += {size}")
        self.run_targets.clear()
        self.run_formats.clear()

    def read_length(self, *, compact: bool, short: bool) -> str:
        """Write code that reads a length or count into a new local.

        Returns:
            The local's name. A compact length is still one too large, and 0 stands for null.
        """
        source = self.source
        length = source.name("n")
        if not compact:
            self.add_fixed(length, "h" if short else "i")
            self.flush()
            return length
        if self.run_targets:
            self.add_fixed(length, "B")
            self.flush()
        else:
            source.line(f"{length} = data[p]; p += 1")
        source.line(f"if {length} > 127: {length}, p = rest(data, p, {length})")
        return length

    # -- structs

    def write_struct(self, struct: str) -> str:
        """Write code that reads one struct.

        Returns:
            The name of the local that holds the struct.
        """
        layout = self.layout
        source = self.source
        self.flush()
        value = source.name("o")
        source.line(f"{value} = new(class_{struct})")
        tagged = layout.tagged_fields(struct)
        for field in (*layout.absent_fields(struct), *tagged):
            default = fresh_default(field, f"class_{field.element_type}")
            source.line(f"{value}.{field.attribute} = {default}")
        for field in layout.plain_fields(struct):
            self.write_field(f"{value}.{field.attribute}", field)
        if layout.flexible:
            self.write_tags(value, tagged)
        else:
            self.flush()
            source.line(f"{value}.unknown_tags = None")
        return value

    def write_tags(self, value: str, tagged: list[Field]) -> None:
        source = self.source
        source.line(f"{value}.unknown_tags = None")
        count = self.read_length(compact=True, short=False)
        source.line(f"if {count} > 0:")
        source.indent()
        if tagged:
            self.write_known_tags(value, tagged, count)
        else:
            source.line(f"{value}.unknown_tags, p = read_tags(data, p, {count})")
        source.indent(-1)

    def write_known_tags(self, value: str, tagged: list[Field], count: str) -> None:
        source = self.source
        tag, end, unknown = source.name("t"), source.name("e"), source.name("x")
        source.line(f"check_tag_count({count})")
        source.line(f"{unknown} = []")
        source.line(f"for _ in range({count}):")
        source.indent()
        source.line(f"{tag}, p, {end} = read_tag(data, p)")
        for number, field in enumerate(tagged):
            source.line(f"{'el' if number else ''}if {tag} == {field.tag}:")
            source.indent()
            self.write_field(f"{value}.{field.attribute}", field, is_tagged=True)
            self.flush()
            source.line(f"if p != {end}: bad('the tag {field.name}', {end} - p)")
            source.indent(-1)
        source.line("else:")
        source.indent()
        source.line(f"{unknown}.append(({tag}, bytes(data[p:{end}]))); p = {end}")
        source.indent(-2)
        source.line(f"{value}.unknown_tags = {unknown} or None")

    # -- fields

    def write_field(self, target: str, field: Field, *, is_tagged: bool = False) -> None:
        if field.is_array:
            self.write_array(target, field)
        elif field.is_struct:
            self.write_struct_field(target, field, is_tagged=is_tagged)
        else:
            self.write_primitive(target, field)

    def write_primitive(self, target: str, field: Field, *, is_element: bool = False) -> None:
        if field.element_type in FIXED_FORMATS:
            self.add_fixed(target, FIXED_FORMATS[field.element_type][0])
            return
        nullable = self.layout.is_nullable(field) and not is_element
        is_string = field.element_type == "string"
        compact = self.layout.field_is_flexible(field)
        length = self.read_length(compact=compact, short=is_string)
        null, count = ("<= 0", f"{length} - 1") if compact else ("< 0", length)
        end = self.source.name("e")
        checks = [f"({end} := p + {count}) > size"]
        if is_string and compact:
            checks.append(f"{length} > {STRING_BYTES_MAX + 1}")
        if nullable:
            self.source.line(f"if {length} {null}: {target} = None")
            self.source.line("else:")
            self.source.indent()
        else:
            checks.insert(0, f"{length} {null}")
        self.source.line(f"if {' or '.join(checks)}: bad({field.name!r}, {count})")
        self.source.line(f"{target} = {_CONTENT[field.element_type].format(end)}; p = {end}")
        if is_string and self.in_slices:  # a small message cannot have such a long text
            check = f"check_text({field.name!r}, {target})"
            self.source.line(f"if {count} > {GROWS_ABOVE}: {check}")
        if nullable:
            self.source.indent(-1)

    def write_struct_field(self, target: str, field: Field, *, is_tagged: bool) -> None:
        source = self.source
        if not self.layout.is_nullable(field):
            source.line(f"{target} = {self.write_struct(field.element_type)}")
            return
        # A tagged struct that may be null is marked by an unsigned varint, any other by an int8.
        if is_tagged:
            marker = self.read_length(compact=True, short=False)
            source.line(f"if {marker} <= 0: {target} = None")
        else:
            marker = source.name("n")
            self.add_fixed(marker, "b")
            self.flush()
            source.line(f"if {marker} < 0: {target} = None")
        source.line("else:")
        source.indent()
        source.line(f"{target} = {self.write_struct(field.element_type)}")
        source.indent(-1)

    def write_array(self, target: str, field: Field) -> None:
        source = self.source
        compact = self.layout.field_is_flexible(field)
        count = self.read_length(compact=compact, short=False)
        null = "<= 0" if compact else "< 0"
        size_min = self.layout.element_size_min(field)
        nullable = self.layout.is_nullable(field)
        if nullable:
            source.line(f"if {count} {null}: {target} = None")
            source.line("else:")
            source.indent()
        if compact:
            source.line(f"{count} -= 1")
        too_large = f"{count} * {size_min} > size - p"
        source.line(f"if {count} < 0 or {too_large}: bad({field.name!r}, {count})")
        if field.element_type in FIXED_FORMATS:
            self.write_fixed_elements(target, field, count)
        else:
            self.write_elements(target, field, count)
        if nullable:
            source.indent(-1)

    def write_fixed_elements(self, target: str, field: Field, count: str) -> None:
        character, size = FIXED_FORMATS[field.element_type]
        if self.in_slices:
            self.source.line(f"if {count} > room: too_many({field.name!r}, {count})")
            self.source.line(f"room -= {count}")
        if character == "16s":
            end = self.source.name("e")
            self.source.line(f"{end} = p + {count} * 16")
            self.source.line(
                f"{target} = [bytes(data[i:i + 16]) for i in range(p, {end}, 16)]; p = {end}"
            )
            return
        self.source.line(
            f"{target} = list(array_{character}[{count}](data, p) if {count} < {ARRAY_SHORT_MAX} "
            f"else unpack_from(f'>{{{count}}}{character}', data, p)); p += {count} * {size}"
        )

    def write_elements(self, target: str, field: Field, count: str) -> None:
        source = self.source
        items = source.name("l")
        source.line(f"{target} = {items} = []")
        if self.in_slices:
            source.line(f"if {count} > room: too_many({field.name!r}, {count})")
        source.line(f"for _ in range({count}):")
        source.indent()
        if self.in_slices:
            source.line("room -= 1")
            source.line(f"if room <= pause: pause = room - {ELEMENTS_PER_SLICE}; yield")
        if field.is_struct:
            source.line(f"{items}.append({self.write_struct(field.element_type)})")
        else:
            element = source.name("v")
            self.write_primitive(element, field, is_element=True)
            source.line(f"{items}.append({element})")
        source.indent(-1)


_SIZES: Final = {"B": 1, "16s": 16, **dict(FIXED_FORMATS.values())}
_CONTENT: Final = {
    "string": "str(data[p:{}], 'utf-8', 'replace')",
    "bytes": "bytes(data[p:{}])",
    "records": "view[p:{}]",
}
