"""One streams group with its topics, for tests: heartbeats and the records of their events."""

from collections.abc import Mapping
from struct import unpack_from
from typing import Any

from broker_lite.coordinator.effects import Caller, Effects
from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.coordinator.streams.ahead import ConfiguredAhead
from broker_lite.coordinator.streams.checks import check_heartbeat
from broker_lite.coordinator.streams.group import StreamsGroup
from broker_lite.coordinator.streams.heartbeat import handle
from broker_lite.coordinator.streams.leave import on_timer
from broker_lite.coordinator.streams.replay import apply_record
from broker_lite.coordinator.streams.told import ToldTopology
from broker_lite.coordinator.timers import TimerKey, Timers
from broker_lite.wire import messages
from tests.coordinator.consumer.consumer_driver import FakeTopics

Request = messages.StreamsGroupHeartbeatRequest


def subtopology(key: str, *sources: str, **more: Any) -> Any:
    """A subtopology; changelogs, repartition sources and sinks are given by name."""
    return Request.Subtopology(
        subtopology_id=key,
        source_topics=list(sources),
        state_changelog_topics=[info(name) for name in more.get("changelogs", ())],
        repartition_sink_topics=list(more.get("sinks", ())),
        repartition_source_topics=[info(*each) for each in more.get("repartitions", ())],
        copartition_groups=[
            Request.CopartitionGroup(source_topics=list(some), repartition_source_topics=list(rest))
            for some, rest in more.get("groups", ())
        ],
    )


def info(name: str, count: int = 0) -> Any:
    return Request.TopicInfo(name=name, partitions=count, replication_factor=0)


def topology(*subtopologies: Any, epoch: int = 0) -> Any:
    return Request.Topology(epoch=epoch, subtopologies=list(subtopologies))


PLAIN = topology(subtopology("0", "t"))
"""One subtopology that reads one topic and keeps nothing."""


class Driver:
    """A group, its topics, and what its events wrote.

    Attributes:
        log: the records of all events.
        effects: of the last event.
    """

    def __init__(self, settings: GroupSettings | None = None, **counts: int) -> None:
        self.topics = FakeTopics(**counts)
        self.timers: Timers[TimerKey] = Timers()
        self.settings = settings or GroupSettings()
        self.group = StreamsGroup("g", self.timers, self.settings, self.topics)
        self.log: list[tuple[bytes, bytes | None]] = []
        self.effects = Effects()
        self.now_ms = 1000
        self._owned: dict[str, Mapping[str, Any]] = {}

    def join(self, member: str, message: Any = PLAIN, **fields: Any) -> Any:
        """Let a member join in a process of its own name."""
        empty: dict[str, Any] = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
        join = {"rebalance_timeout_ms": 5000, "process_id": member, "topology": message}
        return self.beat(member, 0, **{**join, **empty, **fields})

    def beat(
        self,
        member: str,
        epoch: int,
        *,
        told: ToldTopology | None = None,
        ahead: ConfiguredAhead | None = None,
        **fields: Any,
    ) -> Any:
        request = Request(group_id="g", member_id=member, member_epoch=epoch, **fields)
        check_heartbeat(request, "c", told=told)
        self.effects = Effects()
        caller = Caller(0, "c", "/127.0.0.1", object())
        handle(self.group, request, caller, self.effects, self.now_ms, told=told, ahead=ahead)
        self.log += self.effects.records
        ((_, response),) = self.effects.replies
        if response.error_code == 0 and response.active_tasks is not None:
            roles = ("active_tasks", "standby_tasks", "warmup_tasks")
            self._owned[member] = {
                role: [
                    Request.TaskIds(subtopology_id=each.subtopology_id, partitions=each.partitions)
                    for each in getattr(response, role)
                ]
                for role in roles
            }
        return response

    def follow(self, member: str) -> Any:
        """Send the heartbeat of a member that does what the coordinator has told it."""
        epoch = self.group.roster.members[member].member_epoch
        return self.beat(member, epoch, **self._owned[member])

    def settle(self, *members: str) -> None:
        """Let members follow until all have what they shall have."""
        for _ in range(4):
            for member in members:
                self.follow(member)

    def run_timers(self) -> list[str]:
        """Run what is due, and return the kinds of timers."""
        kinds = []
        while (key := self.timers.pop_due(self.now_ms)) is not None:
            self.effects = Effects()
            on_timer(self.group, key[1], key[2], self.effects, self.now_ms)
            self.log += self.effects.records
            kinds.append(key[1])
        return kinds

    def topics_grow(self, **counts: int) -> None:
        """Create topics, or let them grow."""
        for name, count in counts.items():
            if self.topics.get(name) is None:
                self.topics.make(name, count)
            else:
                self.topics.grow(name, count)
        self.group.topics_changed(counts)

    def has(self, member: str) -> dict[str, list[int]]:
        """Return the active tasks of a member."""
        active = self.group.roster.members[member].assigned.active
        return {key: sorted(some) for key, some in active.items()}

    def keeps(self, member: str) -> dict[str, list[int]]:
        """Return the standby tasks of a member."""
        standby = self.group.roster.members[member].assigned.standby
        return {key: sorted(some) for key, some in standby.items()}

    def loaded(self) -> StreamsGroup:
        group = StreamsGroup("g", Timers(), self.settings, self.topics)
        for key, value in self.log:
            apply_record(group, unpack_from(">h", key)[0], key, value)
        return group


def types(effects: Effects) -> list[int]:
    """The types of the records of an event."""
    return [unpack_from(">h", each.key)[0] for each in effects.records]


def statuses(response: Any) -> list[tuple[int, str]]:
    return [(each.status_code, each.status_detail) for each in response.status]
