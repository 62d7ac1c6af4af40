"""Deserializers of Kafka's clients, which turn bytes into printed text.

Those for text and whole numbers are supported, by class name with or without package.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from broker_lite.errors import ClientError, SettingsError

Deserializer = Callable[[bytes], bytes]

_NUMBER_BYTES: Final[Mapping[str, int]] = {"Short": 2, "Integer": 4, "Long": 8}


def deserializer_of(properties: Mapping[str, str], name: str) -> Deserializer | None:
    """Return the deserializer that a property names; None leaves bytes unchanged.

    Raises:
        SettingsError: the deserializer is not supported.
    """
    text = properties.get(name, "").strip()
    kind = text.rpartition(".")[2].removesuffix("Deserializer")
    if kind in ("", "ByteArray"):
        return None
    if kind == "String":
        return _text
    if kind not in _NUMBER_BYTES:
        known = ", ".join(f"{each}Deserializer" for each in ("String", *_NUMBER_BYTES))
        raise SettingsError(f"{name}={text}: not supported; use one of {known}")
    return partial(_number, kind)


def _text(data: bytes) -> bytes:
    return data.decode(errors="replace").encode()


def _number(kind: str, data: bytes) -> bytes:
    size = _NUMBER_BYTES[kind]
    if len(data) != size:
        raise ClientError(f"{kind}Deserializer: {len(data)} bytes instead of {size}")
    return b"%d" % int.from_bytes(data, signed=True)
