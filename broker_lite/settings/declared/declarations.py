"""Every setting, declared once."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from broker_lite.settings.declared.coordinator_settings import COORDINATOR_SETTINGS
from broker_lite.settings.declared.ignored_settings import IGNORED_SETTINGS
from broker_lite.settings.declared.inert_settings import INERT_SETTINGS
from broker_lite.settings.declared.log_settings import LOG_SETTINGS
from broker_lite.settings.declared.network_settings import NETWORK_SETTINGS
from broker_lite.settings.declared.seed_settings import SEED_SETTINGS
from broker_lite.settings.declared.topic_settings import TOPIC_SETTINGS as _TOPIC
from broker_lite.settings.setting import Scope, Setting

SETTINGS: Final[Mapping[str, Setting]] = MappingProxyType(
    {
        setting.name: setting
        for group in (
            NETWORK_SETTINGS,
            LOG_SETTINGS,
            COORDINATOR_SETTINGS,
            SEED_SETTINGS,
            _TOPIC,
            INERT_SETTINGS,
            IGNORED_SETTINGS,
        )
        for setting in group
    }
)
"""All settings by name."""

BROKER_SETTINGS: Final[Mapping[str, Setting]] = MappingProxyType(
    {name: setting for name, setting in SETTINGS.items() if Scope.BROKER in setting.scope}
)
"""The settings of a broker by name, those that topics have as well included."""

TOPIC_SETTINGS: Final[Mapping[str, Setting]] = MappingProxyType(
    {name: setting for name, setting in SETTINGS.items() if Scope.TOPIC in setting.scope}
)
"""The settings of a topic by name."""

_LISTENER_PREFIX: Final = "listener.name."


def find_broker_setting(name: str) -> Setting | None:
    """The setting behind a name of a broker's config; None when nothing is known of it.

    A config of one listener, as listener.name.NAME.ssl.keystore.type, means what the setting after
    the prefix means; that of one mechanism too, as listener.name.NAME.plain.sasl.jaas.config.

    Source: DynamicBrokerConfig.brokerConfigSynonyms.
    """
    setting = BROKER_SETTINGS.get(name)
    if setting is not None or not name.startswith(_LISTENER_PREFIX):
        return setting
    _, _, rest = name.removeprefix(_LISTENER_PREFIX).partition(".")
    return BROKER_SETTINGS.get(rest) or BROKER_SETTINGS.get(rest.partition(".")[2])
