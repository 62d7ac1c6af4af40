"""Records by the control API: out as lines, in as lines, the same after a round trip.

Also tests: broker_lite.testbench.record_lines, broker_lite.testbench.record_writing.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from broker_lite.record.framing import walk
from broker_lite.seed.writer import SeedWriter
from broker_lite.testbench.record_lines import BodyLines, parse_lines
from broker_lite.testbench.record_writing import write_in_turns
from broker_lite.testing import Broker, BrokerFailed
from tests.seed.seeding import Seeding
from tests.testbench.conftest import Others

T = "/v1/topics/t/records"


@pytest.fixture(scope="module")
def running() -> Iterator[Broker]:
    with Broker({"message.max.bytes": 2_000_000}) as started:
        yield started


@pytest.fixture
def broker(running: Broker) -> Broker:
    topics: Any = running.control("GET", "/v1/topics")
    for topic in topics:
        running.control("DELETE", f"/v1/topics/{topic['name']}")
    return running


def lines(broker: Broker, query: str = "", topic: str = "t") -> list[dict[str, Any]]:
    text = broker.control("GET", f"/v1/topics/{topic}/records{query}")
    assert isinstance(text, str)
    return [json.loads(line) for line in text.splitlines()]


def test_records_are_read_as_a_seed_file_has_them(broker: Broker) -> None:
    broker.produce("t", "é", None, b"\xff", key="k", headers=[("h", b"1")], timestamp_ms=5)
    shown = {"topic": "t", "partition": 0, "key": "k", "headers": [["h", "1"]], "timestamp": 5}
    assert lines(broker) == [
        {**shown, "value": "é"},
        {**shown, "value": None},
        {**shown, "value": {"base64": "/w=="}},
    ]


def test_lines_that_were_read_can_be_written(broker: Broker) -> None:
    broker.create_topic("t", partitions=2)
    broker.create_topic("u", partitions=2)
    broker.produce("t", "a", b"\xff\x00", "", key=b"\xfe", headers=[("h", None)], timestamp_ms=5)
    text = broker.control("GET", T)
    assert isinstance(text, str)
    written = broker.control("POST", "/v1/topics/u/records", text.replace('"t"', '"u"'))
    before = broker.records("t")
    assert written == {
        "records": 3,
        "end_offsets": {str(each): 3 * (each == before[0].partition) for each in (0, 1)},
    }
    assert broker.records("u") == before


def test_the_topic_of_a_line_is_that_of_the_path(broker: Broker) -> None:
    assert broker.control("POST", T, '{"value": 1}\n\n{"value": {"a": [2]}}') == {
        "records": 2,
        "end_offsets": {"0": 2},
    }
    broker.control("POST", T, '{"value": "more"}')
    assert [each.value for each in broker.records("t")] == [b"1", b'{"a":[2]}', b"more"]


def test_a_list_of_records_is_written(broker: Broker) -> None:
    broker.control("POST", T, [{"value": "é"}, {"value": {"base64": "/w=="}}])
    assert [each.value for each in broker.records("t")] == ["é".encode(), b"\xff"]


def test_many_lines_are_written_in_turns(broker: Broker) -> None:
    text = "".join(f'{{"value": {number}}}\n' for number in range(1200))
    broker.control("POST", T, text)
    assert [each["value"] for each in lines(broker, "?limit=2000")] == [*map(str, range(1200))]


def test_pages(broker: Broker) -> None:
    broker.create_topic("t", partitions=2)
    broker.produce("t", *"abcd", partition=1)
    broker.produce("t", *"xy", partition=0)
    page = lines(broker, "?partition=1&from=1&limit=2&offsets=true")
    assert [(each["offset"], each["value"]) for each in page] == [(1, "b"), (2, "c")]
    assert [each["value"] for each in lines(broker, "?limit=3")] == ["x", "y", "a"]
    assert [each["value"] for each in lines(broker, "?limit=2")] == ["x", "y"]
    assert lines(broker, "?partition=1&from=4") == []


def test_more_than_one_read(broker: Broker) -> None:
    for letter in "abc":
        broker.produce("t", letter * 900_000)
    assert [each["value"][0] for each in lines(broker)] == ["a", "b", "c"]


def test_records_of_aborted_and_open_transactions(broker: Broker) -> None:
    broker.create_topic("t")
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "p"})
    producer.init_transactions()
    for value in ("kept", "aborted", "open"):
        producer.begin_transaction()
        producer.produce("t", value)
        producer.flush()
        if value == "kept":
            producer.commit_transaction()
        if value == "aborted":
            producer.abort_transaction()
    assert [each["value"] for each in lines(broker)] == ["kept", "aborted", "open"]
    assert [each["value"] for each in lines(broker, "?read_committed=true")] == ["kept"]
    producer.abort_transaction()


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("?limit=0", "Expected `int` >= 1"),
        ("?limit=x", "Expected `int`"),
        ("?partition=2", "topic t has 1 partitions, not 2"),
        ("?from=0", "a place to begin at needs a partition"),
        ("?partition=0&from=9", "offset 9 is not in 0 to 1"),
    ],
)
def test_what_cannot_be_read(broker: Broker, query: str, text: str) -> None:
    broker.produce("t", "a")
    with pytest.raises(BrokerFailed, match=text):
        broker.control("GET", T + query)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("x", "line 1: no JSON"),
        ('{"value": 1}\n[]', "line 2: not an object"),
        ('{"value": 1}\n{"size": 1}', "line 2: size: no such field"),
        ('{"topic": "u"}', "line 1: topic: these are the records of t, not of u"),
        ("[1]", "line 1: not an object"),
        ("[{]", "line 1: no JSON"),
        ("[" * 100_000, "line 1: no JSON"),
        ([{"value": 1}, {"topic": "u"}], "line 2: topic: these are the records of t"),
        ('{"partition": 3}', "line 1: partition: topic t has 1 of them, 3 is too high"),
    ],
)
def test_what_cannot_be_written(broker: Broker, body: object, text: str) -> None:
    with pytest.raises(BrokerFailed, match=text):
        broker.control("POST", T, body)


def test_nothing_is_read_of_a_topic_that_is_not_there(broker: Broker) -> None:
    with pytest.raises(BrokerFailed, match="there is no topic 'x'"):
        lines(broker, topic="x")


def test_nothing_is_written_where_nobody_leads() -> None:
    settings = {"broker.session.timeout.ms": 0, "default.replication.factor": 1}
    with Broker(settings, brokers=2, topics=["t:2"]) as cluster:
        down = cluster.partition("t", 1)["leader"]
        cluster.control("PATCH", f"/v1/brokers/{down}", {"state": "stopped"})
        with pytest.raises(BrokerFailed, match=r"topic t: nobody leads the partitions \[1\]"):
            cluster.control("POST", T, '{"value": 1}')


@pytest.mark.anyio
@pytest.mark.parametrize(
    "body", [b'{"value":"x"}\n' * 30, b"\n" * 30, b"[" + b"{}, " * 29 + b"{}]"]
)
async def test_reading_lines_lets_others_run(others: Others, body: bytes) -> None:
    assert await others.while_running(parse_lines(BodyLines(body), "t")) >= 30


@pytest.mark.anyio
async def test_writing_large_records_lets_others_run(others: Others, tmp_path: Path) -> None:
    """Also while the open batches of many partitions are written at the end."""
    seeding = Seeding(tmp_path / "data", num_partitions="40")
    given = [json.dumps({"value": "x" * 300_000, "partition": each}) for each in range(40)]
    records = await parse_lines(BodyLines("\n".join(given).encode()), "t")
    writer = SeedWriter(seeding.cluster, seeding.clock, None, BodyLines(b"").error)
    assert await others.while_running(write_in_turns(writer, records)) >= 2 * len(records)
    assert writer.waiting_bytes == 0
    seeding.close()


def test_batches_that_have_to_be_compressed_are_small(broker: Broker) -> None:
    broker.create_topic("t", configs={"compression.type": "gzip"})
    text = "".join(json.dumps({"value": "x" * 50_000}) + "\n" for _ in range(8))
    broker.control("POST", T, text)
    (log,) = broker.data_dir.glob("t-0/*.log")
    data = memoryview(log.read_bytes())
    assert len([*walk(data)]) == 4


def test_reading_begins_at_a_time(broker: Broker) -> None:
    broker.create_topic("t", partitions=1)
    for ms in (1000, 2000, 3000):
        broker.produce("t", str(ms), timestamp_ms=ms)

    def values(query: str) -> list[str]:
        return [each["value"] for each in lines(broker, f"?partition=0&{query}")]

    assert values("from_ms=0") == ["1000", "2000", "3000"]
    assert values("from_ms=1001") == ["2000", "3000"]
    assert values("from_ms=3000") == ["3000"]
    assert values("from_ms=3001") == []


@pytest.mark.parametrize("query", ["?from_ms=5", "?from_ms=-1&partition=0"])
def test_a_time_needs_a_partition_and_is_not_negative(broker: Broker, query: str) -> None:
    broker.create_topic("t", partitions=1)
    with pytest.raises(BrokerFailed, match="from"):
        lines(broker, query)
