"""What a client does too often: metadata, commits, empty fetches, batches of one record."""

from typing import Final

from broker_lite.testbench.journal.batches import NotKept, headers_of
from broker_lite.testbench.journal.entry import ANSWERED
from broker_lite.testbench.journal.entry_facts import EntryFacts
from broker_lite.testbench.journal.lint.finding import About, RateRule

METADATA_TIMES: Final = 10
METADATA_S: Final = 1.0
"""A client that looks for a new leader asks every 100 ms (retry.backoff.ms), so ten times a second
is the most that a sound client needs, and only for a moment."""
COMMIT_TIMES: Final = 20
COMMIT_S: Final = 1.0
"""Automatic commits come every 5 s. A consumer of ten partitions that commits after each poll of
half a second is at two a second; twenty are a commit for each record, or nearly so."""
EMPTY_FETCH_TIMES: Final = 20
EMPTY_FETCH_S: Final = 1.0
"""With the usual fetch.max.wait.ms of 500, there are two empty answers a second."""
SHORT_WAIT_MS: Final = 20
"""A wait below this ends before most records can arrive: the fetches are a loop without a pause."""
SINGLE_TIMES: Final = 50
SINGLE_S: Final = 1.0
"""Below fifty a second, batches of one record cost nothing that anybody notices."""

_PRODUCE: Final = 0
_FETCH: Final = 1
_METADATA: Final = 3
_COMMITS: Final = frozenset((8, 28))


def metadata_storm() -> RateRule:
    """Return the rule about Metadata requests."""
    about = About(
        rule="metadata-storm",
        severity="warning",
        what=f"Metadata requests came faster than {METADATA_TIMES} in {METADATA_S:g} s",
        why="Each answer lists brokers and partitions. In a large cluster a few such clients load"
        " all brokers when a leader fails, which is when they have the least time.",
        fix="Keep the metadata until it is old (metadata.max.age.ms) or an error says that it is"
        " wrong, and wait between two tries (retry.backoff.ms, growing).",
    )
    return RateRule(about, frozenset((_METADATA,)), METADATA_TIMES, METADATA_S)


def commits() -> RateRule:
    """Return the rule about commits of offsets."""
    about = About(
        rule="commit-storm",
        severity="warning",
        what=f"Offset commits came faster than {COMMIT_TIMES} in {COMMIT_S:g} s",
        why="A commit is a write to a replicated log. A commit for each record takes more of the"
        " broker than the records do, and slows down the consumer.",
        fix="Commit after a batch of records or after some seconds; a crash then repeats only what"
        " came since.",
    )
    return RateRule(about, _COMMITS, COMMIT_TIMES, COMMIT_S)


def empty_fetches() -> RateRule:
    """Return the rule about fetches that do not wait."""
    about = About(
        rule="empty-fetch-loop",
        severity="warning",
        what=f"Empty Fetch answers came faster than {EMPTY_FETCH_TIMES} in"
        f" {EMPTY_FETCH_S:g} s, because the requests do not wait",
        why="The consumer and the broker work all the time without a record, and the records come"
        " no sooner than with a wait.",
        fix="Set fetch.max.wait.ms to 500 and fetch.min.bytes to 1: the answer leaves as soon as"
        " there is a record.",
    )
    return RateRule(
        about, frozenset((_FETCH,)), EMPTY_FETCH_TIMES, EMPTY_FETCH_S, _is_empty_and_hasty
    )


def single_records() -> RateRule:
    """Return the rule about batches of one record."""
    about = About(
        rule="one-record-batches",
        severity="hint",
        what=f"Produce requests of one record came faster than {SINGLE_TIMES} in {SINGLE_S:g} s",
        why="A request costs the same for one record as for hundreds, and compression finds"
        " nothing in a single one. The throughput is a tenth of what it could be, or less.",
        fix="Set linger.ms to 5 or more, and do not wait for the answer to each record before the"
        " next is sent.",
    )
    return RateRule(about, frozenset((_PRODUCE,)), SINGLE_TIMES, SINGLE_S, _is_single)


def _is_single(facts: EntryFacts) -> bool:
    count = 0
    for _, _, records in facts.records():
        for header in headers_of(records):
            count += header.record_count
            if count > 1:
                return False
    return count == 1


def _is_empty_and_hasty(facts: EntryFacts) -> bool:
    body, entry = facts.body, facts.entry
    if entry.ended != ANSWERED or entry.gaps:
        return False
    waits = getattr(body, "max_wait_ms", None)
    least = getattr(body, "min_bytes", None)
    if waits is None or least is None or (waits >= SHORT_WAIT_MS and least > 0):
        return False
    return facts.answer is not None and not facts.errors and not has_records(facts)


def has_records(facts: EntryFacts) -> bool:
    """True if the answer to a Fetch has records."""
    answer = facts.answer
    for topic in getattr(answer and answer.struct, "responses", None) or ():
        for partition in getattr(topic, "partitions", None) or ():
            records = getattr(partition, "records", None)
            if isinstance(records, NotKept) or records:
                return True
    return False
