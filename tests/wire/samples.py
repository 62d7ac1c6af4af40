"""Values of any message and version, made from its schema with a seeded generator."""

import random
from collections.abc import Iterator
from typing import Any

from broker_lite.wire import messages
from broker_lite.wire.codegen import Layout
from broker_lite.wire.messages import MessageType
from broker_lite.wire.schema import Field, catalog

_RANGES = {
    "int8": (-(1 << 7), (1 << 7) - 1),
    "int16": (-(1 << 15), (1 << 15) - 1),
    "uint16": (0, (1 << 16) - 1),
    "int32": (-(1 << 31), (1 << 31) - 1),
    "uint32": (0, (1 << 32) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
}
TEXTS = ("", "a", "topic-1", "größer 漢字 \U0001f600", "x" * 130)
BLOBS = (b"", b"\0", b"\xff\x00abc", bytes(range(130)))


def message_versions() -> list[tuple[str, int]]:
    """Every message with every version that has a layout."""
    return [
        (name, version)
        for name in catalog()
        for message in [messages.message(name)]
        for version in range(message.min_version, message.max_version + 1)
    ]


def layout_of(message: MessageType, version: int) -> Layout:
    layout = message.layout(version)
    assert layout is not None
    return layout


class Sampler:
    """Makes values of one message version."""

    def __init__(
        self, name: str, version: int, seed: int, *, unknown_tags: bool = True, nulls: bool = True
    ) -> None:
        self.message = messages.message(name)
        self.version = version
        self.layout = layout_of(self.message, version)
        self.random = random.Random(f"{name} {version} {seed}")
        self.unknown_tags = unknown_tags
        self.nulls = nulls

    def value(self) -> Any:
        return self.struct(self.message.name)

    def encoded(self) -> bytes:
        return self.message.encode(self.value(), self.version)

    def struct(self, name: str) -> Any:
        layout = self.layout
        fields: dict[str, Any] = {
            field.attribute: self.field(field) for field in layout.plain_fields(name)
        }
        for field in layout.tagged_fields(name):
            if self.random.random() < 0.6:
                fields[field.attribute] = self.field(field)
        if layout.flexible and self.unknown_tags and self.random.random() < 0.2:
            fields["unknown_tags"] = [(90, b""), (200, b"\x01\x02")]
        return layout.classes[name](**fields)

    def field(self, field: Field) -> Any:
        if self.nulls and self.layout.is_nullable(field) and self.random.random() < 0.3:
            return None
        if field.is_array:
            counts = (0, 1, 2) if field.is_struct else (0, 1, 3, 17)
            return [self.element(field) for _ in range(self.random.choice(counts))]
        return self.element(field)

    def element(self, field: Field) -> Any:
        if field.is_struct:
            return self.struct(field.element_type)
        match field.element_type:
            case "string":
                return self.random.choice(TEXTS)
            case "bytes" | "records":
                return self.random.choice(BLOBS)
            case "uuid":
                return self.random.randbytes(16)
            case "bool":
                return self.random.random() < 0.5
            case "float64":
                return self.random.uniform(-1e9, 1e9)
            case integer:
                return self.integer(*_RANGES[integer])

    def integer(self, low: int, high: int) -> int:
        return self.random.choice((low, high, 0, 1, self.random.randint(low, high)))


class SmallSampler(Sampler):
    """Values with one element an array, for tests that try every byte."""

    def field(self, field: Field) -> Any:
        if field.is_array:
            return [self.element(field)]
        return self.element(field)

    def element(self, field: Field) -> Any:
        if field.element_type == "string":
            return "ab"
        if field.element_type in ("bytes", "records"):
            return b"cde"
        return super().element(field)


def samples(seed: int) -> Iterator[tuple[MessageType, int, Any]]:
    """One value of every message version."""
    for name, version in message_versions():
        yield messages.message(name), version, Sampler(name, version, seed).value()
