"""How much of requests and answers is kept.

Also tests: broker_lite.testbench.journal.skeleton.
"""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from broker_lite.handler.context import CloseConnection
from broker_lite.log.files.open_file import FileSlice
from broker_lite.testbench.journal.batches import record_count
from broker_lite.testbench.journal.entry import ENTRY_BYTES, Entry
from broker_lite.testbench.journal.entry_facts import EntryFacts
from broker_lite.testbench.journal.keeping import HEADERS_BYTES
from broker_lite.testbench.journal.skeleton import BATCHES_MAX, PARTITIONS_MAX
from broker_lite.wire import messages
from tests.testbench.journal.recorded import Client, batch, produce, produced, recording

PRODUCE = messages.ProduceRequest


def answered(parts: Any, level: str = "headers") -> Entry:
    """A request with an answer of these parts."""
    kind = messages.HeartbeatRequest
    return Client(recording(level)).send(kind, kind(group_id="g"), 4, parts)


def test_headers_keep_the_beginning() -> None:
    client = Client(recording())
    entry = client.send(
        PRODUCE, produce(batch(3, content=bytes(10_000)), batch(4)), 9, [bytes(9_000)]
    )
    assert (len(entry.frame), len(entry.body)) == (HEADERS_BYTES, HEADERS_BYTES)
    assert not entry.has_whole_request
    assert not entry.has_whole_answer
    [(topic, partition, records)] = EntryFacts(entry).records()
    assert (topic, partition, record_count(records)) == ("orders", 0, 7)


def test_bodies_keep_all_but_what_is_too_large_for_the_bound() -> None:
    journal = recording("bodies", keep_bytes=100_000)
    client = Client(journal)
    entry = client.send(PRODUCE, produce(batch(content=bytes(20_000))), 9, [bytes(20_000)])
    assert entry.has_whole_request
    assert entry.has_whole_answer
    entry = client.send(PRODUCE, produce(batch(9, content=bytes(30_000))), 9, [bytes(30_000)])
    assert len(entry.frame) == HEADERS_BYTES
    assert len(entry.body) == 25_000
    assert EntryFacts(entry).record_count == 9


@pytest.mark.parametrize("version", [3, 9, 13])
def test_the_skeleton_of_many_partitions_and_batches(version: int) -> None:
    kind = messages.ProduceRequest
    partitions = [
        kind.PartitionProduceData(index=number, records=batch(2) + batch(3) if number else None)
        for number in range(PARTITIONS_MAX + 10)
    ]
    topic = kind.TopicProduceData(name="t", topic_id=b"i" * 16, partition_data=partitions)
    body = kind(acks=1, timeout_ms=3, transactional_id="x", topic_data=[topic])
    entry = Client(recording()).send(PRODUCE, body, version, produced())
    facts = EntryFacts(entry, {b"i" * 16: "t"})
    assert facts.decoded is not None
    assert facts.decoded.missing == "not all partitions and batches were kept"
    assert facts.entities.partitions == {"t": set(range(PARTITIONS_MAX))}
    assert facts.entities.transactional_ids == {"x"}
    assert facts.record_count == BATCHES_MAX // 2 * 5
    assert entry.kept_bytes > HEADERS_BYTES + ENTRY_BYTES
    assert entry.skeleton is not None
    assert entry.kept_bytes > entry.skeleton.kept_bytes


@pytest.mark.parametrize("content", [b"", b"\xff" * 6000, batch() + b"\0" * 6000])
def test_a_long_produce_that_is_no_batch(content: bytes) -> None:
    body = produce(content)
    body.topic_data.append(produce(bytes(5000)).topic_data[0])
    entry = Client(recording()).send(PRODUCE, body, 9, produced())
    assert EntryFacts(entry).record_count == (1 if content.startswith(bytes(8)) else 0)


def test_a_long_produce_that_cannot_be_decoded() -> None:
    entry = Client(recording()).send(PRODUCE, b"\xff" * 10_000, 9, CloseConnection("no"))
    assert entry.skeleton is None
    assert EntryFacts(entry).entities.topics == set()


@pytest.mark.parametrize(("count", "is_whole"), [(1000, True), (3000, False)])
def test_a_long_fetch_is_kept_whole_if_it_is_not_too_long(count: int, is_whole: bool) -> None:
    kind = messages.FetchRequest
    partitions = [kind.FetchPartition(partition=number) for number in range(count)]
    body = kind(topics=[kind.FetchTopic(topic="t", partitions=partitions)], max_bytes=1)
    entry = Client(recording()).send(kind, body, 11)
    found = EntryFacts(entry).entities.partitions["t"]
    assert entry.has_whole_request == is_whole
    assert (found == set(range(count))) == is_whole
    assert found > set(range(100))


def test_file_slices_count_by_their_size(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"0123456789")
    fd = os.open(path, os.O_RDONLY)
    parts = [b"head", FileSlice(fd, 2, 3, None), b"mid", FileSlice(fd, 5, 100, None), b"end"]
    entry = answered(parts)
    assert (entry.body_bytes, entry.body) == (113, b"headmidend")
    assert entry.gaps == ((4, 3), (7, 100))
    entry = answered(parts, "bodies")
    assert (entry.body_bytes, entry.body) == (113, b"head234midend")
    assert entry.gaps == ((10, 100),)
    os.close(fd)
    entry = answered(parts, "bodies")
    assert entry.gaps == ((4, 3), (7, 100))


def test_nothing_is_kept_behind_the_first_cut() -> None:
    parts = [bytes(4000), bytes(200), FileSlice(-1, 0, 50, None), b"end"]
    entry = answered(parts)
    assert (len(entry.body), entry.body_bytes, entry.gaps) == (HEADERS_BYTES, 4253, ())


@pytest.mark.parametrize("version", [4, 7, 12, 13, 15, 18])
def test_a_fetch_of_a_session_asks_for_its_partitions(version: int) -> None:
    client = Client(recording())
    keys = [("a", 1), (b"i" * 16, 2)]
    client.context.fetch_sessions = {77: SimpleNamespace(partitions=dict.fromkeys(keys))}
    body = messages.FetchRequest(session_id=77 if version >= 7 else 0, max_bytes=1)
    entry = client.send(messages.FetchRequest, body, version)
    expected = {"a": {1}, "b": {2}} if version >= 7 else {}
    assert EntryFacts(entry, {b"i" * 16: "b"}).entities.partitions == expected
    assert client.journal.kept_bytes == entry.kept_bytes
