"""What all generators of sequences share: a source of chance, and which versions there are."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from broker_lite.wire import messages
from tests.differential.coordinator_sequence import EARLY_S, LATE_S, Step

Act = Callable[[], list[Step]]
LAST: Final = 99


class Versions:
    """The versions of each api that both brokers serve."""

    def __init__(self, one: Mapping[int, tuple[int, int]], other: Mapping[int, tuple[int, int]]):
        self._ranges = {
            key: (max(one[key][0], other[key][0]), min(one[key][1], other[key][1]))
            for key in one.keys() & other.keys()
        }

    def pick(self, source: random.Random, api: str, first: int = 0, last: int = LAST) -> int:
        """A version of an api, within bounds where there is one; newer ones are likelier."""
        low, high = self._ranges[getattr(messages, f"{api}Request").api_key]
        low, high = min(max(low, first), high), max(min(high, last), low)
        return high if source.random() < 0.4 else source.randint(low, high)


class StepMaker:
    """Makes steps of one sequence."""

    def __init__(self, source: random.Random, versions: Versions, *, waits: bool) -> None:
        self.source = source
        self.versions = versions
        self.waits = waits
        self._late_waits = 0

    def chance(self, probability: float) -> bool:
        """Whether something of this probability happens."""
        return self.source.random() < probability

    def step(
        self, api: str, slot: int = 0, *, first: int = 0, last: int = LAST, **args: Any
    ) -> Step:
        """One request in some version within the bounds."""
        return Step(api, self.versions.pick(self.source, api, first, last), slot, args)

    def choose(self, acts: Sequence[tuple[int, Act]]) -> list[Step]:
        """What one of the acts makes, drawn by weight."""
        weights, makers = zip(*acts, strict=True)
        maker: Act = self.source.choices(makers, weights)[0]
        return maker()

    def wait(self) -> list[Step]:
        """Wait for less or for more than every timer of the sequence; twice long at most."""
        if not self.waits:
            return []
        late = self.chance(0.5) and self._late_waits < 2
        self._late_waits += late
        return [Step("Wait", args={"seconds": LATE_S if late else EARLY_S})]

    def sampled(self, items: Sequence[Any], most: int) -> list[Any]:
        """One to `most` of the items, in chance order."""
        return self.source.sample(items, self.source.randint(1, min(most, len(items))))
