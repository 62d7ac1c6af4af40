"""A request that a rule has claimed: the rule acts on it, or gives it up."""

from collections.abc import Callable

from broker_lite.testbench.facts import Facts
from broker_lite.testbench.faults.fault import Fault


class Claim:
    """One request of one rule. It is settled once: by hit() or by give_up().

    Attributes:
        fault: the rule.
        facts: of the request.
        match: which one of the requests that the rule matched, from 1 on.
        request: which one of all requests that rules were asked about.
        is_open: it is not settled yet.
    """

    def __init__(
        self, fault: Fault, facts: Facts, request: int, took: "Callable[[Claim], None]"
    ) -> None:
        """Begin with a request that Fault.claims() has just claimed.

        Args:
            fault: the rule.
            facts: of the request.
            request: its number.
            took: called when the rule acts.
        """
        self.fault = fault
        self.facts = facts
        self.match = fault.schedule.seen
        self.request = request
        self.is_open = True
        self._took = took

    def hit(self) -> bool:
        """Count that the rule acts now; False if it must not, because it is over meanwhile."""
        self.is_open = False
        if not self.fault.hit():
            return False
        self.facts.acted.append(self.fault.id)
        self._took(self)
        return True

    def give_up(self, reason: str | None = None) -> None:
        """Note that the rule does not act, unless it has acted already.

        Args:
            reason: why it could not; None if there is nothing to tell.
        """
        if self.is_open:
            self.is_open = False
            self.fault.give_up(reason)
