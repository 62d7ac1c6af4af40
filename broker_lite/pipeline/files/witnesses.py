"""What else knows how long a log was: its checkpoints, and the files beside its last segment.

A log that was cut between two batches looks like one that ends there. A broker writes the batches
first, then their index entries, and takes snapshots and recovery points of what it has. So whatever
of these names an offset behind the last batch tells that the log was longer, or is damaged itself.
"""

from typing import Final, NamedTuple

from broker_lite.log.files.names import INDEX_SUFFIX, SNAPSHOT_SUFFIX, TIME_INDEX_SUFFIX
from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.files.indexes import indexed_offsets_from
from broker_lite.pipeline.files.layout import PartitionLog, Segment

_RULES: Final = {INDEX_SUFFIX: "S-10", TIME_INDEX_SUFFIX: "S-11"}


class Witness(NamedTuple):
    """A log reached an offset; the rule is that of the file that says so."""

    next_offset: int
    rule: str
    text: str


def indexed_end(io: FileIO, segment: Segment, end_offset: int) -> Witness | None:
    """Tell whether the indexes of a segment know of offsets behind its end.

    A wrong entry shall not make a sound log look damaged. So the two indexes have to agree on an
    offset; where one of them is missing, two entries of the other one do; and beside an empty .log
    one entry does.

    Args:
        io: of the segment.
        segment: any.
        end_offset: what follows its last batch.

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
    """Tell whether something knows that a log was longer.

    Args:
        io: of the log.
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
