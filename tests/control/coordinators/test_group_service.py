"""The groups' runtime: what is written, who waits, what happens when the log fails."""

import asyncio
from collections.abc import Callable

import pytest

from broker_lite.control.metadata.image import BROKER_RESOURCE
from broker_lite.control.topics.internal_topics import OFFSETS_TOPIC
from broker_lite.errors import NotCoordinator
from broker_lite.wire import messages
from tests.control.group_node import Node, error_of
from tests.support.small_disk import files_end_at

# -- requests


def test_g23_no_request_of_a_group_makes_the_topic(open_node: Callable[..., Node]) -> None:
    """Kafka makes it when a client asks where the coordinator is."""
    node = open_node(offsets_topic_replication_factor="3")  # so that nobody can make it
    assert error_of(asyncio.run(node.commit())) == 16
    with pytest.raises(NotCoordinator):
        asyncio.run(node.join(""))
    with pytest.raises(NotCoordinator):
        node.groups.check_loaded(["g"])
    with pytest.raises(NotCoordinator):
        node.groups.delete_groups(messages.DeleteGroupsRequest(groups_names=["g"]))
    node.groups.check_all_loaded(1)
    assert OFFSETS_TOPIC not in node.cluster.topics


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


def test_g120_a_request_finds_nobody_whose_session_is_over(node: Node) -> None:
    """Whether or not the timers' task has had its turn."""

    async def scene() -> None:
        member_id = await node.settled_member()
        node.clock.step(9_999)
        request = messages.DeleteGroupsRequest(groups_names=["g"])
        assert node.groups.delete_groups(request).results[0].error_code == 68
        node.clock.step(1)
        left = await node.ask("LeaveGroup", 2, group_id="g", member_id=member_id)
        assert left.error_code == 25
        await node.settled_member("h")
        node.clock.step(10_000)
        node.groups.check_all_loaded(1)
        assert node.states() == {"g": "Empty", "h": "Empty"}
        await node.settled_member("i")
        node.clock.step(10_000)
        request = messages.DeleteGroupsRequest(groups_names=["g", "i"])
        assert [one.error_code for one in node.groups.delete_groups(request).results] == [0, 0]

    asyncio.run(scene())


def test_an_earlier_deadline_sets_the_alarm(node: Node) -> None:
    woken: list[str] = []
    node.alarm.wake = lambda: woken.append("woken")
    node.alarm.sleep_until(node.groups.next_deadline_ms())
    asyncio.run(node.settled_member())
    assert woken == ["woken"]


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


def test_a_rebalance_on_command(node: Node) -> None:
    async def scene() -> None:
        assert not node.groups.rebalance("g")
        await node.settled_member()
        assert node.groups.rebalance("g")
        assert node.states() == {"g": "PreparingRebalance"}

    asyncio.run(scene())
