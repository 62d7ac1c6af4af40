"""Finds the field that a refusal is about, with what was expected there and what came.

A refusal names a rule and has facts; the names of the facts say which check it was. Where they do
not name a field, it is the first one that could not be read.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from broker_lite.errors import BrokerError
from broker_lite.explain.explanation import Field, Refused
from broker_lite.explain.judging import Judge, Verdict, error_name
from broker_lite.log.validate.produced_batch import CODEC_MAX
from broker_lite.log.validate.rejected import RejectedRecords
from broker_lite.log.validate.validated import NO_TIMESTAMP
from broker_lite.record.batch import (
    CURRENT_MAGIC,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    RECORD_BATCH_OVERHEAD,
    Entry,
    walk,
)
from broker_lite.record.framing import RECORD_OVERHEAD_V0

_CODECS: Final = f"a codec from 0 to {CODEC_MAX}"
_LENGTH_MIN: Final = RECORD_BATCH_OVERHEAD - LOG_OVERHEAD


class Place(NamedTuple):
    """A field, what was expected in it, and what came; None if it is not known."""

    path: str | None
    expected: str | None = None
    got: str | None = None


class Scene(NamedTuple):
    """What a refusal is about.

    Attributes:
        records: the refused record set.
        prefix: of its paths.
        judge: who refused it.
        fields: the listed ones by their paths, those of the parts, too.
    """

    records: memoryview
    prefix: str
    judge: Judge
    fields: Mapping[str, Field]

    def value(self, path: str) -> int | None:
        """Return the number in a field of the record set, None if it is not listed."""
        found = self.fields.get(self.prefix + path)
        return found.value if found is not None and isinstance(found.value, int) else None


Facts = Mapping[str, object]
_Finder = Callable[[Scene, Facts], Place]


def record_of(verdict: Verdict) -> int | None:
    """Return the index of the record that is refused, None if it is not one record."""
    if isinstance(verdict.error, RejectedRecords) and verdict.error.record_errors:
        return verdict.error.record_errors[0].batch_index
    return _number(verdict.why.facts, "record")  # an old message's error has no list of records


def refused_of(verdict: Verdict, scene: Scene) -> Refused:
    """Return the refusal of a record set, with the path of its field."""
    place = _place_of(verdict, scene)
    error, code = error_name(verdict)
    path = None if place.path is None else scene.prefix + place.path
    why = verdict.why
    return Refused(error, code, why.rule, str(why), path, place.expected, place.got)


def _place_of(verdict: Verdict, scene: Scene) -> Place:
    why = verdict.why
    if isinstance(verdict.error, RejectedRecords) and verdict.error.record_errors:
        index = verdict.error.record_errors[0].batch_index
        return _OF_RECORDS[str(why.facts["wrong"])](scene, f"batches[0].records[{index}]")
    find = _FINDERS.get((why.rule, *sorted(why.facts)))
    return Place(None) if find is None else find(scene, why.facts)


def _record_without_key(_: Scene, record: str) -> Place:
    """See: V-33."""
    return Place(f"{record}.key_length", "a key, because the topic is compacted", "null")


def _record_with_wrong_time(scene: Scene, record: str) -> Place:
    """See: V-34."""
    judge = scene.judge
    attributes = scene.value("batches[0].attributes") or 0
    if attributes & LOG_APPEND_TIME_FLAG:
        if judge.config.is_append_time or scene.value("batches[0].max_timestamp") == NO_TIMESTAMP:
            return Place("batches[0].attributes", "CreateTime", "LogAppendTime")
        return Place("batches[0].max_timestamp", _times(judge))
    path = f"{record}.timestamp_delta"
    found = scene.fields.get(scene.prefix + path)
    return Place(path, _times(judge), None if found is None else found.note)


_OF_RECORDS: Final[Mapping[str, Callable[[Scene, str], Place]]] = {
    "key": _record_without_key,
    "timestamp": _record_with_wrong_time,
}
"""By what is wrong with a refused record; see log.validate.refusals.wrong_records()."""


def _times(judge: Judge) -> str:
    config = judge.config
    return f"{judge.now_ms - config.before_max_ms} to {judge.now_ms + config.after_max_ms}"


def _header(name: str, expected: str, got: str | None = None) -> _Finder:
    """Return a finder of a field of the first batch."""
    return lambda _scene, facts: Place(
        f"batches[0].{name}",
        expected.format_map(facts),
        None if got is None else got.format_map(facts),
    )


def _entry(name: str, expected: str, is_it: Callable[[Scene, Entry, Facts], bool]) -> _Finder:
    """Return a finder of a field of the first entry that is the one."""

    def find(scene: Scene, facts: Facts) -> Place:
        for path, entry in _entries(scene.records):
            if is_it(scene, entry, facts):
                return Place(f"{path}.{name}", expected)
        return Place(None)

    return find


def _entries(records: memoryview) -> list[tuple[str, Entry]]:
    found: list[tuple[str, Entry]] = []
    try:
        for entry in walk(records):
            kind = "batches" if entry.magic == CURRENT_MAGIC else "messages"
            found.append((f"{kind}[{len(found)}]", entry))
    except BrokerError:
        pass  # what comes before it counts
    return found


def _counts(scene: Scene, facts: Facts) -> Place:
    """See: V-32."""
    count, delta = _number(facts, "record_count") or 0, _number(facts, "last_offset_delta")
    if count <= 0:
        return Place("batches[0].record_count", "1 or more")
    return Place("batches[0].last_offset_delta", str(count - 1), str(delta))


def _too_large(scene: Scene, facts: Facts) -> Place:
    size, most = _number(facts, "size_bytes"), _number(facts, "max_message_bytes") or 0
    expected = f"at most {most - LOG_OVERHEAD}"
    for path, entry in _entries(scene.records):
        if entry.size_bytes == size:
            return Place(f"{path}.length", expected)
    return Place(None, expected)


def _given(scene: Scene, facts: Facts) -> Place:
    given = _number(facts, "given_bytes") or 0
    return Place("batches[0].length", f"at most {given - LOG_OVERHEAD}")


def _invalid_entry(scene: Scene, facts: Facts) -> Place:
    """See: R-06."""
    is_old = facts["magic"] != CURRENT_MAGIC
    size_min = LOG_OVERHEAD + RECORD_OVERHEAD_V0 if is_old else RECORD_BATCH_OVERHEAD
    for path, entry in _entries(scene.records):
        if entry.position == facts["position"]:
            if entry.size_bytes < size_min:
                return Place(f"{path}.length", f"at least {size_min - LOG_OVERHEAD}")
            return Place(f"{path}.crc", "the checksum of the bytes behind it")
    return Place(None)


def _second_batch(scene: Scene, facts: Facts) -> Place:
    entries = _entries(scene.records)
    if len(entries) < 2:
        return Place(None)
    path, entry = entries[1]
    name = "base_offset" if entry.magic == CURRENT_MAGIC else "offset"
    return Place(f"{path}.{name}", "the end of the records", "another batch")


def _structure(scene: Scene, facts: Facts) -> Place:
    """See: V-36."""
    record, count = facts["record"], facts["record_count"]
    if record == count:  # all of them were read, and bytes are left
        return Place("batches[0].records.rest", f"{count} records", "more bytes")
    return Place(f"batches[0].records[{record}]")


def _producer(scene: Scene, facts: Facts) -> Place:
    """See: V-42, R-50."""
    if facts["producer_id"] == NO_PRODUCER_ID:
        return Place("batches[0].producer_id", "0 or more, because the batch is transactional")
    if facts["producer_epoch"] == NO_PRODUCER_EPOCH:
        return Place("batches[0].producer_epoch", "0 or more, because there is a producer id")
    return Place("batches[0].base_sequence", "0 or more, because there is a producer id")


def _offsets(scene: Scene, facts: Facts) -> Place:
    """See: V-42."""
    index = 0
    while True:
        path = f"batches[0].records[{index}].offset_delta"
        delta = scene.value(path)
        if delta is None:
            return Place(None)
        if delta != index:
            return Place(path, str(index))
        index += 1


def _negative_time(scene: Scene, facts: Facts) -> Place:
    """See: V-42, R-50."""
    timestamp = facts["timestamp"]
    if scene.value("batches[0].max_timestamp") == timestamp:
        return Place("batches[0].max_timestamp", "0 or more, or -1")
    for path, field in scene.fields.items():
        if path.endswith(".timestamp_delta") and field.note.startswith(f"{timestamp} "):
            return Place(path.removeprefix(scene.prefix), "0 or more, or -1", str(timestamp))
    return Place(None)


def _old_record(name: str, expected: str | None = None) -> _Finder:
    """Return a finder of a field of an old message, in a wrapper or not.

    See: V-33, V-34.
    """

    def find(scene: Scene, facts: Facts) -> Place:
        wanted = expected or _times(scene.judge)
        inner = f"messages[0].messages[{facts['record']}].{name}"
        if scene.prefix + inner in scene.fields:
            return Place(inner, wanted)
        for path, _ in _entries(scene.records):
            value = scene.value(f"{path}.{name}")
            if value is None or value != facts.get("timestamp", value):
                continue
            if name != "key_length" or value < 0:
                return Place(f"{path}.{name}", wanted)
        return Place(None, wanted)

    return find


def _old_append_time(scene: Scene, facts: Facts) -> Place:
    """See: V-34."""
    for path, _ in _entries(scene.records):
        if (scene.value(f"{path}.attributes") or 0) & LOG_APPEND_TIME_FLAG:
            return Place(f"{path}.attributes", "CreateTime", "LogAppendTime")
    return Place(None)


def _number(facts: Facts, name: str) -> int | None:
    value = facts.get(name)
    return value if isinstance(value, int) else None


_MAGIC: Final = _entry("magic", str(CURRENT_MAGIC), lambda _s, e, f: e.magic == f["magic"])

# The rule, and the names of the facts in the order of the alphabet.
_FINDERS: Final[Mapping[tuple[str, ...], _Finder]] = {
    ("V-09",): _second_batch,
    ("V-09", "codec"): _header("attributes", _CODECS, "codec {codec}"),
    ("V-09", "expected_magic", "magic"): _MAGIC,
    ("V-09", "given_bytes", "size_bytes"): _given,
    ("V-09", "version_min"): _header("attributes", "no zstd below Produce {version_min}", "zstd"),
    ("V-20", "base_offset"): _entry(
        "base_offset",
        "0",
        lambda s, e, f: (
            int.from_bytes(s.records[e.position : e.position + 8], "big", signed=True)
            == f["base_offset"]
        ),
    ),
    ("V-20", "max_message_bytes", "size_bytes"): _too_large,
    ("V-20", "magic", "position", "size_bytes"): _invalid_entry,
    ("V-20", "computed", "stored"): _header("crc", "{computed:#010x}", "{stored:#010x}"),
    ("V-20", "codec"): _header("attributes", _CODECS, "codec {codec}"),
    ("V-21", "size_bytes"): _header("length", f"at least {_LENGTH_MIN}"),
    ("V-21", "header_bytes", "size_bytes"): _header("length", f"at least {_LENGTH_MIN}"),
    ("V-31", "batch_count"): _second_batch,
    ("V-31", "magic"): _MAGIC,
    ("V-32", "last_offset_delta", "record_count"): _counts,
    ("V-32",): _header("attributes", "no control bit", "a control batch"),
    ("V-32", "base_sequence", "producer_epoch", "producer_id"): _header(
        "base_sequence", "0 or more, because there is a producer id"
    ),
    ("V-33", "record"): _old_record("key_length", "a key, because the topic is compacted"),
    ("V-34", "earliest", "latest", "record", "timestamp"): _old_record("timestamp"),
    ("V-34", "record"): _old_append_time,
    ("V-36", "position", "record", "record_count"): _structure,
    ("V-42",): _offsets,
    ("V-42", "timestamp"): _negative_time,
    ("V-42", "base_sequence", "producer_epoch", "producer_id"): _producer,
    ("V-45", "bytes_max", "parts_max"): _header("records", "at most {bytes_max} bytes inside"),
    ("V-45", "codec", "position", "record", "record_count"): _header(
        "records", "{codec} data of {record_count} records", "a codec error in record {record}"
    ),
    ("V-45", "record_count", "records_max"): _header("record_count", "at most {records_max}"),
    ("V-50", "max_message_bytes", "size_bytes"): _header(
        "length", "at most {max_message_bytes} bytes with the codec of the topic", "{size_bytes}"
    ),
    # Only a broker that was asked knows these.
    ("V-52", "segment_bytes", "size_bytes"): _header(
        "length", "at most {segment_bytes} bytes in all, the size of a segment", "{size_bytes}"
    ),
    ("V-56", "expected_epoch", "producer_epoch", "producer_id"): _header(
        "producer_epoch", "{expected_epoch} or more", "{producer_epoch}"
    ),
    ("V-57", "expected_sequence", "producer_epoch", "producer_id", "sequence"): _header(
        "base_sequence", "{expected_sequence}", "{sequence}"
    ),
}
