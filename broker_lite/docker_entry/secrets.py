"""Key stores as variables of Kafka's and Confluent's images name them: files of a mounted folder.

The images have these variables for listeners of TLS: the name of each store, and the names of files
with their passwords.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from broker_lite.errors import SettingsError

SECRETS: Final = Path("/etc/kafka/secrets")
_STORES: Final = {
    "KAFKA_SSL_KEYSTORE_FILENAME": "KAFKA_SSL_KEYSTORE_LOCATION",
    "KAFKA_SSL_TRUSTSTORE_FILENAME": "KAFKA_SSL_TRUSTSTORE_LOCATION",
}
_PASSWORDS: Final = {
    "KAFKA_SSL_KEYSTORE_CREDENTIALS": "KAFKA_SSL_KEYSTORE_PASSWORD",
    "KAFKA_SSL_KEY_CREDENTIALS": "KAFKA_SSL_KEY_PASSWORD",
    "KAFKA_SSL_TRUSTSTORE_CREDENTIALS": "KAFKA_SSL_TRUSTSTORE_PASSWORD",
}
_PASSWORD_BYTES_MAX: Final = 64 * 1024


def with_secrets(environment: Mapping[str, str], folder: Path = SECRETS) -> dict[str, str]:
    """Return the variables with those that Kafka has in place of those that name files.

    Args:
        environment: of the container.
        folder: where the files are.

    Raises:
        SettingsError: the file of a password cannot be read.
    """
    found = {
        name: text
        for name, text in environment.items()
        if name not in _STORES and name not in _PASSWORDS
    }
    for name, variable in _STORES.items():
        if name in environment:
            found[variable] = str(folder / environment[name])
    for name, variable in _PASSWORDS.items():
        if name in environment:
            found[variable] = _password(name, folder / environment[name])
    return found


def _password(name: str, path: Path) -> str:
    """Read a password without the line ends after it, as a shell does."""
    try:
        with path.open("rb") as file:
            text = file.read(_PASSWORD_BYTES_MAX).decode("utf-8")
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or "it is not UTF-8 text"
        raise SettingsError(f"{name}: {path} cannot be read: {reason}") from None
    return text.rstrip("\n")
