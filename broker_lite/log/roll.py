"""When a segment is so full or so old that the next batch begins a new one."""

import secrets

from broker_lite.log.config import LogConfig
from broker_lite.log.files.index import RELATIVE_OFFSET_MAX
from broker_lite.log.files.segment import LogSegment


def should_roll(
    segment: LogSegment,
    config: LogConfig,
    size_bytes: int,
    last_offset: int,
    max_timestamp: int,
    now_ms: int,
) -> bool:
    """Tell whether a batch of this size, last offset and max timestamp goes into a new segment.

    The age of a segment follows the records: it is the time from the first batch's max timestamp to
    this one's. The clock counts only if the first batch has no timestamp.

    Rule: S-30 (LogSegment.shouldRoll).
    """
    filled_bytes = segment.size_bytes
    if filled_bytes > config.segment_bytes - size_bytes:
        return True
    if filled_bytes > 0:
        first_timestamp = segment.rolling_timestamp
        if first_timestamp >= 0:
            waited_ms = max_timestamp - first_timestamp
        else:
            waited_ms = now_ms - segment.created_ms
        waited_ms += segment.jitter_ms
        if waited_ms > config.segment_ms or (
            config.cleanup_compact and waited_ms > config.max_compaction_lag_ms
        ):
            return True
    index_bytes_max = config.segment_index_bytes
    return (
        segment.offset_index.count >= index_bytes_max // 8
        or segment.time_index.count >= index_bytes_max // 12 - 1
        or not 0 <= last_offset - segment.base_offset <= RELATIVE_OFFSET_MAX
    )


def draw_jitter_ms(config: LogConfig) -> int:
    """Draw at random how much earlier a segment rolls, so that not all segments roll at once.

    Rule: S-30 (LogConfig.randomSegmentJitter).
    """
    if config.segment_jitter_ms == 0:
        return 0
    return secrets.randbelow(min(config.segment_jitter_ms, config.segment_ms))
