"""Selects partitions: all, those of named topics, those of topics by a pattern, or a list.

Internal topics are read only when they are named.
"""

import re
from collections.abc import Collection
from typing import Final, NamedTuple, TypeAlias

from broker_lite.pipeline.files.layout import is_public
from broker_lite.pipeline.read.offset_limits import TopicPartition


class Topics(NamedTuple):
    """All partitions of the topics that are named."""

    names: frozenset[str]

    def wants(self, topic: str, partition: int) -> bool:
        """Tell whether a partition is read."""
        return topic in self.names

    def missing(self, found: Collection[TopicPartition]) -> list[str]:
        """Name the topics that have no partition."""
        return sorted(self.names - {topic for topic, _ in found})


class TopicPattern(NamedTuple):
    """All partitions of the topics whose name has a match of the pattern, as in the connector."""

    pattern: re.Pattern[str]

    def wants(self, topic: str, partition: int) -> bool:
        """Tell whether a partition is read."""
        return is_public(topic, partition) and self.pattern.search(topic) is not None

    def missing(self, found: Collection[TopicPartition]) -> list[str]:
        """Name what was asked for and is not there: nothing, in this case."""
        return []


class Assigned(NamedTuple):
    """Listed partitions."""

    partitions: frozenset[TopicPartition]

    def wants(self, topic: str, partition: int) -> bool:
        """Tell whether a partition is read."""
        return (topic, partition) in self.partitions

    def missing(self, found: Collection[TopicPartition]) -> list[str]:
        """Name the listed partitions that do not exist."""
        return [f"{topic}-{number}" for topic, number in sorted(self.partitions.difference(found))]


Selection: TypeAlias = Topics | TopicPattern | Assigned

ALL_TOPICS: Final = TopicPattern(re.compile(""))
"""Every topic that is not internal; the default."""
