"""The settings of a topic that its logs need."""

from dataclasses import dataclass
from typing import Final

_INT64_MAX: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """Settings of a log, by Kafka's names; defaults are Kafka's.

    Attributes:
        headers_only_up_to: not None where records are discarded: of each batch only the header is
            written, and a batch may have so many bytes.

    See: S-99 (LogConfig).
    """

    segment_bytes: int = 1 << 30
    segment_ms: int = 604_800_000
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10_485_760
    index_interval_bytes: int = 4096
    flush_messages: int = _INT64_MAX
    flush_ms: int = _INT64_MAX
    cleanup_delete: bool = True
    cleanup_compact: bool = False
    retention_ms: int = 604_800_000
    retention_bytes: int = -1
    file_delete_delay_ms: int = 60_000
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = _INT64_MAX
    min_cleanable_dirty_ratio: float = 0.5
    delete_retention_ms: int = 86_400_000
    is_append_time: bool = False
    producer_id_expiration_ms: int = 86_400_000
    headers_only_up_to: int | None = None
