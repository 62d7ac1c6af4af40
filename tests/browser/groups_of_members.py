"""Members of a share group and of a streams group that give the page something to see."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from broker_lite.testing import Broker
from broker_lite.wire import messages
from tests.differential.streams_side import StreamsSide
from tests.support.share_members import ShareMembers

ACCEPT, RELEASE, REJECT = 1, 2, 3
Heartbeat = messages.StreamsGroupHeartbeatRequest
_REPARTITION = "words-by-length-repartition"
_CHANGELOG = "words-counts-changelog"
_COUNTS = Heartbeat.Subtopology(
    subtopology_id="0",
    source_topics=["text"],
    state_changelog_topics=[Heartbeat.TopicInfo(name=_CHANGELOG)],
    repartition_sink_topics=[_REPARTITION],
)
_SUMS = Heartbeat.Subtopology(
    subtopology_id="1",
    repartition_source_topics=[Heartbeat.TopicInfo(name=_REPARTITION, partitions=2)],
)


class Sharing(NamedTuple):
    """The group "jobs", which reads the topic of that name."""

    side: ShareMembers


class Streaming(NamedTuple):
    """The group "words"."""

    side: StreamsSide

    def join(self, member: str, *subtopologies: Heartbeat.Subtopology) -> None:
        """Let a member join, by default with two subtopologies."""
        told = subtopologies or (_COUNTS, _SUMS)
        joins = {
            "rebalance_timeout_ms": 60_000,
            "process_id": f"process-{member}",
            "topology": Heartbeat.Topology(epoch=0, subtopologies=list(told)),
            "active_tasks": [],
            "standby_tasks": [],
            "warmup_tasks": [],
        }
        self.side.beat(member, joins)

    def join_many(self, count: int) -> None:
        """Let many members join."""
        for number in range(count):
            self.join(f"member-{number:02}")

    def settle(self, *members: str) -> None:
        """Let members take and give back their tasks."""
        for _ in range(4):
            for member in members:
                self.side.beat(member, {})


@contextmanager
def sharing(broker: Broker) -> Iterator[Sharing]:
    """A member that has 10 of 12 records, of which it has said something about 6."""
    side = ShareMembers(broker.port, "jobs", {"share.auto.offset.reset": "earliest"})
    for member in ("a", "b"):
        side.join(member)
    side.append(11)
    side.fetch("a", 10, 10, True)
    side.say("a", [(2, 4, [ACCEPT]), (5, 5, [REJECT]), (6, 7, [RELEASE])], False)
    try:
        yield Sharing(side)
    finally:
        side.close()


@contextmanager
def streaming(broker: Broker, *, has_topic: bool = True) -> Iterator[Streaming]:
    """Two members with active and standby tasks; one without tasks if the topic is missing."""
    found = Streaming(StreamsSide(broker.port, "words"))
    try:
        found.side.configure("streams.num.standby.replicas", "1")
        if has_topic:
            broker.create_topic("text", partitions=4)
        found.join("first")
        if has_topic:
            found.side.await_topics({_CHANGELOG: 4, _REPARTITION: 2})
            found.settle("first")
            found.join("second")
            found.settle("first", "second")
            broker.wait_for_streams_group("words", members=2)
        yield found
    finally:
        found.side.close()
