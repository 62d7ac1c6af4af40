"""Random sequences of the classic group protocol, and of the offsets of any group."""

import random
from typing import Any, Final

from tests.differential.coordinator_sequence import (
    LONG_MS,
    SHARED_TOPICS,
    SHORT_REBALANCE_MS,
    SHORT_SESSION_MS,
    Step,
)
from tests.differential.group_requests import CONSUMER, TOO_LONG
from tests.differential.step_maker import StepMaker, Versions

INSTANCES: Final = ("i-a", "i-b")


class ClassicSteps(StepMaker):
    """Members on slots, some of them static, that mostly do what clients do.

    Args:
        protocol_type: of the joins; from `consumer` groups others than classic may come.
        slots: of the members.
    """

    def __init__(
        self,
        source: random.Random,
        versions: Versions,
        *,
        waits: bool,
        slots: range = range(4),
        protocol_type: str | None = None,
    ) -> None:
        super().__init__(source, versions, waits=waits)
        count = source.choice((1, 2, 2, 3, 3, len(slots)))
        self.slots = list(slots)[:count]
        self.group = "g0"
        # in a group of both protocols Kafka answers some of its joins when it cannot read metadata
        self.may_be_unreadable = protocol_type is None
        self.protocol_type = protocol_type or source.choice((CONSUMER, CONSUMER, "connect"))
        self.instances = {
            slot: source.choice(INSTANCES) if source.random() < 0.35 else None
            for slot in self.slots
        }
        self.session_ms = SHORT_SESSION_MS if waits else LONG_MS
        self.rebalance_ms = SHORT_REBALANCE_MS if waits else LONG_MS
        self.topics: tuple[str, ...] = ("d1", "d6")
        self._variants = dict.fromkeys(self.slots, 0)

    def make(self, length: int) -> list[Step]:
        """Make a sequence of about this many steps."""
        steps = self.enter_all() if self.chance(0.7) else []
        while len(steps) < length:
            steps += self.choose(
                [
                    (5, self.enter_one),
                    (5, self.round),
                    (9, self.one_join),
                    (9, self.one_sync),
                    (7, self.one_heartbeat),
                    (5, self.leave),
                    (5, self.commit),
                    (4, self.fetch_offsets),
                    (1, self.delete_offsets),
                    (1, self.delete_group),
                    (3, self.describe),
                    (1, self.disconnect),
                    (6, self.wait),
                ]
            )
        return [*steps, *self.probe()]

    def slot(self) -> int:
        """Any member."""
        return self.source.choice(self.slots)

    def who(self, odd: float = 0.12) -> str:
        """Whom a member says it is: itself, unless something odd happens."""
        if not self.chance(odd):
            return "own"
        return self.source.choice(("none", "ghost", "old", f"slot{self.slot()}"))

    def instance(self, slot: int, odd: float = 0.08) -> str | None:
        """Its instance id, unless something odd happens."""
        if not self.chance(odd):
            return self.instances[slot]
        return self.source.choice((None, *INSTANCES, "i-unknown"))

    def generation(self, odd: float = 0.1) -> int | None:
        """The difference to the known generation, or none at all."""
        return self.source.choice((-1, 1, None)) if self.chance(odd) else 0

    def join(self, slot: int, who: str, instance: str | None = None, **changes: Any) -> Step:
        """One JoinGroup."""
        args: dict[str, Any] = {
            "group": self.group,
            "who": who,
            "instance": instance,
            "session_ms": self.session_ms,
            "rebalance_ms": self.rebalance_ms,
            "type": self.protocol_type,
            "topics": self.topics,
            "protocols": (("range", 1, self._variants[slot]),),
        }
        # static membership needs version 5
        first = 5 if instance else 0
        return self.step("JoinGroup", slot, first=first, **{**args, **changes})

    def enter(self, slot: int) -> list[Step]:
        """A member arrives as a client does: without an id, then with the one it was given."""
        instance = self.instances[slot]
        joins = [self.join(slot, "none", instance)]
        if instance is None and self.chance(0.8):
            joins.append(self.join(slot, "own"))
        return joins

    def enter_one(self) -> list[Step]:
        """One member arrives."""
        return self.enter(self.slot())

    def enter_all(self) -> list[Step]:
        """All members arrive, and get their assignments."""
        return [*(step for slot in self.slots for step in self.enter(slot)), *self.round()]

    def round(self) -> list[Step]:
        """All members join again and fetch their assignments, in any order."""
        slots = self.source.sample(self.slots, len(self.slots))
        joins = [self.join(slot, "own", self.instances[slot]) for slot in slots]
        self.source.shuffle(slots)
        return [*joins, *(self.sync(slot) for slot in slots)]

    def one_join(self) -> list[Step]:
        """One JoinGroup with something odd about it, maybe."""
        slot = self.slot()
        changes: dict[str, Any] = {}
        if self.chance(0.3):
            self._variants[slot] += 1
        if self.chance(0.25):
            changes["protocols"] = self.source.choice(
                (
                    (),
                    (("roundrobin", 1, 0), ("range", 1, self._variants[slot])),
                    (("range", 1, 0), ("sticky", 3, 1)),
                    (("other", 1, 0),),
                    (("range", -1 if self.may_be_unreadable else 1, 7),),
                )
            )
        if self.chance(0.06):
            changes["type"] = self.source.choice(("", "other", CONSUMER))
        if self.chance(0.04):
            changes["session_ms"] = self.source.choice((0, 10_000_000))
        return [self.join(slot, self.who(0.2), self.instance(slot), **changes)]

    def sync(self, slot: int, **changes: Any) -> Step:
        """One SyncGroup."""
        args: dict[str, Any] = {
            "group": self.group,
            "who": "own",
            "generation": 0,
            "instance": self.instances[slot],
            "type": "known",
            "protocol": "known",
            "assign": "all",
        }
        return self.step("SyncGroup", slot, **{**args, **changes})

    def one_sync(self) -> list[Step]:
        """One SyncGroup with something odd about it, maybe."""
        slot = self.slot()
        changes: dict[str, Any] = {
            "who": self.who(),
            "generation": self.generation(),
            "instance": self.instance(slot),
            "assign": self.source.choice(("all", "all", "some", "none", "ghost")),
        }
        if self.chance(0.08):
            changes[self.source.choice(("type", "protocol"))] = self.source.choice((None, "other"))
        return [self.sync(slot, **changes)]

    def one_heartbeat(self) -> list[Step]:
        """One Heartbeat."""
        slot = self.slot()
        return [
            self.step(
                "Heartbeat",
                slot,
                group=self.group if self.chance(0.96) else "g-missing",
                who=self.who(),
                generation=self.generation(),
                instance=self.instance(slot),
            )
        ]

    def leave(self) -> list[Step]:
        """One LeaveGroup, of one member or more."""
        slot = self.slot()
        count = self.source.choice((1, 1, 1, 2))
        members = []
        for _ in range(count):
            instance = self.instance(slot)
            who = "none" if instance and self.chance(0.4) else self.who(0.25)
            members.append((who, instance))
        return [self.step("LeaveGroup", slot, group=self.group, members=tuple(members))]

    def offsets(self, *, sound: bool) -> tuple[tuple[str, int, int, int, str | None], ...]:
        """What to commit; if it is sound, its metadata is not too long."""
        topics = self.sampled((*SHARED_TOPICS, "unknown"), 3)
        return tuple(
            (
                topic,
                self.source.choice((0, 0, 1)),
                self.source.choice((0, 7, 100, -5)),
                self.source.choice((-1, 3)),
                self.source.choice(("", "note", None, "" if sound else TOO_LONG)),
            )
            for topic in topics
        )

    def commit(self) -> list[Step]:
        """One OffsetCommit, by a member or by nobody."""
        slot = self.slot()
        by_member = self.chance(0.7)
        generation = self.generation() if by_member else None
        return [
            self.step(
                "OffsetCommit",
                slot,
                group=self.source.choice((self.group,) * 6 + ("g1",)),
                who=self.who() if by_member else "none",
                generation=generation,
                instance=self.instance(slot) if by_member else None,
                # a commit of nobody that is refused altogether leaves an empty group in Kafka, but
                # only in memory: after a restart it is gone, and here it never is there
                offsets=self.offsets(sound=generation is None),
            )
        ]

    def fetch_offsets(self) -> list[Step]:
        """One OffsetFetch, of some topics or of all."""
        topics = None if self.chance(0.4) else tuple(self.sampled((*SHARED_TOPICS, "unknown"), 3))
        return [
            self.step(
                "OffsetFetch",
                self.slot(),
                first=2 if topics is None else 0,
                groups=self.source.choice(((self.group,), (self.group, "g1"), ("g-missing",))),
                topics=topics,
                stable=self.chance(0.5),
                who=self.source.choice(("none", "none", "own", "ghost")),
                generation="+0",
            )
        ]

    def delete_offsets(self) -> list[Step]:
        """One OffsetDelete."""
        offsets = tuple((topic, 0) for topic in self.sampled((*SHARED_TOPICS, "unknown"), 3))
        group = self.source.choice((self.group, self.group, "g1", "g-missing"))
        return [self.step("OffsetDelete", group=group, offsets=offsets)]

    def delete_group(self) -> list[Step]:
        """One DeleteGroups."""
        groups = self.source.choice(((self.group,), ("g1",), (self.group, "g-missing")))
        return [self.step("DeleteGroups", groups=groups)]

    def describe(self) -> list[Step]:
        """Describe or list groups."""
        if self.chance(0.08):
            states = self.source.choice(((), ("Stable",), ("Empty", "nonsense")))
            types = self.source.choice(((), ("classic",), ("consumer",)))
            return [self.step("ListGroups", states=states, types=types)]
        api = "ConsumerGroupDescribe" if self.chance(0.15) else "DescribeGroups"
        return [self.step(api, groups=(self.group, "g1"))]

    def disconnect(self) -> list[Step]:
        """A client dies with what it has open."""
        return [Step("Disconnect", slot=self.slot())]

    def probe(self) -> list[Step]:
        """Ask for the whole state at the end."""
        beats = [
            self.step(
                "Heartbeat",
                slot,
                group=self.group,
                who="own",
                generation=0,
                instance=self.instances[slot],
            )
            for slot in self.slots
        ]
        fetches = self.step(
            "OffsetFetch",
            first=8,
            groups=(self.group, "g1"),
            topics=None,
            stable=False,
            who="none",
            generation=None,
        )
        return [self.step("DescribeGroups", groups=(self.group, "g1")), *beats, fetches]
