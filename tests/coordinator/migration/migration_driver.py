"""Members of both protocols in one group, each behaving as a real client does.

A classic client joins, syncs and sends heartbeats; told to rebalance, it joins again. An eager one
gives everything back before that, a cooperative one what its new assignment lacks. A consumer
client reports what it owns in its heartbeats, and gives back what it is told to.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from broker_lite.coordinator.classic.group import ClassicGroup
from broker_lite.coordinator.consumer.group import ConsumerGroup
from broker_lite.coordinator.effects import Caller, Effects, StateRecord
from broker_lite.coordinator.embedded_protocol import (
    parse_assignment,
    parse_subscription,
    serialize_assignment,
    serialize_subscription,
)
from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.coordinator.groups.coordinator import GroupCoordinator
from broker_lite.coordinator.subscriptions import Prepared
from broker_lite.errors import ErrorCode
from broker_lite.wire import messages

SESSION_MS = 10_000
REBALANCE_MS = 30_000

Partition = tuple[str, int]


@dataclass(frozen=True)
class FakeTopic:
    name: str
    topic_id: bytes
    partition_count: int


class FakeTopics:
    """Topics `t` and `u`."""

    def __init__(self, **counts: int) -> None:
        self.prepared: Mapping[str, Prepared] = {}
        self.is_visible: Callable[[str], bool] | None = None
        self.topics = {name: FakeTopic(name, name.encode() * 16, n) for name, n in counts.items()}

    def get(self, name: str) -> FakeTopic | None:
        return self.topics.get(name)

    def racks(self, name: str) -> Iterable[str]:
        return ()

    def by_id(self, topic_id: bytes) -> FakeTopic | None:
        return next((one for one in self.topics.values() if one.topic_id == topic_id), None)

    def __iter__(self) -> Iterator[str]:
        return iter(self.topics)


class Coordinator:
    """A group coordinator with one group, `g`, and its log."""

    def __init__(self, **settings: Any) -> None:
        self.settings = GroupSettings(**settings)
        self.topics = FakeTopics(t=6, u=3)
        self.now_ms = 1_000_000
        self.uuids = count(1)
        self.tokens = count(1)
        self.answers: dict[object, Any] = {}
        self.log: list[StateRecord] = []
        self.coordinator = self.make()

    def make(self) -> GroupCoordinator:
        return GroupCoordinator(
            self.settings,
            self.topics,
            lambda: f"00000000-0000-0000-0000-{next(self.uuids):012}",
            lambda group_id: 0,
        )

    @property
    def has_group(self) -> bool:
        """Whether the group is there: an empty one goes when somebody joins in vain."""
        return "g" in self.coordinator.registry.groups

    @property
    def group(self) -> ClassicGroup | ConsumerGroup:
        return self.coordinator.registry.groups["g"]

    @property
    def consumer_group(self) -> ConsumerGroup:
        assert isinstance(self.group, ConsumerGroup)
        return self.group

    @property
    def classic_group(self) -> ClassicGroup:
        assert isinstance(self.group, ClassicGroup)
        return self.group

    def send(
        self, event: Callable[[Any, Caller, int], Effects], request: Any, version: int
    ) -> object:
        """Return the token under which the answer is, or will be."""
        token = next(self.tokens)
        self.take(event(request, Caller(version, "c", "/127.0.0.1", token), self.now_ms))
        return token

    def take(self, effects: Effects) -> None:
        self.log += effects.records
        for token, response in effects.replies:
            assert token not in self.answers
            self.answers[token] = response

    def advance(self, duration_ms: int) -> None:
        end_ms = self.now_ms + duration_ms
        while (
            next_ms := self.coordinator.timers.next_deadline_ms()
        ) is not None and next_ms <= end_ms:
            self.now_ms = max(self.now_ms, next_ms)
            for _, effects in self.coordinator.members.on_time(self.now_ms):
                self.take(effects)
        self.now_ms = end_ms

    def replayed(self) -> ClassicGroup | ConsumerGroup:
        """The group as a reader of the log has it."""
        return self.reader().registry.groups["g"]

    def reader(self) -> GroupCoordinator:
        """A coordinator that has read the log."""
        reader = self.make()
        reader.replay.batch(0, -1, [(record.key, record.value) for record in self.log])
        return reader


@dataclass
class ClassicClient:
    """A member that uses JoinGroup."""

    broker: Coordinator
    topics: tuple[str, ...] = ("t",)
    instance_id: str | None = None
    is_cooperative: bool = True
    member_id: str = ""
    generation: int = -1
    owned: set[Partition] = field(default_factory=set)
    has_to_join: bool = True
    waits_for: tuple[str, object] | None = None
    joined: Any = None
    errors: list[ErrorCode] = field(default_factory=list)

    @property
    def metadata(self) -> bytes:
        make_topic = messages.ConsumerProtocolSubscription.TopicPartition
        value = messages.ConsumerProtocolSubscription(
            topics=list(self.topics),
            owned_partitions=[
                make_topic(topic=topic, partitions=numbers)
                for topic, numbers in by_topic(self.owned).items()
            ],
            generation_id=self.generation,
        )
        return serialize_subscription(value, 3)

    def step(self) -> None:
        """Do what is next: read an answer, join, or send a heartbeat."""
        if self.waits_for is not None:
            kind, token = self.waits_for
            if token in self.broker.answers:
                self.waits_for = None
                answer = self.broker.answers[token]
                (self._joined if kind == "join" else self._synced)(answer)
        elif self.has_to_join:
            self.join()
        else:
            self.heartbeat()

    def read_answers(self) -> None:
        """Take over what was answered meanwhile."""
        while self.waits_for is not None and self.waits_for[1] in self.broker.answers:
            self.step()

    def join(self, version: int = 9, name: str = "range") -> Any:
        """Send a JoinGroup; return its answer if there is one yet."""
        if not self.is_cooperative:
            self.owned.clear()
        make_protocol = messages.JoinGroupRequest.JoinGroupRequestProtocol
        request = messages.JoinGroupRequest(
            group_id="g",
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocols=[make_protocol(name=name, metadata=self.metadata)],
        )
        token = self.broker.send(self.broker.coordinator.members.join, request, version)
        self.waits_for = ("join", token)
        return self.broker.answers.get(token)

    def _joined(self, answer: Any) -> None:
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
        elif answer.error_code:
            self._failed(answer.error_code)
        else:
            self.member_id = answer.member_id
            self.generation = answer.generation_id
            self.joined = answer
            self.sync()

    def sync(self) -> Any:
        """Send a SyncGroup, with assignments if it leads; return its answer if there is one yet."""
        make_assignment = messages.SyncGroupRequest.SyncGroupRequestAssignment
        leads = self.joined.leader == self.member_id and not self.joined.skip_assignment
        request = messages.SyncGroupRequest(
            group_id="g",
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocol_name=self.joined.protocol_name,
            assignments=[
                make_assignment(member_id=member_id, assignment=assignment)
                for member_id, assignment in (self._assignments() if leads else {}).items()
            ],
        )
        token = self.broker.send(self.broker.coordinator.members.sync, request, 5)
        self.waits_for = ("sync", token)
        return self.broker.answers.get(token)

    def _assignments(self) -> dict[str, bytes]:
        """Round robin, but nobody gets what another one still owns (KIP-429)."""
        said = {m.member_id: parse_subscription(m.metadata) for m in self.joined.members}
        owner = {
            (entry.topic, number): member_id
            for member_id, subscription in said.items()
            for entry in subscription.owned_partitions
            for number in entry.partitions
        }
        given: dict[str, set[Partition]] = {member_id: set() for member_id in said}
        turn = count()
        for topic in self.broker.topics.topics.values():
            members = [member_id for member_id in said if topic.name in said[member_id].topics]
            for number in range(topic.partition_count if members else 0):
                partition = (topic.name, number)
                member_id = members[next(turn) % len(members)]
                if owner.get(partition, member_id) == member_id:
                    given[member_id].add(partition)
        return {m: serialize_assignment(by_topic(partitions), 1) for m, partitions in given.items()}

    def _synced(self, answer: Any) -> None:
        if answer.error_code:
            self._failed(answer.error_code)
            return
        partitions, _ = parse_assignment(answer.assignment) if answer.assignment else ({}, b"")
        assigned = {(topic, number) for topic, numbers in partitions.items() for number in numbers}
        revoked = self.owned - assigned
        self.owned = assigned
        self.has_to_join = bool(revoked)

    def heartbeat(self) -> ErrorCode:
        request = messages.HeartbeatRequest(
            group_id="g",
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
        )
        token = self.broker.send(self.broker.coordinator.members.heartbeat, request, 4)
        code = ErrorCode(self.broker.answers[token].error_code)
        if code == ErrorCode.REBALANCE_IN_PROGRESS:
            self.has_to_join = True
        elif code:
            self._failed(code)
        return code

    def _failed(self, error_code: ErrorCode) -> None:
        self.errors.append(ErrorCode(error_code))
        self.has_to_join = True
        if error_code != ErrorCode.REBALANCE_IN_PROGRESS:
            self.generation = -1
            self.owned.clear()
            if error_code != ErrorCode.ILLEGAL_GENERATION:
                self.member_id = ""

    def leave(self) -> ErrorCode:
        make_member = messages.LeaveGroupRequest.MemberIdentity
        member = make_member(member_id=self.member_id, group_instance_id=self.instance_id)
        request = messages.LeaveGroupRequest(group_id="g", members=[member])
        token = self.broker.send(self.broker.coordinator.members.leave, request, 5)
        self.owned.clear()
        return ErrorCode(self.broker.answers[token].members[0].error_code)


@dataclass
class ConsumerClient:
    """A member that uses ConsumerGroupHeartbeat."""

    broker: Coordinator
    member_id: str
    topics: tuple[str, ...] = ("t",)
    instance_id: str | None = None
    epoch: int = 0
    owned: set[Partition] = field(default_factory=set)
    errors: list[ErrorCode] = field(default_factory=list)

    def step(self) -> Any:
        """Send a heartbeat that says what it owns, and do what the answer says."""
        message = messages.ConsumerGroupHeartbeatRequest
        topics = self.broker.topics
        request = message(
            group_id="g",
            member_id=self.member_id,
            member_epoch=self.epoch,
            instance_id=self.instance_id,
            rebalance_timeout_ms=REBALANCE_MS,
            subscribed_topic_names=list(self.topics),
            topic_partitions=[
                message.TopicPartitions(topic_id=topics.topics[topic].topic_id, partitions=numbers)
                for topic, numbers in by_topic(self.owned).items()
            ],
        )
        answer = self.send(request)
        if answer.error_code:
            self.errors.append(ErrorCode(answer.error_code))
            self.epoch = 0
            self.owned.clear()
            return answer
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            self.owned = {
                (topic.name, number)
                for entry in answer.assignment.topic_partitions
                if (topic := topics.by_id(entry.topic_id)) is not None
                for number in entry.partitions
            }
        return answer

    def leave(self, epoch: int = -1) -> ErrorCode:
        message = messages.ConsumerGroupHeartbeatRequest
        answer = self.send(
            message(
                group_id="g",
                member_id=self.member_id,
                member_epoch=epoch,
                instance_id=self.instance_id,
            )
        )
        self.owned.clear()
        self.epoch = 0
        return ErrorCode(answer.error_code)

    def send(self, request: Any) -> Any:
        """Send a heartbeat, and return the answer."""
        coordinator = self.broker.coordinator
        token = self.broker.send(coordinator.members.consumer_heartbeat, request, 1)
        return self.broker.answers[token]


Client = ClassicClient | ConsumerClient


def by_topic(partitions: set[Partition]) -> dict[str, list[int]]:
    grouped: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        grouped.setdefault(topic, []).append(number)
    return grouped


def settle(*clients: Client, rounds: int = 30) -> None:
    """Let the clients go on until nothing is left to do; no partition ever has two owners."""
    for _ in range(rounds):
        for client in clients:
            client.step()
            owned = [partition for one in clients for partition in one.owned]
            assert len(owned) == len(set(owned))
    broker = clients[0].broker
    assert broker.group.state.value == "Stable"
    topics = {topic for client in clients for topic in client.topics}
    wanted = {(t, n) for t in topics for n in range(broker.topics.topics[t].partition_count)}
    assert {partition for client in clients for partition in client.owned} == wanted


def classic_group(size: int = 2, **settings: Any) -> tuple[Coordinator, list[ClassicClient]]:
    """A stable classic group."""
    broker = Coordinator(**settings)
    clients = [ClassicClient(broker) for _ in range(size)]
    settle(*clients)
    return broker, clients


def mixed_group(**settings: Any) -> tuple[Coordinator, list[ClassicClient], ConsumerClient]:
    """A settled consumer group of two classic members and `n` that is none."""
    broker, clients = classic_group(**settings)
    new = ConsumerClient(broker, "n")
    settle(*clients, new)
    return broker, clients, new
