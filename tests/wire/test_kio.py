"""kio as an oracle: both codecs on every request and response version that both know.

kio rejects unknown tags and unknown error codes and turns times into timedelta and datetime, so the
samples keep to what it can hold.

Rule: P-173.
"""

import io
import re
from contextlib import suppress
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.index import KioIndexError, load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer

from broker_lite.wire import messages
from broker_lite.wire.codegen import Layout
from broker_lite.wire.schema import Field, catalog
from tests.wire.samples import Sampler, layout_of

SCHEMA_LOADERS = {"request": load_request_schema, "response": load_response_schema}
HOT = ["MetadataResponse", "FetchRequest", "ProduceResponse", "JoinGroupResponse"]


class KioSampler(Sampler):
    """Values that kio can hold too."""

    def __init__(self, name: str, version: int, seed: int) -> None:
        super().__init__(name, version, seed, unknown_tags=False)

    def element(self, field: Field) -> Any:
        if field.element_type == "int16" and field.name.endswith("ErrorCode"):
            return self.random.choice((-1, 0, 1, 3, 36, 100))
        if field.element_type in ("int32", "int64") and re.search(
            r"Ms$|Timestamp|Time$|Timeout", field.name
        ):
            return self.random.choice((0, 1, 5000, 1_600_000_000))
        return super().element(field)


def known_to_both(name: str) -> list[tuple[int, Any]]:
    """The versions of a message that both know, with kio's class."""
    message = messages.message(name)
    load = SCHEMA_LOADERS[catalog()[name].type]
    classes = []
    for version in range(message.min_version, message.max_version + 1):
        with suppress(KioIndexError):
            classes.append((version, load(message.api_key, version)))
    return classes


NAMES = [name for name, entry in catalog().items() if entry.type in SCHEMA_LOADERS]


def plain(value: Any) -> Any:
    """A value of ours or of kio as plain data, without what only one of them tells apart."""
    match value:
        case Enum():
            return value.value
        case UUID():
            return value.bytes
        case timedelta():
            return round(value / timedelta(milliseconds=1))
        case datetime():
            return round(value.timestamp() * 1000)
        case list() | tuple():
            return [plain(item) for item in value]
        case memoryview():
            return bytes(value)
    return value


def assert_same(layout: Layout, ours: Any, theirs: Any, path: str) -> None:
    if is_dataclass(theirs):  # kio names fields without units, so go by their order
        ours_fields = [
            field
            for field in layout.schema.structs[type(ours).__name__]
            if layout.version in field.versions or layout.version in field.tagged
        ]
        for field, kio_field in zip(ours_fields, fields(theirs), strict=True):
            assert field.attribute.startswith(kio_field.name[:2]), path
            item, kio_item = getattr(ours, field.attribute), getattr(theirs, kio_field.name)
            assert_same(layout, item, kio_item, f"{path}.{field.name}")
        return
    if isinstance(theirs, tuple) and isinstance(ours, list):
        assert len(ours) == len(theirs), path
        for ours_item, theirs_item in zip(ours, theirs, strict=True):
            assert_same(layout, ours_item, theirs_item, path)
        return
    if theirs is None and ours in (bytes(16), -1):  # a zero uuid, a time that is not set
        return
    assert plain(ours) == plain(theirs), path


def check(name: str, version: int, kio_class: Any, seed: int) -> None:
    message = messages.message(name)
    value = KioSampler(name, version, seed).value()
    body = message.encode(value, version)
    theirs, size = entity_reader(kio_class)(body, 0)
    assert size == len(body)
    assert_same(layout_of(message, version), value, theirs, name)
    buffer = io.BytesIO()
    entity_writer(kio_class)(buffer, theirs)
    assert message.decode(buffer.getvalue(), version) == (value, len(body))


@pytest.mark.parametrize("name", NAMES)
def test_as_kio(name: str) -> None:
    for version, kio_class in known_to_both(name):
        for seed in range(2):
            check(name, version, kio_class, seed)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(0, 1 << 32), st.sampled_from(HOT))
def test_hot_messages_as_kio(seed: int, name: str) -> None:
    for version, kio_class in known_to_both(name):
        check(name, version, kio_class, seed)


def test_kio_knows_most_versions() -> None:
    assert sum(len(known_to_both(name)) for name in NAMES) >= 600
