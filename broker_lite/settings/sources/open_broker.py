"""Refuses settings that ask for security which is not served: such a broker must not start open."""

import re
from collections.abc import Mapping
from typing import Final

from broker_lite.errors import SettingsError
from broker_lite.settings.declared.declarations import LISTENER_PREFIX, find_broker_setting
from broker_lite.settings.declared.security_settings import OF_LISTENERS
from broker_lite.settings.setting import Setting

_JAAS_FILE: Final = re.compile(r"""-Djava\.security\.auth\.login\.config==?["']?([^\s"']+)""")
_RATE: Final = "max.connection.creation.rate"
_PREFIXES: Final = ("delegation.token.", LISTENER_PREFIX, "sasl.", "ssl.")
_NAMES: Final = frozenset(
    {
        "principal.builder.class",
        "security.providers",
    }
)


def check_unserved(name: str, setting: Setting | None, text: str, origin: str) -> None:
    """Check that a setting does not ask for security that is not served.

    Args:
        name: of the setting.
        setting: its declaration; None if there is none.
        text: its value; that of Kafka's default asks for nothing.
        origin: the file, variable or flag.

    Raises:
        SettingsError: it does.
    """
    if setting is not None and (not setting.ignored or text == (setting.default or "")):
        return
    if name.startswith(_PREFIXES) or name in _NAMES:
        raise SettingsError(
            f"{origin}: {name} asks for security that broker-lite does not have; without it, the "
            "broker is open to everybody"
        )


def served_of_listener(name: str) -> Setting | None:
    """Return the setting of security, or of quotas, that a name with a listener's prefix means.

    Returns:
        None for a name without the prefix, and for a setting that no listener has for itself.
    """
    if not name.startswith(LISTENER_PREFIX):
        return None
    setting = find_broker_setting(name)
    is_own = setting is not None and (setting.name in OF_LISTENERS or setting.name == _RATE)
    return setting if is_own else None


def jaas_file(env: Mapping[str, str]) -> str | None:
    """Return the file of users and passwords that the options of Kafka's Java process name."""
    found = _JAAS_FILE.search(env.get("KAFKA_OPTS", ""))
    return None if found is None else found[1]
