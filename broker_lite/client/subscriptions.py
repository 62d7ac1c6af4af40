"""What a consumer reads: one partition, all partitions of topics, or what a group gives it.

A subscription keeps a Fetcher's partitions up to date; keep() is called before every fetch.
"""

import re
import time
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from broker_lite.client.client import Client
from broker_lite.client.errors import Refused
from broker_lite.client.fetcher import Fetcher
from broker_lite.client.group_member import GroupMember
from broker_lite.client.partitions import Topic, TopicPartition, find_topics
from broker_lite.errors import ErrorCode

TopicChoice = Callable[[], Mapping[str, Topic]]

_REFRESH_S: Final = 5.0
_REFRESH_WITHOUT_TOPICS_S: Final = 0.2


class Subscription(Protocol):
    """Something to read."""

    def keep(self, fetcher: Fetcher, wait_s: float) -> None:
        """Give the fetcher its partitions; wait at most so long for what others delay."""

    def consumed(self, partition: TopicPartition, offset: int) -> None:
        """Note the next offset of a partition."""

    def close(self) -> None:
        """Read no more."""


def one_topic(client: Client, name: str, *, create: bool) -> TopicChoice:
    """Choose a topic by its name; it may be created."""
    return lambda: find_topics(client, [name], create=create)


def matching_topics(client: Client, pattern: re.Pattern[str]) -> TopicChoice:
    """Choose the topics whose whole name matches, but for internal ones."""

    def choose() -> Mapping[str, Topic]:
        return {
            name: topic
            for name, topic in find_topics(client).items()
            if pattern.fullmatch(name) and not topic.is_internal
        }

    return choose


class OnePartition:
    """One partition from an offset on; None is where the fetcher's reset says."""

    def __init__(self, partition: TopicPartition, offset: int | None) -> None:
        """Begin there."""
        self._position: dict[TopicPartition, int | None] = {partition: offset}

    def keep(self, fetcher: Fetcher, wait_s: float) -> None:
        """Give it the partition, once."""
        if not fetcher.positions:
            fetcher.assign(self._position)

    def consumed(self, partition: TopicPartition, offset: int) -> None:
        """Nobody wants to know."""

    def close(self) -> None:
        """Nothing is held."""


class _Topics:
    """The topics of a choice, asked for now and then."""

    def __init__(self, choose: TopicChoice) -> None:
        self._choose = choose
        self._ask_at_s = 0.0

    def refresh(self) -> Mapping[str, Topic] | None:
        """The topics; None when it is too early to ask again."""
        now_s = time.monotonic()
        if now_s < self._ask_at_s:
            return None
        topics = self._choose()
        self._ask_at_s = now_s + (_REFRESH_S if topics else _REFRESH_WITHOUT_TOPICS_S)
        return topics


class AllPartitions:
    """All partitions of topics, those that come later, too."""

    def __init__(self, choose: TopicChoice) -> None:
        """Begin with the topics that there are."""
        self._topics = _Topics(choose)

    def keep(self, fetcher: Fetcher, wait_s: float) -> None:
        """Add partitions that have come, take away those that are gone."""
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
    """What a group gives to a member of it."""

    def __init__(self, choose: TopicChoice, member: GroupMember) -> None:
        """Join with the topics that there are."""
        self._topics = _Topics(choose)
        self._member = member
        self._assigned: frozenset[TopicPartition] = frozenset()

    def keep(self, fetcher: Fetcher, wait_s: float) -> None:
        """Stay a member; hand over what the group gives."""
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
            fetcher.assign({})  # a transaction is about to commit offsets: they are asked for again
            return
        fetcher.assign(positions)
        self._assigned = assigned

    def _note_positions(self, fetcher: Fetcher) -> None:
        """Where nothing was read from is a place to go on from, too."""
        for partition in self._member.assignment & fetcher.positions.keys():
            position = fetcher.positions[partition]
            if position is not None:
                self._member.consumed.setdefault(partition, position)

    def consumed(self, partition: TopicPartition, offset: int) -> None:
        """Note what is to be committed."""
        self._member.consumed[partition] = offset

    def close(self) -> None:
        """Commit and leave."""
        self._member.close()
