"""The journal is compared with what a test expects, in order."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.journal.journal import Journal
from broker_lite.testbench.journal.match import Comparer, Comparing, described, match
from broker_lite.testbench.journal.recording import Recording
from broker_lite.testbench.selectors import Selectors
from broker_lite.wire import messages
from tests.testbench.journal.recorded import Client, batch, produce, produced, recording

pytestmark = pytest.mark.anyio


@pytest.fixture
def journal() -> Journal:
    """InitProducerId, Metadata, Produce to 0, Metadata, Produce to 1."""
    journal = recording()
    client = Client(journal)
    metadata = messages.MetadataRequest
    client.send(messages.InitProducerIdRequest, messages.InitProducerIdRequest(), 4)
    for partition in (0, 1):
        client.send(metadata, metadata(topics=[]), 9)
        body = produce(batch(), partition=partition)
        client.send(messages.ProduceRequest, body, 9, produced())
    return journal


def expected(*wanted: Any) -> list[Selectors]:
    return [Selectors(keys=[each]) if isinstance(each, str) else each for each in wanted]


PRODUCE_1 = Selectors(keys=["Produce"], partitions=[1])


async def test_all_in_order(journal: Journal) -> None:
    told = await match(
        journal, expected("InitProducerId", "Produce", PRODUCE_1), others_ok=["Metadata"]
    )
    assert (told.matched, told.requests, told.first_difference) == (3, ["r1", "r3", "r5"], None)
    told = await match(journal, expected("InitProducerId", PRODUCE_1), others_ok=None)
    assert told.requests == ["r1", "r5"]
    told = await match(journal, expected("Metadata", "Produce"), after=3)
    assert told.requests == ["r4", "r5"]
    assert (await match(journal, [])).matched == 0


async def test_a_comparison_goes_on(journal: Journal) -> None:
    client = Client(journal)
    metadata = messages.MetadataRequest
    wanted = expected("Produce", "Produce", "Metadata")
    comparing = Comparing(journal, wanted, others_ok=["InitProducerId", "Metadata"])
    assert comparing.told().matched == 0
    assert (await comparing.go_on()).requests == ["r3", "r5"]
    journal.clear()  # what was compared is not asked for again
    told = await comparing.go_on()
    assert (told.matched, told.first_difference is None) == (2, False)
    client.send(metadata, metadata(topics=[]), 9)
    client.send(messages.ApiVersionsRequest, messages.ApiVersionsRequest(), 3)
    told = await comparing.go_on()
    assert (told.requests, told.first_difference) == (["r3", "r5", "r6"], None)
    assert await comparing.go_on() == told


async def test_a_wrong_request_stays_wrong(journal: Journal) -> None:
    comparing = Comparing(journal, expected("Metadata"))
    told = await comparing.go_on()
    assert told.first_difference is not None
    assert told.first_difference.got == "r1"
    assert await comparing.go_on() == told


async def test_the_first_wrong_request_is_named(journal: Journal) -> None:
    told = await match(journal, expected("InitProducerId", PRODUCE_1, "Fetch"))
    assert told.matched == 1
    difference = told.first_difference
    assert difference is not None
    assert (difference.position, difference.after, difference.got) == (2, "r1", "r2")
    assert difference.text.startswith(
        "expected 2. Produce partitions [1] after r1, got r2 Metadata from rdkafka: API "
    )
    lines = difference.diff.splitlines()
    assert lines[0].startswith("  1. InitProducerId  =  r1 ")
    assert lines[1] == "- 2. Produce partitions [1]"
    assert lines[2].startswith("+ r2 ")
    assert lines[3:] == ["  3. Fetch  (not compared)"]


async def test_nothing_more_came(journal: Journal) -> None:
    told = await match(journal, expected("Heartbeat"), after=4, others_ok=None)
    difference = told.first_difference
    assert difference is not None
    assert difference.text == "expected 1. Heartbeat, got nothing more"
    assert (difference.after, difference.got) == (None, None)
    assert difference.diff.splitlines() == ["- 1. Heartbeat", "+ nothing more"]


@pytest.mark.parametrize(
    ("recorded", "got"),
    [
        (Recording(recording="headers"), "no request"),
        (Recording(), "nothing, as requests are not recorded"),
        (Recording(recording="headers", keys=["Fetch"]), "nothing, as only Fetch is recorded"),
    ],
)
async def test_nothing_came(journal: Journal, recorded: Recording, got: str) -> None:
    journal.configure(recorded)
    told = await match(journal, expected("Produce"), after=5)
    difference = told.first_difference
    assert difference is not None
    assert difference.text == f"expected 1. Produce, got {got}"
    assert difference.diff.splitlines() == ["- 1. Produce", f"+ {got}"]


async def test_wrong_expectations(journal: Journal) -> None:
    with pytest.raises(ControlError) as caught:
        await match(journal, expected("Produce", "Prodce"))
    assert caught.value.at == "[1].keys[0]"
    with pytest.raises(ControlError) as caught:
        await match(journal, expected("Produce"), others_ok=["No"])
    assert caught.value.at == "others_ok[0]"


@pytest.mark.parametrize(
    ("selectors", "words"),
    [
        (Selectors(), "any request"),
        (Selectors(keys=["Produce", 1]), "Produce or 1"),
        (PRODUCE_1, "Produce partitions [1]"),
        (Selectors(topic="o", where={"acks": 0}), "any request topic 'o' acks 0"),
    ],
)
def test_words(selectors: Selectors, words: str) -> None:
    assert described(selectors) == words


def compared(wanted: list[str], items: list[str], others: set[str]) -> Comparer[str]:
    comparer = Comparer[str]([each.__eq__ for each in wanted], others.__contains__)
    for item in items:
        if comparer.take(item):
            break
    return comparer


LETTERS = st.lists(st.sampled_from("abc"), max_size=6)


@given(LETTERS, LETTERS, st.sets(st.sampled_from("abc")))
def test_a_comparison_takes_the_next_expected_or_what_may_come(
    wanted: list[str], items: list[str], others: set[str]
) -> None:
    comparer = compared(wanted, items, others)
    met = 0
    wrong = None
    for item in items:
        if met == len(wanted):
            break
        if item == wanted[met]:
            met += 1
        elif item not in others:
            wrong = item
            break
    assert comparer.met == wanted[:met]
    assert comparer.wrong == wrong


@given(LETTERS, st.data())
def test_what_was_expected_with_others_in_between_is_found(
    wanted: list[str], data: st.DataObject
) -> None:
    items: list[str] = []
    for each in wanted:
        items += data.draw(st.lists(st.sampled_from("xy"), max_size=2))
        items.append(each)
    assert compared(wanted, items, {"x", "y"}).met == wanted
    # one that is neither expected nor allowed is always the first difference
    at = data.draw(st.integers(0, len(items) - 1)) if items else 0
    comparer = compared(wanted, [*items[:at], "z", *items[at:]], {"x", "y"})
    assert comparer.wrong == ("z" if wanted else None)
