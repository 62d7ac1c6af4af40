"""The effective settings of topics, cached for produce and fetch."""

from collections.abc import Mapping
from typing import Final

from broker_lite.control.metadata.topic import Topic
from broker_lite.log.canned.endless import EndlessPlan
from broker_lite.log.config import LogConfig
from broker_lite.log.discarding import HEADERS_BYTES_MAX
from broker_lite.log.validate.validated import ValidationConfig
from broker_lite.record.canned import CannedShape
from broker_lite.record.codecs.compression import Codec
from broker_lite.settings import Settings, TopicConfig, topic_config

_CODECS: Final[Mapping[str, int | None]] = {
    "producer": None,
    "uncompressed": 0,
    "gzip": 1,
    "snappy": 2,
    "lz4": 3,
    "zstd": 4,
}


class TopicConfigs:
    """The settings of topics for one set of broker settings; replaced when those change.

    Topics without overrides share one object, so 10,000 of them take the memory of one.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._default = topic_config(settings)
        self._by_name: dict[str, tuple[Mapping[str, str], TopicConfig]] = {}
        self._validation: dict[str, tuple[Mapping[str, str], ValidationConfig]] = {}

    def of(self, topic: Topic) -> TopicConfig:
        """Return the effective settings of a topic; the same object until they change."""
        if not topic.overrides:
            return self._default
        # the mapping is immutable: changed overrides are a new object
        overrides, config = self._by_name.get(topic.name, ({}, self._default))
        if overrides is not topic.overrides:
            config = topic_config(self._settings, topic.overrides)
            self._by_name[topic.name] = topic.overrides, config
        return config

    def validation_config(self, topic: Topic) -> ValidationConfig:
        """Return a topic's settings for the validator; the same object until they change."""
        found = self._validation.get(topic.name)
        if found is not None and found[0] is topic.overrides:
            return found[1]
        config = self.of(topic)
        levels = {
            "gzip": config.compression_gzip_level,
            "lz4": config.compression_lz4_level,
            "zstd": config.compression_zstd_level,
        }
        made = ValidationConfig(
            topic=topic.name,
            max_message_bytes=config.max_message_bytes,
            codec=_CODECS[config.compression_type],
            compression_level=levels.get(config.compression_type),
            is_append_time=config.is_log_append_time,
            before_max_ms=config.message_timestamp_before_max_ms,
            after_max_ms=config.message_timestamp_after_max_ms,
            is_compacted=config.compacts,
            decompressed_bytes_max=self._settings.broker_lite_decompressed_max_bytes,
            batch_records_max=self._settings.broker_lite_batch_records_max,
        )
        self._validation[topic.name] = topic.overrides, made
        return made

    def log_config(self, topic: Topic) -> LogConfig:
        """Return a topic's settings for its logs.

        See: S-56.
        """
        config = self.of(topic)
        segment_bytes = config.effective_segment_bytes
        discards = config.broker_lite_load_mode == "discard" and not topic.is_internal
        return LogConfig(
            headers_only_up_to=segment_bytes if discards else None,
            segment_bytes=min(segment_bytes, HEADERS_BYTES_MAX) if discards else segment_bytes,
            segment_ms=config.segment_ms,
            segment_jitter_ms=config.segment_jitter_ms,
            segment_index_bytes=config.segment_index_bytes,
            index_interval_bytes=config.index_interval_bytes,
            flush_messages=config.flush_messages,
            flush_ms=config.flush_ms,
            cleanup_delete=config.deletes or discards,
            cleanup_compact=config.compacts and not discards,
            retention_ms=config.retention_ms,
            retention_bytes=0 if discards else config.retention_bytes,
            file_delete_delay_ms=config.file_delete_delay_ms,
            min_compaction_lag_ms=config.min_compaction_lag_ms,
            max_compaction_lag_ms=config.max_compaction_lag_ms,
            min_cleanable_dirty_ratio=config.min_cleanable_dirty_ratio,
            delete_retention_ms=config.delete_retention_ms,
            is_append_time=config.is_log_append_time,
            producer_id_expiration_ms=self._settings.producer_id_expiration_ms,
        )

    def endless_plan(self, topic: Topic) -> EndlessPlan | None:
        """Return what a synthetic topic consists of; None for a stored one.

        See: F-16.
        """
        config = self.of(topic)
        if config.broker_lite_load_mode != "synthetic" or topic.is_internal:
            return None
        batch_records, end_offset = (
            config.broker_lite_load_batch_records,
            config.broker_lite_load_end,
        )
        shape = CannedShape(
            batch_records,
            config.broker_lite_load_record_bytes,
            config.broker_lite_load_keys,
            Codec[config.broker_lite_load_compression.upper()],
            config.broker_lite_load_random,
            end_offset % batch_records,
        )
        return EndlessPlan(shape, end_offset)

    def forget(self, topic_name: str) -> None:
        """Drop the cached settings of a topic that was deleted or changed."""
        self._by_name.pop(topic_name, None)
        self._validation.pop(topic_name, None)
