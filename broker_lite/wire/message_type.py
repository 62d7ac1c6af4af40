"""One message of the protocol over all its versions: its codecs and the classes of its structs.

A MessageType reads its schema at first use. It compiles a codec when a version is first decoded or
encoded. Its types for a type checker are in messages.pyi.

See: P-170 to P-172.
"""

import struct
from collections.abc import Generator, Mapping
from functools import cached_property
from typing import Final

from broker_lite.wire.codegen import Layout
from broker_lite.wire.generate_decode import (
    Decoder,
    SliceDecoder,
    generate_decoder,
    generate_slice_decoder,
)
from broker_lite.wire.generate_encode import (
    Encoder,
    SliceEncoder,
    generate_encoder,
    generate_slice_encoder,
)
from broker_lite.wire.primitives import (
    STRING_BYTES_MAX,
    UNDERFLOW,
    Buffer,
    DecodeError,
    EncodeError,
)
from broker_lite.wire.schema import (
    Field,
    MessageEntry,
    MessageSchema,
    Versions,
    parse,
    removed_catalog,
)
from broker_lite.wire.structs import Struct, make_struct_classes

# encoding raises these for values of a wrong type or range
_WRONG_VALUES: Final = (*UNDERFLOW, AttributeError, TypeError, ValueError)


def _reason(error: Exception) -> str:
    """Return the text of an error in encoding; the text of struct.error alone would say nothing."""
    if isinstance(error, struct.error):
        return f"a text has more than {STRING_BYTES_MAX} bytes, or a number does not fit ({error})"
    return str(error)


class MessageType:
    """One message over all its versions."""

    def __init__(self, entry: MessageEntry) -> None:
        self.name = entry.name
        self.api_key = entry.api_key
        self._entry = entry
        self._decoders: dict[int, Decoder] = {}
        self._encoders: dict[int, Encoder] = {}
        self._slice_decoders: dict[int, SliceDecoder] = {}
        self._slice_encoders: dict[int, SliceEncoder] = {}
        self._struct_encoders: dict[tuple[type[Struct], int], SliceEncoder] = {}

    def __repr__(self) -> str:  # type: ignore[explicit-override]
        return f"<MessageType {self.name}>"

    def __call__(self, **fields: object) -> Struct:
        """Make the root struct; fields that are not given have the schema's defaults."""
        return self._root(**fields)

    def __getattr__(self, name: str) -> type[Struct]:
        """Return the class of a struct by its name in the schema, and keep it as an attribute."""
        if name[0].isupper() and name in self._classes:
            struct_class = self._classes[name]
            setattr(self, name, struct_class)
            return struct_class
        raise AttributeError(f"{self.name} has no struct {name!r}")

    @cached_property
    def min_version(self) -> int:
        """The first version with a known layout, even if Kafka 4 dropped the version."""
        removed = self._removed_schema
        first = self._schema.valid.first
        return first if removed is None else min(first, removed.valid.first)

    @cached_property
    def max_version(self) -> int:
        """The last version; below min_version for a message that no longer has any version."""
        return self._schema.valid.last

    @cached_property
    def flexible_from(self) -> int | None:
        """The first flexible version, None if there is none."""
        flexible = self._schema.flexible
        return flexible.first if flexible else None

    @property
    def listeners(self) -> tuple[str, ...]:
        """The kinds of nodes that answer the request: "broker", "controller", or both."""
        return self._schema.listeners

    def decode(self, data: Buffer, version: int, position: int = 0) -> tuple[Struct, int]:
        """Decode one message.

        Args:
            data: holds the message from position on; bytes after the message are ignored (P-09).
            version: min_version to max_version.
            position: where the message starts.

        Returns:
            The root struct and the position after it. `records` fields are views of data.

        Raises:
            DecodeError: the bytes are not a valid message, or the version has no layout.

        See: P-08.
        """
        decoder = self._decoders.get(version) or self._make_decoder(version)
        try:
            return decoder(data, position)
        except UNDERFLOW:
            raise DecodeError(f"{self.name} v{version} ends too early") from None

    def encode(self, value: Struct, version: int) -> bytes:
        """Encode one message.

        Args:
            value: a root struct of this type.
            version: min_version to max_version.

        Raises:
            EncodeError: a field has the wrong type or range, is null where the version forbids it,
                or is set although the version does not have it and the schema does not call it
                ignorable; or the version has no layout.

        See: P-33.
        """
        encoder = self._encoders.get(version) or self._make_encoder(version)
        try:
            return encoder(value)
        except EncodeError as error:
            raise EncodeError(f"{self.name} v{version}: {error}") from None
        except _WRONG_VALUES as error:
            raise EncodeError(f"{self.name} v{version}: {_reason(error)}") from error

    def decode_slices(
        self, data: Buffer, version: int, position: int, elements_max: int
    ) -> Generator[None, None, tuple[Struct, int]]:
        """Decode one message as decode() does, with a pause after each few elements.

        Args:
            data: see decode().
            version: see decode().
            position: see decode().
            elements_max: how many structs and strings in arrays the message may have, all together.

        Yields:
            Nothing, in the pauses; the generator's return value is that of decode().

        Raises:
            DecodeError: see decode(); or there are more elements than elements_max.

        See: P-08, P-34.
        """
        decoder = self._slice_decoders.get(version)
        if decoder is None:
            layout = self._layout_to_decode(version)
            decoder = self._slice_decoders[version] = generate_slice_decoder(layout)
        try:
            return (yield from decoder(data, position, elements_max))
        except UNDERFLOW:
            raise DecodeError(f"{self.name} v{version} ends too early") from None

    def encode_slices(self, value: Struct, version: int) -> Generator[bytes, None, None]:
        """Encode one message as encode() does, with a pause after each few elements.

        Yields:
            The message in pieces.

        Raises:
            EncodeError: see encode().

        See: P-33.
        """
        encoder = self._slice_encoders.get(version)
        if encoder is None:
            layout = self._layout_to_encode(version)
            encoder = self._slice_encoders[version] = generate_slice_encoder(layout)
        yield from self._sliced(encoder, value, version)

    def struct_slices(self, value: Struct, version: int) -> Generator[bytes, None, None]:
        """Encode one struct as it stands in an array of this message, in pieces.

        Args:
            value: of one of the classes of this message; see EncodedElements.
            version: min_version to max_version.

        Yields:
            The struct in pieces, with a pause after each few of its own elements.

        Raises:
            EncodeError: see encode().

        See: P-33.
        """
        key = (value.__class__, version)
        encoder = self._struct_encoders.get(key)
        if encoder is None:
            layout = self._layout_to_encode(version)
            encoder = generate_slice_encoder(layout, value.__class__.__name__)
            self._struct_encoders[key] = encoder
        yield from self._sliced(encoder, value, version)

    def _sliced(
        self, encoder: SliceEncoder, value: Struct, version: int
    ) -> Generator[bytes, None, None]:
        try:
            yield from encoder(value)
        except EncodeError as error:
            raise EncodeError(f"{self.name} v{version}: {error}") from None
        except _WRONG_VALUES as error:
            raise EncodeError(f"{self.name} v{version}: {_reason(error)}") from error

    @cached_property
    def _schema(self) -> MessageSchema:
        return parse(self._entry)

    @cached_property
    def _removed_schema(self) -> MessageSchema | None:
        entry = removed_catalog().get(self.name)
        return None if entry is None else parse(entry)

    @cached_property
    def structs(self) -> Mapping[str, tuple[Field, ...]]:
        """The fields of each struct by its name, over both schema files."""
        structs = dict(self._schema.structs)
        if self._removed_schema is not None:
            for name, fields in self._removed_schema.structs.items():
                present = structs.get(name, ())
                names = {field.name for field in present}
                structs[name] = (*present, *(f for f in fields if f.name not in names))
        return structs

    @cached_property
    def _classes(self) -> Mapping[str, type[Struct]]:
        return make_struct_classes(self.structs)

    @cached_property
    def _root(self) -> type[Struct]:
        return self._classes[self.name]

    def layout(self, version: int) -> Layout | None:
        """Return the layout of a version, None if there is none."""
        schema = self._schema
        if version < schema.valid.first and self._removed_schema is not None:
            schema = self._removed_schema
        if version not in Versions(first=self.min_version, last=self.max_version):
            return None
        return Layout(
            schema=schema, version=version, classes=self._classes, attributes=self.structs
        )

    def _make_decoder(self, version: int) -> Decoder:
        decoder = generate_decoder(self._layout_to_decode(version))
        return self._decoders.setdefault(version, decoder)

    def _make_encoder(self, version: int) -> Encoder:
        encoder = generate_encoder(self._layout_to_encode(version))
        return self._encoders.setdefault(version, encoder)

    def _layout_to_decode(self, version: int) -> Layout:
        layout = self.layout(version)
        if layout is None:
            raise DecodeError(f"{self.name} has no version {version}")
        return layout

    def _layout_to_encode(self, version: int) -> Layout:
        layout = self.layout(version)
        if layout is None:
            raise EncodeError(f"{self.name} has no version {version}")
        return layout
