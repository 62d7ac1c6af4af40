"""Reads and writes topics in the form `NAME[:PARTITIONS[:CONFIG=VALUE,...]]`.

Without PARTITIONS, or if it is empty, the broker's default is used. A value with commas goes in
brackets: `orders:3:cleanup.policy=[compact,delete],segment.ms=60000`. The broker checks names,
numbers and configs, so this module does not.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from broker_lite.control.topics.topic_rules import USE_DEFAULT, NewTopic
from broker_lite.errors import SettingsError

_SEPARATED: Final = re.compile(r"(?:\[[^\]\n]*\]|[^\s;])+")
_CONFIG: Final = re.compile(r"(?:\[[^\]]*\]|[^,])+")
_DIGITS_MAX: Final = 9


class TopicSpec(NamedTuple):
    """A wanted topic and its origin: a flag, a variable, or a file and line."""

    topic: NewTopic
    origin: str


def parse_specs(text: str, origin: str) -> list[TopicSpec]:
    """Parse topics separated by white space or semicolons.

    Raises:
        SettingsError: a topic is wrong.
    """
    return [parse_spec(word, origin) for word in _SEPARATED.findall(text)]


def parse_spec_lines(text: str, path: str) -> list[TopicSpec]:
    """Parse a file of topics, one per line; blank lines and comments (#) are skipped.

    Raises:
        SettingsError: a topic is wrong; the text names the line.
    """
    return [
        parse_spec(line, f"{path}:{number}")
        for number, line in enumerate(map(str.strip, text.splitlines()), 1)
        if line and not line.startswith("#")
    ]


def parse_spec(text: str, origin: str) -> TopicSpec:
    """Parse one topic.

    Raises:
        SettingsError: the partitions are not a number, or a config has no `=`.
    """
    name, _, rest = text.partition(":")
    count, _, configs = rest.partition(":")
    partition_count = USE_DEFAULT
    if count:
        partition_count = _parse_count(text, count, origin)
    pairs = tuple(_parse_configs(text, configs, origin))
    return TopicSpec(NewTopic(name, partition_count, configs=pairs), origin)


def spec_text(name: str, partition_count: int, configs: Mapping[str, str]) -> str:
    """Write a topic so that parse_spec() reads the same."""
    pairs = (f"{key}={_value_text(value)}" for key, value in sorted(configs.items()))
    return ":".join([name, str(partition_count), *([",".join(pairs)] if configs else [])])


def _value_text(value: str) -> str:
    return f"[{value}]" if "," in value or value.startswith("[") else value


def _parse_count(text: str, count: str, origin: str) -> int:
    if not (count.isascii() and count.isdigit() and len(count) <= _DIGITS_MAX):
        raise SettingsError(
            f"{origin}: {text}: {count} is no number of partitions; "
            "write NAME:PARTITIONS:CONFIG=VALUE,..."
        )
    return int(count)


def _parse_configs(text: str, configs: str, origin: str) -> Iterator[tuple[str, str]]:
    for config in _CONFIG.findall(configs):
        key, equals, value = config.partition("=")
        if not equals:
            raise SettingsError(
                f"{origin}: {text}: {config} is no CONFIG=VALUE; a value with commas stands in "
                "brackets, as in cleanup.policy=[compact,delete]"
            )
        if value.startswith("[") and value.endswith("]"):
            value = value[1:-1]
        yield key.strip(), value.strip()
