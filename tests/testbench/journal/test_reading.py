"""Lists of entries, and all that is known of one.

Also tests: broker_lite.testbench.turns.
"""

from typing import Any

import msgspec
import pytest

from broker_lite.handler.context import CloseConnection
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.journal.journal import Journal
from broker_lite.testbench.journal.reading import (
    Detail,
    Summary,
    detail,
    last,
    listed,
    number_of,
    raw_answer,
    raw_request,
    read,
    summary,
)
from broker_lite.testbench.selectors import Selectors
from broker_lite.wire import messages
from tests.testbench.conftest import Others
from tests.testbench.journal.recorded import Client, batch, produce, produced, recording

pytestmark = pytest.mark.anyio
HEARTBEAT = messages.HeartbeatRequest


@pytest.fixture
def journal() -> Journal:
    """Six requests of two clients."""
    journal = recording()
    one, other = Client(journal, 1, "one"), Client(journal, 2, "other", "lib 2")
    one.send(messages.ProduceRequest, produce(batch()), 9, produced())
    other.send(messages.ProduceRequest, produce(batch(), topic="b", partition=4), 9, produced(6))
    one.send(HEARTBEAT, HEARTBEAT(group_id="g"), 4, CloseConnection("x"))
    other.send(messages.ProduceRequest, produce(batch(content=bytes(9000)), acks=1), 9, produced())
    one.send(messages.EndTxnRequest, messages.EndTxnRequest(transactional_id="tx"), 3, [bytes(8)])
    one.send(messages.ProduceRequest, produce(batch()), 13, produced())
    return journal


async def ids(journal: Journal, **arguments: Any) -> str:
    options = {key: arguments.pop(key) for key in ("errors", "after", "limit") if key in arguments}
    found = await listed(journal, Selectors(**arguments), **options)
    return " ".join(facts.entry.id for facts in found)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, "r1 r2 r3 r4 r5 r6"),
        ({"limit": 2}, "r5 r6"),
        ({"limit": 2, "after": 1}, "r2 r3"),
        ({"after": 6}, ""),
        ({"errors": True}, "r2 r3"),
        ({"keys": ["Produce"]}, "r1 r2 r4 r6"),
        ({"keys": ["Produce"], "limit": 1}, "r6"),
        ({"keys": ["Produce"], "versions": (13, 13)}, "r6"),
        ({"client_id": "o*r"}, "r2 r4"),
        ({"software": "lib*"}, "r2 r4"),
        ({"connection": "c1"}, "r1 r3 r5 r6"),
        ({"client_address": "127.*"}, "r1 r2 r3 r4 r5 r6"),
        ({"nodes": [1]}, ""),
        ({"listener": "PLAINTEXT", "nodes": [2], "limit": 1}, "r6"),
        ({"topic": "orders"}, "r1 r4"),
        ({"topic": "by-*"}, "r6"),
        ({"topic_id": "AAECAwQFBgcICQoLDA0ODw"}, "r6"),
        ({"topic": "b", "partitions": [4]}, "r2"),
        ({"group": "g"}, "r3"),
        ({"txn_id": "tx"}, "r5"),
        ({"where": {"acks": 1}}, "r4"),
        ({"where": {"topic_data[].partition_data[].index": 4}}, "r2"),
    ],
)
async def test_lists(journal: Journal, arguments: dict[str, Any], expected: str) -> None:
    assert await ids(journal, **arguments) == expected


async def test_fields_that_were_not_kept_match_nothing() -> None:
    journal = recording()
    kind = messages.MetadataRequest
    topics = [kind.MetadataRequestTopic(name=f"topic {number}") for number in range(2000)]
    Client(journal).send(kind, kind(topics=topics, allow_auto_topic_creation=True), 9)
    assert await ids(journal, topic="topic 0") == "r1"
    assert await ids(journal, topic="topic 1999") == ""
    assert await ids(journal, where={"allow_auto_topic_creation": True}) == ""


async def test_a_long_list_lets_others_run(others: Others) -> None:
    journal = recording()
    client = Client(journal)
    for _ in range(20):
        client.send(messages.ProduceRequest, produce(batch()), 9, produced())
    found: list[Summary] = []

    async def look() -> None:
        found.extend(await listed(journal, Selectors(topic="none")))

    assert await others.while_running(look()) >= 20
    assert found == []


@pytest.mark.parametrize(("text", "number"), [(None, None), (4, 4), ("r17", 17)])
def test_ids(text: Any, number: int | None) -> None:
    assert number_of(text) == number


@pytest.mark.parametrize("text", ["17", "r", "r-1", "rx", "r1 "])
def test_wrong_ids(text: str) -> None:
    with pytest.raises(ControlError, match="no id of a request"):
        number_of(text)


def test_a_summary_and_all_details(journal: Journal) -> None:
    told = msgspec.json.decode(msgspec.json.encode(summary(read(journal, 2))), type=Summary)
    assert (told.id, told.api, told.version, told.errors) == (
        "r2",
        "Produce",
        9,
        ["NOT_LEADER_OR_FOLLOWER"],
    )
    assert (told.topics, told.connection, told.ended) == (["b"], "c2", "answered")
    everything: Any = msgspec.json.decode(
        msgspec.json.encode(detail(read(journal, 4))), type=Detail
    )
    assert everything.request["acks"] == 1
    assert everything.request["topic_data"][0]["partition_data"][0]["records"]["size_bytes"] == 9061
    assert everything.answer["responses"][0]["name"] == "orders"
    assert not everything.has_bytes
    assert detail(read(journal, 2)).has_bytes


def test_a_request_that_is_worked_on(journal: Journal) -> None:
    facts = read(journal, 1)
    facts.entry.ended, facts.entry.duration_s, facts.entry.body_bytes = "", -1, -1
    told = detail(facts)
    assert (told.duration_us, told.answer, told.ended) == (None, None, "")


def test_bytes() -> None:
    client = Client(recording("bodies"))
    request = client.request(messages.ProduceRequest, produce(batch(content=bytes(9000))), 9)
    sent = len(request.body).to_bytes(4, "big") + bytes(request.body)
    client.carry_out(request, produced())
    answer = messages.ProduceResponse.encode(produced(), 9)
    size = (len(answer) + 5).to_bytes(4, "big")
    facts = read(client.journal, 1)
    assert raw_request(facts) == sent
    assert raw_answer(facts) == size + bytes([0, 0, 0, 1, 0]) + answer
    assert len(raw_answer(facts)) == facts.entry.answer_bytes
    client.send(HEARTBEAT, HEARTBEAT(), 4)
    assert raw_answer(read(client.journal, 2)) == b""


def test_bytes_that_were_not_kept(journal: Journal) -> None:
    with pytest.raises(ControlError, match="the request r4 was not kept whole") as caught:
        raw_request(read(journal, 4))
    assert caught.value.status == 409
    assert raw_answer(read(journal, 4))
    entry = Client(journal).send(HEARTBEAT, HEARTBEAT(), 4, [bytes(9000)])
    with pytest.raises(ControlError, match="the answer to r7 was not kept whole"):
        raw_answer(read(journal, entry.number))


async def test_the_last_lines(journal: Journal) -> None:
    assert [text.split(" ")[0] for text in await last(journal, 2)] == ["r5", "r6"]
    assert len(await last(journal)) == 6
    small = recording(keep=1)
    for _ in range(3):
        Client(small).send(HEARTBEAT, HEARTBEAT(), 4)
    assert (await last(small))[0] == "(2 requests before these were dropped)"
    assert len(await last(small)) == 2
