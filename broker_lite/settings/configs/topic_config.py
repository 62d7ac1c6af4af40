"""What a topic's settings are in effect, and whether new ones are allowed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from broker_lite.errors import InvalidConfig
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
        """Size of a segment: internal.segment.bytes is stronger than segment.bytes."""
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
        """Whether records get the time of the append."""
        return self.message_timestamp_type == "LogAppendTime"


def topic_config(settings: Settings, overrides: Mapping[str, str] | None = None) -> TopicConfig:
    """The effective settings of a topic.

    Args:
        settings: the broker's, dynamic ones included.
        overrides: what is set on the topic, Kafka's names to texts that were checked before.
    """
    texts = overrides or {}
    values: dict[str, Any] = {
        setting.attribute: effective_value(settings, setting, texts.get(name))
        for name, setting in TOPIC_SETTINGS.items()
    }
    return TopicConfig(**values)


def effective_value(settings: Settings, setting: Setting, override: str | None) -> Value:
    """One topic setting's value: the topic's, else the first synonym's that has one.

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
    """Whether APPEND and SUBTRACT work on a setting of a topic or broker (P-126)."""
    setting = SETTINGS.get(name) or find_broker_setting(name)
    return setting is not None and setting.kind is ConfigType.LIST


def validate_topic_config(name: str, text: str) -> Value:
    """Read one setting of a topic.

    Raises:
        InvalidConfig: the name is unknown or the value not allowed; its text is Kafka's.

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

    Names come first, since Kafka tells an unknown name before a bad value.

    Raises:
        InvalidConfig: the first fault; its text is Kafka's.

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
