"""Settings in the form of DescribeConfigs answers: values, sources and synonyms."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from broker_lite.settings.configs.client_metrics_config import CLIENT_METRICS_SETTINGS
from broker_lite.settings.configs.group_config import (
    GROUP_SETTINGS,
    GroupSetting,
    group_config_value,
)
from broker_lite.settings.configs.topic_config import effective_value
from broker_lite.settings.declared.declarations import (
    BROKER_SETTINGS,
    TOPIC_SETTINGS,
    find_broker_setting,
)
from broker_lite.settings.setting import ConfigSource, ConfigType, Setting
from broker_lite.settings.settings import Settings
from broker_lite.settings.values import show

_CHAINS = {
    synonym.name: tuple(each.name for each in setting.synonyms)
    for setting in TOPIC_SETTINGS.values()
    for synonym in setting.synonyms
}
"""For each broker setting, the settings that mean the same in other units; the first one wins."""

_BROKER_SOURCES = (
    ConfigSource.DYNAMIC_BROKER,
    ConfigSource.DYNAMIC_DEFAULT_BROKER,
    ConfigSource.STATIC_BROKER,
    ConfigSource.DEFAULT,
)


class ConfigSynonym(NamedTuple):
    """A place where a setting has a value: its own name or a synonym's, and the source."""

    name: str
    value: str | None
    source: ConfigSource


class ConfigEntry(NamedTuple):
    """One setting of a resource; `value` is None for null, and for values that are kept secret."""

    name: str
    value: str | None
    source: ConfigSource
    read_only: bool
    is_sensitive: bool
    synonyms: tuple[ConfigSynonym, ...]
    config_type: ConfigType
    documentation: str | None

    @property
    def is_default(self) -> bool:
        """Whether the value is the default; version 0 of the API has this instead of the source."""
        return self.source is ConfigSource.DEFAULT


def describe_topic(
    settings: Settings, overrides: Mapping[str, str], names: Iterable[str] | None = None
) -> list[ConfigEntry]:
    """Return the settings of a topic.

    Args:
        settings: the broker's settings, including dynamic ones.
        overrides: the settings of the topic itself.
        names: the requested settings; None or empty for all, but those that Kafka does not have
            only if the topic has them. Unknown names are left out.

    Rule: P-121, P-122 (ConfigHelper.createTopicConfigEntry).
    See: P-120.
    """
    asked = frozenset(names or ())
    wanted = (TOPIC_SETTINGS[name] for name in _wanted(TOPIC_SETTINGS, asked))
    return [
        _topic_entry(settings, setting, overrides.get(setting.name))
        for setting in wanted
        if setting.name in overrides
        or not (setting.internal or (setting.own and setting.name not in asked))
    ]


def describe_group(
    settings: Settings, overrides: Mapping[str, str], names: Iterable[str] | None = None
) -> list[ConfigEntry]:
    """Return the configs of a group; the group need not exist.

    See: P-120, G-91 (ConfigHelper.createGroupConfigEntry).
    """
    entries = []
    for name in _wanted(GROUP_SETTINGS, names):
        group_setting = GROUP_SETTINGS[name]
        value = show(group_config_value(settings, overrides, name))
        synonyms = _group_synonyms(settings, group_setting)
        if name in overrides:
            synonyms = (ConfigSynonym(name, value, ConfigSource.GROUP), *synonyms)
        entries.append(_entry(group_setting.setting, value, synonyms, read_only=False))
    return entries


def describe_client_metrics(
    overrides: Mapping[str, str], names: Iterable[str] | None = None
) -> list[ConfigEntry]:
    """Return the configs of a subscription to client metrics; the subscription need not exist.

    A value that is not set has no synonyms, not even its default.

    See: P-120, P-132 (ConfigHelper.createClientMetricsConfigEntry).
    """
    entries = []
    for name in _wanted(CLIENT_METRICS_SETTINGS, names):
        setting = CLIENT_METRICS_SETTINGS[name]
        synonyms: tuple[ConfigSynonym, ...] = ()
        value = setting.default
        if name in overrides:
            value = show(setting.parse(overrides[name]))
            synonyms = (ConfigSynonym(name, value, ConfigSource.CLIENT_METRICS),)
        entries.append(_entry(setting, value, synonyms, read_only=False))
    return entries


def _group_synonyms(settings: Settings, group_setting: GroupSetting) -> tuple[ConfigSynonym, ...]:
    """Return the values of the broker setting behind a group's config, or the config's default."""
    if group_setting.broker_name is not None:
        return _synonyms(settings, group_setting.broker_name, is_sensitive=False)
    setting = group_setting.setting
    return (ConfigSynonym(setting.name, setting.default, ConfigSource.DEFAULT),)


def describe_broker(settings: Settings, names: Iterable[str] | None = None) -> list[ConfigEntry]:
    """Return the settings of this broker, including unknown ones that a client has set.

    See: P-120, P-123 (ConfigHelper.createBrokerConfigEntry).
    """
    known = dict.fromkeys((*BROKER_SETTINGS, *settings.dynamic_default, *settings.dynamic))
    return [
        _broker_entry(settings, name) for name in _wanted(known, names) if _is_told(settings, name)
    ]


def describe_cluster_default(
    settings: Settings, names: Iterable[str] | None = None
) -> list[ConfigEntry]:
    """Return the dynamic settings of all brokers: the answer for a broker without a name.

    See: P-123 (ConfigHelper.createBrokerConfigEntry).
    """
    source = ConfigSource.DYNAMIC_DEFAULT_BROKER
    entries = []
    for name in _wanted(settings.dynamic_default, names):
        entry = _broker_entry(settings, name)
        text = None if entry.is_sensitive else settings.dynamic_default[name]
        synonyms = tuple(each for each in entry.synonyms if each.source is source)
        entries.append(entry._replace(value=text, source=source, synonyms=synonyms))
    return entries


def _wanted(known: Iterable[str], names: Iterable[str] | None) -> Iterator[str]:
    asked = frozenset(names or ())
    return (name for name in known if not asked or name in asked)


def _is_told(settings: Settings, name: str) -> bool:
    setting = BROKER_SETTINGS.get(name)
    if setting is None or not setting.internal:
        return True
    return name in settings.dynamic or name in settings.dynamic_default


def _topic_entry(settings: Settings, setting: Setting, override: str | None) -> ConfigEntry:
    value = show(effective_value(settings, setting, override))
    synonyms: tuple[ConfigSynonym, ...] = ()
    if setting.synonyms:
        synonyms = _synonyms(settings, setting.synonyms[0].name, is_sensitive=False)
    if override is not None:
        synonyms = (ConfigSynonym(setting.name, value, ConfigSource.TOPIC), *synonyms)
    return _entry(setting, value, synonyms, read_only=False)


def _broker_entry(settings: Settings, name: str) -> ConfigEntry:
    setting = find_broker_setting(name)
    if setting is None:
        # the meaning of an unknown setting is not known, so its value may be a secret
        found = _synonyms(settings, name, is_sensitive=True)
        return ConfigEntry(name, None, found[0].source, True, True, found, ConfigType.UNKNOWN, None)
    if setting.name != name:
        return _listener_entry(settings, name, setting)
    synonyms = _synonyms(settings, name, is_sensitive=setting.is_sensitive)
    value = None if setting.is_sensitive else show(settings.value(name))
    return _entry(setting, value, synonyms, read_only=not setting.dynamic)


def _listener_entry(settings: Settings, name: str, setting: Setting) -> ConfigEntry:
    """Return the entry of a listener's config; its default is the config of all listeners.

    As in Kafka, the entry is marked as read-only.
    """
    is_sensitive = setting.is_sensitive
    own = tuple(
        ConfigSynonym(name, None if is_sensitive else text, source)
        for source, text in settings.texts_of(name)
    )
    value = None if is_sensitive else show(setting.parse(own[0].value or ""))
    synonyms = (*own, *_synonyms(settings, setting.name, is_sensitive=is_sensitive))
    return _entry(setting, value, synonyms, read_only=True)._replace(name=name)


def _entry(
    setting: Setting,
    value: str | None,
    synonyms: tuple[ConfigSynonym, ...],
    *,
    read_only: bool,
) -> ConfigEntry:
    source = synonyms[0].source if synonyms else ConfigSource.DEFAULT
    return ConfigEntry(
        setting.name,
        value,
        source,
        read_only,
        setting.is_sensitive,
        synonyms,
        setting.kind,
        setting.doc,
    )


def _synonyms(settings: Settings, name: str, *, is_sensitive: bool) -> tuple[ConfigSynonym, ...]:
    """Return all values behind a broker setting, the strongest first, beginning with its own name.

    As in Kafka, values before its own name are dropped. So while only log.retention.hours has a
    value, retention.ms has no synonym at all.

    Rule: P-122 (ConfigHelper.configSynonyms).
    """
    chain = _CHAINS.get(name, (name,))
    found = [
        ConfigSynonym(each, None if is_sensitive else text, source)
        for source in _BROKER_SOURCES
        for each in chain
        for text_source, text in settings.texts_of(each)
        if text_source is source
    ]
    own = next((index for index, each in enumerate(found) if each.name == name), len(found))
    return tuple(found[own:])
