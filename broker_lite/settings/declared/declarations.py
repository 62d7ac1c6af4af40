"""Every setting, declared once."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from broker_lite.settings.declared.cluster_settings import CLUSTER_SETTINGS
from broker_lite.settings.declared.coordinator_settings import COORDINATOR_SETTINGS
from broker_lite.settings.declared.ignored_settings import IGNORED_SETTINGS
from broker_lite.settings.declared.inert_settings import INERT_SETTINGS
from broker_lite.settings.declared.load_settings import LOAD_SETTINGS
from broker_lite.settings.declared.log_settings import LOG_SETTINGS
from broker_lite.settings.declared.network_settings import NETWORK_SETTINGS
from broker_lite.settings.declared.one_word_settings import ONE_WORD_SETTINGS
from broker_lite.settings.declared.pace_settings import PACE_SETTINGS
from broker_lite.settings.declared.quota_settings import QUOTA_SETTINGS
from broker_lite.settings.declared.security_settings import (
    AUTHORIZER_SETTINGS,
    SASL_SETTINGS,
    TLS_SETTINGS,
)
from broker_lite.settings.declared.seed_settings import SEED_SETTINGS
from broker_lite.settings.declared.share_settings import SHARE_SETTINGS
from broker_lite.settings.declared.streams_settings import STREAMS_SETTINGS
from broker_lite.settings.declared.token_settings import DELEGATION_SETTINGS, TOKEN_SETTINGS
from broker_lite.settings.declared.topic_settings import TOPIC_SETTINGS as _TOPIC
from broker_lite.settings.setting import Scope, Setting

SETTINGS: Final[Mapping[str, Setting]] = MappingProxyType(
    {
        setting.name: setting
        for group in (
            NETWORK_SETTINGS,
            CLUSTER_SETTINGS,
            LOG_SETTINGS,
            COORDINATOR_SETTINGS,
            SHARE_SETTINGS,
            STREAMS_SETTINGS,
            SEED_SETTINGS,
            SASL_SETTINGS,
            TOKEN_SETTINGS,
            DELEGATION_SETTINGS,
            TLS_SETTINGS,
            AUTHORIZER_SETTINGS,
            QUOTA_SETTINGS,
            PACE_SETTINGS,
            ONE_WORD_SETTINGS,
            _TOPIC,
            LOAD_SETTINGS,
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
"""The settings of a broker by name, including those that topics have, too."""

TOPIC_SETTINGS: Final[Mapping[str, Setting]] = MappingProxyType(
    {name: setting for name, setting in SETTINGS.items() if Scope.TOPIC in setting.scope}
)
"""The settings of a topic by name."""

LISTENER_PREFIX: Final = "listener.name."
"""What the names of settings begin with that count for one listener."""


def find_broker_setting(name: str) -> Setting | None:
    """Return the setting that a name of a broker's config means; None for an unknown name.

    A name may have the prefix of a listener, as listener.name.NAME.ssl.keystore.type, or of a
    listener and a mechanism, as listener.name.NAME.plain.sasl.jaas.config. Then it means the
    setting after the prefix.

    Source: DynamicBrokerConfig.brokerConfigSynonyms.
    """
    setting = BROKER_SETTINGS.get(name)
    if setting is not None or not name.startswith(LISTENER_PREFIX):
        return setting
    _, _, rest = name.removeprefix(LISTENER_PREFIX).partition(".")
    return BROKER_SETTINGS.get(rest) or BROKER_SETTINGS.get(rest.partition(".")[2])


def listener_prefix(listener: str, mechanism: str = "") -> str:
    """Return the prefix of the settings of one listener, or of a mechanism of SASL there.

    Args:
        listener: its name, in any case.
        mechanism: in any case; empty for the whole listener.
    """
    of_mechanism = f"{mechanism.lower()}." if mechanism else ""
    return f"{LISTENER_PREFIX}{listener.lower()}.{of_mechanism}"
