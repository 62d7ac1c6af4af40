"""What a broker told the members and producers of a sequence, and names for the ids it made up."""

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from tests.differential.coordinator_sequence import Step

UUID: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_MADE_MEMBER: Final = re.compile(rf"([\w.]*)-({UUID})")
_BARE_MEMBER: Final = re.compile(r"[A-Za-z0-9_-]{22}")
GHOST_PRODUCER_ID: Final = 9_000_000_000


class Names:
    """Ids by name: what is made up by a broker is numbered in the order of its appearance.

    A classic member id begins with the client id or instance id, so those are counted per prefix.
    """

    def __init__(self, tag: str) -> None:
        self._tag = tag
        self._known: dict[str, str] = {}
        self._counts: Counter[str] = Counter()
        self._producers: dict[int, str] = {-1: "-1", GHOST_PRODUCER_ID: "ghost"}
        self.topics: dict[bytes, str] = {}

    def text(self, raw: str) -> str:
        """A text of an answer, with names instead of ids."""
        if raw in self._known:
            return self._known[raw]
        named = _MADE_MEMBER.sub(lambda match: self._member(match[0], match[1]), raw)
        return named.replace(self._tag, "")

    def learn_member(self, raw: str, slot: int) -> None:
        """Name a member id that a slot was given; those of consumer groups have no prefix."""
        if _BARE_MEMBER.fullmatch(raw):
            self._member(raw, f"s{slot}")
        else:
            self.text(raw)

    def producer(self, producer_id: int) -> str:
        """A producer id's name."""
        return self._producers.setdefault(producer_id, f"P{len(self._producers) - 2}")

    def topic(self, topic_id: bytes) -> str:
        """The name of a topic, by its id."""
        return self.topics.get(topic_id, "zero" if not any(topic_id) else "another topic")

    def _member(self, raw: str, prefix: str) -> str:
        if raw not in self._known:
            self._counts[prefix] += 1
            self._known[raw] = f"{prefix}#{self._counts[prefix]}"
        return self._known[raw]


@dataclass(slots=True)
class Member:
    """What the member of one slot knows.

    Attributes:
        ids: its member ids, the current one last.
        leads: raw ids of all members, when it was told to assign.
        epoch: the KIP-848 member epoch.
        owned: the partitions it was last told to have, by topic id.
    """

    ids: list[str] = field(default_factory=list)
    generation: int = 1
    protocol_type: str | None = None
    protocol_name: str | None = None
    leads: list[str] = field(default_factory=list)
    epoch: int = 0
    owned: dict[bytes, list[int]] = field(default_factory=dict)

    @property
    def current_id(self) -> str:
        """Its member id, empty before it has one."""
        return self.ids[-1] if self.ids else ""

    def take_id(self, raw: str) -> None:
        """Go on with this id."""
        if raw and (not self.ids or self.ids[-1] != raw):
            self.ids.append(raw)


@dataclass(slots=True)
class Producer:
    """What the producer of one slot knows; sequences are per partition and of the epoch."""

    producer_id: int = -1
    epoch: int = -1
    sequences: dict[tuple[str, int], int] = field(default_factory=dict)

    def take(self, producer_id: int, epoch: int) -> None:
        """Go on with this id and epoch; a new pair starts at sequence 0."""
        if producer_id >= 0 and (producer_id, epoch) != (self.producer_id, self.epoch):
            self.producer_id, self.epoch = producer_id, epoch
            self.sequences = {}


class Memory:
    """All that one broker told one sequence."""

    def __init__(self, tag: str, topic_ids: dict[str, bytes]) -> None:
        self.tag = tag
        self.names = Names(tag)
        self.topic_ids = topic_ids
        self.names.topics = {raw: name.replace(tag, "") for name, raw in topic_ids.items()}
        self.members = [Member() for _ in range(6)]
        self.producers = [Producer() for _ in range(4)]

    def learn_topic(self, name: str, topic_id: bytes) -> None:
        """A topic was created, maybe once more."""
        old = self.topic_ids.get(self.topic(name))
        if old is not None and old != topic_id:
            self.names.topics[old] = f"old {name}"
        self.topic_ids[self.topic(name)] = topic_id
        self.names.topics[topic_id] = name

    def own(self, name: str) -> str:
        """The full name of a group, topic or transactional id that belongs to the sequence."""
        return f"{self.tag}{name}"

    def topic(self, name: str) -> str:
        """The full name of a topic: shared ones, and such that nobody has, go by the short one."""
        return self.own(name) if name.startswith("own") else name

    def member_id(self, step: Step, who: str) -> str:
        """Who a step says it is.

        Args:
            step: whose slot asks.
            who: `own`, `none`, `ghost`, `old` (the id before the current one), `slot2`, or the
                id itself.
        """
        member = self.members[step.slot]
        if who == "own":
            return member.current_id
        if who == "none":
            return ""
        if who == "old":
            return member.ids[-2] if len(member.ids) > 1 else "ghost"
        if who.startswith("slot"):
            return self.members[int(who[4:])].current_id
        return who

    def learn(self, step: Step, answer: Any) -> None:
        """Take from an answer what its slot goes on with."""
        learner = _LEARNERS.get(step.api)
        if learner is not None:
            learner(self, step, answer)


def _learn_join(memory: Memory, step: Step, answer: Any) -> None:
    member = memory.members[step.slot]
    if answer.error_code in (0, 79):
        member.take_id(answer.member_id)
    if answer.error_code == 0:
        member.generation = answer.generation_id
        member.protocol_type, member.protocol_name = answer.protocol_type, answer.protocol_name
        if member.protocol_type is None:
            member.protocol_type = step.args["type"]
        member.leads = [one.member_id for one in answer.members]


def _learn_consumer_heartbeat(memory: Memory, step: Step, answer: Any) -> None:
    member = memory.members[step.slot]
    if answer.error_code != 0:
        return
    member.take_id(answer.member_id or "")
    member.epoch = max(answer.member_epoch, 0)
    if answer.assignment is not None:
        member.owned = {
            topic.topic_id: list(topic.partitions) for topic in answer.assignment.topic_partitions
        }
    elif answer.member_epoch == -1:
        member.owned = {}


def _learn_producer(memory: Memory, step: Step, answer: Any) -> None:
    if answer.error_code == 0:
        memory.producers[step.slot].take(answer.producer_id, answer.producer_epoch)


def _learn_produce(memory: Memory, step: Step, answer: Any) -> None:
    if step.args["sequence"] != 0:
        return
    producer = memory.producers[step.slot]
    for topic in answer.responses:
        for partition in topic.partition_responses:
            if partition.error_code == 0:
                key = step.args["topic"], partition.index
                producer.sequences[key] = producer.sequences.get(key, 0) + step.args["count"]


_LEARNERS: Final = {
    "JoinGroup": _learn_join,
    "ConsumerGroupHeartbeat": _learn_consumer_heartbeat,
    "InitProducerId": _learn_producer,
    "EndTxn": _learn_producer,
    "Produce": _learn_produce,
}
