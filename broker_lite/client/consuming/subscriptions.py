"""Subscriptions: one partition, all partitions of topics, or the assignment of a group.

A subscription keeps the partitions of a Fetcher up to date; call keep() before every fetch.
"""

import re
import time
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from broker_lite.client.client import Client
from broker_lite.client.consuming.fetcher import Fetcher
from broker_lite.client.consuming.group_member import GroupMember
from broker_lite.client.errors import Refused
from broker_lite.client.topic_partitions import Topic, TopicPartition, find_topics
from broker_lite.errors import ErrorCode

TopicChoice = Callable[[], Mapping[str, Topic]]

_REFRESH_S: Final = 5.0
_REFRESH_WITHOUT_TOPICS_S: Final = 0.2


class Subscription(Protocol):
    """Chooses the partitions to read."""

    def keep(self, fetcher: Fetcher, wait_s: float) -> None:
        """Update the fetcher's partitions; wait at most `wait_s` for other members of a group."""

    def consumed(self, partition: TopicPartition, offset: int) -> None:
        """Note the next offset of a partition."""

    def close(self) -> None:
        """End the subscription."""


def one_topic(client: Client, name: str, *, create: bool) -> TopicChoice:
    """Choose a topic by name; it may be created."""
    return lambda: find_topics(client, [name], create=create)


def matching_topics(client: Client, pattern: re.Pattern[str]) -> TopicChoice:
    """Choose the topics whose whole name matches, without internal ones."""

    def choose() -> Mapping[str, Topic]:
        return {
            name: topic
            for name, topic in find_topics(client).items()
            if pattern.fullmatch(name) and not topic.is_internal
        }

    return choose


class OnePartition:
    """One partition from an offset on; None means as the fetcher's `reset` says."""

    def __init__(self, partition: TopicPartition, offset: int | None) -> None:
        """Keep partition and offset."""
        self._position: dict[TopicPartition, int | None] = {partition: offset}

    def keep(self, fetcher: Fetcher, wait_s: float) -> None:
        """Assign the partition, once."""
        if not fetcher.positions:
            fetcher.assign(self._position)

    def consumed(self, partition: TopicPartition, offset: int) -> None:
        """Nobody wants to know."""

    def close(self) -> None:
        """Nothing is held."""


class _Topics:
    """The topics of a choice, refreshed every few seconds."""

    def __init__(self, choose: TopicChoice) -> None:
        self._choose = choose
        self._ask_at_s = 0.0

    def refresh(self) -> Mapping[str, Topic] | None:
        """Return the topics; None if it is too early to ask again."""
        now_s = time.monotonic()
        if now_s < self._ask_at_s:
            return None
        topics = self._choose()
        self._ask_at_s = now_s + (_REFRESH_S if topics else _REFRESH_WITHOUT_TOPICS_S)
        return topics


class AllPartitions:
    """All partitions of topics, with those that are created later."""

    def __init__(self, choose: TopicChoice) -> None:
        """Keep the choice; keep() asks for the topics."""
        self._topics = _Topics(choose)

    def keep(self, fetcher: Fetcher, wait_s: float) -> None:
        """Add new partitions and remove deleted ones."""
        topics = self._topics.refresh()
        if topics is None:
            return
        wanted = {
            (name, number)
            for name, topic in topics.items()
            for number in range(topic.partition_count)
        }
        if wanted != fetcher.positions.keys():
            fetcher.assign({each: fetcher.positions.get(each) for each in sorted(wanted)})

    def consumed(self, partition: TopicPartition, offset: int) -> None:
        """Nobody wants to know."""

    def close(self) -> None:
        """Nothing is held."""


class GroupPartitions:
    """The partitions that a group assigns to a member."""

    def __init__(self, choose: TopicChoice, member: GroupMember) -> None:
        """Keep choice and member; keep() joins."""
        self._topics = _Topics(choose)
        self._member = member
        self._assigned: frozenset[TopicPartition] = frozenset()

    def keep(self, fetcher: Fetcher, wait_s: float) -> None:
        """Poll the member, and pass a new assignment to the fetcher."""
        topics = self._topics.refresh()
        if topics is not None:
            self._member.subscribe(topics)
        self._note_positions(fetcher)
        self._member.poll(wait_s)
        if self._member.assignment is self._assigned:
            return
        assigned = self._member.assignment
        try:
            positions = self._member.start_positions()
        except Refused as error:
            if error.code != ErrorCode.UNSTABLE_OFFSET_COMMIT:
                raise
            fetcher.assign({})  # an open transaction commits offsets: ask again at the next poll
            return
        fetcher.assign(positions)
        self._assigned = assigned

    def _note_positions(self, fetcher: Fetcher) -> None:
        """Note the positions of partitions without records, so that they are committed, too."""
        for partition in self._member.assignment & fetcher.positions.keys():
            position = fetcher.positions[partition]
            if position is not None:
                self._member.consumed.setdefault(partition, position)

    def consumed(self, partition: TopicPartition, offset: int) -> None:
        """Note an offset to commit."""
        self._member.consumed[partition] = offset

    def close(self) -> None:
        """Commit and leave."""
        self._member.close()
