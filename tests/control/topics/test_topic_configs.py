"""The settings of topics, as validator and log are told them.

Also tests: broker_lite.log.config.
"""

from dataclasses import fields, replace
from typing import Any

import pytest

from broker_lite.control.metadata.topic import PartitionRegistration, Topic
from broker_lite.control.topics.topic_configs import TopicConfigs
from broker_lite.log.canned.endless import EndlessPlan
from broker_lite.log.config import LogConfig
from broker_lite.log.validate.validated import ValidationConfig
from broker_lite.record.canned import CannedShape
from broker_lite.record.codecs.compression import Codec
from broker_lite.settings import Given, Settings


def topic(**overrides: str) -> Topic:
    texts = {name.replace("_", "."): text for name, text in overrides.items()}
    partitions = (PartitionRegistration(1),)
    return Topic(name="t", topic_id=b"i" * 16, partitions=partitions, overrides=texts)


def test_topics_without_overrides_share_one_value() -> None:
    configs = TopicConfigs(Settings())
    assert configs.of(topic()) is configs.of(topic())


def test_a_value_is_kept_until_the_overrides_change() -> None:
    configs = TopicConfigs(Settings())
    first = topic(retention_ms="5")
    assert configs.of(first) is configs.of(first)
    assert configs.of(first).retention_ms == 5
    assert configs.of(topic(retention_ms="6")).retention_ms == 6
    assert configs.of(topic()).retention_ms == 604_800_000
    configs.forget("t")
    assert configs.of(first).retention_ms == 5


@pytest.mark.parametrize(
    ("compression", "codec", "level"),
    [
        ("producer", None, None),
        ("uncompressed", 0, None),
        ("gzip", 1, -1),
        ("snappy", 2, None),
        ("lz4", 3, 9),
        ("zstd", 4, 3),
    ],
)
def test_what_the_validator_is_told(compression: str, codec: int | None, level: int | None) -> None:
    configs = TopicConfigs(Settings())
    changed = topic(
        compression_type=compression,
        cleanup_policy="compact",
        message_timestamp_type="LogAppendTime",
    )
    told = configs.validation_config(changed)
    assert (told.topic, told.codec, told.compression_level) == ("t", codec, level)
    assert told.is_compacted
    assert told.is_append_time
    assert configs.validation_config(changed) is told


def test_s99_a_log_has_the_same_defaults_by_itself() -> None:
    assert TopicConfigs(Settings()).log_config(topic()) == LogConfig()


def test_what_a_log_is_told() -> None:
    given = {"producer.id.expiration.ms": Given("77", "test")}
    told = TopicConfigs(Settings(given)).log_config(
        topic(internal_segment_bytes="99", cleanup_policy="compact,delete")
    )
    assert (told.segment_bytes, told.producer_id_expiration_ms) == (99, 77)
    assert told.cleanup_delete
    assert told.cleanup_compact


def test_s99_a_validator_has_the_same_defaults_by_itself() -> None:
    assert TopicConfigs(Settings()).validation_config(topic()) == ValidationConfig(topic="t")


def test_each_field_follows_from_a_setting() -> None:
    """A field that nobody fills would keep its default, whatever the topic says."""
    of_broker = {
        "producer.id.expiration.ms": "77",
        "broker.lite.decompressed.max.bytes": "78",
        "broker.lite.batch.records.max": "79",
    }
    given = {name: Given(text, "test") for name, text in of_broker.items()}
    changed = topic(
        cleanup_policy="compact",
        compression_gzip_level="1",
        compression_type="gzip",
        delete_retention_ms="1",
        file_delete_delay_ms="2",
        flush_messages="3",
        flush_ms="4",
        index_interval_bytes="5",
        max_compaction_lag_ms="6",
        max_message_bytes="7",
        message_timestamp_after_max_ms="8",
        message_timestamp_before_max_ms="9",
        message_timestamp_type="LogAppendTime",
        min_cleanable_dirty_ratio="0.1",
        min_compaction_lag_ms="3",
        retention_bytes="11",
        retention_ms="12",
        segment_bytes="1048576",
        segment_index_bytes="13",
        segment_jitter_ms="14",
        segment_ms="15",
    )
    configs = TopicConfigs(Settings(given))
    # only a topic that discards its records has the other one
    assert unchanged(configs.log_config(changed), LogConfig()) == {"headers_only_up_to"}
    told = configs.validation_config(changed)
    assert unchanged(told, ValidationConfig(topic="another")) == set()


def unchanged(one: Any, other: Any) -> set[str]:
    names = (field.name for field in fields(one))
    return {name for name in names if getattr(one, name) == getattr(other, name)}


def test_f16_what_a_synthetic_topic_consists_of() -> None:
    configs = TopicConfigs(Settings())
    assert configs.endless_plan(topic(broker_lite_load_keys="5")) is None
    plan = configs.endless_plan(
        topic(
            broker_lite_load_mode="synthetic",
            broker_lite_load_batch_records="300",
            broker_lite_load_record_bytes="20",
            broker_lite_load_keys="5",
            broker_lite_load_compression="lz4",
            broker_lite_load_random="0.5",
            broker_lite_load_end="1000",
        )
    )
    assert plan == EndlessPlan(CannedShape(300, 20, 5, Codec.LZ4, 0.5, 100), 1000)


def test_f16_kafkas_own_topics_are_always_stored() -> None:
    internal = replace(topic(broker_lite_load_mode="synthetic"), is_internal=True)
    assert TopicConfigs(Settings()).endless_plan(internal) is None


def test_s56_what_a_log_is_told_that_discards_its_records() -> None:
    kept = topic(cleanup_policy="compact", retention_bytes="7", segment_bytes="50000000")
    discarded = replace(kept, overrides={**kept.overrides, "broker.lite.load.mode": "discard"})
    for changed, expected in (
        (kept, (None, 50_000_000, False, True, 7)),
        (discarded, (50_000_000, 16 << 20, True, False, 0)),
        (replace(discarded, is_internal=True), (None, 50_000_000, False, True, 7)),
    ):
        told = TopicConfigs(Settings()).log_config(changed)
        assert expected == (
            told.headers_only_up_to,
            told.segment_bytes,
            told.cleanup_delete,
            told.cleanup_compact,
            told.retention_bytes,
        )


def test_s56_a_validator_checks_what_is_discarded_as_what_is_stored() -> None:
    configs, settings = TopicConfigs(Settings()), {"cleanup_policy": "compact"}
    kept = configs.validation_config(topic(**settings))
    assert configs.validation_config(topic(broker_lite_load_mode="discard", **settings)) == kept
