"""The largest requests that a frame of an API holds, made from the schema.

For each array of a request there are as many elements as fit that name what nobody has, and as many
that name what is there; as many that hold one of everything that they may hold, where they hold
arrays; and as many that name nothing, where a name may be null. For each text there are two: the
longest there may be, and the longest of bytes that are no UTF-8, each of which becomes three when
it is echoed. And there are the requests that are small and ask for much.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from broker_lite.handler.large import ELEMENTS_MAX
from broker_lite.wire import messages
from broker_lite.wire.codegen import Layout
from broker_lite.wire.schema import Field

TEXT_BYTES_MAX: Final = 32_767

UNKNOWN: Final = "unknown"
KNOWN: Final = "known"
WHOLE: Final = "whole"
NULL: Final = "null"

LARGE: Final = 10_000
LARGE_TOPIC: Final = "large"
"""A topic that has so many partitions, for the requests about them."""
HOSTILE: Final = (
    "(a?b?){1,250}" * 20,
    r"\pL|" * 128,
    r"\pL" * 10_000,
    "a?" * 16_000,
    "(?:" + "a?" * 128 + "){200}",
    "." * 30_000,
    "(" + "|".join(f"a{number}b.*" for number in range(2500)) + ")",
)
"""Regular expressions that take long to compile, or to match."""

_METADATA: Final = 3
_CREATE_TOPICS: Final = 19
_DELETE_TOPICS: Final = 20
_CREATE_PARTITIONS: Final = 37
_CONSUMER_GROUP_HEARTBEAT: Final = 68
_STATES_SINCE: Final = 6

_PLACEHOLDER: Final = b"\x1a"
_NO_UTF8: Final = b"\xff"
_HEADER_BYTES_MAX: Final = 32
_SAMPLE: Final = 500
_INDEXES: Final = frozenset(("partition_index", "partition", "partition_id", "partition_indexes"))


_NAMES: Final = frozenset(("topic", "topic_name", "name", "names", "topic_names"))
_SIMPLEST: Final[Mapping[str, Any]] = {"string": "x", "bytes": b"", "bool": False}


class Extreme(NamedTuple):
    """One request: what is extreme about it, and its frame with the size in front."""

    label: str
    frame: bytes


class Existing(NamedTuple):
    """What there is at the broker, for the requests to name.

    fields: a field's value by its attribute, wherever the field is not what is made extreme.
    topics: names of topics.
    topic_ids: their ids.
    partitions: of each.
    """

    fields: Mapping[str, Any]
    topics: Sequence[str]
    topic_ids: Sequence[bytes]
    partitions: int


class _Maker:
    """Values of one request in one version with one field made extreme."""

    def __init__(self, layout: Layout, existing: Existing) -> None:
        self.layout = layout
        self.existing = existing
        self.path: tuple[str, ...] = ()
        self.count = 0
        self.kind = KNOWN
        self.text = ""

    def struct(self, name: str, path: tuple[str, ...] = (), index: int = 0) -> Any:
        """One struct, the index-th of its array."""
        fields = {
            field.attribute: self.field(field, (*path, field.attribute), index)
            for field in self.layout.plain_fields(name)
        }
        return self.layout.classes[name](**fields)

    def field(self, field: Field, path: tuple[str, ...], index: int) -> Any:
        if field.is_array:
            is_inside = path[: len(self.path)] == self.path
            if not self.is_on_way(path) and not (self.kind == WHOLE and is_inside):
                return None if self.layout.is_nullable(field) else []
            count = self.count if path == self.path and not self.text else 1
            return [self.element(field, path, number) for number in range(count)]
        return self.element(field, path, index)

    def is_on_way(self, path: tuple[str, ...]) -> bool:
        return self.path[: len(path)] == path

    def element(self, field: Field, path: tuple[str, ...], index: int) -> Any:
        if field.is_struct:
            if not field.is_array and self.layout.is_nullable(field):
                return None
            return self.struct(field.element_type, path, index)
        if path == self.path and self.text:
            return self.text
        return self.plain(field, path, index)

    def plain(self, field: Field, path: tuple[str, ...], index: int) -> Any:
        """The value of a field that is no struct: what exists, or what does not."""
        existing, attribute = self.existing, field.attribute
        is_new = self.kind != KNOWN and (path == self.path or path[:-1] == self.path)
        if self.kind == NULL and is_new and not field.is_array:
            if field.element_type == "uuid":
                return bytes(16)
            if field.element_type == "string" and self.layout.is_nullable(field):
                return None
        if attribute in _INDEXES or (field.element_type == "int32" and field.is_array):
            return index % existing.partitions if self.kind == KNOWN else index
        if field.element_type == "string" and is_new:
            return f"{index:x}"
        if attribute in _NAMES:
            return existing.topics[index % len(existing.topics)]
        if attribute in existing.fields:
            return existing.fields[attribute]
        if field.element_type == "uuid":
            ids = existing.topic_ids
            return index.to_bytes(16, "little") if is_new else ids[index % len(ids)]
        has_default = field.default != () and not field.is_array  # null is that of the whole array
        return field.default if has_default else _SIMPLEST.get(field.element_type, 0)


def extreme_requests(
    api_key: int, version: int, existing: Existing, bytes_max: int
) -> Iterator[Extreme]:
    """The extreme requests of one API and version, each as large as bytes_max allows at most."""
    request = messages.by_api(api_key)[0]
    layout = request.layout(version)
    assert layout is not None
    room = bytes_max - _HEADER_BYTES_MAX
    for path, field in _paths(layout, request.name, ()):
        name = ".".join(path)
        if field.is_array:
            for kind in _kinds(layout, field):
                body, count = _largest(layout, existing, path, kind=kind, room=room)
                yield Extreme(f"{count} {kind} {name}", _frame(api_key, version, body))
        if field.element_type == "string":
            body = _longest(layout, existing, path)
            yield Extreme(f"longest {name}", _frame(api_key, version, body))
            body = body.replace(_PLACEHOLDER, _NO_UTF8)
            yield Extreme(f"longest {name}, no UTF-8", _frame(api_key, version, body))


def _kinds(layout: Layout, field: Field) -> Iterator[str]:
    """What the elements of an array may be."""
    yield from (UNKNOWN, KNOWN)
    if field.is_struct:
        inner = list(layout.plain_fields(field.element_type))
        if any(each.is_array for each in inner):
            yield WHOLE
        if any(each.element_type == "string" and layout.is_nullable(each) for each in inner):
            yield NULL


def small_requests(api_key: int, version: int) -> Iterator[Extreme]:
    """Those that ask for much with few bytes."""
    request, _ = messages.by_api(api_key)
    for label, fields in _small(request, api_key, version):
        yield Extreme(label, _frame(api_key, version, request.encode(request(**fields), version)))


def _small(request: Any, api_key: int, version: int) -> Iterator[tuple[str, dict[str, Any]]]:
    if api_key == _CREATE_TOPICS:
        topic = request.CreatableTopic(name="n", num_partitions=LARGE, replication_factor=1)
        yield f"a topic of {LARGE} partitions", {"topics": [topic], "timeout_ms": 60_000}
    elif api_key == _CREATE_PARTITIONS:
        grown = request.CreatePartitionsTopic(name=LARGE_TOPIC, count=2 * LARGE, assignments=None)
        yield f"{LARGE} more partitions", {"topics": [grown], "timeout_ms": 60_000}
    elif api_key == _DELETE_TOPICS:
        fields: dict[str, Any] = {"topic_names": [LARGE_TOPIC]}
        if version >= _STATES_SINCE:
            fields = {"topics": [request.DeleteTopicState(name=LARGE_TOPIC)]}
        yield f"a topic of {LARGE} partitions in use", {**fields, "timeout_ms": 60_000}
    elif api_key == _METADATA:
        names = [request.MetadataRequestTopic(name=f"m{number}") for number in range(LARGE)]
        yield f"{LARGE} topics that are created", {"topics": names}
        yield (
            f"a topic of {LARGE} partitions",
            {"topics": [request.MetadataRequestTopic(name=LARGE_TOPIC)]},
        )
    elif api_key == _CONSUMER_GROUP_HEARTBEAT and version >= 1:
        for regex in HOSTILE:
            fields = {
                "group_id": f"hostile {len(regex)}",
                "member_id": "m",
                "rebalance_timeout_ms": 1000,
                "subscribed_topic_regex": regex,
                "topic_partitions": [],
            }
            yield f"the regular expression {regex[:20]}", fields


def _paths(
    layout: Layout, struct_name: str, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Field]]:
    """The arrays and texts of a struct, and those inside of its structs."""
    for field in layout.plain_fields(struct_name):
        here = (*path, field.attribute)
        if field.is_array or field.element_type == "string":
            yield here, field
        if field.is_struct and (field.is_array or not layout.is_nullable(field)):
            yield from _paths(layout, field.element_type, here)


def _largest(
    layout: Layout, existing: Existing, path: tuple[str, ...], *, kind: str, room: int
) -> tuple[bytes, int]:
    """The body with as many elements at a path as there is room for."""
    maker = _Maker(layout, existing)
    maker.path, maker.kind = path, kind
    request = messages.message(layout.schema.name)

    def body(count: int) -> bytes:
        maker.count = count
        return request.encode(maker.struct(layout.schema.name), layout.version)

    base = len(body(0))
    per_element = max(1.0, (len(body(_SAMPLE)) - base) / _SAMPLE)
    elements_max = (ELEMENTS_MAX - len(path)) // _elements(layout, path, kind)
    count = min(int((room - base) / per_element), elements_max)
    encoded = body(count)
    while len(encoded) > room:  # longer numbers take more than those of the sample
        count = int(count * room / len(encoded)) - 1
        encoded = body(count)
    return encoded, count


def _elements(layout: Layout, path: tuple[str, ...], kind: str) -> int:
    """How many elements each element at a path is, with those inside of it."""
    if kind != WHOLE:
        return 1
    everything = _paths(layout, layout.schema.name, ())
    return sum(field.is_array for inner, field in everything if inner[: len(path)] == path)


def _longest(layout: Layout, existing: Existing, path: tuple[str, ...]) -> bytes:
    """The body with the longest text at a path."""
    maker = _Maker(layout, existing)
    maker.path, maker.kind, maker.count = path, KNOWN, 1
    maker.text = _PLACEHOLDER.decode() * TEXT_BYTES_MAX
    request = messages.message(layout.schema.name)
    return request.encode(maker.struct(layout.schema.name), layout.version)


def _frame(api_key: int, version: int, body: bytes) -> bytes:
    request = messages.by_api(api_key)[0]
    is_flexible = request.flexible_from is not None and version >= request.flexible_from
    head = struct.pack(">hhih", api_key, version, 1, 7) + b"extreme" + b"\0" * is_flexible
    return struct.pack(">i", len(head) + len(body)) + head + body
