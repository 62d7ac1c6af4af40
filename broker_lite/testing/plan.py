"""The description of a broker to start: plain data that is sent between processes."""

from collections.abc import Mapping
from typing import NamedTuple


class Plan(NamedTuple):
    """A broker to start."""

    settings: Mapping[str, str]
    """By Kafka's names; they win over the file."""
    config: str | None
    """A settings file."""
    host: str | None
    """Of the first listener; None means as in the settings."""
    port: int | None
    """Of the first listener; None means as in the settings."""
    data_dir: str
    is_temporary: bool
    log_path: str
    """The process appends its output to it."""


def setting_text(value: object) -> str:
    """Convert a value to the notation of Kafka's files."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(map(setting_text, value))
    return str(value)
