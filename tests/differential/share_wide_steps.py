"""Random steps of a share group that reads several topics, with all that can happen to it."""

import random
from typing import Any, Final

from tests.differential.share_differences import Step
from tests.differential.share_wide_side import LONG_LOCK_MS

MEMBERS: Final = ("a", "b")
STEPS: Final = 30
_ALL: Final = 10_000
"""Which topic is the first is not prescribed, so that a member has to get all of all topics."""
Said = list[tuple[int, int, list[int]]]


class WideScenario:
    """Random steps; later ones go by what Kafka answered to the ones before.

    Attributes:
        topics: how many the group reads.
        configs: of the group.
    """

    def __init__(self, seed: int) -> None:
        self.chance = chance = random.Random(seed)
        self.topics = chance.choice([1, 1, 2, 3])
        self._limit = chance.choice([2, 3, 5, 6, 10])
        self.configs = {
            "share.auto.offset.reset": "earliest",
            "share.delivery.count.limit": str(self._limit),
            "share.partition.max.record.locks": str(chance.choice([100, 2000])),
            "share.isolation.level": chance.choice(["read_committed", "read_uncommitted"]),
            "share.record.lock.duration.ms": str(LONG_LOCK_MS),
        }
        self._held: dict[str, list[tuple[int, int, int]]] = {each: [] for each in MEMBERS}
        self._ends = [1] * self.topics
        self._makers = {
            self._append: 3,
            self._transact: 3,
            self._take: 6,
            self._take_and_say: 2,
            self._exhaust: 1,
            self._lapse: 1,
            self._close: 1,
            self._begin: 1,
            self._leave: 1,
            self._move: 1,
            self._describe: 2,
            self._say: 9,
        }

    def next_step(self) -> Step:
        """Choose a step."""
        chance = self.chance
        make = chance.choices([*self._makers], [*self._makers.values()])[0]
        return make(chance.choice(MEMBERS), chance.randrange(self.topics))

    # -- records

    def _append(self, _: str, topic: int) -> Step:
        size = self.chance.choice([1, 2, 5, 10, 30])
        self._ends[topic] += size
        return "append", (size, topic)

    def _transact(self, _: str, topic: int) -> Step:
        size = self.chance.choice([1, 2, 5, 10])
        self._ends[topic] += size
        return "transact", (topic, size, self.chance.choice(["commit", "abort", "open"]))

    # -- members

    def _count(self) -> int:
        return self.chance.choice([1, 3, 10, 60, 500]) if self.topics == 1 else _ALL

    def _is_strict(self) -> bool:
        return self.chance.random() < 0.3

    def _take(self, member: str, _: int) -> Step:
        batch = self.chance.choice([1, 4, 500])
        return "take", (member, self._count(), batch, self._is_strict())

    def _take_and_say(self, member: str, topic: int) -> Step:
        name, arguments = self._take(member, topic)
        topic, said = self._said(member)
        # Kafka releases records beside the fetch, which then may get them or not
        said = [(first, last, [kind % 2 for kind in kinds]) for first, last, kinds in said]
        return name, (*arguments, (topic, said))

    def _exhaust(self, member: str, _: int) -> Step:
        kind = self.chance.choice([2, 2, 2, 1, 3])
        return "exhaust", (member, self._count(), kind, self._limit + 1)

    def _lapse(self, member: str, _: int) -> Step:
        return "lapse", (member, self._count(), self._is_strict())

    def _close(self, member: str, _: int) -> Step:
        topic, said = self._said(member)
        if self.chance.random() < 0.5:
            return "close_with", (member, topic, said)
        return "closed", (member, said)

    def _begin(self, member: str, topic: int) -> Step:
        if self.topics > 1 and self.chance.random() < 0.5:
            return "forget", (member, topic)
        return "begin", (member, self._count(), self._is_strict())

    def _leave(self, member: str, _: int) -> Step:
        return ("leave", (member,)) if self.chance.random() < 0.5 else ("leave_all", ())

    def _say(self, member: str, _: int) -> Step:
        topic, said = self._said(member)
        renews = self.chance.random() < 0.1
        if renews:
            said = [(first, last, [4]) for first, last, _ in said]
        return "say", (member, said, renews, topic)

    def _said(self, member: str) -> tuple[int, Said]:
        chance = self.chance
        held = self._held[member]
        if not held or chance.random() < 0.1:  # perhaps somebody else's, or nobody's
            topic = chance.randrange(self.topics)
            first = chance.randint(0, self._ends[topic])
            return topic, [(first, first + chance.randint(0, 8), [1])]
        topic, first, last = chance.choice(held)
        if chance.random() < 0.5:
            first = chance.randint(first, last)
            last = chance.randint(first, last)
        kinds = [chance.choice([0, 1, 1, 2, 2, 2, 3])]
        if chance.random() < 0.3:
            kinds = [chance.choice([0, 1, 1, 2, 2, 3]) for _ in range(last - first + 1)]
        return topic, [(first, last, kinds)]

    # -- offsets

    def _describe(self, _: str, __: int) -> Step:
        return "describe", ()

    def _move(self, _: str, topic: int) -> Step:
        offset = self.chance.randint(0, self._ends[topic])
        kind = self.chance.choice(["alter", "delete", "move", "move", "unset"])
        if kind == "delete":
            return "delete", (topic,)
        return ("move", (topic, None)) if kind == "unset" else (kind, (topic, offset))

    # -- answers

    def learn(self, step: Step, answer: Any) -> None:
        """Remember what a member has acquired; it may have acknowledged some of it by now."""
        name, arguments = step
        if name == "take" and isinstance(answer, dict):
            self._held[arguments[0]] += [
                (topic, first, last)
                for topic, (_, _, acquired) in answer.items()
                for first, last, _ in acquired
            ]
        elif name in {"closed", "close_with", "leave", "begin"}:
            self._held[arguments[0]].clear()
        elif name in {"leave_all", "move"}:
            for held in self._held.values():
                held.clear()
        elif name == "say" and self.chance.random() < 0.7:
            held = self._held[arguments[0]]
            if held:
                held.pop(0)
