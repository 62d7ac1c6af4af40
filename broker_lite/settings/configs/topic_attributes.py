"""The settings of a topic as fields with types.

Made by python -m tests.tidy.generate from the declarations.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicAttributes:
    """The fields of TopicConfig."""

    broker_lite_load_batch_records: int
    broker_lite_load_compression: str
    broker_lite_load_end: int
    broker_lite_load_in_byte_rate: int
    broker_lite_load_keys: int
    broker_lite_load_mode: str
    broker_lite_load_out_byte_rate: int
    broker_lite_load_random: float
    broker_lite_load_record_bytes: int
    broker_lite_load_rtt_ms: int
    cleanup_policy: tuple[str, ...]
    compression_gzip_level: int
    compression_lz4_level: int
    compression_type: str
    compression_zstd_level: int
    delete_retention_ms: int
    file_delete_delay_ms: int
    flush_messages: int
    flush_ms: int
    follower_replication_throttled_replicas: tuple[str, ...]
    index_interval_bytes: int
    internal_segment_bytes: int | None
    leader_replication_throttled_replicas: tuple[str, ...]
    local_retention_bytes: int
    local_retention_ms: int
    max_compaction_lag_ms: int
    max_message_bytes: int
    message_timestamp_after_max_ms: int
    message_timestamp_before_max_ms: int
    message_timestamp_type: str
    min_cleanable_dirty_ratio: float
    min_compaction_lag_ms: int
    min_insync_replicas: int
    preallocate: bool
    remote_log_copy_disable: bool
    remote_log_delete_on_disable: bool
    remote_storage_enable: bool
    retention_bytes: int
    retention_ms: int
    segment_bytes: int
    segment_index_bytes: int
    segment_jitter_ms: int
    segment_ms: int
    unclean_leader_election_enable: bool
