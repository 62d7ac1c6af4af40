"""Groups whose coordinator moves to another broker, or that have none for a while."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from broker_lite.control.topics.internal_topics import OFFSETS_TOPIC
from broker_lite.coordinator.effects import Caller
from broker_lite.errors import KafkaStorageError, NotCoordinator
from broker_lite.wire import messages
from tests.control.trio import Trio

OpenTrio = Callable[..., Trio]


@pytest.fixture
def open_trio(tmp_path: Path) -> Iterator[OpenTrio]:
    opened: list[Trio] = []

    def open_one(**texts: str) -> Trio:
        opened.append(Trio(tmp_path / "data", **texts))
        return opened[-1]

    yield open_one
    for trio in opened:
        trio.cluster.close(sync=False)


@pytest.fixture
def trio(open_trio: OpenTrio) -> Trio:
    return open_trio()


def test_c63_a_waiting_join_is_answered_when_its_group_moves(trio: Trio) -> None:
    async def scene() -> None:
        await trio.settled_member()
        member_id = (await trio.join("")).member_id
        waiting = asyncio.ensure_future(trio.join(member_id))
        await asyncio.sleep(0)
        assert trio.states() == {"g": "PreparingRebalance"}
        trio.move()
        answer = await waiting
        assert (answer.error_code, answer.member_id, answer.generation_id) == (16, member_id, -1)

    asyncio.run(scene())


def test_c64_a_rebalance_is_lost_and_the_generation_before_it_goes_on(trio: Trio) -> None:
    async def scene() -> None:
        first = await trio.settled_member()
        second = (await trio.join("")).member_id
        pending = (await trio.join("")).member_id
        waiting = asyncio.ensure_future(trio.join(second))
        await asyncio.sleep(0)
        assert await trio.heartbeat(first, 1) == 27
        trio.move()
        await waiting
        assert trio.states() == {"g": "Stable"}
        assert await trio.heartbeat(first, 1) == 0
        assert (await trio.sync(first, 1)).assignment == b"a"
        assert (await trio.join(second)).error_code == 25
        assert (await trio.join(pending)).error_code == 25

    asyncio.run(scene())


def test_c63_c64_a_waiting_sync_is_answered_and_its_generation_is_lost(trio: Trio) -> None:
    async def scene() -> None:
        first = await trio.settled_member()
        second = (await trio.join("")).member_id
        waiting = asyncio.ensure_future(trio.join(second))
        await asyncio.sleep(0)
        await trio.join(first)
        assert (await waiting).generation_id == 2
        syncing = asyncio.ensure_future(trio.sync(second, 2))
        await asyncio.sleep(0)
        assert trio.states() == {"g": "CompletingRebalance"}
        trio.move()
        answer = await syncing
        assert (answer.error_code, answer.assignment) == (16, b"")
        assert trio.states() == {"g": "Stable"}
        assert await trio.heartbeat(first, 2) == 22
        assert await trio.heartbeat(first, 1) == 0
        assert await trio.heartbeat(second, 2) == 25

    asyncio.run(scene())


def test_c64_sessions_start_anew(trio: Trio) -> None:
    async def scene() -> None:
        await trio.settled_member()
        trio.clock.step(9_000)
        trio.move()
        assert trio.groups.next_deadline_ms() == trio.clock.steady_ms() + 10_000
        trio.clock.step(9_999)
        trio.groups.on_time()
        assert trio.states() == {"g": "Stable"}
        trio.clock.step(1)
        trio.groups.on_time()
        assert trio.states() == {"g": "Empty"}

    asyncio.run(scene())


def test_c64_consumer_groups_keep_their_epochs(trio: Trio) -> None:
    async def scene() -> None:
        joined = await trio.consume("m")
        assert (joined.error_code, joined.member_epoch) == (0, 2)
        trio.move()
        group = trio.groups.coordinator.admin.describe_consumer_group("g")
        assert (group.group_epoch, group.assignment_epoch) == (2, 2)
        assert trio.groups.next_deadline_ms() == trio.clock.steady_ms() + 45_000
        beat = await trio.consume("m", 2)
        assert (beat.error_code, beat.member_epoch) == (0, 2)

    asyncio.run(scene())


def test_c64_offsets_move_too(trio: Trio) -> None:
    asyncio.run(trio.commit(offset=5))
    asyncio.run(trio.commit("other", offset=6))
    for _ in range(2):
        trio.move()
        assert trio.offsets() == {("t", 0): 5}
        assert trio.offsets("other") == {("t", 0): 6}


def test_c64_pending_offsets_move_too(trio: Trio) -> None:
    offsets = trio.groups.coordinator.registry.offsets

    async def scene() -> None:
        types = messages.TxnOffsetCommitRequest
        partition = types.TxnOffsetCommitRequestPartition(partition_index=1, committed_offset=9)
        topic = types.TxnOffsetCommitRequestTopic(name="t", partitions=[partition])
        body = types(
            transactional_id="x", group_id="g", producer_id=7, producer_epoch=0, topics=[topic]
        )
        event = trio.groups.coordinator.commits.commit_transactional
        await trio.groups.ask(event, "g", body, Caller(3, "c", "/h", None))

    asyncio.run(scene())
    trio.move()
    assert trio.offsets() == {}
    found = offsets.of("g")
    assert found is not None
    assert found.unstable() == {("t", 1)}
    trio.groups.complete_transaction(trio.partition, 7, committed=True)
    assert trio.offsets() == {("t", 1): 9}


# -- the same leader


def test_c65_a_group_goes_on_while_its_leader_stays(trio: Trio) -> None:
    async def scene() -> None:
        first = await trio.settled_member()
        second = (await trio.join("")).member_id
        waiting = asyncio.ensure_future(trio.join(second))
        await asyncio.sleep(0)
        topic = trio.cluster.topics[OFFSETS_TOPIC]
        before = topic.partitions[trio.partition]
        for change in (
            {"leader_epoch": before.leader_epoch + 1},
            {"isr": before.isr[:2]},
        ):
            topic = trio.cluster.topics[OFFSETS_TOPIC]
            now = topic.partitions[trio.partition]
            trio.cluster.controller.alter(topic, trio.partition, now._replace(**change))
            assert not waiting.done()
            assert trio.states() == {"g": "PreparingRebalance"}
        assert (await trio.join(first)).generation_id == 2
        assert (await waiting).generation_id == 2

    asyncio.run(scene())


def test_c65_groups_of_other_partitions_go_on(trio: Trio) -> None:
    async def scene() -> None:
        names = (f"n{number}" for number in range(100))
        partition_of = trio.groups.partition_of
        other = next(name for name in names if partition_of(name) != trio.partition)
        first = await trio.settled_member(other)
        second = (await trio.join("", other)).member_id
        waiting = asyncio.ensure_future(trio.join(second, other))
        await asyncio.sleep(0)
        leader = trio.groups.topic.leader(partition_of(other))
        trio.cluster.controller.fence(next(n for n in (1, 2, 3) if n != leader))
        assert not waiting.done()
        await trio.join(first, other)
        assert (await waiting).generation_id == 2

    asyncio.run(scene())


# -- no leader


def test_c66_nothing_happens_to_a_group_without_a_coordinator(trio: Trio) -> None:
    async def scene() -> None:
        first = await trio.settled_member()
        expiry_ms = trio.groups.next_deadline_ms
        last = trio.take_leader()
        assert trio.states() == {}
        assert trio.groups.topic.leader(trio.partition) == -1
        trio.clock.step(100_000)
        trio.groups.on_time()
        trio.cluster.controller.unfence(last)
        assert trio.leader == last
        assert trio.states() == {"g": "Stable"}
        assert expiry_ms() == trio.clock.steady_ms() + 10_000
        assert await trio.heartbeat(first, 1) == 0

    asyncio.run(scene())


def test_c66_offsets_are_searched_an_interval_after_they_were_loaded(open_trio: OpenTrio) -> None:
    trio = open_trio(offsets_retention_minutes="1", offsets_retention_check_interval_ms="100000")
    asyncio.run(trio.commit())
    trio.clock.step(90_000)
    last = trio.take_leader()
    trio.clock.step(20_000)
    trio.groups.on_time()
    trio.cluster.controller.unfence(last)
    assert trio.offsets() == {("t", 0): 7}
    # of the partitions that did not move: those have their search 90 seconds from now
    trio.clock.step(99_999)
    trio.groups.on_time()
    assert trio.offsets() == {("t", 0): 7}
    trio.clock.step(1)
    trio.groups.on_time()
    assert trio.states() == {}


def test_c66_a_start_leaves_partitions_without_a_leader_alone(trio: Trio) -> None:
    asyncio.run(trio.commit())
    trio.take_leader()
    trio.cluster.close()
    trio.groups = None  # type: ignore[assignment]
    super(Trio, trio).start()
    assert trio.states() == {}
    assert trio.groups.topic.partitions_to_replay() == []
    # the brokers come back
    for node_id in (1, 2, 3):
        trio.cluster.register(node_id, [])
    assert trio.offsets() == {("t", 0): 7}


def test_c66_a_log_that_failed_is_not_read_while_nobody_leads_it(trio: Trio) -> None:
    asyncio.run(trio.commit())
    path, content = trio.log_path, trio.log_path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    trio.move()
    with pytest.raises(NotCoordinator):
        trio.groups.check_loaded(["g"])
    with pytest.raises(NotCoordinator):
        trio.groups.check_all_loaded(trio.leader)
    trio.groups.check_all_loaded(next(n for n in (1, 2, 3) if n != trio.leader))
    path.write_bytes(content)
    last = trio.take_leader()
    trio.groups.check_all_loaded(last)
    trio.cluster.controller.unfence(last)
    assert trio.offsets() == {("t", 0): 7}


# -- answers that wait for a flush


def test_c63_a_commit_that_waits_for_the_disk_is_answered_when_its_group_moves(
    open_trio: OpenTrio,
) -> None:
    trio = open_trio(log_flush_interval_messages="1")
    trio.cluster.logs.commits.start = lambda _: None  # it takes for ever

    async def scene() -> None:
        waiting = asyncio.ensure_future(trio.commit())
        await asyncio.sleep(0)
        assert not waiting.done()
        trio.move()
        with pytest.raises(NotCoordinator):
            await waiting
        again = asyncio.ensure_future(trio.commit())
        await asyncio.sleep(0)
        log = trio.cluster.log(OFFSETS_TOPIC, trio.partition)
        trio.take_leader()
        with pytest.raises(NotCoordinator):
            await again
        # a flush that fails later loads nothing, because nobody leads the partition
        log.visibility.flush_ended(log.log_end_offset, KafkaStorageError())

    asyncio.run(scene())
    assert trio.states() == {}


def test_a_commit_that_waits_for_the_disk_is_answered_when_its_topic_is_deleted(
    open_trio: OpenTrio,
) -> None:
    trio = open_trio(log_flush_interval_messages="1")
    trio.cluster.logs.commits.start = lambda _: None  # it takes for ever

    async def scene() -> None:
        waiting = asyncio.ensure_future(trio.commit())
        await asyncio.sleep(0)
        trio.cluster.delete_topics([trio.cluster.topics[OFFSETS_TOPIC]])
        with pytest.raises(NotCoordinator):
            await waiting

    asyncio.run(scene())
    assert trio.states() == {}
