"""The groups' runtime: what is written, who waits, what happens when the log fails."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from broker_lite.control.alarm import Alarm
from broker_lite.control.clock import Clock
from broker_lite.control.cluster import Cluster
from broker_lite.control.groups import Groups
from broker_lite.control.image import BROKER_RESOURCE, GROUP_RESOURCE
from broker_lite.control.internal_topics import OFFSETS_TOPIC
from broker_lite.control.topic_rules import NewTopic
from broker_lite.coordinator.effects import Caller, Effects
from broker_lite.coordinator.groups import GroupCoordinator
from broker_lite.errors import CoordinatorNotAvailable, NotCoordinator, UnknownServerError
from broker_lite.record.control import EndTransactionMarker
from broker_lite.settings import Given, Settings
from broker_lite.wire import messages
from tests.support.small_disk import files_end_at

JOIN, SYNC, COMMIT, FETCH, LEAVE = 5, 3, 8, 8, 3


class Node:
    """A cluster with groups, which may be started again."""

    def __init__(self, data_dir: Path, **texts: str) -> None:
        self.data_dir = data_dir
        given = {name.replace("_", "."): Given(text, "test") for name, text in texts.items()}
        self.settings = Settings(given)
        self.clock = Clock.standing_still()
        self.start()

    def start(self) -> None:
        self.alarm = Alarm()
        self.cluster = Cluster.open(self.settings, self.data_dir, self.clock)
        numbers = count(1)
        self.groups = Groups(
            cluster=self.cluster,
            clock=self.clock,
            alarm=self.alarm,
            make_uuid=lambda: str(next(numbers)),
        )
        self.groups.start()

    def restart(self) -> None:
        self.cluster.close()
        self.start()

    # -- requests

    def ask(self, name: str, version: int, **fields: Any) -> Coroutine[Any, Any, Any]:
        event = {
            "JoinGroup": self.groups.coordinator.join_group,
            "SyncGroup": self.groups.coordinator.sync_group,
            "LeaveGroup": self.groups.coordinator.leave_group,
            "OffsetCommit": self.groups.coordinator.commit_offsets,
        }[name]
        body = getattr(messages, f"{name}Request")(**fields)
        caller = Caller(version, "c", "/127.0.0.1", None)
        return self.groups.ask(event, body.group_id, body, caller)

    def join(self, member_id: str, group_id: str = "g", protocol: str = "range") -> Any:
        types = messages.JoinGroupRequest
        return self.ask(
            "JoinGroup",
            JOIN,
            group_id=group_id,
            member_id=member_id,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=20_000,
            protocol_type="consumer",
            protocols=[types.JoinGroupRequestProtocol(name=protocol, metadata=b"")],
        )

    async def settled_member(self, group_id: str = "g", assignment: bytes = b"a") -> str:
        member_id: str = (await self.join("", group_id)).member_id
        await self.join(member_id, group_id)
        one = messages.SyncGroupRequest.SyncGroupRequestAssignment
        assignments = [one(member_id=member_id, assignment=assignment)]
        await self.ask(
            "SyncGroup",
            SYNC,
            group_id=group_id,
            member_id=member_id,
            generation_id=1,
            assignments=assignments,
        )
        return member_id

    def commit(self, group_id: str = "g", offset: int = 7, metadata: str = "") -> Any:
        types = messages.OffsetCommitRequest
        partition = types.OffsetCommitRequestPartition(
            partition_index=0, committed_offset=offset, committed_metadata=metadata
        )
        topic = types.OffsetCommitRequestTopic(name="t", partitions=[partition])
        return self.ask("OffsetCommit", COMMIT, group_id=group_id, topics=[topic])

    def offsets(self, group_id: str = "g") -> dict[tuple[str, int], int]:
        one = messages.OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group_id, topics=None)
        request = messages.OffsetFetchRequest(groups=[one])
        (group,) = self.groups.coordinator.fetch_offsets(request, FETCH).groups
        return {
            (topic.name, partition.partition_index): partition.committed_offset
            for topic in group.topics
            for partition in topic.partitions
        }

    def states(self) -> dict[str, str]:
        listed = self.groups.coordinator.list_groups(messages.ListGroupsRequest())
        return {group.group_id: group.group_state for group in listed.groups}

    @property
    def neighbour(self) -> str:
        """A group in the partition of g."""
        names = (f"n{number}" for number in count())
        partition_of = self.groups.partition_of
        return next(name for name in names if partition_of(name) == partition_of("g"))

    @property
    def log_path(self) -> Path:
        partition = self.groups.partition_of("g")
        return self.data_dir / f"{OFFSETS_TOPIC}-{partition}" / f"{0:020d}.log"


@pytest.fixture
def open_node(tmp_path: Path) -> Iterator[Callable[..., Node]]:
    opened: list[Node] = []

    def open_one(**texts: str) -> Node:
        node = Node(tmp_path / "data", **texts)
        opened.append(node)
        if "t" not in node.cluster.topics:
            node.cluster.create_topics([node.cluster.plan_topic(NewTopic("t", 2))])
        return node

    yield open_one
    for node in opened:
        node.cluster.close(sync=False)


@pytest.fixture
def node(open_node: Callable[..., Node]) -> Node:
    return open_node()


def error_of(response: Any) -> int:
    ((partition,),) = [topic.partitions for topic in response.topics]
    code: int = partition.error_code
    return code


# -- requests


def test_g23_the_topic_is_made_by_the_first_request_that_needs_it(node: Node) -> None:
    assert OFFSETS_TOPIC not in node.cluster.topics
    assert error_of(asyncio.run(node.commit())) == 0
    assert node.cluster.topics[OFFSETS_TOPIC].partition_count == 50
    assert node.offsets() == {("t", 0): 7}


def test_g23_a_topic_that_cannot_be_made(open_node: Callable[..., Node]) -> None:
    node = open_node(offsets_topic_replication_factor="3")
    with pytest.raises(CoordinatorNotAvailable):
        asyncio.run(node.commit())


def test_g118_a_join_waits_for_the_others(node: Node) -> None:
    async def scene() -> None:
        first = await node.settled_member()
        second_id = (await node.join("")).member_id
        waiting = asyncio.ensure_future(node.join(second_id))
        await asyncio.sleep(0)
        assert node.states() == {"g": "PreparingRebalance"}
        assert not waiting.done()
        leader = await node.join(first)
        follower = await waiting
        assert (leader.error_code, leader.generation_id, len(leader.members)) == (0, 2, 2)
        assert (follower.error_code, follower.generation_id, follower.members) == (0, 2, [])

    asyncio.run(scene())


def test_g119_a_client_that_goes_is_passed_over(node: Node) -> None:
    async def scene() -> None:
        first = await node.settled_member()
        second_id = (await node.join("")).member_id
        waiting = asyncio.ensure_future(node.join(second_id))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        leader = await node.join(first)
        assert (leader.error_code, len(leader.members)) == (0, 2)

    asyncio.run(scene())


def test_g120_timers_run_when_they_are_due(node: Node) -> None:
    async def scene() -> None:
        await node.settled_member()
        deadline_ms = node.groups.next_deadline_ms()
        assert deadline_ms == node.clock.steady_ms() + 10_000
        node.clock.step(9_999)
        node.groups.on_time()
        assert node.states() == {"g": "Stable"}
        node.clock.step(1)
        node.groups.on_time()
        assert node.states() == {"g": "Empty"}

    asyncio.run(scene())


def test_an_earlier_deadline_sets_the_alarm(node: Node) -> None:
    woken: list[str] = []
    node.alarm.wake = lambda: woken.append("woken")
    node.alarm.sleep_until(node.groups.next_deadline_ms())
    asyncio.run(node.settled_member())
    assert woken == ["woken"]


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
    left = asyncio.run(node.ask("LeaveGroup", LEAVE, group_id="g", members=[member]))
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
            answer = await node.groups.commit_transactional_offsets(request, caller)
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
            asyncio.run(node.groups.commit_transactional_offsets(request, caller))
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

    async def heartbeat() -> None:
        request = messages.ConsumerGroupHeartbeatRequest(
            group_id="k",
            member_id="m",
            rebalance_timeout_ms=1000,
            subscribed_topic_names=["t"],
            topic_partitions=[],
        )
        event = node.groups.coordinator.consumer_group_heartbeat
        answer = await node.groups.ask(event, "k", request, Caller(1, "c", "/h", None))
        assert answer.error_code == 0

    asyncio.run(heartbeat())
    assert node.groups.next_deadline_ms() == node.clock.steady_ms() + 50_000


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


def test_an_event_that_breaks_leaves_what_the_log_says(
    node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    asyncio.run(node.commit())

    def broken(request: Any, caller: Caller, now_ms: int) -> Effects:
        node.groups.coordinator.unload(node.groups.partition_of("g"))
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

    class Broken(GroupCoordinator):
        def on_time(self, now_ms: int) -> Any:  # type: ignore[explicit-override]
            self.unload(node.groups.partition_of("g"))
            raise ZeroDivisionError

    node.groups.coordinator.__class__ = Broken
    node.groups.on_time()
    assert "groups' event failed" in caplog.text
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
        node.groups.check_all_loaded,
        lambda: node.groups.delete_groups(messages.DeleteGroupsRequest(groups_names=["g"])),
    ):
        with pytest.raises(NotCoordinator):
            attempt()
    node.groups.check_loaded(["other"])
    assert error_of(asyncio.run(node.commit("other", 8))) == 0
    path.write_bytes(content)
    node.groups.check_loaded(["g"])
    node.groups.check_all_loaded()
    assert node.offsets() == {("t", 0): 7}


# -- deletion, expiry, changes of the cluster


def test_g104_groups_are_deleted(node: Node) -> None:
    asyncio.run(node.commit())
    request = messages.DeleteGroupsRequest(groups_names=["g", "nobody"])
    results = {one.group_id: one.error_code for one in node.groups.delete_groups(request).results}
    assert results == {"g": 0, "nobody": 69}
    node.restart()
    assert node.states() == {}


def test_g104_a_group_whose_end_is_not_written_stays(node: Node) -> None:
    asyncio.run(node.commit())
    asyncio.run(node.commit("other"))
    request = messages.DeleteGroupsRequest(groups_names=["g", "other"])
    with files_end_at(node.log_path.stat().st_size):
        results = node.groups.delete_groups(request).results
    assert {one.error_code for one in results} == {NotCoordinator.code}
    assert node.offsets() == {("t", 0): 7}


def test_g74_offsets_expire(open_node: Callable[..., Node]) -> None:
    node = open_node(offsets_retention_minutes="1", offsets_retention_check_interval_ms="50000")
    asyncio.run(node.commit())
    for _ in range(2):
        assert node.groups.next_deadline_ms() == node.clock.steady_ms() + 50_000
        assert node.states() == {"g": "Empty"}
        node.clock.step(50_000)
        node.groups.on_time()
    assert node.states() == {}
    node.restart()
    assert node.states() == {}


def test_g73_offsets_go_with_their_topic(node: Node) -> None:
    asyncio.run(node.commit())
    node.cluster.delete_topics([node.cluster.topics["t"]])
    assert node.offsets() == {}
    node.restart()
    assert node.offsets() == {}


def test_all_groups_go_with_their_topic(node: Node) -> None:
    async def scene() -> None:
        await node.settled_member()
        second_id = (await node.join("")).member_id
        waiting = asyncio.ensure_future(node.join(second_id))
        await asyncio.sleep(0)
        node.cluster.delete_topics([node.cluster.topics[OFFSETS_TOPIC]])
        assert (await waiting).error_code == NotCoordinator.code
        assert node.states() == {}
        assert error_of(await node.commit()) == 0

    asyncio.run(scene())
    assert node.offsets() == {("t", 0): 7}


def test_dynamic_settings_reach_the_groups(node: Node) -> None:
    settings = {"group.consumer.assignment.interval.ms": "9"}
    node.cluster.alter_configs([(BROKER_RESOURCE, "", settings)])
    node.cluster.alter_configs([(2, "t", {"retention.ms": "1"})])
    assert node.cluster.settings.group_consumer_assignment_interval_ms == 9
