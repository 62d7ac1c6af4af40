"""Puts a new segment in the place of the segments that it was made of. Runs in the event loop.

The swap is safe against a crash. If the broker crashes before the .log file is renamed to .swap,
nothing has changed: the next load of the log removes the cleaner's files. If it crashes later, the
next load completes the swap.

Rule: S-89 (LocalLog.replaceSegments).
See: S-41.
"""

import os

from broker_lite.log.cleaner.rewriting import Cleaned, parts_of
from broker_lite.log.files.names import CLEANED_SUFFIX, SWAP_SUFFIX
from broker_lite.log.files.segment import LogSegment
from broker_lite.log.log import Log
from broker_lite.log.removal import SegmentRemoval


def swap_in(log: Log, cleaned: Cleaned, removal: SegmentRemoval) -> None:
    """Put a new segment in the place of its sources.

    Args:
        log: the log that is being cleaned; it must not be deleted.
        cleaned: the new segment of this log.
        removal: removes segments of the log's data directory.

    Raises:
        KafkaStorageError: not all files could be renamed. The log uses the new segment, and its
            next load completes the renames.
        OSError: nothing has changed; the new segment's files keep their names.

    Rule: S-89 (LocalLog.replaceSegments).
    """
    made = cleaned.segment
    segment = LogSegment(
        log.directory,
        made.base_offset,
        log.segments.cache,
        created_ms=made.created_ms,
        size_bytes=made.size_bytes,
        index_bytes=made.offset_index.size_bytes,
        time_index_bytes=made.time_index.size_bytes,
        has_transaction_index=made.transaction_index.exists,
    )
    segment.max_timestamp = made.max_timestamp
    segment.offset_of_max_timestamp = made.offset_of_max_timestamp
    segment.rolling_timestamp = made.rolling_timestamp
    renamed: list[tuple[str, str]] = []
    try:
        # The .log file is renamed first: if a crash comes after it, the next load rebuilds the
        # indexes from it.
        for part in parts_of(made):
            if part is made.transaction_index and not made.transaction_index.exists:
                continue
            swapped = part.path.removesuffix(CLEANED_SUFFIX) + SWAP_SUFFIX
            os.rename(part.path, swapped)
            renamed.append((swapped, part.path))
    except OSError:
        for swapped, path in reversed(renamed):
            os.rename(swapped, path)
        raise
    removal.replace(log, [source.segment for source in cleaned.sources], [segment])
