"""One line for an entry: what a failing test's report and a follower in a terminal show.

r17 12:00:01.123 c5 rdkafka Produce v9 orders[0] 1 record 213 B -> NOT_LEADER 38 B 0.4 ms [f1]
"""

from datetime import datetime
from typing import Final

from broker_lite.testbench.journal.entry import ANSWERED, BY_FAULT, NO_ANSWER
from broker_lite.testbench.journal.entry_facts import EntryFacts
from broker_lite.testbench.journal.shown import uuid_json

_NAMES_MAX: Final = 3
_PARTITIONS_MAX: Final = 8
_TEXT_MAX: Final = 60
_PRODUCE: Final = 0
_ENDS: Final = {
    "": "in progress",
    NO_ANSWER: "no answer",
    BY_FAULT: "answered by a fault in its own way",
}


def line(facts: EntryFacts) -> str:
    """Return the line of an entry."""
    return line_of(facts, about(facts), outcome(facts))


def line_of(facts: EntryFacts, told: str, ended: str) -> str:
    """Return the line of an entry of which the parts are known.

    Args:
        facts: of the entry.
        told: what about() returns.
        ended: what outcome() returns.
    """
    entry = facts.entry
    when = datetime.fromtimestamp(entry.at_s).strftime("%H:%M:%S.%f")[:-3]
    words = [entry.id, when, entry.connection, client(facts), facts.api, f"v{entry.api_version}"]
    if told:
        words.append(told)
    words += [f"{entry.request_bytes} B", "->", ended]
    if entry.answer_bytes:
        words.append(f"{entry.answer_bytes} B")
    if entry.duration_us >= 0:
        words.append(f"{entry.duration_us / 1000:.1f} ms")
    if entry.rule:
        words.append(f"[{plain(entry.rule)}]")
    return " ".join(words)


def about(facts: EntryFacts) -> str:
    """Return what the request names, and how many records it brings."""
    words = [names(facts)]
    if facts.entry.api_key == _PRODUCE:
        count = facts.record_count
        words.append(f"{count} record{'' if count == 1 else 's'}")
    return " ".join(filter(None, words))


def client(facts: EntryFacts) -> str:
    """Return the client id; the software where there is none, and ? where neither is known."""
    return plain(facts.client_id or facts.software) or "?"


def outcome(facts: EntryFacts) -> str:
    """Return how the request ended, with the names of the errors of its answer."""
    ended = facts.entry.ended
    if ended != ANSWERED:
        return _ENDS.get(ended, ended)
    if facts.errors:
        return _joined(facts.errors)
    answer = facts.answer
    return "OK" if answer is not None and not answer.missing else "answered"


def names(facts: EntryFacts) -> str:
    """Return what the request names: topics with partitions, groups, transactional ids."""
    entities = facts.entities
    told = []
    for topic in sorted(entities.topics):
        numbers = sorted(entities.partitions.get(topic, ()))
        told.append(plain(topic) + (_numbers(numbers) if numbers else ""))
    for topic_id, partitions in entities.partitions.items():
        if isinstance(topic_id, bytes):
            told.append(uuid_json(topic_id) + _numbers(sorted(partitions)))
    told += [f"group {plain(group)!r}" for group in sorted(entities.groups)]
    told += [f"txn {plain(each)!r}" for each in sorted(entities.transactional_ids)]
    told += [plain(each) for each in sorted(entities.resources - entities.topics)]
    return _joined(told)


def plain(text: str) -> str:
    """Return a client's text as one short printable word."""
    shown = text if len(text) <= _TEXT_MAX else f"{text[:_TEXT_MAX]}..."
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in shown)


def _joined(told: list[str]) -> str:
    more = len(told) - _NAMES_MAX
    return " ".join([*told[:_NAMES_MAX], *([f"and {more} more"] if more > 0 else [])])


def _numbers(numbers: list[int]) -> str:
    more = ",..." if len(numbers) > _PARTITIONS_MAX else ""
    return f"[{','.join(map(str, numbers[:_PARTITIONS_MAX]))}{more}]"
