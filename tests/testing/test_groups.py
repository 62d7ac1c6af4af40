"""Share groups and streams groups for tests: views and waits."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from broker_lite.testing import Broker, BrokerFailed, ShareGroup, StreamsGroup
from broker_lite.wire import messages
from tests.differential.streams_side import StreamsSide
from tests.support.share_members import ShareMembers, id_of

SOON = timedelta(milliseconds=10)


@pytest.fixture(scope="module")
def running() -> Iterator[Broker]:
    with Broker({"group.streams.initial.rebalance.delay.ms": 0}) as started:
        yield started


@pytest.fixture
def broker(running: Broker) -> Broker:
    running.reset()
    return running


@pytest.fixture
def streams(broker: Broker) -> Iterator[StreamsSide]:
    side = StreamsSide(broker.port, "s")
    yield side
    side.close()


@pytest.fixture
def side(broker: Broker) -> Iterator[ShareMembers]:
    """A group with a member that has acquired the only record of the topic "g"."""
    side = ShareMembers(broker.port, "g", {"share.auto.offset.reset": "earliest"})
    side.join("a")
    side.fetch("a", 10, 10, True)
    yield side
    side.close()


def test_a_share_group(broker: Broker, side: ShareMembers) -> None:
    group = broker.wait_for_share_group("g", in_flight=1)
    assert isinstance(group, ShareGroup)
    assert (group.state, group.lag, group.accepted) == ("Stable", 1, 0)
    partition = group.partitions["g", 0]
    assert (partition.start, partition.end, partition.acquired) == (0, 1, 1)
    (run,) = partition.runs
    assert (run.first, run.last, run.state, run.member) == (0, 0, "acquired", id_of("a"))
    side.say("a", [(0, 0, [1])], False)
    done = broker.wait_for_share_group("g", accepted=1, in_flight=0, lag=0, topic="g")
    assert (done.accepted, done.lag) == (1, 0)
    assert broker.share_group("g", topic="other").partitions == {}
    with pytest.raises(BrokerFailed, match="share group g is not as wanted after 10 ms"):
        broker.wait_for_share_group("g", rejected=1, timeout=SOON)
    with pytest.raises(BrokerFailed, match="there is no group 'a/b'"):
        broker.share_group("a/b")


def test_a_streams_group(broker: Broker, streams: StreamsSide) -> None:
    message = messages.StreamsGroupHeartbeatRequest
    topology = message.Topology(
        epoch=0,
        subtopologies=[message.Subtopology(subtopology_id="0", source_topics=["t"])],
    )
    joins = {
        "rebalance_timeout_ms": 1000,
        "process_id": "p",
        "topology": topology,
        "active_tasks": [],
        "standby_tasks": [],
        "warmup_tasks": [],
    }
    streams.beat("a", joins)
    waiting = broker.wait_for_streams_group("s", state="NotReady", members=1)
    assert (waiting.problem, waiting.tasks) == ("MISSING_SOURCE_TOPICS", None)
    broker.create_topic("t", partitions=2)
    streams.beat("a", {})
    group = broker.wait_for_streams_group("s")
    assert isinstance(group, StreamsGroup)
    assert (group.tasks, group.problem, group.missing, group.members_count) == (2, "", (), 1)
    (member,) = group.members
    assert (member.active, member.standby) == ({("0", 0), ("0", 1)}, frozenset())
    assert group.subtopologies["0"]["sources"] == ["t"]
    with pytest.raises(BrokerFailed, match="group s is not as wanted after 10 ms"):
        broker.wait_for_streams_group("s", members=2, timeout=SOON)
    with pytest.raises(BrokerFailed, match="group s is a streams group, and no share group"):
        broker.share_group("s")


@pytest.mark.anyio
async def test_in_async_tests(running: Broker) -> None:
    for wait in (running.aio.wait_for_share_group, running.aio.wait_for_streams_group):
        with pytest.raises(BrokerFailed, match="not as wanted after 10 ms"):
            await wait("nobody", timeout=SOON)
    for look in (running.aio.share_group, running.aio.streams_group):
        with pytest.raises(BrokerFailed, match="there is no group 'nobody'"):
            await look("nobody")
