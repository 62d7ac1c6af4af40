"""Write the encode function of one message version: `encode(value) -> bytes`.

The function appends parts to a list and joins them. For large messages there is a second function:
a generator that yields the message in pieces. Wrong types and ranges raise the errors of Python
(struct.error, AttributeError, TypeError), which the caller turns into EncodeError.

Rule: P-31 to P-33.
See: P-20 to P-30.
"""

from collections.abc import Callable, Generator
from struct import pack
from typing import Any, Final

from broker_lite.wire.codegen import Layout, Source
from broker_lite.wire.primitives import (
    ARRAY_SHORT_MAX,
    FIXED_FORMATS,
    STRING_BYTES_MAX,
    EncodeError,
    array_packers,
    encode_tags,
    encode_uvarint,
)
from broker_lite.wire.schema import Field
from broker_lite.wire.structs import EncodedElements, fresh_default

Encoder = Callable[[Any], bytes]
SliceEncoder = Callable[[Any], Generator[bytes, None, None]]

PARTS_PER_SLICE: Final = 256
"""So many parts take 100 to 300 microseconds."""

_PACKERS: Final = {
    prefix + character: array_packers(prefix, character)
    for prefix in "Bi"
    for character, _ in FIXED_FORMATS.values()
    if character != "16s"
}


def generate_encoder(layout: Layout) -> Encoder:
    """Generate, compile and return the encoder of one message version."""
    encoder: Encoder = _EncoderWriter(layout).write()
    return encoder


def generate_slice_encoder(layout: Layout, struct: str = "") -> SliceEncoder:
    """Generate, compile and return the encoder of one message version that yields pieces.

    Args:
        layout: of the version.
        struct: the name of the struct that is encoded; the whole message if it is empty.
    """
    encoder: SliceEncoder = _EncoderWriter(layout, in_slices=True).write(struct)
    return encoder


def _refuse(field: str, value: object) -> None:
    raise EncodeError(f"{field} cannot be {value!r:.100} in this version")


class _EncoderWriter:
    """Writes one function; fixed-width fields are collected in a run, packed as one part."""

    __slots__ = ("append", "in_slices", "layout", "run_formats", "run_values", "source")

    def __init__(self, layout: Layout, *, in_slices: bool = False) -> None:
        self.layout = layout
        self.in_slices = in_slices
        self.append = "append"
        self.run_values: list[str] = []
        self.run_formats: list[str] = []
        self.source = Source(
            {
                "refuse": _refuse,
                "uvarint": encode_uvarint,
                "encode_tags": encode_tags,
                "Encoded": EncodedElements,
                "pack": pack,
                **{f"class_{name}": cls for name, cls in layout.classes.items()},
                **{f"array_{key}": table for key, table in _PACKERS.items()},
            }
        )

    def write(self, struct: str = "") -> Callable[..., Any]:
        source = self.source
        root = struct or self.layout.schema.name
        source.line("def encode(o):")
        source.indent()
        source.line("parts = []; append = parts.append")
        self.write_struct("o", root)
        self.flush()
        source.line(f"{'yield' if self.in_slices else 'return'} b''.join(parts)")
        return source.compile("encode", f"encode {root} v{self.layout.version}")

    # -- runs of fixed-width fields

    def add_fixed(self, value: str, format_character: str) -> None:
        self.run_values.append(value)
        self.run_formats.append(format_character)

    def run_call(self, format_character: str = "", value: str = "") -> str:
        """Return the expression that packs the run, with one more value if given."""
        values = [*self.run_values, value] if value else self.run_values
        formats = "".join(self.run_formats) + format_character
        return f"{self.source.packer(formats)}({', '.join(values)})" if formats else "b''"

    def clear_run(self) -> None:
        self.run_values.clear()
        self.run_formats.clear()

    def flush(self) -> None:
        if self.run_formats:
            self.source.line(f"{self.append}({self.run_call()})")
            self.clear_run()

    def write_length(self, length: str, *, compact: bool, short: bool) -> None:
        """Write code that appends the run and a length; a compact length is already one larger."""
        if compact:
            long = f"uvarint({length})"
            if self.run_formats:
                long = f"{self.run_call()} + {long}"
            short_call = self.run_call("B", length)
            self.source.line(f"{self.append}({short_call} if {length} < 128 else {long})")
            self.clear_run()
        else:
            self.add_fixed(length, "h" if short else "i")
            self.flush()

    # -- structs

    def write_struct(self, value: str, struct: str) -> None:
        layout = self.layout
        for field in layout.absent_fields(struct):
            if not field.ignorable:
                self.write_absent_check(f"{value}.{field.attribute}", field)
        for field in layout.plain_fields(struct):
            self.write_field(f"{value}.{field.attribute}", field)
        if layout.flexible:
            self.write_tags(value, layout.tagged_fields(struct))

    def write_absent_check(self, value: str, field: Field) -> None:
        self.source.line(f"if {self.differs(value, field)}: refuse({field.name!r}, {value})")

    def differs(self, value: str, field: Field) -> str:
        """Return the condition under which a field is not its default."""
        if field.default is None:
            return f"{value} is not None"
        if field.default != () or field.is_array:
            return f"{value} != {fresh_default(field, '')}"
        inner = self.layout.attributes[field.element_type]
        conditions = [self.differs(f"{value}.{each.attribute}", each) for each in inner]
        if self.layout.is_nullable(field):
            conditions.insert(0, f"{value} is None")
        return " or ".join([*conditions, f"{value}.unknown_tags"])

    def write_tags(self, value: str, tagged: list[Field]) -> None:
        unknown = f"{value}.unknown_tags"
        known = self.write_known_tags(value, tagged) if tagged else "None"
        some = f"encode_tags({known}, {unknown})"
        none = repr(bytes(1))
        if self.run_formats:
            some = f"{self.run_call()} + {some}"
            none = self.run_call("x")
        condition = f"{known} or {unknown}" if tagged else unknown
        self.source.line(f"{self.append}({some} if {condition} else {none})")
        self.clear_run()

    def write_known_tags(self, value: str, tagged: list[Field]) -> str:
        """Write code that lists the tagged fields that differ from the default.

        Returns:
            The name of the local with the list.
        """
        source = self.source
        self.flush()
        known = source.name("k")
        source.line(f"{known} = None")
        for field in tagged:
            attribute = f"{value}.{field.attribute}"
            source.line(f"if {self.differs(attribute, field)}:")
            source.indent()
            parts, outer_append = source.name("parts"), self.append
            self.append = source.name("append")
            source.line(f"{parts} = []; {self.append} = {parts}.append")
            self.write_field(attribute, field, is_tagged=True)
            self.flush()
            source.line(f"{known} = [*({known} or ()), ({field.tag}, b''.join({parts}))]")
            self.append = outer_append
            source.indent(-1)
        return known

    # -- fields

    def write_field(self, value: str, field: Field, *, is_tagged: bool = False) -> None:
        if field.is_array:
            self.write_array(value, field)
        elif field.is_struct:
            self.write_struct_field(value, field, is_tagged=is_tagged)
        else:
            self.write_primitive(value, field)

    def write_primitive(self, value: str, field: Field, *, is_element: bool = False) -> None:
        if field.element_type in FIXED_FORMATS:
            if field.element_type == "uuid":
                self.source.line(f"if len({value}) != 16: refuse({field.name!r}, {value})")
            self.add_fixed(value, FIXED_FORMATS[field.element_type][0])
            return
        if not self.layout.is_nullable(field) or is_element:
            self.write_content(value, field)
            return
        self.write_nullable(value, field, self.write_content)

    def write_nullable(
        self, value: str, field: Field, write_present: Callable[[str, Field], None]
    ) -> None:
        """Write code for null and for a value; the run goes into both branches."""
        source = self.source
        run = (list(self.run_values), list(self.run_formats))
        source.line(f"if {value} is None:")
        source.indent()
        if self.layout.field_is_flexible(field):
            self.add_fixed("0", "B")
        else:
            is_short = field.element_type == "string" and not field.is_array
            self.add_fixed("-1", "h" if is_short else "i")
        self.flush()
        source.indent(-1)
        source.line("else:")
        source.indent()
        self.run_values, self.run_formats = run
        write_present(value, field)
        self.flush()
        source.indent(-1)

    def write_content(self, value: str, field: Field) -> None:
        source = self.source
        content, length = source.name("b"), source.name("n")
        is_string = field.element_type == "string"
        compact = self.layout.field_is_flexible(field)
        source.line(f"{content} = {value}.encode()" if is_string else f"{content} = {value}")
        source.line(f"{length} = len({content}){' + 1' if compact else ''}")
        if is_string and compact:
            limit = STRING_BYTES_MAX + 1
            source.line(f"if {length} > {limit}: refuse({field.name!r}, {value})")
        self.write_length(length, compact=compact, short=is_string)
        source.line(f"{self.append}({content})")

    def write_struct_field(self, value: str, field: Field, *, is_tagged: bool) -> None:
        source = self.source
        if not self.layout.is_nullable(field):
            self.write_struct(value, field.element_type)
            return
        # P-28; a tagged struct that may be null is marked by an unsigned varint of 0 or 1
        self.flush()
        null = bytes(1) if is_tagged else b"\xff"
        source.line(f"if {value} is None: {self.append}({null!r})")
        source.line("else:")
        source.indent()
        self.add_fixed("1", "b")
        self.write_struct(value, field.element_type)
        self.flush()
        source.indent(-1)

    def write_array(self, value: str, field: Field) -> None:
        if self.layout.is_nullable(field):
            self.write_nullable(value, field, self.write_present_array)
        else:
            self.write_present_array(value, field)

    def write_present_array(self, value: str, field: Field) -> None:
        source = self.source
        compact = self.layout.field_is_flexible(field)
        character = FIXED_FORMATS.get(field.element_type, ("", 0))[0]
        if character and character != "16s":
            self.flush()
            self.write_numbers(value, character, compact=compact)
            return
        length = source.name("n")
        source.line(f"{length} = len({value}){' + 1' if compact else ''}")
        self.write_length(length, compact=compact, short=False)
        if field.is_struct and value.startswith("o.") and self.append == "append":
            self.write_encoded_array(value)
            source.indent()
            self.write_elements(value, field)
            source.indent(-1)
        else:
            self.write_elements(value, field)

    def write_encoded_array(self, value: str) -> None:
        """Write code that takes the elements of an array of the root as they are encoded.

        Who reads slices gets them as the objects that they are.
        """
        source = self.source
        source.line(f"if {value}.__class__ is Encoded:")
        source.indent()
        if self.in_slices:
            source.line(f"yield b''.join(parts); parts.clear(); yield from {value}")
        else:
            source.line(f"parts.extend({value})")
        source.indent(-1)
        source.line("else:")

    def write_elements(self, value: str, field: Field) -> None:
        source = self.source
        element = source.name("o")
        source.line(f"for {element} in {value}:")
        source.indent()
        if field.is_struct:
            self.write_struct(element, field.element_type)
        else:
            self.write_primitive(element, field, is_element=True)
        if self.run_formats:
            self.flush()
        if self.in_slices and self.append == "append":  # a tagged field has its size first
            source.line(f"if len(parts) > {PARTS_PER_SLICE}: yield b''.join(parts); parts.clear()")
        source.indent(-1)

    def write_numbers(self, value: str, character: str, *, compact: bool) -> None:
        """Write code that appends the count and the numbers of an array as one part."""
        source = self.source
        length = source.name("n")
        source.line(f"{length} = len({value})")
        if compact:
            table, first, prefix = f"array_B{character}", f"{length} + 1", f"uvarint({length} + 1)"
        else:
            table, first, prefix = f"array_i{character}", length, f"pack('>i', {length})"
        source.line(
            f"{self.append}({table}[{length}]({first}, *{value}) if {length} < {ARRAY_SHORT_MAX} "
            f"else {prefix} + pack(f'>{{{length}}}{character}', *{value}))"
        )
