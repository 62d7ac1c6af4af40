"""The journal: what clients asked, and what they were answered."""

from collections.abc import AsyncIterator
from typing import Annotated, Final

import msgspec

from broker_lite.testbench.bounds import Limit, TimeoutMs
from broker_lite.testbench.control.resource import Call, Done, Raw, Resource
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.journal import reading
from broker_lite.testbench.journal.entry_facts import EntryFacts
from broker_lite.testbench.journal.follow import QUEUE_MAX, Missed, Pace, check_recorded, follow
from broker_lite.testbench.journal.lint.finding import Finding
from broker_lite.testbench.journal.lint.run import lint
from broker_lite.testbench.journal.match import Comparison, match
from broker_lite.testbench.journal.reading import Detail, Summary
from broker_lite.testbench.journal.recording import Recording
from broker_lite.testbench.journal.waits import TIMEOUT_MS, wait
from broker_lite.testbench.scripts.form import Script
from broker_lite.testbench.scripts.prepare import RECORDS_MAX
from broker_lite.testbench.scripts.sketch import sketch
from broker_lite.testbench.selectors import Matcher, Selectors

_LINES: Final = 50
_EVENTS: Final = "text/event-stream"
_OCTETS: Final = "application/octet-stream"


class Wanted(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which requests, in a query; lists have commas, and * and ? stand for any characters.

    Attributes:
        keys: APIs by name or number.
        nodes: brokers by id.
        connection: as the journal names it, c1 for the first.
        client_id: of the header.
        topic: a topic's name.
        partitions: numbers.
        group: a group id.
        txn_id: a transactional id.
        errors: only requests that did not end well.
        after: the id of a request: the first ones after it.
        limit: how many at most.
    """

    keys: str | None = None
    nodes: str | None = None
    connection: str | None = None
    client_id: str | None = None
    topic: str | None = None
    partitions: str | None = None
    group: str | None = None
    txn_id: str | None = None
    errors: bool = False
    after: str | None = None
    limit: Limit = reading.LIMIT

    def selectors(self) -> Selectors:
        """Return the selectors that the query gives.

        Raises:
            ControlError: a number is none.
        """
        return Selectors(
            keys=None if self.keys is None else list(self.keys.split(",")),
            nodes=_numbers(self.nodes, "?nodes"),
            connection=self.connection,
            client_id=self.client_id,
            topic=self.topic,
            partitions=_numbers(self.partitions, "?partitions"),
            group=self.group,
            txn_id=self.txn_id,
        )


class Followed(Wanted, forbid_unknown_fields=True, kw_only=True):
    """Which requests are told, and at which rate.

    Attributes:
        per_second: at most so many; the newest ones, and how many were left out in between.
    """

    per_second: Annotated[int, msgspec.Meta(ge=1, le=1000)] | None = None


class Lines(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How many lines.

    Attributes:
        count: of the newest requests.
    """

    count: Limit = _LINES


class Since(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """From where on.

    Attributes:
        after: the id of a request; left out for all that is kept.
    """

    after: str | None = None


class Session(Since, forbid_unknown_fields=True, kw_only=True):
    """Which requests a script is made from, and with how many records.

    Attributes:
        after: the id of a request; left out for all that is kept.
        records: at most so many records that were in the topics before, up to 10,000 and 512 KiB;
            0 for a script without records and offsets.
    """

    records: Annotated[int, msgspec.Meta(ge=0, le=RECORDS_MAX)] = 0


class RequestsSought(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which recorded requests, by any selector.

    Attributes:
        match: which ones.
        errors: only requests that did not end well.
        after: the id of a request: the first ones after it; left out for the last ones.
        limit: how many at most.
    """

    match: Selectors = msgspec.field(default_factory=Selectors)
    errors: bool = False
    after: str | None = None
    limit: Limit = reading.LIMIT


class RequestsWanted(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which requests have to come, and how long to wait for them.

    Attributes:
        match: which ones.
        count: how many of them.
        timeout_ms: after this, the answer is 408 and tells what came near.
        after: the id of a request: what came after it counts; left out for what comes from now on.
        arrivals: a request counts when it arrives, not when it is answered.
    """

    match: Selectors = msgspec.field(default_factory=Selectors)
    count: int = 1
    timeout_ms: TimeoutMs = TIMEOUT_MS
    after: str | None = None
    arrivals: bool = False


class Expected(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What has to have come, in order.

    Attributes:
        requests: each expected request.
        others_ok: APIs whose requests may come anywhere in between; null for all.
        after: the id of a request: what came after it counts; left out for all that is kept.
    """

    requests: list[Selectors]
    others_ok: list[str | int] | None = []
    after: str | None = None


class JournalView(msgspec.Struct, kw_only=True):
    """How much is recorded, and what is kept.

    Attributes:
        recording: as it was set.
        requests: how many entries are kept.
        dropped: how many fell out because of the bounds.
        last: the id of the newest request; r0 if there was none.
    """

    recording: Recording
    requests: int
    dropped: int
    last: str


async def list_requests(call: Call) -> list[Summary]:
    """List recorded requests, the newest last; without `after` the last ones."""
    wanted = call.query
    assert isinstance(wanted, Wanted)
    found = await reading.listed(
        call.bench.journal,
        wanted.selectors(),
        errors=wanted.errors,
        after=reading.number_of(wanted.after, "?after"),
        limit=wanted.limit,
    )
    return await reading.summaries(found)


async def find_requests(call: Call) -> list[Summary]:
    """List recorded requests by any selector, the newest last; without `after` the last ones."""
    sought = call.body
    assert isinstance(sought, RequestsSought)
    found = await reading.listed(
        call.bench.journal,
        sought.match,
        errors=sought.errors,
        after=reading.number_of(sought.after),
        limit=sought.limit,
    )
    return await reading.summaries(found)


def _event_of(facts: EntryFacts) -> bytes:
    """Encode an entry as a server-sent event."""
    told = msgspec.json.encode(reading.summary(facts))
    return b"id: %s\ndata: %s\n\n" % (facts.entry.id.encode(), told)


async def follow_requests(call: Call) -> Raw:
    """Tell each request when it is answered, as server-sent events, until the caller goes.

    Requests have to be recorded when it begins.
    """
    wanted = call.query
    assert isinstance(wanted, Followed)
    selectors, after = wanted.selectors(), reading.number_of(wanted.after, "?after")
    # here, because a stream that has begun can tell no error
    check_recorded(call.bench.journal, Matcher(selectors), "?keys")

    async def events() -> AsyncIterator[bytes]:
        pace = Pace(wanted.per_second)
        # Requests that a filter chooses may be rare: they must not be lost among the others.
        is_filtered = wanted.errors or selectors != Selectors(keys=selectors.keys)
        queue_max = QUEUE_MAX if is_filtered else pace.queue_max
        # With a pace, what is told at a time leaves together: to send costs more than to tell.
        leaves_at_once = is_filtered or wanted.per_second is None
        parts = []
        with follow(call.bench.journal, selectors, after=after, queue_max=queue_max) as each:
            async for facts in each:
                if isinstance(facts, Missed):
                    parts.append(b'event: missed\ndata: {"requests": %d}\n\n' % facts.requests)
                elif not wanted.errors or reading.has_failed(facts):
                    parts.append(_event_of(facts))
                else:
                    continue
                if leaves_at_once or pace.is_last or not each.has_more:
                    yield b"".join(parts)
                    parts.clear()
                if not isinstance(facts, Missed):
                    await pace.next()

    return Raw(_EVENTS, events())


async def tell_lines(call: Call) -> list[str]:
    """Tell the newest requests in a line each, for the report of a failing test."""
    wanted = call.query
    assert isinstance(wanted, Lines)
    return await reading.last(call.bench.journal, wanted.count)


async def find_habits(call: Call) -> list[Finding]:
    """Tell bad habits of clients that the recorded requests show, and why they matter."""
    since, life = call.query, call.bench.life
    assert isinstance(since, Since)
    connected = {
        connection.context.connection_id
        for node_id in life.nodes.states
        for connection in life.nodes.connections(node_id)
    }
    after = reading.number_of(since.after, "?after") or 0
    return await lint(call.bench.journal, open_connections=connected, after=after)


async def get_journal(call: Call) -> JournalView:
    """Tell how much is recorded, and how much of it is kept."""
    journal = call.bench.journal
    return JournalView(
        recording=journal.recording,
        requests=len(journal),
        dropped=journal.dropped,
        last=f"r{journal.last}",
    )


async def record(call: Call) -> JournalView:
    """Record nothing, the headers, or the bodies of requests and answers from now on."""
    recording = call.body
    assert isinstance(recording, Recording)
    call.bench.record(recording)
    return await get_journal(call)


async def forget(call: Call) -> Done:
    """Forget all recorded requests; their numbers go on."""
    call.bench.journal.clear()
    return Done()


async def wait_for_requests(call: Call) -> list[Summary]:
    """Wait until requests that match have been answered."""
    wanted = call.body
    assert isinstance(wanted, RequestsWanted)
    found = await wait(
        call.bench.journal,
        wanted.match,
        count=wanted.count,
        timeout_ms=wanted.timeout_ms,
        after=reading.number_of(wanted.after),
        arrivals=wanted.arrivals,
    )
    return await reading.summaries(found)


async def match_requests(call: Call) -> Comparison:
    """Compare the recorded requests with what is expected; tell the first difference."""
    expected = call.body
    assert isinstance(expected, Expected)
    after = reading.number_of(expected.after) or 0
    others = expected.others_ok
    return await match(call.bench.journal, expected.requests, others_ok=others, after=after)


async def sketch_script(call: Call) -> Script:
    """Make a script that expects the recorded requests, from a session without faults.

    With `records`, a broker that runs the script stands in for this one: it begins with the records
    and committed offsets that the session found.
    """
    asked, bench = call.query, call.bench
    assert isinstance(asked, Session)
    after = reading.number_of(asked.after, "?after") or 0
    return await sketch(bench.journal, bench.life, after, asked.records)


async def get_request(call: Call) -> Detail:
    """Tell a request and its answer, decoded."""
    return reading.detail(reading.read(call.bench.journal, _number(call)))


async def get_request_bytes(call: Call) -> Raw:
    """Return the bytes of a request as it came, with its size in front."""
    return Raw(_OCTETS, reading.raw_request(reading.read(call.bench.journal, _number(call))))


async def get_answer_bytes(call: Call) -> Raw:
    """Return the bytes of an answer as it left, with its size in front."""
    return Raw(_OCTETS, reading.raw_answer(reading.read(call.bench.journal, _number(call))))


def _number(call: Call) -> int:
    number = reading.number_of(call.path["id"], "id")
    assert number is not None
    return number


def _numbers(text: str | None, at: str) -> list[int] | None:
    if text is None:
        return None
    parts = text.split(",")
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise ControlError(400, f"{text!r} is no list of numbers", at)
    return [int(part) for part in parts]


RESOURCES = (
    Resource("GET", "/v1/requests", list_requests, answer=list[Summary], query=Wanted),
    Resource("DELETE", "/v1/requests", forget),
    Resource("GET", "/v1/requests/recording", get_journal, answer=JournalView),
    Resource("PUT", "/v1/requests/recording", record, answer=JournalView, body=Recording),
    Resource("GET", "/v1/requests/follow", follow_requests, answer=Raw, query=Followed),
    Resource("GET", "/v1/requests/lines", tell_lines, answer=list[str], query=Lines),
    Resource("GET", "/v1/requests/lint", find_habits, answer=list[Finding], query=Since),
    Resource("POST", "/v1/requests/find", find_requests, answer=list[Summary], body=RequestsSought),
    Resource(
        "POST", "/v1/requests/wait", wait_for_requests, answer=list[Summary], body=RequestsWanted
    ),
    Resource("POST", "/v1/requests/match", match_requests, answer=Comparison, body=Expected),
    Resource("GET", "/v1/requests/script", sketch_script, answer=Script, query=Session),
    Resource("GET", "/v1/requests/{id}", get_request, answer=Detail),
    Resource("GET", "/v1/requests/{id}/request", get_request_bytes, answer=Raw),
    Resource("GET", "/v1/requests/{id}/answer", get_answer_bytes, answer=Raw),
)
