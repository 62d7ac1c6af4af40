"""Run all rules over the journal."""

from collections.abc import Collection
from typing import Final

from broker_lite.testbench.journal.entry_facts import EntryFacts
from broker_lite.testbench.journal.journal import Journal
from broker_lite.testbench.journal.lint.connections import (
    Connections,
    NoApiVersions,
    OldVersions,
    RepeatedCorrelationIds,
)
from broker_lite.testbench.journal.lint.finding import Finding, Rule
from broker_lite.testbench.journal.lint.members import MissingClose
from broker_lite.testbench.journal.lint.producers import AcksOfIdempotent, NewSequences
from broker_lite.testbench.journal.lint.rates import (
    commits,
    empty_fetches,
    metadata_storm,
    single_records,
)
from broker_lite.testbench.turns import Turns

_SEVERITIES: Final = ("error", "warning", "hint")


async def lint(
    journal: Journal, *, open_connections: Collection[int] | None = None, after: int = 0
) -> list[Finding]:
    """Return what the entries show of bad habits of clients, the worst first.

    Args:
        journal: the journal.
        open_connections: the numbers of the connections that are open now; None if that is not
            known, and then members that did not leave their group are not told.
        after: the number of the entry after which to begin.
    """
    rules = _rules(open_connections)
    names = journal.topic_names()
    turns = Turns()
    for entry in journal.entries(after):
        facts = EntryFacts(entry, names)
        for rule in rules:
            if rule.keys is None or entry.api_key in rule.keys:
                rule.see(facts)
        await turns.next()
    found = [finding for rule in rules for finding in rule.findings()]
    return sorted(found, key=lambda each: (_SEVERITIES.index(each.severity), -each.count))


def _rules(open_connections: Collection[int] | None) -> list[Rule]:
    rules: list[Rule] = [
        AcksOfIdempotent(),
        NewSequences(),
        RepeatedCorrelationIds(),
        metadata_storm(),
        Connections(),
        commits(),
        empty_fetches(),
        NoApiVersions(),
        OldVersions(),
        single_records(),
    ]
    if open_connections is not None:
        rules.append(MissingClose(open_connections))
    return rules
