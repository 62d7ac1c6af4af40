"""The fields of messages that hold secrets: tokens, keys, passwords in configs.

The request journal, the kept refusals and `broker-lite explain` show messages to people, and tests
keep them in their reports. So their secrets are blotted out in the bytes: each becomes asterisks of
the same number, so that sizes and positions stay as they were.
"""

from typing import Final

from broker_lite.settings.declared.declarations import find_broker_setting
from broker_lite.wire import messages
from broker_lite.wire.primitives import DecodeError, EncodeError
from broker_lite.wire.structs import Struct

SECRET_KEYS: Final = frozenset((33, 36, 38, 39, 40, 41, 44, 51))
"""The APIs whose requests or answers have secrets: configs, SASL, delegation tokens, SCRAM."""
SECRET_FIELDS: Final = frozenset(("auth_bytes", "salted_password", "hmac"))
"""The attributes of fields that are secret in any message."""
_WORDS: Final = ("password", "secret", "jaas", "credential")
_DECODED_BYTES_MAX: Final = 64 * 1024
"""A longer message is blotted out as a whole: decoding it would take too long."""
_ASTERISK: Final = b"*"


def is_secret_config(name: str) -> bool:
    """True for the name of a config whose value is secret, or sounds as if it were."""
    setting = find_broker_setting(name)
    if setting is not None:
        return setting.is_sensitive
    return any(word in name.lower() for word in _WORDS)


def without_secrets(
    api_key: int, version: int, data: bytes, position: int = 0, *, is_answer: bool = False
) -> bytes:
    """Return a message with its secrets blotted out; it has as many bytes as before.

    Args:
        api_key: of the API.
        version: of the API.
        data: the whole message.
        position: where its own fields start; what is before is kept.
        is_answer: whether it is an answer.
    """
    if api_key not in SECRET_KEYS:
        return data
    blotted = None
    if len(data) <= _DECODED_BYTES_MAX:
        kind = messages.by_api(api_key)[is_answer]
        try:
            struct, end = kind.decode(data, version, position)
            _blot(struct)
            blotted = data[:position] + kind.encode(struct, version) + data[end:]
        except (DecodeError, EncodeError):
            pass
    if blotted is None or len(blotted) != len(data):
        return data[:position] + bytes(len(data) - position)
    return blotted


def _blot(struct: Struct) -> None:
    """Blot out the secrets of a struct and of those in it; what the schema does not know, too."""
    if struct.unknown_tags:
        struct.unknown_tags = [(tag, _ASTERISK * len(data)) for tag, data in struct.unknown_tags]
    for attribute in struct.fields:
        value = getattr(struct, attribute)
        if attribute in SECRET_FIELDS:
            setattr(struct, attribute, _ASTERISK * len(value))
        elif isinstance(value, list):
            for element in value:  # structs: in these APIs there are no others
                _blot(element)
    _blot_config(struct)


def _blot_config(struct: Struct) -> None:
    """Blot out the value of a config that is secret."""
    name, value = getattr(struct, "name", None), getattr(struct, "value", None)
    if isinstance(name, str) and isinstance(value, str) and is_secret_config(name):
        struct.value = "*" * len(value.encode())  # type: ignore[attr-defined]
