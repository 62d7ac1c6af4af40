"""Reads the JSON files with partitions that Kafka's tools take."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

from broker_lite.errors import SettingsError

_VERSION: Final = 1
_Kind = TypeVar("_Kind")


def read_partitions(path: Path, *, field: str = "partitions") -> Iterator[dict[str, Any]]:
    """Yield each object of the array `field`.

    Raises:
        SettingsError: the file cannot be read, or has another form or version.
    """
    content = _read(path)
    version = content.get("version", _VERSION)
    if version != _VERSION:
        raise SettingsError(f"Not supported version field value {version}")
    if not isinstance(content.get(field), list):
        raise SettingsError(f"Missing {field} field")
    for entry in content[field]:
        if not isinstance(entry, dict):
            raise SettingsError(f"{path}: {json.dumps(entry)} is not an object")
        yield entry


def member(entry: dict[str, Any], name: str, kind: type[_Kind]) -> _Kind:
    """Return a member of an object.

    Raises:
        SettingsError: it is missing or of another type.
    """
    found = entry.get(name)
    if not isinstance(found, kind) or isinstance(found, bool):
        raise SettingsError(
            f"{json.dumps(entry)}: {name} is missing, or not of type {kind.__name__}"
        )
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text())
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise SettingsError(f"{path}: The input string is not a valid JSON: {error}") from error
    if not isinstance(content, dict):
        raise SettingsError(f"{path}: not an object of JSON")
    return content
