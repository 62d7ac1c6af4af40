"""Reads index files, producer snapshots and checkpoints, entry by entry.

An entry is a mapping; as text it is `name: value name: value`, as kafka-dump-log prints it.

Source: DumpLogSegments.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from struct import Struct
from typing import Any, Final

from broker_lite.commands.log.dump.batches import optional_text
from broker_lite.errors import KafkaStorageError
from broker_lite.log.files.checkpoints import (
    META_PROPERTIES_FILE,
    PARTITION_METADATA_FILE,
    CorruptCheckpoint,
    format_uuid,
    parse_lines,
    parse_meta_properties,
    parse_offsets,
    parse_partition_metadata,
    read_file,
)
from broker_lite.log.files.index import OffsetIndex, TimeIndex
from broker_lite.log.files.leader_epochs import FILE_NAME as EPOCH_FILE
from broker_lite.log.files.leader_epochs import LeaderEpochCache
from broker_lite.log.files.names import (
    INDEX_SUFFIX,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    parse_segment_file,
)
from broker_lite.log.files.txn_index import VERSION as TRANSACTION_VERSION
from broker_lite.log.files.txn_index import stored_entries
from broker_lite.log.producers.snapshot import CorruptSnapshot, decode_snapshot

Entry = Mapping[str, Any]

_CHECKPOINT_SUFFIX: Final = "-checkpoint"


def entries_of(path: Path) -> Iterator[Entry] | None:
    """Return the entries of a file; None if its name is not that of such a file.

    Raises:
        KafkaStorageError: the file is damaged; the entries before the damage were yielded.
        OSError: it cannot be read.
    """
    segment = parse_segment_file(path.name)
    if segment is not None:
        base_offset, suffix = segment
        reader = _SEGMENT_FILES.get(suffix.removesuffix(".deleted"))
        return None if reader is None else reader(path, base_offset)
    if path.name.endswith(_CHECKPOINT_SUFFIX) or path.name in _IDENTITIES:
        return _text_entries(path)
    return None


def entry_text(entry: Entry) -> str:
    """Format an entry as one line."""
    return " ".join(f"{name}: {value}" for name, value in entry.items())


def _offset_entries(path: Path, base_offset: int) -> Iterator[Entry]:
    """See: S-10; entries of zeros after the first are preallocated (S-12)."""
    for number, (relative, position) in enumerate(_pairs(path, OffsetIndex.ENTRY)):
        if relative == 0 and number > 0:
            return
        yield {"offset": base_offset + relative, "position": position}


def _time_entries(path: Path, base_offset: int) -> Iterator[Entry]:
    """See: S-11."""
    for number, (timestamp, relative) in enumerate(_pairs(path, TimeIndex.ENTRY)):
        if relative == 0 and number > 0:
            return
        yield {"timestamp": timestamp, "offset": base_offset + relative}


def _transaction_entries(path: Path, _base_offset: int) -> Iterator[Entry]:
    """See: S-16."""
    for version, entry in stored_entries(path.read_bytes()):
        if version >> 8 > TRANSACTION_VERSION:
            raise KafkaStorageError(f"{path}: S-16: an entry of version {version}")
        yield {
            "version": version,
            "producerId": entry.producer_id,
            "firstOffset": entry.first_offset,
            "lastOffset": entry.last_offset,
            "lastStableOffset": entry.last_stable_offset,
        }


def _producer_entries(path: Path, _base_offset: int) -> Iterator[Entry]:
    """See: S-17."""
    try:
        producers = decode_snapshot(path.read_bytes())
    except CorruptSnapshot as error:
        raise KafkaStorageError(f"{path}: S-17: {error}") from error
    for producer in producers:
        first = producer.transaction_first_offset
        entry: dict[str, Any] = {
            "producerId": producer.producer_id,
            "producerEpoch": producer.epoch,
            "coordinatorEpoch": producer.coordinator_epoch,
            "currentTxnFirstOffset": optional_text(first if first >= 0 else None),
            "lastTimestamp": producer.last_timestamp_ms,
        }
        for batch in producer.batches:
            entry["firstSequence"] = batch.first_sequence
            entry["lastSequence"] = batch.last_sequence
            entry["lastOffset"] = batch.last_offset
            entry["offsetDelta"] = batch.offset_delta
            entry["timestamp"] = batch.timestamp
        yield entry


def _text_entries(path: Path) -> Iterator[Entry]:
    """See: S-60, S-70, S-75, S-76."""
    try:
        text = read_file(path) or ""
        yield from _parsed(path.name, text)
    except CorruptCheckpoint as error:
        raise KafkaStorageError(f"{path}: S-70: {error}") from error


def _parsed(name: str, text: str) -> Iterator[Entry]:
    if name == PARTITION_METADATA_FILE:
        yield {"topicId": format_uuid(parse_partition_metadata(text))}
    elif name == META_PROPERTIES_FILE:
        meta = parse_meta_properties(text)
        yield {
            "clusterId": meta.cluster_id,
            "nodeId": meta.node_id,
            "directoryId": meta.directory_id,
        }
    elif name == EPOCH_FILE:
        LeaderEpochCache.from_text(text)  # raises if it is damaged
        for line in parse_lines(text):
            leader_epoch, start_offset = map(int, line.split())
            yield {"leaderEpoch": leader_epoch, "startOffset": start_offset}
    else:
        for (topic, partition), offset in parse_offsets(text).items():
            yield {"topic": topic, "partition": partition, "offset": offset}


def _pairs(path: Path, entry: Struct) -> Iterator[tuple[int, int]]:
    """Read the complete entries of a file; a partial one at its end is ignored."""
    data = path.read_bytes()
    return entry.iter_unpack(data[: len(data) // entry.size * entry.size])


_SEGMENT_FILES: Final[Mapping[str, Callable[[Path, int], Iterator[Entry]]]] = {
    INDEX_SUFFIX: _offset_entries,
    TIME_INDEX_SUFFIX: _time_entries,
    TRANSACTION_INDEX_SUFFIX: _transaction_entries,
    SNAPSHOT_SUFFIX: _producer_entries,
}
_IDENTITIES: Final = (PARTITION_METADATA_FILE, META_PROPERTIES_FILE)
