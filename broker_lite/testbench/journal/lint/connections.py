"""What goes wrong with connections and versions."""

from collections import deque
from collections.abc import Iterator
from functools import cache
from typing import Final

from broker_lite.testbench.journal.entry_facts import EntryFacts
from broker_lite.testbench.journal.lint.finding import About, CountingRule, Finding, Rates
from broker_lite.testbench.journal.render import client
from broker_lite.wire.schema import catalog, catalog_by_api, parse

CONNECTION_TIMES: Final = 10
CONNECTION_S: Final = 1.0
"""A client has one connection to each broker, and one to each coordinator; it opens them once."""
FIRST_CORRELATION_ID_MAX: Final = 2
"""Clients count from 0 or 1; so a connection whose first entry has such an id was seen from its
beginning."""
CORRELATION_IDS: Final = 16
"""So many ids of a connection are remembered: more than a client has in flight."""

_API_VERSIONS: Final = 18
_SASL: Final = frozenset((17, 36))


class Connections(CountingRule):
    """Clients that open a connection for each piece of work."""

    about = About(
        rule="connection-storm",
        severity="warning",
        what=f"Connections were opened faster than {CONNECTION_TIMES} in {CONNECTION_S:g} s",
        why="Opening a connection takes longer than a request, with TLS and SASL very much"
        " so, and a broker has a limited number of them.",
        fix="Make one producer or consumer and use it for all records; close it at the end"
        " of the program. Wait between two tries to connect (reconnect.backoff.ms).",
    )

    def __init__(self) -> None:
        """Begin with nothing seen."""
        super().__init__()
        self._known: set[int] = set()
        self._rates = Rates(self._seen, CONNECTION_TIMES, CONNECTION_S)

    def see(self, facts: EntryFacts) -> None:
        """Look at the next entry."""
        entry = facts.entry
        if entry.peer.connection_id not in self._known:
            self._known.add(entry.peer.connection_id)
            if is_first(facts):
                self._rates.add(facts)


class NoApiVersions(CountingRule):
    """Clients that never ask which versions there are."""

    about = About(
        rule="no-api-versions",
        severity="warning",
        what="Connections were used without an ApiVersions request",
        why="The client guesses the versions. A broker closes the connection at the first"
        " request of a version that it does not have, without an answer that says why.",
        fix="Send ApiVersions first, and use the highest version that both sides have.",
    )

    def __init__(self) -> None:
        """Begin with nothing seen."""
        super().__init__()
        self._known: set[int] = set()
        self._asked: set[str] = set()

    def see(self, facts: EntryFacts) -> None:
        """Look at the next entry."""
        entry = facts.entry
        if entry.api_key == _API_VERSIONS or facts.software:
            self._asked.add(client(facts))
        if entry.peer.connection_id not in self._known and entry.api_key not in _SASL:
            self._known.add(entry.peer.connection_id)
            if is_first(facts) and entry.api_key != _API_VERSIONS:
                self._seen.add(facts)

    def findings(self) -> Iterator[Finding]:  # type: ignore[explicit-override]
        """Tell what was found; a client that asked on one connection may know it on the others."""
        for finding in self._seen.findings():
            if finding.client not in self._asked:
                yield finding


class RepeatedCorrelationIds(CountingRule):
    """Clients that use a correlation id again while an answer may be on its way."""

    about = About(
        rule="repeated-correlation-id",
        severity="error",
        what="Requests had the correlation id of a request shortly before them on the"
        " same connection",
        why="The correlation id is all that tells to which request an answer belongs. With"
        " two requests in flight, the client takes one answer for the other.",
        fix="Count the correlation ids up, one for each request of a connection.",
    )

    def __init__(self) -> None:
        """Begin with nothing seen."""
        super().__init__()
        self._recent: dict[int, deque[int]] = {}

    def see(self, facts: EntryFacts) -> None:
        """Look at the next entry."""
        entry = facts.entry
        recent = self._recent.setdefault(entry.peer.connection_id, deque(maxlen=CORRELATION_IDS))
        if entry.correlation_id in recent:
            self._seen.add(facts)
        recent.append(entry.correlation_id)


class OldVersions(CountingRule):
    """Clients that use versions which Kafka 4 does not have any more."""

    about = About(
        rule="old-version",
        severity="warning",
        what="Requests were of versions that Kafka 4 does not have",
        why="Kafka 4 removed the versions from before Kafka 2.1 (KIP-896): it closes the"
        " connection at such a request.",
        fix="Update the client library, or take away the setting that holds it at old"
        " versions (api.version.request, broker.version.fallback).",
    )

    def see(self, facts: EntryFacts) -> None:
        """Look at the next entry."""
        if facts.version < first_version(facts.entry.api_key):
            self._seen.add(facts)


def is_first(facts: EntryFacts) -> bool:
    """True if an entry seems to be the first request of its connection."""
    return 0 <= facts.entry.correlation_id <= FIRST_CORRELATION_ID_MAX


@cache
def first_version(api_key: int) -> int:
    """Return the first version of an API that Kafka 4 has; 0 if there is no such API."""
    name = catalog_by_api("protocol", "request").get(api_key)
    return 0 if name is None else parse(catalog()[name]).valid.first
