"""The effective settings of a topic, and the checks of new ones."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from broker_lite.errors import InvalidConfig
from broker_lite.settings.configs.load_bounds import check_load
from broker_lite.settings.configs.topic_attributes import TopicAttributes
from broker_lite.settings.declared.declarations import SETTINGS, TOPIC_SETTINGS, find_broker_setting
from broker_lite.settings.setting import ConfigType, InvalidValue, Setting
from broker_lite.settings.settings import Settings
from broker_lite.settings.values import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicConfig(TopicAttributes):
    """The effective settings of one topic, by Kafka's names in snake case.

    See: P-121 (LogConfig).
    """

    @property
    def effective_segment_bytes(self) -> int:
        """The size of a segment: internal.segment.bytes if it is set, else segment.bytes."""
        if self.internal_segment_bytes is None:
            return self.segment_bytes
        return self.internal_segment_bytes

    @property
    def compacts(self) -> bool:
        """Whether cleanup.policy has compact."""
        return "compact" in self.cleanup_policy

    @property
    def deletes(self) -> bool:
        """Whether cleanup.policy has delete."""
        return "delete" in self.cleanup_policy

    @property
    def is_log_append_time(self) -> bool:
        """Whether records get the append time as their timestamp."""
        return self.message_timestamp_type == "LogAppendTime"


def topic_config(settings: Settings, overrides: Mapping[str, str] | None = None) -> TopicConfig:
    """Return the effective settings of a topic.

    Args:
        settings: the broker's settings, including dynamic ones.
        overrides: the settings of the topic itself: Kafka's names to texts, checked before.
    """
    texts = overrides or {}
    values: dict[str, Any] = {
        setting.attribute: effective_value(settings, setting, texts.get(name))
        for name, setting in TOPIC_SETTINGS.items()
    }
    return TopicConfig(**values)


def effective_value(settings: Settings, setting: Setting, override: str | None) -> Value:
    """Return the value of a topic setting: the topic's own, else that of the first set synonym.

    See: P-121 (AbstractKafkaConfig.extractLogConfigMap).
    """
    if override is not None:
        return setting.parse(override)
    for synonym in setting.synonyms:
        value = settings.value(synonym.name)
        if value is None:
            continue
        if setting.name == "retention.ms":
            return max(cast(int, value) * synonym.unit, -1)
        return value if synonym.unit == 1 else cast(int, value) * synonym.unit
    return setting.default_value()


def is_list(name: str) -> bool:
    """Whether a setting is a list, so that APPEND and SUBTRACT work on it (P-126)."""
    setting = SETTINGS.get(name) or find_broker_setting(name)
    return setting is not None and setting.kind is ConfigType.LIST


def validate_topic_config(name: str, text: str) -> Value:
    """Parse and check one setting of a topic.

    Raises:
        InvalidConfig: the name is unknown, or the value is not allowed; the text is Kafka's.

    See: P-127 (LogConfig.validate).
    """
    setting = TOPIC_SETTINGS.get(name)
    if setting is None:
        raise InvalidConfig(f"Unknown topic config name: {name}")
    try:
        return setting.parse(text)
    except InvalidValue as error:
        raise InvalidConfig(str(error)) from error


def validate_topic_configs(settings: Settings, overrides: Mapping[str, str]) -> None:
    """Check all settings of a topic, each by itself and then together.

    All names are checked before the values, because Kafka reports an unknown name first.

    Raises:
        InvalidConfig: a setting is wrong; the error is about the first one, in Kafka's words.

    See: P-127 (LogConfig.validate).
    """
    for name in overrides:
        if name not in TOPIC_SETTINGS:
            raise InvalidConfig(f"Unknown topic config name: {name}")
    values = {name: validate_topic_config(name, text) for name, text in overrides.items()}
    config = topic_config(settings, overrides)
    low, high = config.min_compaction_lag_ms, config.max_compaction_lag_ms
    if low > high:
        conflict = f"min.compaction.lag.ms ({low}) > max.compaction.lag.ms ({high})"
        raise InvalidConfig(f"conflict topic config setting {conflict}")
    if values.get("remote.storage.enable"):
        raise InvalidConfig(
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage."
        )
    check_load(config)
