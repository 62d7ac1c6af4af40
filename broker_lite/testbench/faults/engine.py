"""The rules in force, and the decisions which of them acts on a request."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from broker_lite.handler.context import Handler, Parts
from broker_lite.handler.table import APIS
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.facts import Facts
from broker_lite.testbench.faults.accept import Gate
from broker_lite.testbench.faults.acting import act
from broker_lite.testbench.faults.claim import Claim
from broker_lite.testbench.faults.disk import Disk
from broker_lite.testbench.faults.fault import Fault, Waiting
from broker_lite.testbench.faults.rules import Rule, check_rule

logger = logging.getLogger("broker_lite.testbench")

RULES_MAX: Final = 1000
_DECISIONS_KEPT: Final = 100_000
_PRODUCE: Final = 0
_AFTER_END_S: Final = 0.0005
"""So that the time is over when it is looked at."""


class Decision(NamedTuple):
    """One time that a rule acted.

    Attributes:
        rule: its id.
        match: which one of the requests that it matched, from 1 on; a replay goes by this.
        request: which one of all requests and clients, see Faults.requests.
    """

    rule: str
    match: int
    request: int


class Faults:
    """The rules in force.

    Attributes:
        gate: keeps clients out that rules with `accept` are about.
        disk: lets calls of the disk fail that rules with `disk` are about.
        changed: called when other requests need a hook than before.
        decisions: what was decided, the last ones.
    """

    def __init__(self, now_ms: Callable[[], float] | None = None) -> None:
        """Begin without a rule.

        Args:
            now_ms: the time, for rules that end; by default that of the machine.
        """
        self._now_ms = now_ms or _machine_ms
        self._faults: dict[str, Fault] = {}
        self._by_key: dict[int, list[Fault]] = {}
        self._next_id = 1
        self._requests = 0
        self._waiting = Waiting()
        self._replayed: dict[str, set[int]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self.gate = Gate(self._acted_otherwise)
        self.disk = Disk(self._acted_otherwise, self._settle)
        self.changed: Callable[[], None] = lambda: None
        self.decisions: deque[Decision] = deque(maxlen=_DECISIONS_KEPT)

    @property
    def held(self) -> int:
        """How many requests wait in faults."""
        return self._waiting.count

    @property
    def requests(self) -> int:
        """How many requests rules were asked about, and on how many clients and calls they acted.

        Clients are those that a rule kept out, calls those of the disk.
        """
        return self._requests

    # -- for callers

    def add(self, rules: Sequence[Rule]) -> list[Fault]:
        """Put rules in force, after those that are; all of them or none.

        Raises:
            ControlError: a rule is wrong, or there are too many.
        """
        return self.put(self.make(rules))

    def make(self, rules: Sequence[Rule]) -> list[Fault]:
        """Check rules, and make faults of them, which are not in force yet.

        Raises:
            ControlError: a rule is wrong, or there are too many.
        """
        if len(self._faults) + len(rules) > RULES_MAX:
            raise ControlError(400, f"there may be {RULES_MAX} rules", "rules")
        added: dict[str, Fault] = {}
        for position, rule in enumerate(rules):
            at = f"rules[{position}]"
            check_rule(rule, at)
            fault_id = self._id_of(rule, added, at)
            if not (rule.after is None or rule.after in self._faults or rule.after in added):
                raise ControlError(400, f"there is no rule {rule.after!r}", f"{at}.after")
            added[fault_id] = Fault(fault_id, rule, at, self._now_ms, self._waiting)
        for fault in added.values():
            fault.schedule.replay = self._replayed.get(fault.id)
        return list(added.values())

    def put(self, made: list[Fault]) -> list[Fault]:
        """Put faults in force; those that were made.

        Raises:
            ControlError: there is a rule of the same id by now.
        """
        for fault in made:
            if fault.id in self._faults:
                raise ControlError(409, f"there is a rule {fault.id!r} already", "rules")
        self._faults.update({fault.id: fault for fault in made})
        self._settle()
        return made

    def _id_of(self, rule: Rule, added: Collection[str], at: str) -> str:
        if rule.id is not None:
            if not rule.id:
                raise ControlError(400, "it is empty", f"{at}.id")
            if rule.id in self._faults or rule.id in added:
                raise ControlError(409, f"there is a rule {rule.id!r} already", f"{at}.id")
            return rule.id
        while True:
            made = f"f{self._next_id}"
            self._next_id += 1
            if made not in self._faults and made not in added:
                return made

    def list(self) -> list[Fault]:
        """Return all rules in their order, also those that are spent."""
        self._settle()
        return list(self._faults.values())

    def get(self, fault_id: str) -> Fault:
        """Return a rule.

        Raises:
            ControlError: there is none of this id.
        """
        self._settle()
        fault = self._faults.get(fault_id)
        if fault is None:
            raise ControlError(404, f"there is no rule {fault_id!r}")
        return fault

    def remove(self, fault_id: str) -> Fault:
        """Remove a rule, and release what it holds; rules that come after it begin.

        Raises:
            ControlError: there is none of this id.
        """
        fault = self.get(fault_id)
        del self._faults[fault_id]
        fault.remove()
        self._removed()
        return fault

    def clear(self) -> None:
        """Remove all rules, and release what they hold."""
        faults = list(self._faults.values())
        self._faults.clear()
        for fault in faults:
            fault.remove()
        self._removed()

    def _removed(self) -> None:
        self.gate.removed()
        self.disk.removed()
        self._settle()

    def replay(self, decisions: Iterable[Decision]) -> None:
        """Let rules that are added from now on act when they acted before, not by their schedule.

        Args:
            decisions: of the run that is repeated; rules have the same ids as there.
        """
        self._replayed = {}
        for decision in decisions:
            self._replayed.setdefault(decision.rule, set()).add(decision.match)

    # -- for hooks

    def wanted_keys(self) -> Collection[int]:
        """Return the keys of the APIs whose requests have to come by."""
        return self._by_key.keys()

    @property
    def may_wait(self) -> bool:
        """True if a Produce may have to wait for longer than its handler does.

        Only answers before a Produce are ever kept back, so rules on other APIs do not count.
        """
        return any(fault.rule.may_wait for fault in self._by_key.get(_PRODUCE, ()))

    async def around(self, facts: Facts, handle: Handler) -> Parts | None:
        """Answer a request: as the first rule says that claims it, or by its handler."""
        self._requests += 1
        for fault in self._by_key.get(facts.request.api_key, ()):
            if fault.is_over:
                self._settle()
            elif self._claims(fault, facts):
                claim = Claim(fault, facts, self._requests, self._acted)
                if not fault.rule.observe:
                    return await act(claim, handle)
                claim.hit()
        return await handle(facts.context, facts.request)

    def _claims(self, fault: Fault, facts: Facts) -> bool:
        """True if a rule claims a request; an error in the rule never hurts the request."""
        try:
            return fault.claims(facts)
        except Exception:
            logger.exception("fault %s cannot look at %s", fault.id, facts.api)
            return False

    def _acted(self, claim: Claim) -> None:
        """Note that a rule acts on a request."""
        self._note(Decision(claim.fault.id, claim.match, claim.request), claim.fault)

    def _acted_otherwise(self, fault: Fault) -> None:
        """Note that a rule has acted on something else than a request."""
        self._requests += 1
        self._note(Decision(fault.id, fault.schedule.seen, self._requests), fault)

    def _note(self, decision: Decision, fault: Fault) -> None:
        self.decisions.append(decision)
        fault.wake()
        if fault.is_over:
            self._settle()

    def _settle(self) -> None:
        """Arm the rules whose turn it is, and find out which requests have to come by."""
        by_key: dict[int, list[Fault]] = {}
        others: list[Fault] = []
        for fault in self._faults.values():
            before = self._faults.get(fault.rule.after or "")
            if not fault.is_armed and (before is None or before.is_over):
                fault.arm()
            if not fault.is_armed or fault.is_over:
                continue
            if fault.rule.is_of_requests:
                keys = fault.matcher.keys
                for key in APIS if keys is None else keys:
                    by_key.setdefault(key, []).append(fault)
            else:
                others.append(fault)
        self.gate.faults = [fault for fault in others if fault.rule.accept is not None]
        self.disk.use([fault for fault in others if fault.rule.disk is not None])
        self._by_key = by_key
        self._settle_at_ends()
        self.changed()

    def _settle_at_ends(self) -> None:
        """Settle again when a rule ends by its time, so that the rule after it begins then."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        ends_ms = [
            end_ms
            for fault in self._faults.values()
            if fault.is_armed and not fault.is_over
            for end_ms in [fault.schedule.ends_in_ms]
            if end_ms is not None
        ]
        if ends_ms:
            delay_s = min(ends_ms) / 1000 + _AFTER_END_S
            with suppress(RuntimeError):  # without a loop no request comes either
                self._timer = asyncio.get_running_loop().call_later(delay_s, self._settle)


def _machine_ms() -> float:
    return time.monotonic() * 1000
