"""What OffsetFetch shows of groups whose newest commits are not replicated."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_lite.control.topics.internal_topics import OFFSETS_TOPIC
from broker_lite.log.replicas import Lag
from broker_lite.wire import messages
from tests.control.lagging_trio import LaggingTrio, begun

TIMEOUT_MS = 5000


class Seen(LaggingTrio):
    """Three brokers, and what is seen of a group's offsets."""

    def seen(self, group_id: str = "g") -> list[int] | None:
        """The replicated offsets; None if they are the newest ones."""
        found = self.groups.replicated_offsets([group_id]).get(group_id)
        return None if found is None else [each.offset for _, each in found.of_topic("t")]

    @property
    def kept(self) -> list[str]:
        return [*self.groups._replicated._kept]


@pytest.fixture
def trio(tmp_path: Path) -> Iterator[Seen]:
    trio = Seen(tmp_path / "data")
    yield trio
    trio.cluster.close(sync=False)


@pytest.mark.parametrize("before", [[], [6]])
def test_c72_the_offsets_from_before_are_seen(trio: Seen, before: list[int]) -> None:
    async def scene() -> None:
        for offset in before:
            await trio.commit(offset=offset)
        trio.lag()
        assert trio.seen() is None
        first = await begun(trio.commit(offset=7))
        second = await begun(trio.commit(offset=8))
        assert (trio.seen(), trio.offsets()) == (before, {("t", 0): 8})
        trio.step(TIMEOUT_MS)
        await asyncio.gather(first, second, return_exceptions=True)
        assert trio.seen() == before
        trio.catch_up()
        assert trio.seen() is None

    asyncio.run(scene())


def test_c72_groups_of_other_partitions_are_as_they_are(trio: Seen) -> None:
    async def scene() -> None:
        other = next(name for name in "abcdef" if trio.groups.partition_of(name) != trio.partition)
        await trio.commit(other)
        trio.lag()
        await trio.commit(other)
        assert (trio.seen(other), trio.kept) == (None, [])

    asyncio.run(scene())


def test_c72_an_event_without_records_changes_nothing(trio: Seen) -> None:
    async def scene() -> None:
        member_id = await trio.settled_member()
        trio.lag()
        assert await trio.heartbeat(member_id, 1) == 0
        assert (trio.kept, trio.seen(), trio.kept) == (["g"], None, [])

    asyncio.run(scene())


def test_c72_some_commits_are_replicated(trio: Seen) -> None:
    """Not done: the older one of the two is what Kafka shows."""

    async def scene() -> None:
        topic = trio.cluster.topics[OFFSETS_TOPIC]
        await trio.commit(offset=6)
        trio.lag()
        trio.manager.fall_behind(topic, trio.partition, trio.follower, Lag(records=1))
        await begun(trio.commit(offset=7))
        assert trio.seen() == [6]
        await begun(trio.commit(offset=8))
        assert trio.seen() is None

    asyncio.run(scene())


def test_c72_a_deleted_group_has_its_offsets_until_that_is_replicated(trio: Seen) -> None:
    async def scene() -> None:
        await trio.commit()
        trio.lag()
        trio.groups.delete_groups(messages.DeleteGroupsRequest(groups_names=["g"]))
        assert (trio.seen(), trio.offsets()) == ([7], {})
        trio.catch_up()
        assert trio.seen() is None

    asyncio.run(scene())


def test_c72_the_offsets_are_forgotten(trio: Seen) -> None:
    """By a coordinator that moves, when no replica is behind, and with the topic."""

    async def scene() -> None:
        trio.lag(1)
        await begun(trio.commit())
        await begun(trio.commit(trio.neighbour))
        assert trio.seen() == []
        trio.move()
        assert trio.kept == []
        await begun(trio.commit(offset=8))
        assert trio.kept == ["g"]
        trio.manager.return_all()
        trio.manager.settle()
        trio.step(0)
        assert trio.kept == []
        trio.cluster.delete_topics([trio.cluster.topics[OFFSETS_TOPIC]])
        assert trio.groups.replicated_offsets(["g"]) == {}

    asyncio.run(scene())
