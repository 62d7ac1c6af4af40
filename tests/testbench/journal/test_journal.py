"""What the journal records, its bounds, and what it costs in memory.

Also tests: broker_lite.testbench.journal.entry, broker_lite.testbench.journal.recording.
"""

import asyncio
import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_lite.handler.context import CloseConnection, Wire, WireAnswer
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.facts import Facts
from broker_lite.testbench.journal.entry import Entry
from broker_lite.testbench.journal.entry_facts import EntryFacts
from broker_lite.testbench.journal.journal import PEERS_MAX
from broker_lite.testbench.journal.recording import Recording
from broker_lite.wire import messages
from broker_lite.wire.schema import catalog_by_api
from tests.testbench.journal.recorded import Client, batch, produce, produced, recording, run

pytestmark = pytest.mark.anyio
PRODUCE = messages.ProduceRequest
HEARTBEAT = messages.HeartbeatRequest


def heartbeat(client: Client, answer: Any = None, group: str = "g") -> Entry:
    return client.send(HEARTBEAT, messages.HeartbeatRequest(group_id=group), 4, answer)


def test_an_entry_has_what_is_known_of_a_request() -> None:
    client = Client(recording(), software="lib 1.0")
    request = client.request(PRODUCE, produce(batch()), 9)
    entry = client.carry_out(request, produced())
    peer = entry.peer
    assert (entry.id, entry.connection, peer.node_id, peer.listener) == (
        "r1",
        "c5",
        2,
        "PLAINTEXT",
    )
    assert (peer.client_address, peer.software, peer.client_id) == (
        "127.0.0.9",
        "lib 1.0",
        "rdkafka",
    )
    assert (entry.api_key, entry.api_version, entry.correlation_id) == (0, 9, 1)
    assert entry.request_bytes == len(request.body) + 4
    answer = messages.ProduceResponse.encode(produced(), 9)
    assert entry.answer_bytes == len(answer) + 9
    assert (entry.body, entry.ended) == (answer, "answered")
    assert entry.duration_us >= 0
    assert entry.at_ms > 1_700_000_000_000


def test_what_was_sent_is_kept_not_what_the_broker_made_of_it() -> None:
    client = Client(recording())
    request = client.request(PRODUCE, produce(batch()), 9)
    sent = bytes(request.body)

    async def handle(context: Any, request: Any) -> None:
        request.body[-9] ^= 0xFF

    run(client.journal.hook_part(client.context, request, handle))
    assert client.journal.entry(1).frame == sent


async def leave(wire: Wire) -> None:
    raise AssertionError


@pytest.mark.parametrize(
    ("answer", "ended"),
    [
        (None, "none"),
        (CloseConnection("no"), "closed"),
        (asyncio.CancelledError(), "cancelled"),
        (ValueError(), "failed"),
        (WireAnswer(leave), "fault"),
        ([b"a", b"b"], "answered"),
    ],
)
def test_how_it_ended(answer: Any, ended: str) -> None:
    journal = recording()
    entry = heartbeat(Client(journal), answer)
    assert entry.ended == ended
    assert entry.has_whole_answer
    assert entry.answer_bytes == (11 if ended == "answered" else 0)
    assert journal.kept_bytes == entry.kept_bytes


async def test_a_client_that_leaves() -> None:
    journal = recording()
    client = Client(journal)

    async def handle(context: Any, request: Any) -> None:
        await anyio.sleep_forever()

    request = client.request(HEARTBEAT, messages.HeartbeatRequest(), 4)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await journal.hook_part(client.context, request, handle)
    assert journal.entry(1).ended == "cancelled"


def test_an_entry_is_there_while_its_request_is_worked_on() -> None:
    journal = recording()
    client = Client(journal)

    async def handle(context: Any, request: Any) -> None:
        assert journal.entry(1).ended == ""
        assert journal.entry(1).duration_us < 0

    run(journal.hook_part(client.context, client.request(HEARTBEAT, HEARTBEAT(), 4), handle))
    assert len(journal) == 1


def test_numbers_are_never_used_again() -> None:
    journal = recording(keep=2)
    client = Client(journal)
    assert [heartbeat(client).id for _ in range(4)] == ["r1", "r2", "r3", "r4"]
    assert (len(journal), journal.dropped, journal.first, journal.last) == (2, 2, 3, 4)
    journal.clear()
    assert (len(journal), journal.dropped, journal.kept_bytes) == (0, 0, 0)
    assert heartbeat(client).id == "r5"
    assert [entry.number for entry in journal.entries()] == [5]


def test_entries_after_a_number() -> None:
    journal = recording(keep=3)
    client = Client(journal)
    for _ in range(5):
        heartbeat(client)
    for after, numbers in {0: [3, 4, 5], 2: [3, 4, 5], 3: [4, 5], 4: [5], 5: [], 9: []}.items():
        assert [entry.number for entry in journal.entries(after)] == numbers
    assert [entry.number for entry in journal.entries(-3)] == [3, 4, 5]


@pytest.mark.parametrize(
    ("number", "text"), [(1, "no longer kept"), (0, "no r0"), (4, "no r4 yet")]
)
def test_an_entry_that_is_not_there(number: int, text: str) -> None:
    journal = recording(keep=2)
    for _ in range(3):
        heartbeat(Client(journal))
    with pytest.raises(ControlError, match=text):
        journal.entry(number)


@pytest.mark.parametrize("level", ["headers", "bodies"])
def test_memory_is_bounded(level: str) -> None:
    bound = 300_000
    journal = recording(level, keep_bytes=bound)
    client = Client(journal)
    for size in (10, 2_000, 100, 70_000, 5_000, 200_000, 3) * 5:
        client.send(PRODUCE, produce(batch(content=bytes(size))), 9, [bytes(size)])
        assert journal.kept_bytes <= bound
        assert journal.kept_bytes == sum(entry.kept_bytes for entry in journal.entries())
    assert journal.dropped == journal.last - len(journal)
    assert journal.dropped > 0 or level == "headers"


def test_an_answer_to_a_dropped_entry_takes_no_memory() -> None:
    journal = recording(keep=1)
    client = Client(journal)

    async def handle(context: Any, request: Any) -> Any:
        heartbeat(client)
        return [bytes(1000)]

    run(journal.hook_part(client.context, client.request(HEARTBEAT, HEARTBEAT(), 4), handle))
    assert [entry.number for entry in journal.entries()] == [2]
    assert journal.kept_bytes == journal.entry(2).kept_bytes


def test_the_fault_that_acted_is_told() -> None:
    journal = recording()
    client = Client(journal)
    journal.tell_rule(client.context, "stale")

    async def handle(context: Any, request: Any) -> None:
        journal.tell_rule(context, "f1")
        journal.tell_rule(context, "f3")

    run(journal.hook_part(client.context, client.request(HEARTBEAT, HEARTBEAT(), 4), handle))
    assert journal.entry(1).rule == "f1,f3"
    assert EntryFacts(journal.entry(1)).acted == ["f1", "f3"]
    assert heartbeat(client).rule == ""


def test_the_faults_that_acted_by_the_facts() -> None:
    journal = recording()
    client = Client(journal)
    facts = Facts(client.context, client.request(HEARTBEAT, HEARTBEAT(), 4))

    async def handle(context: Any, request: Any) -> list[bytes]:
        facts.acted += ["f1", "f2"]
        return [b"answer"]

    assert run(journal.around(facts, handle)) == [b"answer"]
    assert (journal.entry(1).rule, journal.entry(1).body) == ("f1,f2", b"answer")


def test_names_of_topics_are_remembered() -> None:
    journal = recording()
    client = Client(journal)
    entry = client.send(PRODUCE, produce(batch()), 13, produced())
    assert EntryFacts(entry, journal.topic_names()).entities.topics == {"by-id"}
    client = Client(journal, 6)
    client.context.cluster = SimpleNamespace(topics_by_id={b"n" * 16: SimpleNamespace(name="new")})
    heartbeat(client)
    assert EntryFacts(entry, journal.topic_names()).entities.topics == {"by-id"}
    assert journal.topic_names().get(b"n" * 16) == "new"
    journal.end_life()
    assert journal.topic_names().get(b"n" * 16) == "new"


def test_the_client_software_is_that_of_the_request_that_tells_it() -> None:
    client = Client(recording())

    async def handle(context: Any, request: Any) -> list[bytes]:
        context.software = "lib 1"
        return [b""]

    versions = messages.ApiVersionsRequest
    request = client.request(versions, versions(client_software_name="lib"), 3)
    run(client.journal.hook_part(client.context, request, handle))
    assert client.journal.entry(1).peer.software == "lib 1"


def test_a_client_that_changes_its_name() -> None:
    journal = recording()
    client = Client(journal, name="a")
    heartbeat(client)
    client.name = "b"
    heartbeat(client)
    client.context.software = "lib 2"
    heartbeat(client)
    told = [(entry.peer.client_id, entry.peer.software) for entry in journal.entries()]
    assert told == [("a", ""), ("b", ""), ("b", "lib 2")]


def test_connections_are_remembered_in_bounds() -> None:
    journal = recording()
    clients = [Client(journal, number) for number in range(PEERS_MAX + 5)]
    for client in clients:
        heartbeat(client)
    assert journal.known_connections == 5
    heartbeat(clients[0])
    assert journal.entries()[-1].peer.connection_id == 0


def test_which_apis_are_recorded() -> None:
    journal = recording("off")
    changes: list[int] = []
    journal.changed = lambda: changes.append(len(journal.wanted_keys()))
    assert journal.wanted_keys() == set()
    journal.configure(Recording(recording="headers"))
    assert {0, 1, 3, 18} <= journal.wanted_keys()
    journal.configure(Recording(recording="headers", keys=["produce", 1, "Metadata"]))
    assert journal.wanted_keys() == {0, 1, 3}
    assert changes == [len(catalog_by_api("protocol", "request")), 3]


@pytest.mark.parametrize(
    ("wrong", "at"),
    [
        ({"keep": 0}, "keep"),
        ({"keep": 1_000_001}, "keep"),
        ({"keep_bytes": 1}, "keep_bytes"),
        ({"keys": ["Produce", "Produces"]}, "keys[1]"),
        ({"keys": [999]}, "keys[0]"),
    ],
)
def test_wrong_settings(wrong: dict[str, Any], at: str) -> None:
    journal = recording()
    with pytest.raises(ControlError) as caught:
        journal.configure(Recording(recording="bodies", **wrong))
    assert (caught.value.status, caught.value.at) == (400, at)
    assert journal.recording.recording == "headers"


def test_smaller_bounds_hold_at_once() -> None:
    journal = recording()
    for _ in range(10):
        heartbeat(Client(journal))
    journal.configure(Recording(recording="headers", keep=3))
    assert (len(journal), journal.dropped) == (3, 7)


def test_watchers_are_told() -> None:
    journal = recording()
    told: list[tuple[str, str]] = []
    journal.arrivals.append(lambda entry: told.append(("arrived", entry.ended)))
    journal.ends.append(lambda entry: told.append(("ended", entry.ended)))
    heartbeat(Client(journal))
    assert told == [("arrived", ""), ("ended", "none")]


def test_a_request_of_its_facts_and_of_its_entry_are_the_same() -> None:
    client = Client(recording(), software="lib 2")
    request = client.request(PRODUCE, produce(batch(), transactional_id="t"), 9)
    live = Facts(client.context, request)
    kept = EntryFacts(client.carry_out(request, produced()))
    for name in ("api", "version", "node_id", "listener", "client_id", "software", "connection"):
        assert getattr(live, name) == getattr(kept, name)
    assert vars(live.entities) == vars(kept.entities)


class Pause:
    def __await__(self) -> Iterator[None]:
        yield


def pausing(size: int) -> Any:
    """A handler that waits once, then answers, or does not, or fails."""

    async def handle(context: Any, request: Any) -> Any:
        await Pause()
        if size % 5 == 0:
            raise CloseConnection("no")
        return [bytes(size)] if size % 3 else None

    return handle


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["begin", "end", "end", "clear", "bound"]),
        st.integers(0, 9),
        st.integers(0, 6000),
    ),
    max_size=40,
)


@given(STEPS, st.sampled_from(["headers", "bodies"]))
def test_bounds_hold_with_requests_that_end_in_any_order(steps: Any, level: str) -> None:
    journal = recording(level, keep=5)
    client = Client(journal)
    running: list[Any] = []
    count = 0
    for step, number, size in steps:
        if step == "begin":
            request = client.request(PRODUCE, produce(batch(content=bytes(size))), 9)
            coroutine = journal.hook_part(client.context, request, pausing(size))
            coroutine.send(None)
            running.append(coroutine)
            count += 1
        elif step == "end" and running:
            with contextlib.suppress(CloseConnection):
                run(running.pop(number % len(running)))
        elif step == "clear":
            journal.clear()
        elif step == "bound":
            journal.configure(Recording(recording=level, keep=number + 1))
        entries = journal.entries()
        assert journal.kept_bytes == sum(entry.kept_bytes for entry in entries)
        assert len(journal) <= journal.recording.keep
        assert journal.last == count
        assert [entry.number for entry in entries] == list(range(journal.first, count + 1))
    for coroutine in running:
        coroutine.close()


def test_a_need_records_at_least_the_headers_of_all_requests() -> None:
    journal = recording("off")
    told: list[bool] = []
    journal.changed = lambda: told.append(bool(journal.wanted_keys()))
    journal.need()
    journal.need()
    assert journal.recording == Recording(recording="headers")
    journal.configure(Recording(recording="bodies", keys=["Fetch"], keep=7))
    assert journal.recording == Recording(recording="bodies", keep=7)
    assert len(journal.wanted_keys()) > 50
    journal.release()
    assert len(journal.wanted_keys()) > 50
    journal.release()
    assert journal.recording == Recording(recording="bodies", keys=["Fetch"], keep=7)
    assert journal.wanted_keys() == {1}
    assert told == [True] * 5
