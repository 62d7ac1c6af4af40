"""Random sequences of transactional producers, in both flows (T-66)."""

import random
from typing import Any, Final

from tests.differential.coordinator_sequence import (
    LONG_MS,
    OWN_TOPIC,
    SHARED_TOPICS,
    SHORT_TRANSACTION_MS,
    Step,
)
from tests.differential.step_maker import StepMaker, Versions

IDS: Final = ("t0", "t1")
STATES: Final = ("Empty", "Ongoing", "CompleteCommit", "CompleteAbort", "nonsense")
# the versions of the first flow; Kafka says that it serves Produce from 0 on, and does from 3 on
FIRST_FLOW: Final = {"Produce": (3, 11), "TxnOffsetCommit": (0, 4), "EndTxn": (0, 4)}


class TransactionSteps(StepMaker):
    """Producers on slots; several may have the same transactional id."""

    def __init__(self, source: random.Random, versions: Versions, *, waits: bool) -> None:
        super().__init__(source, versions, waits=waits)
        self.slots = list(range(source.choice((1, 1, 2, 3))))
        self.ids = {slot: source.choice((IDS[0], IDS[0], IDS[1])) for slot in self.slots}
        # the second flow (KIP-890 part 2), the first, or both mixed in any way
        self.flow = source.choice((1, 2, 2, 0))
        self.timeout_ms = SHORT_TRANSACTION_MS if waits else LONG_MS
        self._values = 0
        # who commits offsets within transactions, where there is a group
        self.members = self.nobody

    def make(self, length: int) -> list[Step]:
        """Make a sequence of about this many steps."""
        steps = [self.init(slot) for slot in self.slots] if self.chance(0.9) else []
        while len(steps) < length:
            steps += self.choose(
                [
                    (6, self.transaction),
                    (6, self.add_partitions),
                    (9, self.one_produce),
                    (3, self.add_offsets),
                    (5, self.commit_offsets),
                    (7, self.one_end),
                    (3, self.one_init),
                    (1, self.marker),
                    (4, self.describe),
                    (2, self.fetch_offsets),
                    (3, self.look),
                    (1, self.plain_commit),
                    (6, self.wait),
                ]
            )
        return [*steps, *self.probe()]

    def slot(self) -> int:
        """Any producer."""
        return self.source.choice(self.slots)

    def bounds(self, api: str) -> dict[str, int]:
        """The versions of the flow of this sequence."""
        flow = self.flow or self.source.choice((1, 2))
        first, last = FIRST_FLOW[api]
        return {"first": first, "last": last} if flow == 1 else {"first": last + 1}

    def odd(self, probability: float = 0.1) -> dict[str, Any]:
        """A wrong producer id or epoch, seldom."""
        if not self.chance(probability):
            return {"epoch": 0, "ghost": False}
        return self.source.choice(
            (
                {"epoch": -1, "ghost": False},
                {"epoch": 1, "ghost": False},
                {"epoch": 0, "ghost": True},
            )
        )

    def name(self, slot: int, odd: float = 0.05) -> str | None:
        """The transactional id of a slot, seldom another."""
        return self.source.choice((*IDS, "t-unknown", "")) if self.chance(odd) else self.ids[slot]

    def init(self, slot: int, **changes: Any) -> Step:
        """One InitProducerId."""
        args: dict[str, Any] = {
            "id": self.ids[slot],
            "timeout_ms": self.timeout_ms,
            "recover": None,
            "epoch": 0,
        }
        return self.step("InitProducerId", slot, **{**args, **changes})

    def one_init(self) -> list[Step]:
        """One InitProducerId with something odd about it, maybe."""
        changes = self.source.choice(
            (
                {},
                {},
                {"recover": "known"},
                {"recover": "known", "epoch": -1},
                {"recover": "known", "epoch": 1},
                {"recover": "known", "ghost": True},
                {"recover": "no id"},
                {"recover": "no epoch"},
                {"id": None},
                {"id": ""},
                {"timeout_ms": 0},
                {"timeout_ms": 900_001},
            )
        )
        slot = self.slot()
        first = self.init(slot, **changes)
        # a transaction that was open is aborted first: the client asks again (T-21)
        return [first, self.init(slot)] if self.chance(0.4) else [first]

    def produce(self, slot: int, **changes: Any) -> Step:
        """One Produce of one batch."""
        self._values += 1
        args: dict[str, Any] = {
            "id": self.ids[slot],
            "topic": OWN_TOPIC,
            "partition": self.source.choice((0, 0, 1)),
            "count": self.source.choice((1, 1, 2)),
            "sequence": 0,
            "transactional": True,
            "acks": -1,
            "value": f"v{self._values}",
            **self.odd(0.0),
        }
        return self.step("Produce", slot, **self.bounds("Produce"), **{**args, **changes})

    def one_produce(self) -> list[Step]:
        """One Produce with something odd about it, maybe."""
        slot = self.slot()
        changes: dict[str, Any] = {**self.odd(), "id": self.name(slot)}
        if self.chance(0.06):
            # with an epoch of the future the partition would refuse the markers to come, and Kafka
            # gives up on such a transaction: it stays in PrepareCommit until a restart
            changes |= {"transactional": False, "id": None, "epoch": min(changes["epoch"], 0)}
        if self.chance(0.04):
            changes["id"] = None
        if self.chance(0.08):
            changes["sequence"] = self.source.choice((-1, 1, 5))
        if self.chance(0.1):
            changes["acks"] = 1
        return [self.produce(slot, **changes)]

    def add_partitions(self) -> list[Step]:
        """One AddPartitionsToTxn."""
        slot = self.slot()
        partitions = self.source.choice(((0,), (0, 1), (1,), (0, 7)))
        topics: tuple[tuple[str, tuple[int, ...]], ...] = ((OWN_TOPIC, partitions),)
        if self.chance(0.08):
            topics = (*topics, ("unknown", (0,)))
        return [
            self.step(
                "AddPartitionsToTxn",
                slot,
                **({"last": 3} if self.chance(0.85) else {"first": 4}),
                id=self.name(slot),
                topics=topics,
                verify=self.chance(0.5),
                **self.odd(),
            )
        ]

    def add_offsets(self) -> list[Step]:
        """One AddOffsetsToTxn."""
        slot = self.slot()
        return [
            self.step("AddOffsetsToTxn", slot, id=self.name(slot), group=self.group(), **self.odd())
        ]

    def group(self) -> str:
        """A group for offsets."""
        return self.source.choice(("g0", "g0", "g0", "g1"))

    def commit_offsets(self, *, is_plain: bool = False) -> list[Step]:
        """One TxnOffsetCommit, mostly by nobody in particular."""
        slot = self.slot()
        member = self.members(slot) if self.chance(0.6) else self.nobody(slot)
        topics = self.sampled((*SHARED_TOPICS, "unknown"), 2)
        bounds = self.bounds("TxnOffsetCommit")
        return [
            self.step(
                "TxnOffsetCommit",
                slot,
                **bounds,
                id=self.ids[slot] if is_plain else self.name(slot),
                group=self.group(),
                **member,
                offsets=tuple(
                    (topic, 0, self.source.randint(0, 99), -1, self.source.choice(("", "note")))
                    for topic in topics
                ),
                **self.odd(0.0 if is_plain else 0.1),
            )
        ]

    def nobody(self, slot: int) -> dict[str, Any]:
        """Who commits offsets: nobody in particular, seldom an unknown member."""
        if self.chance(0.1):
            return {"member": slot, "who": "ghost", "generation": 0, "instance": None}
        return {"member": slot, "who": "none", "generation": None, "instance": None}

    def plain_commit(self) -> list[Step]:
        """One OffsetCommit beside the transactions."""
        return [
            self.step(
                "OffsetCommit",
                group=self.group(),
                who="none",
                generation=None,
                instance=None,
                offsets=((self.source.choice(list(SHARED_TOPICS)), 0, 1, -1, "plain"),),
            )
        ]

    def end(self, slot: int, **changes: Any) -> Step:
        """One EndTxn."""
        args: dict[str, Any] = {
            "id": self.ids[slot],
            "commit": self.chance(0.6),
            **self.odd(0.0),
        }
        return self.step("EndTxn", slot, **self.bounds("EndTxn"), **{**args, **changes})

    def one_end(self) -> list[Step]:
        """One EndTxn with something odd about it, maybe; sometimes sent twice (T-48)."""
        slot = self.slot()
        end = self.end(slot, id=self.name(slot), **self.odd(0.15))
        return [end, end] if self.chance(0.1) else [end]

    def transaction(self) -> list[Step]:
        """A whole transaction as a client makes it."""
        slot = self.slot()
        steps: list[Step] = []
        if self.flow != 2:
            steps.append(
                self.step(
                    "AddPartitionsToTxn",
                    slot,
                    last=3,
                    id=self.ids[slot],
                    topics=((OWN_TOPIC, (0, 1)),),
                    verify=False,
                    **self.odd(0.0),
                )
            )
        steps += [self.produce(slot) for _ in range(self.source.randint(1, 3))]
        if self.chance(0.4):
            if self.flow != 2:
                steps += self.add_offsets()
            steps += self.commit_offsets(is_plain=True)
        return [*steps, self.end(slot)]

    def marker(self) -> list[Step]:
        """One WriteTxnMarkers, as an admin client sends it."""
        odd = self.odd(0.3)
        # not of the future, see one_produce
        odd["epoch"] = min(odd["epoch"], 0)
        return [
            self.step(
                "WriteTxnMarkers",
                self.slot(),
                commit=self.chance(0.3),
                topic=OWN_TOPIC if self.chance(0.9) else "unknown",
                partitions=(self.source.choice((0, 1, 9)),),
                # one above Kafka's own would fence its coordinator, for good
                coordinator_epoch=self.source.choice((0, 0, -1)),
                flow=self.source.choice((0, 2)),
                **odd,
            )
        ]

    def describe(self) -> list[Step]:
        """Describe or list transactions, or the producers of a topic."""
        kind = self.source.choice(("Transactions", "Transactions", "List", "Producers"))
        if kind == "Transactions":
            return [self.step("DescribeTransactions", ids=(*IDS, "t-unknown"))]
        if kind == "Producers":
            topic = OWN_TOPIC if self.chance(0.9) else "unknown"
            return [self.step("DescribeProducers", topic=topic)]
        states = tuple(self.sampled(STATES, 2)) if self.chance(0.6) else ()
        return [self.step("ListTransactions", first=2, states=states, duration=-1, pattern="t.*")]

    def fetch_offsets(self) -> list[Step]:
        """One OffsetFetch, stable or not."""
        return [
            self.step(
                "OffsetFetch",
                first=7,
                groups=("g0",),
                topics=tuple(SHARED_TOPICS),
                stable=self.chance(0.6),
                who="none",
                generation=None,
            )
        ]

    def look(self) -> list[Step]:
        """Read the topic in both isolation levels."""
        return [Step("Look")]

    def probe(self) -> list[Step]:
        """Ask for the whole state at the end."""
        stable = self.step(
            "OffsetFetch",
            first=8,
            groups=("g0", "g1"),
            topics=tuple(SHARED_TOPICS),
            stable=True,
            who="none",
            generation=None,
        )
        return [
            self.step("DescribeTransactions", ids=IDS),
            Step("Look"),
            self.step("DescribeProducers", topic=OWN_TOPIC),
            stable,
        ]
