"""One rule that is in force: what it has hit and nearly hit, and what it holds."""

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

import anyio
import msgspec

from broker_lite.handler.context import CloseConnection
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.facts import Facts, api_name
from broker_lite.testbench.faults.problems import CannotApply
from broker_lite.testbench.faults.rules import Lognormal, Rule
from broker_lite.testbench.faults.schedule import Schedule
from broker_lite.testbench.selectors import Matcher, Mismatch

HELD_MAX: Final = 10_000
_MISSES_KEPT: Final = 64
_NEAR: Final = 3
_REASONS_KEPT: Final = 3


class FaultState(msgspec.Struct, omit_defaults=True, kw_only=True):
    """What is known of a rule.

    Attributes:
        id: its id.
        rule: as it was given.
        hits: on how many requests it acted, or on how many clients or calls of the disk.
        left: on how many it will act; -1 for all.
        held: how many requests it holds now, or how many clients it leaves hanging.
        near: without a hit, the recent requests that it nearly matched, with what was missing.
        not_applied: how many requests it matched but could not act on; these are no hits.
        reasons: why not, the last ones.
        seed: of its decisions by chance.
    """

    id: str
    rule: Rule
    hits: int
    left: int
    held: int
    near: list[str]
    not_applied: int = 0
    reasons: list[str] = []
    seed: int | None = None


class _Miss(NamedTuple):
    """A request on which the rule did not act, or a client that connected, or a call of the disk.

    Attributes:
        api_key: of the request; None if it was none.
        client: id of the client; of what is no request, its description.
        mismatches: the selectors that it did not meet.
        reason: why not, if it met all of them.
    """

    api_key: int | None
    client: str
    mismatches: tuple[Mismatch, ...]
    reason: str

    def in_words(self) -> str:
        """Tell why not."""
        why = self.reason or "; ".join(each.in_words() for each in self.mismatches)
        if self.api_key is None:
            return f"{self.client}: {why}"
        client = f" from client {self.client}" if self.client else ""
        return f"{api_name(self.api_key)}{client}: {why}"


class Waiting:
    """Requests that wait in a fault; all faults share one bound.

    Attributes:
        count: of all faults.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self.count = 0


class Fault:
    """A rule that is in force.

    Attributes:
        id: its id.
        rule: as it was given.
        matcher: of its selectors.
        schedule: of its hits.
        is_armed: whether it acts yet; one that comes after another rule does not at first.
        is_removed: whether it was removed.
        hanging: how many clients it leaves without a word.
    """

    def __init__(
        self, fault_id: str, rule: Rule, at: str, now_ms: Callable[[], float], waiting: Waiting
    ) -> None:
        """Make a rule ready.

        Args:
            fault_id: its id.
            rule: checked.
            at: its place in what a caller sent.
            now_ms: the time.
            waiting: shared by all faults.
        """
        self.id = fault_id
        self.rule = rule
        self.matcher = Matcher(rule, at)
        self.schedule = Schedule(rule, now_ms)
        self.is_armed = False
        self.is_removed = False
        self.hanging = 0
        self._waiting = waiting
        self._held: dict[anyio.Event, None] = {}
        self._silent: dict[anyio.Event, None] = {}
        self._removed = anyio.Event()
        self._waiters: set[anyio.Event] = set()
        self._misses: deque[_Miss] = deque(maxlen=_MISSES_KEPT)
        self._not_applied = 0
        self._reasons: deque[str] = deque(maxlen=_REASONS_KEPT)

    @property
    def hits(self) -> int:
        """On how many requests it acted."""
        return self.schedule.hits

    @property
    def held(self) -> int:
        """How many requests it holds, or has silenced, or clients it leaves hanging."""
        return len(self._held) + len(self._silent) + self.hanging

    @property
    def is_over(self) -> bool:
        """True if it will not act any more."""
        return self.is_removed or self.schedule.is_over

    def arm(self) -> None:
        """Let it act from now on."""
        self.is_armed = True
        self.schedule.begin()

    def claims(self, facts: Facts) -> bool:
        """Count a request; True if the rule claims it.

        The caller then calls hit() or give_up().
        """
        if self.hits:
            if not self.matcher.matches(facts):
                return False
        elif misses := self.matcher.mismatches(facts):
            self.miss(facts, misses, "")
            return False
        reason = self.schedule.pass_reason()
        if reason is not None:
            if not self.hits:
                self.miss(facts, (), reason)
            return False
        return True

    def hit(self) -> bool:
        """Count that the rule acts on what it has claimed; False if it is over meanwhile."""
        if self.is_removed:
            self.schedule.give_up()
            return False
        return self.schedule.hit()

    def give_up(self, reason: str | None = None) -> None:
        """Note that the rule does not act on a request that it has claimed.

        Args:
            reason: why it could not; None if it was not its turn after all.
        """
        self.schedule.give_up()
        if reason is not None:
            self._not_applied += 1
            self._reasons.append(reason)

    def takes(self, facts: Facts) -> bool:
        """Count a client that connects, or a call of the disk; True if the rule acts on it.

        Any thread may call it, one at a time. Only the event loop's may call wake(), which has to
        follow.
        """
        return self.claims(facts) and self.hit()

    def wake(self) -> None:
        """Let callers look that wait for hits."""
        for waiter in self._waiters:
            waiter.set()

    def miss(self, facts: Facts, mismatches: tuple[Mismatch, ...], reason: str) -> None:
        """Note a request on which the rule did not act, and why not."""
        if self.rule.is_of_requests:
            miss = _Miss(facts.request.api_key, facts.client_id, mismatches, reason)
        else:
            miss = _Miss(None, str(facts), mismatches, reason)
        self._misses.append(miss)

    def near(self) -> list[str]:
        """Tell the last requests that missed by the fewest selectors; nothing after a hit."""
        if self.hits:
            return []
        if not self.is_armed:
            return [f"it waits for rule {self.rule.after} to be spent"]
        told: dict[str, None] = {}
        recent = list(self._misses)[::-1]
        for miss in sorted(recent, key=lambda each: len(each.mismatches)):
            told[miss.in_words()] = None
            if len(told) == _NEAR:
                break
        return list(told)

    def state(self) -> FaultState:
        """Return what is known of it."""
        by_chance = self.rule.probability is not None or isinstance(self.rule.delay_ms, Lognormal)
        return FaultState(
            id=self.id,
            rule=self.rule,
            hits=self.hits,
            left=0 if self.is_removed else self.schedule.left,
            held=self.held,
            near=self.near(),
            not_applied=self._not_applied,
            reasons=list(self._reasons),
            seed=self.schedule.seed if by_chance else None,
        )

    # -- requests that wait in it

    def check_room(self) -> None:
        """Check that another request may be held.

        Raises:
            CannotApply: too many are.
        """
        if self._waiting.count >= HELD_MAX:
            raise CannotApply(f"{HELD_MAX} requests are held already")

    async def hold(self) -> None:
        """Wait until the request is released."""
        await self._wait_in(self._held)

    async def be_silent(self) -> None:
        """Wait until the client goes, or the rule is removed.

        Raises:
            CloseConnection: the rule was removed.
        """
        await self._wait_in(self._silent)
        raise CloseConnection(f"fault {self.id}, which was silent, is removed")

    async def delay(self) -> None:
        """Wait as long as the rule's delay says, or until the rule is removed."""
        delay_s = self.schedule.delay_ms() / 1000
        if delay_s > 0 and not self.is_removed:
            with anyio.move_on_after(delay_s):
                await self._removed.wait()

    async def _wait_in(self, events: dict[anyio.Event, None]) -> None:
        event = anyio.Event()
        events[event] = None
        self._waiting.count += 1
        try:
            await event.wait()
        finally:
            self._waiting.count -= 1
            events.pop(event, None)

    def release(self, count: int | None = None) -> int:
        """Let held requests go on, the first ones first.

        Args:
            count: how many; None for all.

        Returns:
            How many were released.
        """
        released = list(self._held)[: None if count is None else max(0, count)]
        for event in released:
            del self._held[event]
            event.set()
        return len(released)

    def remove(self) -> None:
        """End the rule: release what it holds, and close connections on which it is silent."""
        self.is_removed = True
        self._removed.set()
        self.release()
        for event in [*self._silent, *self._waiters]:
            event.set()

    # -- callers that wait for it

    async def wait(self, hits: int, timeout_ms: float) -> None:
        """Wait until the rule has so many hits.

        Raises:
            ControlError: the time is over (408), or the rule is removed (404).
        """
        event = anyio.Event()
        self._waiters.add(event)
        try:
            with anyio.move_on_after(timeout_ms / 1000):
                while self.hits < hits and not self.is_removed:
                    await event.wait()
                    self._waiters.discard(event)
                    event = anyio.Event()
                    self._waiters.add(event)
        finally:
            self._waiters.discard(event)
        if self.hits >= hits:
            return
        if self.is_removed:
            raise ControlError(404, f"fault {self.id} was removed")
        near = self.near()
        text = f"fault {self.id} has {self.hits} of {hits} hits after {timeout_ms:g} ms"
        text += f"; near: {near[0]}" if near else ""
        raise ControlError(408, text, found=self.state())
