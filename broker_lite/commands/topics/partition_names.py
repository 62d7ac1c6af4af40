"""Selects partitions by topic name and number, as Kafka's tools do.

A choice is `REGEX:N`, `REGEX:N-M` (without M), `REGEX:N-`, `REGEX:-M`, `REGEX` or `:N`. Source:
GetOffsetShell of Kafka's tools.
"""

import re
import sys
from collections.abc import Callable
from typing import Final

from broker_lite.commands.topics.topic_names import Choice, choice_of
from broker_lite.errors import SettingsError

PartitionChoice = Callable[[str, int], bool]

_CHOICE: Final = re.compile(r"([^:,]*)(?::(\d*|\d*-\d*))?")


def partition_choice(
    topic: str | None, partitions: str | None, topic_partitions: str | None
) -> PartitionChoice:
    """Return a function that takes a topic's name and a partition's number.

    Args:
        topic: --topic, a list of regular expressions.
        partitions: --partitions, a list of numbers.
        topic_partitions: --topic-partitions, a list of choices.

    Raises:
        SettingsError: an argument is wrong, or topic_partitions is combined with another one.
    """
    if topic_partitions is None:
        return _by_both(choice_of(topic), partitions)
    if topic is not None or partitions is not None:
        raise SettingsError("--topic-partitions excludes --topic and --partitions")
    choices = [_choice(text.strip()) for text in topic_partitions.split(",")]
    return lambda name, index: any(choice(name, index) for choice in choices)


def _by_both(named: Choice, partitions: str | None) -> PartitionChoice:
    if not partitions:
        return lambda name, _index: named(name)
    try:
        numbers = {int(text) for text in partitions.split(",")}
    except ValueError as error:
        raise SettingsError(f"--partitions {partitions}: not numbers with commas") from error
    return lambda name, index: index in numbers and named(name)


def _choice(text: str) -> PartitionChoice:
    match = _CHOICE.fullmatch(text)
    if match is None:
        raise SettingsError(f"--topic-partitions {text}: not REGEX:N or REGEX:N-M")
    named = choice_of(match[1] or None)
    numbers = _range(match[2] or "")
    return lambda name, index: index in numbers and named(name)


def _range(text: str) -> range:
    """Parse N, N-M, N-, -M or nothing, which means every number."""
    first, dash, end = text.partition("-")
    if first and not dash:
        return range(int(first), int(first) + 1)
    return range(int(first or 0), int(end) if end else sys.maxsize)
