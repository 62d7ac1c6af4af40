"""Putting a new segment in the place of those that it was made of; in the event loop.

A crash before the .log file has its name with .swap leaves everything as it was: the next load of
the log removes what the cleaner wrote. A crash later leaves what the next load brings to its end.

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
    """Let a new segment be served instead of its sources.

    Args:
        log: which is being cleaned, not deleted.
        cleaned: of the log.
        removal: of its data directory.

    Raises:
        KafkaStorageError: not all files could be renamed: the new segment is served, and the next
            load of the log finishes it.
        OSError: the new segment's files keep their names, and nothing has changed.

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
        # The log goes first: with it the indexes are made anew, were they not there.
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
