"""Read the journal: lists of entries, and all that is known of one."""

import re
from collections import deque
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from broker_lite.handler.uncollected import uncollected
from broker_lite.protocol.framing import framed
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.journal.entry_facts import EntryFacts
from broker_lite.testbench.journal.journal import Journal
from broker_lite.testbench.journal.render import about, line, line_of, outcome
from broker_lite.testbench.journal.shown import answer_json, request_json
from broker_lite.testbench.selectors import Matcher, Selectors
from broker_lite.testbench.turns import Turns

LIMIT: Final = 100
NAMES_MAX: Final = 100
_ID: Final = re.compile(r"r(\d{1,15})")


class Summary(msgspec.Struct, omit_defaults=True, kw_only=True):
    """One entry of a list.

    Attributes:
        id: r1 is the first request.
        at_ms: when the request was taken up, in ms since 1970.
        started_us: the same by a clock that never jumps, to compare two requests.
        duration_us: until the answer was made; left out while the request is worked on.
        node: the broker that was asked.
        listener: its name.
        connection: c1 is the first that the process accepted.
        client_address: without its port.
        client_id: of the header.
        software: NAME VERSION of the client, if it told it.
        api: the name of the API.
        version: of the API.
        correlation_id: of the header.
        request_bytes: the size of the request on the wire.
        answer_bytes: the size of the answer on the wire.
        ended: how it ended, see Entry; "" while it is worked on.
        rules: the faults that acted.
        errors: the names of the errors in the answer.
        topics: names that the request has, also of topics that it names by id.
        groups: group ids.
        txn_ids: transactional ids.
        about: the names and the records of the request in a few words.
        outcome: the answer in a few words.
        line: all of it in one line.
    """

    id: str
    at_ms: int
    started_us: int
    node: int
    listener: str
    connection: str
    client_address: str
    api: str
    version: int
    correlation_id: int
    request_bytes: int
    about: str
    outcome: str
    line: str
    client_id: str | None = None
    software: str = ""
    duration_us: int | None = None
    answer_bytes: int = 0
    ended: str = ""
    rules: list[str] = []
    errors: list[str] = []
    topics: list[str] = []
    groups: list[str] = []
    txn_ids: list[str] = []


class Detail(Summary, omit_defaults=True, kw_only=True):
    """All that is known of an entry.

    Attributes:
        request: decoded; `missing` in it says why it is not the whole request.
        answer: the same of the answer.
        has_bytes: whether all bytes of both were kept.
    """

    request: dict[str, Any] | None = None
    answer: dict[str, Any] | None = None
    has_bytes: bool = False


def number_of(text: str | int | None, at: str = "after") -> int | None:
    """Return the number of an entry's id, as r17; None for None.

    Raises:
        ControlError: the text is no id.
    """
    if text is None or isinstance(text, int):
        return text
    found = _ID.fullmatch(text)
    if found is None:
        raise ControlError(400, f"{text!r} is no id of a request, as r17", at)
    return int(found[1])


async def listed(
    journal: Journal,
    selectors: Selectors | None = None,
    *,
    errors: bool = False,
    after: int | None = None,
    limit: int = LIMIT,
) -> list[EntryFacts]:
    """Return the entries that match, the newest last.

    Args:
        journal: the journal.
        selectors: which requests; None for all of them.
        errors: only those that did not end well: an error in the answer, or no answer at all.
        after: the number of an entry: the first `limit` after it; None for the last `limit`.
        limit: how many at most.

    Raises:
        ControlError: a selector is wrong.
    """
    matcher = Matcher(selectors or Selectors())
    names = journal.topic_names()
    entries = journal.entries(after or 0)
    found: deque[EntryFacts] = deque()
    turns = Turns()
    with uncollected():
        for entry in reversed(entries) if after is None else entries:
            facts = EntryFacts(entry, names)
            if matcher.matches(facts) and not (errors and not has_failed(facts)):
                found.appendleft(facts) if after is None else found.append(facts)
                if len(found) == limit:
                    break
            await turns.next()
    return list(found)


def has_failed(facts: EntryFacts) -> bool:
    """True if the answer tells an error, or there was none where there should have been one."""
    return facts.entry.ended not in ("", "answered", "none") or bool(facts.errors)


def read(journal: Journal, number: int) -> EntryFacts:
    """Return what is known of an entry.

    Raises:
        ControlError: there is none of this number, or none any more.
    """
    return EntryFacts(journal.entry(number), journal.topic_names())


async def last(journal: Journal, count: int = 50) -> list[str]:
    """Return the lines of the newest entries, for the report of a failing test."""
    names, turns = journal.topic_names(), Turns()
    lines = []
    for entry in journal.entries(journal.last - count):
        lines.append(line(EntryFacts(entry, names)))
        await turns.next()
    if journal.dropped and len(journal) < count:
        lines.insert(0, f"({journal.dropped} requests before these were dropped)")
    return lines


async def summaries(found: Iterable[EntryFacts]) -> list[Summary]:
    """Return entries as a list shows them; other tasks run in between."""
    turns = Turns()
    shown = []
    with uncollected():
        for facts in found:
            shown.append(summary(facts))
            await turns.next()
    return shown


def summary(facts: EntryFacts) -> Summary:
    """Return an entry as a list shows it."""
    entry, entities = facts.entry, facts.entities
    told, ended = about(facts), outcome(facts)
    return Summary(
        id=entry.id,
        at_ms=entry.at_ms,
        started_us=entry.started_us,
        duration_us=entry.duration_us if entry.ended else None,
        node=entry.peer.node_id,
        listener=entry.peer.listener,
        connection=entry.connection,
        client_address=entry.peer.client_address,
        client_id=entry.peer.client_id,
        software=entry.peer.software,
        api=facts.api,
        version=entry.api_version,
        correlation_id=entry.correlation_id,
        request_bytes=entry.request_bytes,
        answer_bytes=entry.answer_bytes,
        ended=entry.ended,
        rules=facts.acted,
        errors=facts.errors,
        topics=sorted(entities.topics)[:NAMES_MAX],
        groups=sorted(entities.groups)[:NAMES_MAX],
        txn_ids=sorted(entities.transactional_ids)[:NAMES_MAX],
        about=told,
        outcome=ended,
        line=line_of(facts, told, ended),
    )


def detail(facts: EntryFacts) -> Detail:
    """Return all that is known of an entry."""
    entry = facts.entry
    return Detail(
        **msgspec.structs.asdict(summary(facts)),
        request=request_json(facts),
        answer=answer_json(facts),
        has_bytes=entry.has_whole_request and entry.has_whole_answer,
    )


def raw_request(facts: EntryFacts) -> bytes:
    """Return the bytes of a request as it was sent, with its size in front.

    Raises:
        ControlError: not all of them were kept.
    """
    entry = facts.entry
    if not entry.has_whole_request:
        raise ControlError(409, f"the request {entry.id} was not kept whole: record bodies")
    return len(entry.frame).to_bytes(4, "big") + entry.frame


def raw_answer(facts: EntryFacts) -> bytes:
    """Return the bytes of an answer as it was sent, with its size in front; empty for none.

    Raises:
        ControlError: not all of them were kept.
    """
    entry = facts.entry
    if not entry.has_whole_answer:
        raise ControlError(409, f"the answer to {entry.id} was not kept whole: record bodies")
    if entry.body_bytes < 0:
        return b""
    parts = framed(facts.request, [entry.body])
    return b"".join(part for part in parts if isinstance(part, bytes))
