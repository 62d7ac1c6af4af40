"""Checks changes of the settings of a running broker."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from broker_lite.errors import InvalidRequest
from broker_lite.settings.configs.reconfigure import check_reconfiguration
from broker_lite.settings.declared.declarations import BROKER_SETTINGS, find_broker_setting
from broker_lite.settings.setting import ConfigType, InvalidValue, Setting
from broker_lite.settings.settings import Settings
from broker_lite.settings.values import rejected

# The configs of one listener that may be set for all brokers at once.
_FOR_ALL_LISTENERS: Final = frozenset(
    {"max.connections", "max.connection.creation.rate", "num.network.threads"}
)
_DIVISOR: Final = "log.cleaner.threads"


def with_dynamic_broker_configs(
    settings: Settings,
    dynamic: Mapping[str, str],
    dynamic_default: Mapping[str, str],
) -> Settings:
    """Return the settings after a change of the dynamic ones.

    Args:
        settings: the current settings.
        dynamic: all dynamic settings of this broker after the change.
        dynamic_default: all dynamic settings of the cluster after the change.

    Raises:
        InvalidRequest: a setting changes only with a restart, cannot be set for all brokers or for
            all listeners, or has a bad value; the text is Kafka's.

    Rule: P-131 (DynamicBrokerConfig.validate).
    See: P-127.
    """
    own = _changed(dynamic, settings.dynamic)
    common = _changed(dynamic_default, settings.dynamic_default)
    changed = {**common, **own}
    _refuse("Cannot update these configs dynamically", _is_fixed, changed)
    _refuse(
        "These security configs can be dynamically updated only per-listener using the listener"
        " prefix",
        _needs_listener,
        changed,
    )
    try:
        for name, text in changed.items():
            _check_value(name, text)
        _refuse(
            "Cannot update these configs at default cluster level, broker id must be specified",
            _needs_broker,
            common,
        )
        changed_settings = settings.with_dynamic(dynamic, dynamic_default)
        check_reconfiguration(settings, changed_settings)
    except InvalidValue as error:
        raise InvalidRequest(str(error)) from error
    return changed_settings


def _changed(new: Mapping[str, str], old: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in new.items() if old.get(name) != text}


def _refuse(what: str, is_refused: Callable[[str], bool], names: Iterable[str]) -> None:
    refused = list(filter(is_refused, names))
    if refused:
        raise InvalidRequest(f"{what}: [{', '.join(refused)}]")


def _is_fixed(name: str) -> bool:
    setting = BROKER_SETTINGS.get(name)
    return setting is not None and not setting.dynamic


def _needs_listener(name: str) -> bool:
    setting = BROKER_SETTINGS.get(name)
    return setting is not None and setting.per_listener


def _needs_broker(name: str) -> bool:
    setting = find_broker_setting(name)
    if setting is None:
        return False
    if setting.name != name:  # a config of one listener
        return setting.name not in _FOR_ALL_LISTENERS
    return setting.per_broker


def _check_value(name: str, text: str) -> None:
    """Check a value; errors name the setting without a listener's prefix."""
    setting = find_broker_setting(name)
    if setting is None:
        return
    value = setting.parse(text)
    if name == _DIVISOR and not value:
        raise InvalidValue("/ by zero")  # Java's message for a division by zero
    if setting.kind is ConfigType.CLASS and not _is_known_class(setting, text.strip()):
        raise rejected(setting.name, text, f"Class {text} could not be found.")


def _is_known_class(setting: Setting, text: str) -> bool:
    """Whether Kafka itself has the class; other classes are unknown, because there is no Java."""
    return text == setting.default
