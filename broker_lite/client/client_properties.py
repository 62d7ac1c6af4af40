"""Reads properties of Kafka's clients, as Kafka's tools take them in `--command-config FILE`.

Unsupported properties are ignored: they tune what this client lacks. Those of security are an
exception, see broker_lite.client.security.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from broker_lite.errors import SettingsError

DEFAULT_TIMEOUT_S: Final = 30.0
PROTOCOL: Final = "security.protocol"
PLAINTEXT: Final = "PLAINTEXT"
_TIMEOUTS_MS: Final = ("request.timeout.ms", "default.api.timeout.ms")  # the later one wins


def read_properties(path: Path) -> dict[str, str]:
    """Read a file of properties.

    Raises:
        SettingsError: the file cannot be read.
    """
    # imports all settings of a broker, which takes longer than asking one
    from broker_lite.settings.sources.java_properties import parse_properties

    try:
        return parse_properties(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not text"
        raise SettingsError(f"{path}: {reason}") from error


def timeout_s(properties: Mapping[str, str]) -> float:
    """Return how long to wait for a response.

    Raises:
        SettingsError: the text is not a number of milliseconds.
    """
    found = DEFAULT_TIMEOUT_S
    for name in _TIMEOUTS_MS:
        text = properties.get(name, "").strip()
        if not text:
            continue
        if not (text.isascii() and text.isdigit() and 0 < len(text) <= 10 and int(text)):
            raise SettingsError(f"{name}={text}: not a number of milliseconds above 0")
        found = int(text) / 1000
    return found
