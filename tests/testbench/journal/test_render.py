"""An entry as one line."""

import re
from typing import Any

import pytest

from broker_lite.handler.context import CloseConnection
from broker_lite.testbench.journal.entry_facts import EntryFacts
from broker_lite.testbench.journal.render import line, plain
from broker_lite.wire import messages
from tests.testbench.journal.recorded import Client, batch, produce, produced, recording


def told(kind: Any, body: Any, version: int, answer: Any = None, **client: Any) -> str:
    """The line without time and duration."""
    entry = Client(recording(), **client).send(kind, body, version, answer)
    text = line(EntryFacts(entry))
    assert re.match(r"r1 \d\d:\d\d:\d\d\.\d{3} c5 ", text)
    return re.sub(r" \d+\.\d ms", "", text.split(" ", 2)[2])


def test_produce() -> None:
    assert told(messages.ProduceRequest, produce(batch()), 9, produced(6)) == (
        "c5 rdkafka Produce v9 orders[0] 1 record 147 B -> NOT_LEADER_OR_FOLLOWER 57 B"
    )
    assert "orders[2] 0 records" in told(messages.ProduceRequest, produce(partition=2), 3)


def test_the_fault_is_told() -> None:
    entry = Client(recording()).send(messages.ProduceRequest, produce(batch()), 9, produced())
    entry.rule = "f1"
    assert re.search(r"-> OK 57 B \d+\.\d ms \[f1\]$", line(EntryFacts(entry)))


@pytest.mark.parametrize(
    ("body", "version", "words"),
    [
        (messages.HeartbeatRequest(group_id="g"), 4, "group 'g'"),
        (messages.EndTxnRequest(transactional_id="t"), 3, "txn 't'"),
        (messages.FindCoordinatorRequest(coordinator_keys=["g"]), 4, "group 'g'"),
        (messages.MetadataRequest(topics=None), 9, "Metadata v9 27 B"),
    ],
)
def test_what_a_request_names(body: Any, version: int, words: str) -> None:
    assert words in told(messages.message(type(body).__name__), body, version)


def test_many_names() -> None:
    kind = messages.MetadataRequest
    topics = [kind.MetadataRequestTopic(name=f"t{number}") for number in range(9)]
    assert " t0 t1 t2 and 6 more " in told(kind, kind(topics=topics), 9)
    fetch = messages.OffsetForLeaderEpochRequest
    partitions = [fetch.OffsetForLeaderPartition(partition=number) for number in range(20)]
    topic = fetch.OffsetForLeaderTopic(topic="t", partitions=partitions)
    assert " t[0,1,2,3,4,5,6,7,...] " in told(fetch, fetch(topics=[topic]), 4)


def test_how_it_ended() -> None:
    heartbeat, body = messages.HeartbeatRequest, messages.HeartbeatRequest()
    assert told(heartbeat, body, 4).endswith("-> no answer")
    assert told(heartbeat, body, 4, CloseConnection("x")).endswith("-> closed")
    assert told(heartbeat, body, 4, [b"\0"]).endswith("-> answered 10 B")
    entry = Client(recording()).send(heartbeat, body, 4)
    entry.ended, entry.duration_s = "", -1
    assert line(EntryFacts(entry)).endswith("-> in progress")


def test_clients_without_an_id() -> None:
    body = messages.HeartbeatRequest()
    assert "c5 lib 1 Heart" in told(messages.HeartbeatRequest, body, 4, name="", software="lib 1")
    assert "c5 ? Heartbeat" in told(messages.HeartbeatRequest, body, 4, name="")


def test_hostile_names_stay_on_the_line() -> None:
    assert plain("a\nb\x1b[31m" + "c" * 100) == "a\\nb\\x1b[31m" + "c" * 52 + "..."
