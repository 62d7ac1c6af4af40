"""What is told of a broker when it is started: plain data, which goes from process to process."""

from collections.abc import Mapping
from typing import NamedTuple


class Plan(NamedTuple):
    """What kind of broker is to be started."""

    settings: Mapping[str, str]
    """By Kafka's names; stronger than the file."""
    config: str | None
    """A settings file."""
    host: str | None
    """Of the first listener; None for what the settings say."""
    port: int | None
    """The same for its port."""
    data_dir: str
    is_temporary: bool
    log_path: str
    """Where what the process prints is appended."""


def setting_text(value: object) -> str:
    """A value as Kafka writes it in its files."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(map(setting_text, value))
    return str(value)
