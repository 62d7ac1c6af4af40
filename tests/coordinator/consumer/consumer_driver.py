"""Drives one consumer group: a clock, topics, members that behave, and the log of its records."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from broker_lite.coordinator.consumer.checks import check_heartbeat, check_heartbeat_texts
from broker_lite.coordinator.consumer.group import ConsumerGroup
from broker_lite.coordinator.consumer.heartbeat import handle
from broker_lite.coordinator.consumer.leave import on_timer
from broker_lite.coordinator.consumer.regexes import prepare_regexes
from broker_lite.coordinator.consumer.replay import apply_record
from broker_lite.coordinator.effects import Caller, Effects, StateRecord
from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.coordinator.subscriptions import Prepared
from broker_lite.coordinator.timers import Timers
from broker_lite.errors import BrokerError
from broker_lite.wire import messages

Request = messages.ConsumerGroupHeartbeatRequest
Response = messages.ConsumerGroupHeartbeatResponse
GROUP = "group"
SESSION_MS = 45_000


@dataclass(frozen=True)
class FakeTopic:
    name: str
    topic_id: bytes
    partition_count: int


class FakeTopics:
    """Topics that a test makes, grows and deletes."""

    def __init__(self, **counts: int) -> None:
        self.prepared: Mapping[str, Prepared] = {}
        self.is_visible: Callable[[str], bool] | None = None
        self._topics: dict[str, FakeTopic] = {}
        self._made = 0
        self.racks_by_topic: dict[str, list[str]] = {}
        for name, count in counts.items():
            self.make(name, count)

    def make(self, name: str, count: int) -> bytes:
        self._made += 1
        topic_id = b"%s-%014d" % (name[:1].encode(), self._made)
        self._topics[name] = FakeTopic(name, topic_id, count)
        return self._topics[name].topic_id

    def grow(self, name: str, count: int) -> None:
        self._topics[name] = FakeTopic(name, self._topics[name].topic_id, count)

    def delete(self, name: str) -> None:
        del self._topics[name]

    def get(self, name: str) -> FakeTopic | None:
        return self._topics.get(name)

    def racks(self, name: str) -> Iterable[str]:
        return self.racks_by_topic.get(name, ())

    def by_id(self, topic_id: bytes) -> FakeTopic | None:
        return next((t for t in self._topics.values() if t.topic_id == topic_id), None)

    def id(self, name: str) -> bytes:
        return self._topics[name].topic_id

    def __iter__(self) -> Iterator[str]:
        return iter(self._topics)


def make_group(topics: FakeTopics, timers: Any, settings: GroupSettings) -> ConsumerGroup:
    return ConsumerGroup(
        GROUP, timers, settings, topics, lambda: "00010203-0405-4607-8809-0a0b0c0d0e0f"
    )


class Driver:
    """A group and the members' side of it.

    Attributes:
        epochs, owned: what each member knows, from the answers it got.
        log: the records of every event, one list each.
    """

    def __init__(self, settings: GroupSettings | None = None, **counts: int) -> None:
        self.settings = settings or GroupSettings()
        self.topics = FakeTopics(**counts)
        self.timers: Timers[tuple[str, str, str]] = Timers()
        self.group = make_group(self.topics, self.timers, self.settings)
        self.now_ms = 1_000_000
        self.epochs: dict[str, int] = {}
        self.owned: dict[str, dict[bytes, list[int]]] = {}
        self.log: list[list[StateRecord]] = []

    def prepare(self, request: Any) -> dict[str, Prepared]:
        """What is matched before a heartbeat, as the handler does it."""
        prepared = {}
        new = request.subscribed_topic_regex or ""
        for regex, ready in prepare_regexes(self.group, new, self.topics):
            prepared[regex] = ready
            if ready.is_heavy:
                assert ready.match_names(lambda: False)
        return prepared

    def send(self, *, version: int = 1, client_id: str = "client", **fields: Any) -> Any:
        """One heartbeat, as the coordinator handles it; returns the response."""
        effects = Effects()
        request = Request(group_id=GROUP, **fields)
        try:
            check_heartbeat(request, version, self.settings)
            check_heartbeat_texts(request, client_id)
        except BrokerError as error:
            return Response(error_code=error.code, error_message=error.message)
        caller = Caller(version, client_id, "/127.0.0.1", "token")
        self.topics.prepared = self.prepare(request)
        handle(self.group, request, caller, effects, self.now_ms)
        self.topics.prepared = {}
        ((token, response),) = effects.replies
        assert token == "token"
        self.log.append(effects.records)
        if response.error_code:
            assert not effects.records
        return response

    def heard(self, member_id: str, response: Any) -> Any:
        """The member takes over an answer."""
        if not response.error_code:
            self.epochs[member_id] = response.member_epoch
            if response.assignment is not None:
                self.owned[member_id] = {
                    entry.topic_id: entry.partitions
                    for entry in response.assignment.topic_partitions
                }
        return response

    def join(self, member_id: str, names: Any = ("t",), **fields: Any) -> Any:
        """A full first heartbeat."""
        request = {
            "member_id": member_id,
            "member_epoch": 0,
            "rebalance_timeout_ms": 60_000,
            "subscribed_topic_names": None if names is None else list(names),
            "topic_partitions": [],
        }
        return self.heard(member_id, self.send(**{**request, **fields}))

    def beat(self, member_id: str, **fields: Any) -> Any:
        """A heartbeat that says honestly what the member owns."""
        request = {
            "member_id": member_id,
            "member_epoch": self.epochs[member_id],
            "topic_partitions": self.owns(member_id),
        }
        return self.heard(member_id, self.send(**{**request, **fields}))

    def owns(self, member_id: str) -> list[Any]:
        return [
            Request.TopicPartitions(topic_id=topic_id, partitions=list(partitions))
            for topic_id, partitions in self.owned.get(member_id, {}).items()
        ]

    def settle(self, rounds_max: int = 20) -> int:
        """Let all members beat until the group is stable; returns the rounds it took."""
        for rounds in range(rounds_max):
            if self.group.state.value == "Stable":
                return rounds
            for member_id in list(self.group.roster.members):
                self.beat(member_id)
        raise AssertionError(f"{self.group.state} after {rounds_max} rounds")

    def leave(self, member_id: str, epoch: int = -1, **fields: Any) -> Any:
        return self.send(member_id=member_id, member_epoch=epoch, **fields)

    def advance(self, milliseconds: int) -> list[tuple[str, str, str]]:
        """Let time pass, and run what is due; returns the timers that fired."""
        self.now_ms += milliseconds
        fired = []
        while (key := self.timers.pop_due(self.now_ms)) is not None:
            fired.append(key)
            effects = Effects()
            on_timer(self.group, key[1], key[2], effects, self.now_ms)
            assert not effects.replies
            self.log.append(effects.records)
        return fired

    def partitions(self, member_id: str, name: str = "t") -> list[int]:
        """What a member believes it has of a topic."""
        return self.owned[member_id].get(self.topics.id(name), [])

    def last_records(self) -> list[tuple[str, Any]]:
        """The records of the last event by name, each with its decoded value or None."""
        return [describe_record(record) for record in self.log[-1]]

    def replayed(self, events: int | None = None) -> ConsumerGroup:
        """The group as a reader of the log up to an event has it."""
        group = make_group(self.topics, Timers(), self.settings)
        for records in self.log[:events]:
            for key, value in records:
                apply_record(group, int.from_bytes(key[:2]), key, value)
        return group


def describe_record(record: StateRecord) -> tuple[str, Any]:
    names = {
        3: "Metadata",
        4: "PartitionMetadata",
        5: "MemberMetadata",
        6: "TargetAssignmentMetadata",
        7: "TargetAssignmentMember",
        8: "CurrentMemberAssignment",
        16: "RegularExpression",
    }
    record_type = int.from_bytes(record.key[:2])
    name = names[record_type]
    if record.value is None:
        return name, None
    message = getattr(messages, f"ConsumerGroup{name}Value")
    assert record.value[:2] == b"\0\0"
    return name, message.decode(record.value, 0, 2)[0]


def state_of(group: ConsumerGroup) -> dict[str, Any]:
    """Everything of a group that has to come back from its log."""
    return {
        "group_epoch": group.group_epoch,
        "metadata_hash": group.metadata_hash,
        "target_epoch": group.target_epoch,
        "target_timestamp_ms": group.target_timestamp_ms,
        "members": group.roster.members,
        "static_members": group.roster.static_members,
        "targets": group.targets,
        "regexes": group.regexes,
        "owners": group.roster._owners,
        "names": group.roster._name_counts,
        "regex_counts": group.roster._regex_counts,
        "assignors": group.roster._assignor_counts,
        "classic_count": group.roster.classic_count,
        "state": group.state,
    }
