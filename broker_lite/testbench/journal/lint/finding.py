"""What the lint finds, and what its rules have in common."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import ClassVar, Final, Literal, Protocol

import msgspec

from broker_lite.testbench.journal.entry_facts import EntryFacts
from broker_lite.testbench.journal.render import client

EXAMPLES_MAX: Final = 5

Severity = Literal["error", "warning", "hint"]


class Finding(msgspec.Struct, omit_defaults=True, kw_only=True):
    """One habit of one client.

    Attributes:
        rule: the name of the rule.
        severity: "error": records or positions can be lost or doubled; "warning": it costs much, or
            fails at a bad moment; "hint": there is something better.
        client: its client id, or its software where it has none.
        count: how often it was seen.
        requests: ids of some requests that show it.
        what: what was seen.
        why: why it matters.
        fix: what to do.
    """

    rule: str
    severity: Severity
    client: str
    count: int
    requests: list[str]
    what: str
    why: str
    fix: str


class About(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule says of each of its findings."""

    rule: str
    severity: Severity
    what: str
    why: str
    fix: str


class Rule(Protocol):
    """Looks at all entries in order, then tells what it has found.

    Attributes:
        keys: the APIs that it looks at; None for all.
    """

    keys: frozenset[int] | None

    def see(self, facts: EntryFacts) -> None:
        """Look at the next entry."""

    def findings(self) -> Iterator[Finding]:
        """Tell what was found in all entries."""


class Seen:
    """How often each client was seen doing something, with examples."""

    def __init__(self, about: About) -> None:
        """Begin with nothing seen."""
        self._about = about
        self._counts: dict[str, int] = {}
        self._examples: dict[str, list[str]] = {}

    def add(self, facts: EntryFacts, who: str | None = None) -> None:
        """Note that a request shows it.

        Args:
            facts: of the request.
            who: the client; None for that of the request.
        """
        name = client(facts) if who is None else who
        self._counts[name] = self._counts.get(name, 0) + 1
        examples = self._examples.setdefault(name, [])
        if len(examples) < EXAMPLES_MAX:
            examples.append(facts.entry.id)

    def findings(self, times_min: int = 1) -> Iterator[Finding]:
        """Tell the clients that were seen at least so often."""
        about = self._about
        for name, count in self._counts.items():
            if count >= times_min:
                yield Finding(
                    rule=about.rule,
                    severity=about.severity,
                    client=name,
                    count=count,
                    requests=self._examples[name],
                    what=about.what,
                    why=about.why,
                    fix=about.fix,
                )


class CountingRule:
    """A rule that counts how often it sees each client do something.

    Attributes:
        about: what it says of its findings.
        keys: see Rule.
    """

    about: ClassVar[About]
    keys: frozenset[int] | None = None

    def __init__(self) -> None:
        """Begin with nothing seen."""
        self._seen = Seen(self.about)

    def findings(self) -> Iterator[Finding]:
        """Tell what was found."""
        yield from self._seen.findings()


class Rates:
    """Notices the clients that do something more often than so many times in so many seconds."""

    def __init__(self, seen: Seen, times: int, seconds: float) -> None:
        """Begin with nothing seen.

        Args:
            seen: where to note it.
            times: how often within that time is too often.
            seconds: the time.
        """
        self._seen = seen
        self._times = times
        self._seconds = seconds
        self._recent: dict[str, deque[float]] = {}

    def add(self, facts: EntryFacts) -> None:
        """Note that a request does it; it counts if there were that many just before it."""
        name = client(facts)
        recent = self._recent.setdefault(name, deque(maxlen=self._times))
        at_s = facts.entry.started_s
        recent.append(at_s)
        if len(recent) == self._times and at_s - recent[0] <= self._seconds:
            self._seen.add(facts, name)


class RateRule:
    """A rule about requests that come too often.

    Attributes:
        keys: see Rule.
    """

    def __init__(
        self,
        about: About,
        keys: frozenset[int],
        times: int,
        seconds: float,
        is_meant: Callable[[EntryFacts], bool] = lambda _: True,
    ) -> None:
        """Begin with nothing seen.

        Args:
            about: what to tell.
            keys: the APIs.
            times: how often within that time is too often.
            seconds: the time.
            is_meant: tells which of the requests count.
        """
        self.keys: frozenset[int] | None = keys
        self._seen = Seen(about)
        self._rates = Rates(self._seen, times, seconds)
        self._is_meant = is_meant

    def see(self, facts: EntryFacts) -> None:
        """Look at the next entry."""
        if self._is_meant(facts):
            self._rates.add(facts)

    def findings(self) -> Iterator[Finding]:
        """Tell what was found."""
        yield from self._seen.findings()
