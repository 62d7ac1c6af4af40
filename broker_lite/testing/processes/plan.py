"""The description of a broker to start: plain data that is sent between processes."""

import os
from collections.abc import Iterable, Mapping
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
    ports: list[int]
    """Of the first listener of each broker of a cluster that is restarted; else empty."""
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


def given_settings(
    settings: Mapping[str, object],
    *,
    brokers: int,
    racks: Iterable[str],
    topics: Iterable[str],
    seed_file: str | os.PathLike[str] | None,
) -> dict[str, str]:
    """Return settings as texts, with those that other arguments of Broker stand for."""
    given = {name: setting_text(value) for name, value in settings.items()}
    if brokers != 1:
        given["broker.lite.brokers"] = str(brokers)
    if racks:
        given["broker.lite.racks"] = ",".join(racks)
    if topics:
        specs = [topics] if isinstance(topics, str) else topics
        given["broker.lite.topics"] = "\n".join(specs)
    if seed_file is not None:
        given["broker.lite.seed.file"] = os.path.abspath(seed_file)
    return given


def security_settings(
    word: str, users: Mapping[str, str], san: Iterable[str], *, is_only: bool
) -> dict[str, str]:
    """Return the settings of security that arguments of Broker stand for."""
    texts = {
        "": word,
        ".users": "\n".join(f"{name}:{password}" for name, password in users.items()),
        ".san": ",".join(san),
        ".only": "true" if is_only else "",
    }
    return {f"broker.lite.security{end}": text for end, text in texts.items() if text}
