"""Users of SCRAM as kafka-storage is given them: SCRAM-SHA-256=[name=alice,password=secret].

Source: ScramParser; the texts of errors are Kafka's.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable
from typing import Final

from broker_lite.control.users.credential_rules import ITERATIONS_MAX, Key, ScramCredential
from broker_lite.errors import SettingsError
from broker_lite.security.sasl.scram_mechanisms import HASHES, ITERATIONS_MIN, SCRAM_MECHANISMS

_SALT_BYTES: Final = 24
_KNOWN: Final = ("name", "password", "saltedpassword", "salt", "iterations")


def parse_user(argument: str, random_bytes: Callable[[int], bytes]) -> tuple[Key, ScramCredential]:
    """Return a user with the number of the mechanism, and the credential.

    Args:
        argument: MECHANISM=[name=NAME,password=PASSWORD,...]; or with saltedpassword and salt in
            base64; iterations may be given.
        random_bytes: returns so many bytes for a salt.

    Raises:
        SettingsError: it is written in another way; the text has no password.
    """
    mechanism, equals, config = argument.partition("=")
    if not equals:
        raise SettingsError("Failed to find equals sign in SCRAM argument")
    number = SCRAM_MECHANISMS.get(mechanism)
    if number is None:
        raise SettingsError(f"The add-scram mechanism {mechanism} is not supported.")
    given = _components(config)
    name = given.get("name")
    if name is None:
        raise SettingsError("You must supply 'name' to add-scram")
    if "password" not in given and "saltedpassword" not in given:
        raise SettingsError("You must supply one of 'password' or 'saltedpassword' to add-scram")
    if "password" not in given and "salt" not in given:
        raise SettingsError("You must supply 'salt' with 'saltedpassword' to add-scram")
    unknown = sorted(set(given) - set(_KNOWN))
    if unknown:
        raise SettingsError(f"Unknown SCRAM configurations: {', '.join(unknown)}")
    iterations = _iterations(given.get("iterations"), mechanism)
    salt = _decoded(given["salt"], "salt") if "salt" in given else random_bytes(_SALT_BYTES)
    digest = HASHES[number]
    if "password" in given:
        if not given["password"]:
            raise SettingsError("The password of add-scram is empty")
        salted = hashlib.pbkdf2_hmac(digest, given["password"].encode(), salt, iterations)
    else:
        salted = _decoded(given["saltedpassword"], "saltedpassword")
    client_key = hmac.digest(salted, b"Client Key", digest)
    credential = ScramCredential(
        salt=salt,
        stored_key=hashlib.new(digest, client_key).digest(),
        server_key=hmac.digest(salted, b"Server Key", digest),
        iterations=iterations,
    )
    return (name, number), credential


def _components(config: str) -> dict[str, str]:
    if not config.startswith("["):
        raise SettingsError("Expected configuration string to start with [")
    if not config.endswith("]"):
        raise SettingsError("Expected configuration string to end with ]")
    given: dict[str, str] = {}
    for component in config[1:-1].split(","):
        name, equals, value = component.partition("=")
        if not equals:
            raise SettingsError("No equals sign found in SCRAM component")
        value = value.strip()
        if len(value) > 1 and value[0] == value[-1] == '"':
            value = value[1:-1]
        given[name.strip()] = value
    return given


def _iterations(text: str | None, mechanism: str) -> int:
    if text is None:
        return ITERATIONS_MIN
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise SettingsError(f"Failed to parse iterations count: {text[:20]}")
    shown = mechanism.replace("-", "_")
    if int(text) < ITERATIONS_MIN:
        raise SettingsError(
            f"The 'iterations' value must be >= {ITERATIONS_MIN} for add-scram using {shown}"
        )
    if int(text) > ITERATIONS_MAX:
        raise SettingsError(
            f"The 'iterations' value must be <= {ITERATIONS_MAX} for add-scram using {shown}"
        )
    return int(text)


def _decoded(text: str, name: str) -> bytes:
    try:
        decoded = base64.b64decode(text, validate=True)
    except binascii.Error:
        decoded = b""
    if not decoded:
        raise SettingsError(f"Failed to decode given {name}: it is not base64")
    return decoded
