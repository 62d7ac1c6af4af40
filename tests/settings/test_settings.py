import copy
import pickle

import pytest

from broker_lite.settings import ConfigSource, Given, InvalidValue, Settings


def test_defaults_are_made_for_tests() -> None:
    settings = Settings()
    assert settings.auto_create_topics_enable is True
    assert settings.group_initial_rebalance_delay_ms == 0
    assert settings.offsets_topic_replication_factor == 1
    assert settings.transaction_state_log_replication_factor == 1
    assert settings.advertised_listeners is None


def test_layers() -> None:
    """P-121."""
    settings = Settings(
        {"message.max.bytes": Given("1", "file"), "num.partitions": Given("2", "--set")},
        dynamic={"message.max.bytes": "3", "unknown": "x"},
        dynamic_default={"message.max.bytes": "2", "log.retention.ms": "9"},
    )
    assert settings.message_max_bytes == settings.value("message.max.bytes") == 3
    assert settings.source_of("message.max.bytes") is ConfigSource.DYNAMIC_BROKER
    assert settings.source_of("log.retention.ms") is ConfigSource.DYNAMIC_DEFAULT_BROKER
    assert settings.source_of("num.partitions") is ConfigSource.STATIC_BROKER
    assert settings.source_of("log.dir") is ConfigSource.DEFAULT
    assert settings.origin_of("message.max.bytes") == "dynamic"
    assert settings.origin_of("num.partitions") == "--set"
    assert settings.origin_of("log.dir") == "default"
    assert [text for _, text in settings.texts_of("message.max.bytes")] == [
        *("3", "2", "1"),
        "1048588",
    ]
    assert settings.texts_of("log.dir") == []
    assert settings.texts_of("unknown") == [(ConfigSource.DYNAMIC_BROKER, "x")]


def test_with_dynamic_replaces() -> None:
    """P-131."""
    settings = Settings({"log.retention.ms": Given("5", "file")}, dynamic={"max.connections": "1"})
    changed = settings.with_dynamic({"log.retention.ms": "7"})
    assert (changed.log_retention_ms, settings.log_retention_ms) == (7, 5)
    assert changed.max_connections == 2147483647
    with pytest.raises(InvalidValue, match=r"log\.retention\.ms must be unlimited \(-1\)"):
        settings.with_dynamic({"log.retention.ms": "0"})


def test_frozen_and_copyable() -> None:
    settings = Settings({"node.id": Given("4", "file")})
    with pytest.raises(AttributeError):
        settings.given = {}  # type: ignore[misc]
    with pytest.raises((AttributeError, TypeError)):
        settings.node_id = 5  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="no setting is called nosuch"):
        _ = settings.nosuch
    assert pickle.loads(pickle.dumps(settings)) == settings == copy.copy(settings)
    assert pickle.loads(pickle.dumps(settings)).node_id == 4
