"""Answers as plain data that is the same for two brokers that behave alike.

Left out are times, texts of errors and what a broker is free to choose; ids go by name, and lists
have an order of their own, because Kafka keeps members and groups in hash maps.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from broker_lite.record.batch import RecordBatch
from broker_lite.record.framing import walk
from broker_lite.record.records import iterate_records
from broker_lite.wire import DecodeError, messages
from tests.differential.coordinator_memory import Names

Plain = Any
_LEFT_OUT: Final = frozenset(
    {
        "throttle_time_ms",
        "error_message",
        "unknown_tags",
        "log_append_time_ms",
        "current_leader",
        "node_endpoints",
    }
)
_TIMES: Final = frozenset({"transaction_start_time_ms", "last_timestamp"})
_ASSIGNMENTS: Final = frozenset({"assignment", "member_assignment"})
_PRODUCERS: Final = frozenset({"producer_id"})


def plain(value: Any, names: Names, field: str = "") -> Plain:
    """The plain data of a decoded answer or a part of it."""
    if isinstance(value, list):
        return _list([plain(item, names, field) for item in value])
    if isinstance(value, (bytes, memoryview)):
        if field in _ASSIGNMENTS:
            return _assigned(bytes(value))
        return names.topic(bytes(value)) if field == "topic_id" else _readable(bytes(value))
    if isinstance(value, str):
        return names.text(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return _number(value, names, field)
    if value is None or isinstance(value, (bool, float)):
        return value
    slots = [slot for slot in type(value).__slots__ if slot not in _LEFT_OUT]
    return {slot: plain(getattr(value, slot), names, slot) for slot in slots}


def _list(items: list[Plain]) -> list[Plain]:
    return sorted(items, key=repr)


def _number(value: int, names: Names, field: str) -> Plain:
    if field in _PRODUCERS:
        return names.producer(value)
    if field in _TIMES:
        return "a time" if value >= 0 else value
    return value


def _assigned(data: bytes) -> Plain:
    """What a member of a consumer group is assigned; other groups' bytes as they are."""
    if len(data) < 2 or data[0] != 0 or data[1] > 3:
        return _readable(data)
    try:
        value, end = messages.ConsumerProtocolAssignment.decode(data[2:], data[1])
    except DecodeError:
        return _readable(data)
    topics = [(topic.topic, sorted(topic.partitions)) for topic in value.assigned_partitions]
    rest = _readable(data[2 + end :])
    return [data[1], sorted(topics), _readable(value.user_data or b""), rest]


def _readable(data: bytes) -> str:
    return data.decode("ascii") if data.isascii() and data.decode().isprintable() else data.hex()


def own_part(api: str, answer: Any, tag: str) -> Any:
    """Take out of a list of everything what belongs to other sequences."""
    if api == "ListGroups":
        answer.groups = [group for group in answer.groups if group.group_id.startswith(tag)]
    elif api == "ListTransactions":
        answer.transaction_states = [
            state for state in answer.transaction_states if state.transactional_id.startswith(tag)
        ]
    return answer


def log_view(partition: Any, names: Names) -> Plain:
    """What a Fetch from offset 0 says of a partition, and the records a client would hand out."""
    batches = batches_of(partition)
    aborted = [
        (names.producer(entry.producer_id), entry.first_offset)
        for entry in partition.aborted_transactions or []
    ]
    return {
        "error": partition.error_code,
        "high_watermark": partition.high_watermark,
        "last_stable_offset": partition.last_stable_offset,
        "log_start_offset": partition.log_start_offset,
        "aborted": sorted(aborted),
        "batches": [_batch_view(batch, names) for batch in batches],
        "visible": _visible(batches, partition.aborted_transactions or []),
    }


def batches_of(partition: Any) -> list[RecordBatch]:
    """The whole batches of a fetched partition."""
    data = memoryview(bytes(partition.records or b""))
    return [RecordBatch(data, entry.position, entry.size_bytes) for entry in walk(data)]


def _batch_view(batch: RecordBatch, names: Names) -> Plain:
    records: list[Any] = [
        [_readable(bytes(record.key or b"")), _readable(bytes(record.value or b""))]
        for record in iterate_records(batch)
    ]
    return [
        batch.base_offset,
        batch.last_offset,
        names.producer(batch.producer_id),
        batch.producer_epoch,
        batch.base_sequence,
        batch.attributes,
        records,
    ]


def _visible(batches: Sequence[RecordBatch], aborted: Sequence[Any]) -> list[int]:
    """Offsets of the records that a client hands out: the rule of read_committed consumers."""
    waiting = sorted(((entry.first_offset, entry.producer_id) for entry in aborted), reverse=True)
    in_abort: set[int] = set()
    offsets: list[int] = []
    for batch in batches:
        while waiting and waiting[-1][0] <= batch.last_offset:
            in_abort.add(waiting.pop()[1])
        if batch.is_control:
            in_abort.discard(batch.producer_id)
        elif not (batch.is_transactional and batch.producer_id in in_abort):
            offsets += [record.offset for record in iterate_records(batch)]
    return offsets


def differing(one: Plain, other: Plain, path: str = "") -> list[str]:
    """The leaves in which two plain values differ, each as `path: one | other`."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        keys = [*one, *(key for key in other if key not in one)]
        return [
            line
            for key in keys
            for line in differing(one.get(key), other.get(key), f"{path}.{key}")
        ]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [
            line
            for index, (left, right) in enumerate(zip(one, other, strict=True))
            for line in differing(left, right, f"{path}[{index}]")
        ]
    return [] if one == other else [f"{path.lstrip('.')}: {one!r} | {other!r}"]
