"""Near misses: the requests that a wait or a comparison nearly took, and why it did not."""

import heapq
from collections.abc import Iterable
from typing import Final

from broker_lite.testbench.journal.entry_facts import EntryFacts
from broker_lite.testbench.journal.journal import Journal
from broker_lite.testbench.journal.render import client
from broker_lite.testbench.selectors import Matcher, Mismatch
from broker_lite.testbench.turns import Turns

LOOKED_AT: Final = 1000
"""Of the newest entries: older ones are seldom what a test is about."""
TOLD: Final = 3


async def near_misses(
    journal: Journal, matcher: Matcher, *, after: int = 0, count: int = TOLD
) -> list[str]:
    """Return the entries that miss by the fewest selectors, in words, the nearest first."""
    found: list[tuple[int, bool, int, str]] = []
    names = journal.topic_names()
    turns = Turns()
    for entry in journal.entries(max(after, journal.last - LOOKED_AT)):
        facts = EntryFacts(entry, names)
        missed = matcher.mismatches(facts)
        if missed:
            is_other_api = matcher.keys is not None and entry.api_key not in matcher.keys
            text = f"{who(facts)}: {in_words(missed)}"
            found.append((len(missed), is_other_api, -entry.number, text))
        await turns.next()
    return [text for *_, text in heapq.nsmallest(count, found)]


def who(facts: EntryFacts) -> str:
    """Return the entry, its API and its client: r14 Metadata from rdkafka."""
    return f"{facts.entry.id} {facts.api} from {client(facts)}"


def in_words(mismatches: Iterable[Mismatch]) -> str:
    """Return why a request does not match: topic 'order' is not 'orders'."""
    return ", ".join(each.in_words() for each in mismatches)
