"""Finds evidence that a log was longer: its checkpoints, and the files beside its last segment.

A log that was cut between two batches looks like one that ends there. But a broker writes the
batches before their index entries, snapshots and recovery points. So if one of these names an
offset behind the last batch, the log was longer, or that file is damaged.
"""

from typing import Final, NamedTuple

from broker_lite.log.files.names import INDEX_SUFFIX, SNAPSHOT_SUFFIX, TIME_INDEX_SUFFIX
from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.files.indexes import indexed_offsets_from
from broker_lite.pipeline.files.layout import PartitionLog, Segment

_RULES: Final = {INDEX_SUFFIX: "S-10", TIME_INDEX_SUFFIX: "S-11"}


class Witness(NamedTuple):
    """Evidence that a log reached an offset; `rule` belongs to the file that has it."""

    next_offset: int
    rule: str
    text: str


def indexed_end(io: FileIO, segment: Segment, end_offset: int) -> Witness | None:
    """Return evidence in the indexes of a segment that it was longer, None if there is none.

    One wrong entry must not make a sound log look damaged. So both indexes have to name the same
    offset. If one of them is missing, two entries of the other suffice; beside an empty .log, one
    entry does.

    Args:
        io: opens the segment.
        segment: any.
        end_offset: the offset after its last batch.

    Raises:
        OSError: an index cannot be read.

    See: S-10, S-11 (OffsetIndex, TimeIndex).
    """
    found = {
        suffix: set(indexed_offsets_from(io, segment, suffix, end_offset))
        for suffix in _RULES
        if suffix in segment.suffixes
    }
    agreed = set.intersection(*found.values()) if len(found) == len(_RULES) else set()
    for suffix, offsets in found.items():
        is_alone = len(found) == 1 and len(offsets) > 1
        believed = offsets if is_alone or not segment.size_bytes else agreed
        if believed:
            text = f"{suffix} has offset {max(believed)}"
            return Witness(max(believed) + 1, _RULES[suffix], text)
    return None


def witnessed_end(io: FileIO, log: PartitionLog, end_offset: int) -> Witness | None:
    """Return evidence that a log was longer, None if there is none.

    Args:
        io: opens the log.
        log: as it was listed.
        end_offset: where its batches end.

    Raises:
        OSError: an index cannot be read.

    See: S-10, S-11, S-18, S-70 (LogManager.checkpointLogRecoveryOffsets).
    """
    if not log.segments:
        return None
    if log.recovery_point > end_offset:
        return Witness(log.recovery_point, "S-70", f"was on disk up to {log.recovery_point}")
    if log.snapshot_offset > end_offset:
        text = f"has a {SNAPSHOT_SUFFIX} of {log.snapshot_offset}"
        return Witness(log.snapshot_offset, "S-18", text)
    found = indexed_end(io, log.segments[-1], end_offset)
    return found and found._replace(text=f"its {found.text}")
