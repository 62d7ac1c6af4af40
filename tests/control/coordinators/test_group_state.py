"""What is in memory of groups and what their log says: restarts, and logs that fail."""

import asyncio
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import pytest

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.cluster.watcher import Watchers
from broker_lite.control.metadata.image import GROUP_RESOURCE
from broker_lite.control.topics.internal_topics import OFFSETS_TOPIC
from broker_lite.control.topics.topic_rules import Growth, NewTopic
from broker_lite.coordinator.effects import Caller, Effects, ShareStart
from broker_lite.coordinator.groups.members import GroupMembers
from broker_lite.errors import CoordinatorNotAvailable, NotCoordinator, UnknownServerError
from broker_lite.record.control import EndTransactionMarker
from broker_lite.wire import messages
from tests.control.group_node import Node, error_of
from tests.support.coordinator_topics import make_offsets_topic
from tests.support.small_disk import files_end_at

# -- restarts


def test_state_is_read_back_at_the_start(node: Node) -> None:
    member_id = asyncio.run(node.settled_member())
    asyncio.run(node.commit("other", 9))
    node.restart()
    assert node.states() == {"g": "Stable", "other": "Empty"}
    assert node.offsets("other") == {("t", 0): 9}
    # the session of the member starts anew
    assert node.groups.next_deadline_ms() == node.clock.steady_ms() + 10_000
    member = messages.LeaveGroupRequest.MemberIdentity(member_id=member_id)
    left = asyncio.run(node.ask("LeaveGroup", 3, group_id="g", members=[member]))
    assert left.members[0].error_code == 0


def test_t53_pending_offsets_and_markers_are_read_back(node: Node) -> None:
    async def scene() -> None:
        types = messages.TxnOffsetCommitRequest
        partition = types.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=5)
        for producer_id, index in ((1, 0), (2, 1), (3, 1)):
            partition.partition_index = index
            partition.committed_offset = producer_id * 10
            request = types(
                transactional_id="x",
                group_id="g",
                producer_id=producer_id,
                producer_epoch=0,
                topics=[types.TxnOffsetCommitRequestTopic(name="t", partitions=[partition])],
            )
            caller = Caller(3, "c", "/127.0.0.1", None)
            event = node.groups.coordinator.commits.commit_transactional
            answer = await node.groups.ask(event, "g", request, caller)
            assert error_of(answer) == 0

    asyncio.run(scene())
    number = node.groups.partition_of("g")
    log = node.cluster.log(OFFSETS_TOPIC, number)
    for producer_id, is_commit in ((1, True), (3, False)):
        marker = EndTransactionMarker(is_commit, 0)
        log.append_control(producer_id, 0, marker, now_ms=node.clock.now_ms())
        node.groups.complete_transaction(number, producer_id, is_commit)
    assert node.offsets() == {("t", 0): 10}
    node.restart()
    assert node.offsets() == {("t", 0): 10}
    node.groups.complete_transaction(number, 2, True)
    assert node.offsets() == {("t", 0): 10, ("t", 1): 20}


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([5, "transaction", False], 5),
        ([5, "transaction", True], 10),
        ([5, "transaction", 6, True], 6),
        ([5, 6, "transaction", 7, False], 7),
        ([5, "transaction", True, 8], 8),
    ],
)
def test_g72_commits_around_a_transaction_are_read_back(
    node: Node, steps: list[Any], expected: int
) -> None:
    """An offset is a plain commit, a truth value the transaction's end; its own offset is 10."""
    types = messages.TxnOffsetCommitRequest
    partition = types.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=10)
    request = types(
        transactional_id="x",
        group_id="g",
        producer_id=1,
        producer_epoch=0,
        topics=[types.TxnOffsetCommitRequestTopic(name="t", partitions=[partition])],
    )
    caller = Caller(3, "c", "/127.0.0.1", None)
    number = node.groups.partition_of("g")
    for step in steps:
        if step == "transaction":
            event = node.groups.coordinator.commits.commit_transactional
            asyncio.run(node.groups.ask(event, "g", request, caller))
        elif isinstance(step, bool):
            marker = EndTransactionMarker(step, 0)
            log = node.cluster.log(OFFSETS_TOPIC, number)
            log.append_control(1, 0, marker, now_ms=node.clock.now_ms())
            node.groups.complete_transaction(number, 1, step)
        else:
            asyncio.run(node.commit(offset=step))
    assert node.offsets() == {("t", 0): expected}
    node.restart()
    assert node.offsets() == {("t", 0): expected}


def test_g91_configs_of_groups_are_read_back(node: Node) -> None:
    node.cluster.alter_configs([(GROUP_RESOURCE, "k", {"consumer.session.timeout.ms": "50000"})])
    node.restart()
    make_offsets_topic(node.cluster)

    async def heartbeat() -> None:
        request = messages.ConsumerGroupHeartbeatRequest(
            group_id="k",
            member_id="m",
            rebalance_timeout_ms=1000,
            subscribed_topic_names=["t"],
            topic_partitions=[],
        )
        event = node.groups.coordinator.members.consumer_heartbeat
        answer = await node.groups.ask(event, "k", request, Caller(1, "c", "/h", None))
        assert answer.error_code == 0

    asyncio.run(heartbeat())
    assert node.groups.next_deadline_ms() == node.clock.steady_ms() + 50_000


def test_g73_topics_that_went_while_nobody_could_be_told(node: Node) -> None:
    """A broker that is killed in the middle, or a log that could not be read then."""
    asyncio.run(node.commit())
    node.cluster.effects.watchers = node.cluster.watchers = Watchers()
    node.cluster.delete_topics([node.cluster.topics["t"]])
    assert node.offsets() == {("t", 0): 7}
    node.restart()
    assert node.offsets() == {}
    node.cluster.create_topics([node.cluster.plan_topic(NewTopic("t", 2))])
    node.restart()
    assert node.offsets() == {}


# -- when the log fails


def test_what_is_not_written_is_not_there(node: Node, caplog: pytest.LogCaptureFixture) -> None:
    asyncio.run(node.commit(offset=1))
    with files_end_at(node.log_path.stat().st_size), pytest.raises(NotCoordinator):
        asyncio.run(node.commit(offset=2))
    assert "group state not written" in caplog.text
    assert node.offsets() == {("t", 0): 1}
    assert error_of(asyncio.run(node.commit(offset=3))) == 0
    assert node.offsets() == {("t", 0): 3}


def test_who_waits_in_a_group_whose_log_fails_is_told_to_come_again(node: Node) -> None:
    async def scene() -> None:
        first = await node.settled_member()
        second_id = (await node.join("")).member_id
        waiting = asyncio.ensure_future(node.join(second_id))
        await asyncio.sleep(0)
        with files_end_at(node.log_path.stat().st_size), pytest.raises(NotCoordinator):
            await node.commit(node.neighbour)
        assert (await waiting).error_code == NotCoordinator.code
        assert node.states() == {"g": "Stable"}
        assert (await node.join(first)).error_code == 0

    asyncio.run(scene())


def test_a_step_too_large_for_its_log_is_an_error_of_the_server(
    open_node: Callable[..., Node],
) -> None:
    node = open_node(offsets_topic_segment_bytes=str(1 << 20))

    async def scene() -> None:
        with pytest.raises(UnknownServerError):
            await node.settled_member(assignment=bytes(1 << 20))
        assert node.states() == {"g": "Empty"}

    asyncio.run(scene())


def test_k40_the_client_may_ask_again_if_a_state_of_a_share_group_is_not_available(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(node.commit())

    def unavailable(starts: Sequence[ShareStart]) -> None:
        raise CoordinatorNotAvailable

    def starting(request: Any, caller: Caller, now_ms: int) -> Effects:
        effects = Effects()
        effects.share_starts.append(ShareStart("g", bytes(16), 0, 7, 1))
        effects.reply(caller.token, messages.HeartbeatResponse())
        return effects

    async def scene() -> None:
        with pytest.raises(NotCoordinator):
            await node.groups.ask(starting, "g", None, Caller(0, "", "", None))

    monkeypatch.setattr(node.groups._state, "put_share_starts", unavailable)
    asyncio.run(scene())
    assert node.offsets() == {("t", 0): 7}


def test_an_event_that_breaks_leaves_what_the_log_says(
    node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    asyncio.run(node.commit())

    def broken(request: Any, caller: Caller, now_ms: int) -> Effects:
        node.groups.coordinator.replay.unload(node.groups.partition_of("g"))
        raise ZeroDivisionError

    async def scene() -> None:
        with pytest.raises(UnknownServerError):
            await node.groups.ask(broken, "g", None, Caller(0, "", "", None))

    asyncio.run(scene())
    assert "group event failed group=g" in caplog.text
    assert node.offsets() == {("t", 0): 7}


def test_an_event_of_all_groups_that_breaks_leaves_what_the_logs_say(
    node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    asyncio.run(node.commit())

    coordinator = node.groups.coordinator

    class Broken(GroupMembers):
        def on_time(self, now_ms: int) -> Any:  # type: ignore[explicit-override]
            coordinator.replay.unload(node.groups.partition_of("g"))
            raise ZeroDivisionError

    coordinator.members = Broken(coordinator.registry)
    node.groups.on_time()
    assert "event of several groups failed" in caplog.text
    assert node.offsets() == {("t", 0): 7}


def test_a_partition_that_cannot_be_read_is_tried_again(
    node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    asyncio.run(node.commit())
    asyncio.run(node.commit("other"))
    path, content = node.log_path, node.log_path.read_bytes()
    node.cluster.close()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    node.start()
    assert "groups not loaded" in caplog.text
    for attempt in (
        lambda: asyncio.run(node.commit()),
        lambda: node.groups.check_loaded(["other", "g"]),
        lambda: node.groups.check_all_loaded(1),
        lambda: node.groups.delete_groups(messages.DeleteGroupsRequest(groups_names=["g"])),
    ):
        with pytest.raises(NotCoordinator):
            attempt()
    node.groups.check_loaded(["other"])
    assert error_of(asyncio.run(node.commit("other", 8))) == 0
    path.write_bytes(content)
    node.groups.check_loaded(["g"])
    node.groups.check_all_loaded(1)
    assert node.offsets() == {("t", 0): 7}


def test_a_log_that_takes_long_to_read_is_not_read_again_at_once(
    open_node: Callable[..., Node],
) -> None:
    """While a disk is full each commit fails; the broker has other things to do than to read."""
    # each look at the clock takes 15 ms, so reading a log takes some
    ticks = count()
    clock = Clock(wall_ns=lambda: 10**18, monotonic_ns=lambda: next(ticks) * 15_000_000)
    node = open_node(clock)
    asyncio.run(node.commit(offset=1))
    with files_end_at(node.log_path.stat().st_size):
        with pytest.raises(NotCoordinator):
            asyncio.run(node.commit(offset=2))  # how long it takes is not known yet
        assert node.offsets() == {("t", 0): 1}
        with pytest.raises(NotCoordinator):
            asyncio.run(node.commit(offset=3))
    assert node.states() == {}
    with pytest.raises(NotCoordinator):
        node.groups.check_loaded(["g"])
    with pytest.raises(NotCoordinator):
        node.groups.check_all_loaded(1)
    assert error_of(asyncio.run(node.commit("other", 8))) == 0
    node.clock.step(1000)
    node.groups.check_loaded(["g"])
    assert node.offsets() == {("t", 0): 1}
    assert error_of(asyncio.run(node.commit(offset=4))) == 0


def long_neighbour(node: Node) -> str:
    """A group in the partition of g, whose records are larger."""
    names = (f"{'n' * 1000}{number}" for number in count())
    partition_of = node.groups.partition_of
    return next(name for name in names if partition_of(name) == partition_of("g"))


def test_what_follows_a_failure_in_the_same_log_is_not_written_either(node: Node) -> None:
    """The partition was read anew: what was decided before that is not so any more."""
    long_id = long_neighbour(node)
    asyncio.run(node.commit(long_id))
    asyncio.run(node.commit("g"))
    asyncio.run(node.commit("other"))
    request = messages.DeleteGroupsRequest(groups_names=[long_id, "g", "other"])
    with files_end_at(node.log_path.stat().st_size + 500):
        results = node.groups.delete_groups(request).results
    assert [result.error_code for result in results] == [16, 16, 0]
    for _ in range(2):
        assert node.states() == {long_id: "Empty", "g": "Empty"}
        assert node.offsets("g") == node.offsets(long_id) == {("t", 0): 7}
        node.restart()


def test_who_is_answered_by_what_is_not_written_is_told_to_come_again(
    open_node: Callable[..., Node],
) -> None:
    """The first joins of two groups of one log end at once, and only the second record fits."""
    node = open_node(group_initial_rebalance_delay_ms="400000")
    long_id = long_neighbour(node)

    async def scene() -> None:
        waiting = []
        for group_id in (long_id, "g"):
            member_id = (await node.join("", group_id)).member_id
            waiting.append(asyncio.ensure_future(node.join(member_id, group_id)))
            await asyncio.sleep(0)
        node.clock.step(300_000)
        with files_end_at(node.log_path.stat().st_size + 500):
            node.groups.on_time()
        for one in waiting:
            with pytest.raises(NotCoordinator):
                await asyncio.wait_for(one, 1)

    asyncio.run(scene())
    assert node.states() == {long_id: "Empty", "g": "Empty"}


def test_g07_deleting_a_state_log_of_fewer_partitions_than_usual_removes_all_groups(
    open_cluster: Callable[..., Cluster], open_node: Callable[..., Node]
) -> None:
    cluster = open_cluster()
    cluster.create_topics([cluster.plan_topic(NewTopic(OFFSETS_TOPIC, 2))])
    cluster.close()
    node = open_node()
    names = [f"g{number}" for number in range(20)]
    for name in names:
        asyncio.run(node.commit(name))
    assert {node.groups.partition_of(name) for name in names} == {0, 1}
    node.cluster.delete_topics([node.cluster.topics[OFFSETS_TOPIC]])
    assert node.states() == {}
    assert node.offsets("g0") == {}


def test_g07_a_state_log_that_has_grown_says_nothing_old(
    open_cluster: Callable[..., Cluster], open_node: Callable[..., Node]
) -> None:
    cluster = open_cluster()
    cluster.create_topics([cluster.plan_topic(NewTopic(OFFSETS_TOPIC, 3))])
    cluster.close()
    node = open_node()
    names = [f"g{number}" for number in range(20)]
    for name in names:
        asyncio.run(node.commit(name, 1))
    before = {name: node.groups.partition_of(name) for name in names}
    node.cluster.create_partitions([node.cluster.plan_growth(Growth(OFFSETS_TOPIC, 5))])
    assert {name: node.groups.partition_of(name) for name in names} == before
    asyncio.run(node.commit("g0", 2))
    node.restart()
    moved = {name for name in names if node.groups.partition_of(name) != before[name]}
    assert 0 < len(moved) < 20
    assert any(node.groups.partition_of(name) < before[name] for name in moved)
    assert set(node.states()) == set(names) - moved
    for name in names:
        asyncio.run(node.commit(name, 3))
    node.restart()
    assert all(node.offsets(name) == {("t", 0): 3} for name in names)
