"""On which of the matching requests a rule acts."""

import random
from collections.abc import Callable, Container
from functools import cached_property

from broker_lite.testbench.faults.rules import DELAY_MS_MAX, Lognormal, Rule


class Schedule:
    """Counts the requests that a rule matches, and decides on which of them it acts.

    A rule claims a request when it comes. The claim becomes a hit when the rule acts, which may be
    much later: an answer is spoiled when it is there. Otherwise the claim is given up.

    Attributes:
        seen: how many requests it was asked about.
        hits: on how many of them the rule acted.
        seed: of its decisions by chance.
        replay: numbers of the requests on which the rule acts, instead of what the rule says.
    """

    def __init__(self, rule: Rule, now_ms: Callable[[], float]) -> None:
        """Begin with no request.

        Args:
            rule: says how often it acts.
            now_ms: the time, for rules that end.
        """
        self._rule = rule
        self._count = rule.count or 1
        self._now_ms = now_ms
        self.seen = 0
        self.hits = 0
        self._claims = 0
        self.seed = random.getrandbits(32) if rule.seed is None else rule.seed
        self.replay: Container[int] | None = None
        self._ends_ms: float | None = None

    @property
    def left(self) -> int:
        """How often the rule will still act; -1 for as often as requests match."""
        if self.is_over:
            return 0
        return -1 if self._count < 0 else self._count - self.hits

    @property
    def is_over(self) -> bool:
        """True if the rule will not act any more."""
        return 0 <= self._count <= self.hits or self.ends_in_ms == 0

    @property
    def ends_in_ms(self) -> float | None:
        """How long it is until the rule ends by its time; None if it does not."""
        return None if self._ends_ms is None else max(self._ends_ms - self._now_ms(), 0)

    @cached_property
    def _random(self) -> random.Random:
        """Decides by chance; made when it is first needed, because that takes some time."""
        return random.Random(self.seed)  # noqa: S311

    @cached_property
    def _delays(self) -> random.Random:
        """The same for delays."""
        delay = self._rule.delay_ms
        own = delay.seed if isinstance(delay, Lognormal) else None
        return random.Random(self.seed if own is None else own)  # noqa: S311

    def begin(self) -> None:
        """Let the time of the rule run, if it has one."""
        if self._rule.for_ms is not None and self._ends_ms is None:
            self._ends_ms = self._now_ms() + self._rule.for_ms

    def pass_reason(self) -> str | None:
        """Count a matching request, and decide whether the rule claims it.

        Returns:
            None if the rule claims it, else the reason in words why it does not.
        """
        rule = self._rule
        if self.is_over or self._is_claimed:
            return "the rule is spent"
        self.seen += 1
        if self.replay is not None:
            if self.seen not in self.replay:
                return "it was not hit when it was recorded"
        elif self.seen <= rule.skip:
            return f"it is request {self.seen} of {rule.skip} that skip lets pass"
        elif (self.seen - rule.skip) % rule.every:
            return f"every {rule.every} lets it pass"
        elif rule.probability is not None and self._random.random() >= rule.probability:
            return f"the probability of {rule.probability} let it pass"
        self._claims += 1
        return None

    @property
    def _is_claimed(self) -> bool:
        """True if the claims will use up the rule; those that may come to nothing do not count."""
        return not self._rule.is_conditional and 0 <= self._count <= self.hits + self._claims

    def hit(self) -> bool:
        """Turn a claim into a hit; False if the rule is over meanwhile, and the claim given up."""
        self._claims -= 1
        if self.is_over:
            return False
        self.hits += 1
        return True

    def give_up(self) -> None:
        """Give up a claim: the rule does not act on that request after all."""
        self._claims -= 1

    def delay_ms(self) -> float:
        """Return how long the next answer is kept back."""
        delay = self._rule.delay_ms
        if isinstance(delay, Lognormal):
            drawn = delay.median * self._delays.lognormvariate(0, delay.sigma)
            return min(drawn, DELAY_MS_MAX)
        return delay or 0.0
