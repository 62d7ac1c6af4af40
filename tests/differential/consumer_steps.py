"""Random sequences of the KIP-848 consumer protocol."""

import random
from typing import Any, Final

from tests.differential.classic_steps import ClassicSteps
from tests.differential.coordinator_sequence import (
    CHANGING_TOPIC,
    LONG_MS,
    SHORT_REBALANCE_MS,
    Step,
)
from tests.differential.step_maker import StepMaker, Versions

ROUNDS_MAX: Final = 3
# sorts after every id that a broker makes up
MEMBER: Final = "~m"
INSTANCES: Final = ("i-k", "i-l")
SUBSCRIPTIONS: Final[tuple[tuple[str, ...], ...]] = (
    ("d6",),
    ("d6",),
    ("d12",),
    ("d6", "d12"),
    ("d1", "d3"),
    ("absent",),
    (),
)
# one topic that can be divided by every number of members, because it is not prescribed which of
# them get one more
SINGLE_SUBSCRIPTIONS: Final = (*(("d12",),) * 5, ("absent",), ())


class ConsumerSteps(StepMaker):
    """Members that make their own ids, so that assignors see the same order everywhere."""

    def __init__(
        self,
        source: random.Random,
        versions: Versions,
        *,
        waits: bool,
        slots: range = range(4),
        assignor: str | None = None,
    ) -> None:
        super().__init__(source, versions, waits=waits)
        self.group = "g0"
        self.slots = list(slots)[: source.choice((1, 2, 2, 3, 4))]
        self.instances = {
            slot: source.choice(INSTANCES) if source.random() < 0.3 else None for slot in self.slots
        }
        self.rebalance_ms = SHORT_REBALANCE_MS if waits else LONG_MS
        # one assignor and one subscription for all, mostly: then the assignment is prescribed
        self.assignor = assignor or source.choice(("range", "range", "uniform", None))
        # `uniform` goes by the random ids of topics where there are several
        self.subscriptions = SUBSCRIPTIONS if self.assignor == "range" else SINGLE_SUBSCRIPTIONS
        self.names: tuple[str, ...] = source.choice(self.subscriptions[:5])
        # with regular expressions epochs are not Kafka's, and so not which of them are of the past
        self.has_regexes = source.random() < 0.15
        self.old_epoch = "+1" if self.has_regexes else "-1"
        self.has_topics = self.assignor == "range" and source.random() < 0.25
        if self.has_topics:
            self.names = (*self.names, CHANGING_TOPIC)
        self._offsets = ClassicSteps(source, versions, waits=False, slots=slots)
        self._offsets.slots = self.slots
        self.delete_offsets = self._offsets.delete_offsets
        self.delete_group = self._offsets.delete_group
        self._offsets.instances = dict.fromkeys(self.slots)

    def make(self, length: int) -> list[Step]:
        """Make a sequence of about this many steps."""
        steps = self.enter_all() if self.chance(0.9) else []
        while len(steps) < length:
            steps += self.choose(
                [
                    (4, self.enter),
                    (8, self.rounds),
                    (9, self.one_heartbeat),
                    (4, self.change_subscription),
                    (5, self.leave),
                    (5, self.commit),
                    (4, self.fetch_offsets),
                    (3, self.describe),
                    (1, self.delete_offsets),
                    (1, self.delete_group),
                    (4, self.regex),
                    (5, self.change_topic),
                    (6, self.wait),
                ]
            )
        return [*steps, *self.probe()]

    def slot(self) -> int:
        """Any member."""
        return self.source.choice(self.slots)

    def heartbeat(self, slot: int, **changes: Any) -> Step:
        """One ConsumerGroupHeartbeat; a short one unless told otherwise."""
        args: dict[str, Any] = {
            "group": self.group,
            "who": f"{MEMBER}{slot}",
            "epoch": "known",
            "instance": self.instances[slot],
            "rack": None,
            "rebalance_ms": -1,
            "names": None,
            "regex": None,
            "assignor": None,
            "owned": "known",
        }
        first = 1 if changes.get("regex") is not None else 0
        return self.step("ConsumerGroupHeartbeat", slot, first=first, **{**args, **changes})

    def full(self, slot: int, **changes: Any) -> Step:
        """A heartbeat that joins."""
        joining: dict[str, Any] = {
            "epoch": 0,
            "rebalance_ms": self.rebalance_ms,
            "names": self.names,
            "assignor": self.assignor,
            "owned": "empty",
        }
        return self.heartbeat(slot, **{**joining, **changes})

    def enter(self) -> list[Step]:
        """One member joins."""
        return [self.full(self.slot())]

    def enter_all(self) -> list[Step]:
        """All members join, and come to rest."""
        return [*(self.full(slot) for slot in self.slots), *self.rounds()]

    def rounds(self) -> list[Step]:
        """Heartbeats of everyone, as often as it takes to hand partitions over, or less."""
        times = self.source.randint(1, ROUNDS_MAX)
        return [self.heartbeat(slot) for _ in range(times) for slot in self.slots]

    def one_heartbeat(self) -> list[Step]:
        """One heartbeat with something odd about it."""
        slot = self.slot()
        changes = self.source.choice(
            (
                {"epoch": self.old_epoch},
                {"epoch": "+1"},
                {"epoch": -3},
                {"epoch": 0},
                {"epoch": 0, "owned": "empty", "rebalance_ms": self.rebalance_ms},
                {"who": "ghost"},
                {"who": "none"},
                {"who": f"slot{self.slot()}"},
                {"instance": self.source.choice((None, *INSTANCES, "", "i-unknown"))},
                {"owned": "null"},
                {"owned": "empty"},
                {"owned": "first"},
                {"owned": "all"},
                {"rack": self.source.choice(("", "r1"))},
                {"group": self.source.choice(("g-missing", "g1"))},
                {"assignor": self.source.choice(("nonsense", self.assignor, ""))},
                {"rebalance_ms": 0},
                {"epoch": self.old_epoch, "owned": "first"},
            )
        )
        return [self.heartbeat(slot, **changes)]

    def change_subscription(self) -> list[Step]:
        """A member subscribes to something else, alone or with all the others."""
        if self.assignor != "range":
            # where subscriptions differ, what `uniform` gives to whom is not prescribed
            return self.rounds()
        names = self.source.choice(self.subscriptions)
        slots = self.slots if self.chance(0.4) else [self.slot()]
        if slots == self.slots:
            self.names = names
        return [self.heartbeat(slot, names=names) for slot in slots]

    def regex(self) -> list[Step]:
        """A member subscribes by a regular expression."""
        if not self.has_regexes:
            return []
        several = ("d[36]", "d1.*") if self.assignor == "range" else ("d12", "d12.*")
        pattern = self.source.choice((*several, "", "(", "absent.*"))
        beat = self.heartbeat(self.slot(), regex=pattern, settling=True)
        slots = [*self.slots, *self.slots, *self.slots]
        return [beat, *(self.heartbeat(slot, settling=True) for slot in slots)]

    def change_topic(self) -> list[Step]:
        """A topic that members subscribe to comes, grows or goes (G-84)."""
        if not self.has_topics:
            return []
        action = self.source.choice(("create", "create", "grow", "delete"))
        count = self.source.choice((1, 2)) if action == "create" else self.source.choice((2, 4))
        args = {"action": action, "name": CHANGING_TOPIC, "count": count}
        steps = [Step("Topic", args=args)]
        if self.chance(0.5):
            slot = self.slot()
            steps.append(self.heartbeat(slot, names=(*self.names, CHANGING_TOPIC)))
        return [*steps, *self.rounds()]

    def leave(self) -> list[Step]:
        """A member leaves, for good or for a while."""
        slot = self.slot()
        epoch = -2 if self.instances[slot] and self.chance(0.6) else -1
        if self.chance(0.1):
            epoch = -3 - epoch
        # five members could not share d12 evenly
        name = f"{MEMBER}{slot}b" if self.assignor == "range" else f"{MEMBER}{slot}"
        back = [self.full(slot, who=name)] if self.chance(0.4) else []
        return [self.heartbeat(slot, epoch=epoch), *back]

    def commit(self) -> list[Step]:
        """One OffsetCommit, mostly by a member."""
        slot = self.slot()
        by_member = self.chance(0.85)
        generation = self.source.choice(("+0",) * 5 + ("+1", self.old_epoch)) if by_member else None
        return [
            self.step(
                "OffsetCommit",
                slot,
                group=self.group,
                who="own" if by_member and self.chance(0.9) else "ghost" if by_member else "none",
                generation=generation,
                instance=None,
                # an epoch of -1 is nobody's, see ClassicSteps.commit
                offsets=self._offsets.offsets(sound=generation in (None, "-1")),
            )
        ]

    def fetch_offsets(self) -> list[Step]:
        """One OffsetFetch, maybe by a member."""
        return [
            self.step(
                "OffsetFetch",
                self.slot(),
                first=8,
                groups=(self.group,),
                topics=None if self.chance(0.5) else ("d6", "d12"),
                stable=self.chance(0.3),
                who=self.source.choice(("none", "own", "own", "ghost")),
                generation=self.source.choice(("+0", "+0", "+1", self.old_epoch)),
            )
        ]

    def describe(self) -> list[Step]:
        """Describe the group, as what it is or as what it is not."""
        api = "DescribeGroups" if self.chance(0.2) else "ConsumerGroupDescribe"
        return [self.step(api, groups=(self.group,))]

    def probe(self) -> list[Step]:
        """Ask for the whole state at the end."""
        return [
            self.step("ConsumerGroupDescribe", groups=(self.group,)),
            *(self.heartbeat(slot, who="own") for slot in self.slots),
            self.step("ConsumerGroupDescribe", groups=(self.group,)),
        ]


class MixedSteps(StepMaker):
    """Members of both protocols in one group: it moves from one to the other (G-106 to G-111).

    Only one of the classic members has an id that the broker makes up, because the order of ids
    decides who is assigned what.
    """

    def __init__(self, source: random.Random, versions: Versions, *, waits: bool) -> None:
        super().__init__(source, versions, waits=waits)
        self._classic = ClassicSteps(
            source, versions, waits=waits, slots=range(2), protocol_type="consumer"
        )
        self._classic.instances = {
            slot: "i-b" if slot else instance for slot, instance in self._classic.instances.items()
        }
        self._consumer = ConsumerSteps(
            source, versions, waits=waits, slots=range(2, 4), assignor="range"
        )
        self._classic.topics = self._consumer.names

    def make(self, length: int) -> list[Step]:
        """Make a sequence of about this many steps."""
        classic, consumer = self._classic, self._consumer
        steps = classic.enter_all() if self.chance(0.5) else consumer.enter_all()
        while len(steps) < length:
            steps += self.choose(
                [
                    (3, classic.enter_one),
                    (6, classic.round),
                    (4, classic.one_join),
                    (4, classic.one_sync),
                    (4, classic.one_heartbeat),
                    (3, classic.leave),
                    (2, classic.commit),
                    (2, classic.describe),
                    (1, classic.disconnect),
                    (4, consumer.enter),
                    (7, consumer.rounds),
                    (3, consumer.one_heartbeat),
                    (3, consumer.leave),
                    (2, consumer.commit),
                    (3, consumer.describe),
                    (4, self.wait),
                ]
            )
        return [*steps, *classic.probe(), *consumer.probe()]
