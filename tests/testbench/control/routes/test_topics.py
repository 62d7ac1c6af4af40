"""Topics by the control API: the list, one topic, creation, deletion, waits."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psutil
import pytest

from broker_lite.errors import ClientError
from broker_lite.testing import Broker, BrokerFailed


@pytest.fixture(scope="module")
def running() -> Iterator[Broker]:
    with Broker() as started:
        yield started


@pytest.fixture
def broker(running: Broker) -> Broker:
    for topic in asked(running, "GET", "/v1/topics"):
        running.control("DELETE", f"/v1/topics/{topic['name']}")
    return running


def asked(broker: Broker, method: str, path: str, body: object = None) -> Any:
    return broker.control(method, path, body)


def test_a_topic_is_told_as_it_is(broker: Broker) -> None:
    wanted = {"name": "t", "partitions": 2, "configs": {"retention.ms": "1000"}}
    made = asked(broker, "POST", "/v1/topics", wanted)
    broker.produce("t", "a", "b", partition=1)
    found = asked(broker, "GET", "/v1/topics/t")
    size_bytes = found["offsets"][1].pop("size_bytes")
    assert size_bytes > 0
    empty = {"start": 0, "end": 0, "high_watermark": 0, "last_stable_offset": 0, "size_bytes": 0}
    two = {"start": 0, "end": 2, "high_watermark": 2, "last_stable_offset": 2}
    assert found["offsets"] == [
        {"partition": 0, "leader": 1, **empty},
        {"partition": 1, "leader": 1, **two},
    ]
    assert made["offsets"][1]["end"] == 0
    assert found["id"] == made["id"]
    assert found["configs"] == {"retention.ms": "1000"}
    assert (found["partitions"], found["replication_factor"], found["internal"]) == (2, 1, False)


def test_f16_a_synthetic_topic_is_told_as_its_clients_see_it(broker: Broker) -> None:
    configs = {"broker.lite.load.mode": "synthetic", "broker.lite.load.end": "5000"}
    asked(broker, "POST", "/v1/topics", {"name": "t", "configs": configs})
    ends = {"start": 0, "end": 5000, "high_watermark": 5000, "last_stable_offset": 5000}
    found = asked(broker, "GET", "/v1/topics/t")
    assert found["offsets"] == [{"partition": 0, "leader": 1, **ends, "size_bytes": 0}]
    assert asked(broker, "POST", "/v1/topics/t/wait", {"records": 5000})["offsets"]


def test_s56_of_discarded_records_only_the_offsets_are_told(broker: Broker) -> None:
    asked(
        broker, "POST", "/v1/topics", {"name": "t", "configs": {"broker.lite.load.mode": "discard"}}
    )
    broker.control("POST", "/v1/topics/t/records", '{"value": "one"}\n{"value": "two"}')
    ends = {"start": 0, "end": 2, "high_watermark": 2, "last_stable_offset": 2}
    found = asked(broker, "GET", "/v1/topics/t")
    assert found["offsets"] == [{"partition": 0, "leader": 1, **ends, "size_bytes": 61}]
    assert broker.control("GET", "/v1/topics/t/records") == ""
    assert asked(broker, "POST", "/v1/topics/t/wait", {"records": 2})["offsets"]


def test_topics_are_listed_in_pages(broker: Broker) -> None:
    for name in ("c", "a", "b"):
        broker.create_topic(name)
    assert [each["name"] for each in asked(broker, "GET", "/v1/topics")] == ["a", "b", "c"]
    page = asked(broker, "GET", "/v1/topics?limit=1&after=a")
    assert [each["name"] for each in page] == ["b"]


def test_topics_of_the_broker_are_listed_if_they_are_asked_for(broker: Broker) -> None:
    broker.control("POST", "/v1/topics", {"name": "__consumer_offsets", "partitions": 1})
    assert asked(broker, "GET", "/v1/topics") == []
    found = asked(broker, "GET", "/v1/topics?internal=true")
    assert [(each["name"], each["internal"]) for each in found] == [("__consumer_offsets", True)]


def test_a_deleted_topic_is_gone(broker: Broker) -> None:
    broker.create_topic("t")
    broker.control("DELETE", "/v1/topics/t")
    with pytest.raises(BrokerFailed, match="there is no topic 't'"):
        broker.control("GET", "/v1/topics/t")


@pytest.mark.parametrize(
    ("method", "path", "body", "text"),
    [
        ("GET", "/v1/topics/x", None, "there is no topic 'x'"),
        ("GET", "/v1/topics?limit=0", None, "Expected `int` >= 1"),
        ("GET", "/v1/topics?size=1", None, "unknown field `size`"),
        ("DELETE", "/v1/topics/x", None, "there is no topic 'x'"),
        ("POST", "/v1/topics", {}, "missing required field `name`"),
        ("POST", "/v1/topics", {"name": "t", "partitions": 0}, "Number of partitions"),
        ("POST", "/v1/topics", {"name": "t", "partitions": 100_001}, "at most 100000"),
        ("POST", "/v1/topics", {"name": "t", "replication_factor": 2}, "replication factor"),
        ("POST", "/v1/topics", {"name": "a b"}, "Topic name is invalid"),
        ("POST", "/v1/topics", {"name": "t", "configs": {"x": "1"}}, "x"),
        ("POST", "/v1/topics", {"name": "t", "configs": {"retention.ms": 1}}, "Expected `str`"),
        ("POST", "/v1/topics/t/wait", {"timeout_ms": -1}, "Expected `float` >= 0"),
        ("POST", "/v1/topics/t/wait", {"timeout_ms": 0}, "topic t is not as wanted after 0 ms"),
    ],
)
def test_what_cannot_be_done_is_told(
    broker: Broker, method: str, path: str, body: object, text: str
) -> None:
    with pytest.raises(BrokerFailed) as caught:
        broker.control(method, path, body)
    assert text.lower() in str(caught.value).lower()


def test_a_topic_is_created_once(broker: Broker) -> None:
    broker.create_topic("t")
    with pytest.raises(BrokerFailed, match="Topic 't' already exists"):
        broker.control("POST", "/v1/topics", {"name": "t"})


def test_a_time_out_tells_that_there_is_no_such_topic(broker: Broker) -> None:
    with pytest.raises(BrokerFailed, match="not as wanted after 1 ms: there is no topic 'none'"):
        broker.control("POST", "/v1/topics/none/wait", {"timeout_ms": 1})


def test_a_wait_ends_when_the_records_are_there(broker: Broker) -> None:
    producing = threading.Timer(0.05, lambda: broker.produce("t", "a", "b", "c"))
    producing.start()
    found = asked(broker, "POST", "/v1/topics/t/wait", {"records": 3, "timeout_ms": 20_000})
    assert found["offsets"][0]["high_watermark"] == 3
    producing.join()


@pytest.mark.parametrize(
    ("wanted", "is_met"),
    [
        ({"partitions": 2}, True),
        ({"partitions": 3}, False),
        ({"end_offset": 1}, False),
        ({"end_offset": 2, "partition": 1}, True),
        ({"records": 2}, True),
        ({"records": 1, "partition": 0}, False),
        ({"partition": 7}, False),
    ],
)
def test_what_a_wait_wants(broker: Broker, wanted: dict[str, int], is_met: bool) -> None:
    broker.create_topic("t", partitions=2)
    broker.produce("t", "a", "b", partition=1)
    if is_met:
        assert asked(broker, "POST", "/v1/topics/t/wait", wanted)["partitions"] == 2
        return
    with pytest.raises(BrokerFailed) as caught:
        broker.control("POST", "/v1/topics/t/wait", {**wanted, "timeout_ms": 1})
    assert 'after 1 ms; there is {"name": "t"' in str(caught.value)


def test_a_partition_that_is_offline_is_told_among_the_others() -> None:
    with Broker({"log.flush.interval.messages": 1}, topics=["t:2"]) as broker:
        broker.produce("t", "a", partition=1)
        with broker.fault(disk="fsync", topic="t", partitions=[0]), pytest.raises(ClientError):
            broker.produce("t", "b", partition=0)
        gone, there = asked(broker, "GET", "/v1/topics/t")["offsets"]
        assert (gone["partition"], gone["end"], gone["high_watermark"]) == (0, -1, -1)
        assert "offline" in gone["error"]
        assert (there["end"], "error" in there) == (1, False)
        wanted = {"partition": 1, "records": 1, "timeout_ms": 1000}
        assert asked(broker, "POST", "/v1/topics/t/wait", wanted)["offsets"][0]["end"] == 1


def test_a_wait_for_many_partitions_takes_little_time(broker: Broker) -> None:
    broker.create_topic("many", partitions=2000)
    broker.control("GET", "/v1/topics/many")  # opens the logs
    process = psutil.Process(broker.pid)
    before_s = sum(process.cpu_times()[:2])
    with pytest.raises(BrokerFailed, match="not as wanted after 2000 ms"):
        broker.wait_for_topic("many", records=1, timeout=timedelta(seconds=2))
    assert sum(process.cpu_times()[:2]) - before_s < 0.3


def test_topics_are_chosen_by_a_pattern(broker: Broker) -> None:
    for name in ("orders", "orders-old", "bills"):
        broker.create_topic(name)

    def names(match: str) -> list[str]:
        return [each["name"] for each in asked(broker, "GET", f"/v1/topics?match={match}")]

    assert names("orders*") == ["orders", "orders-old"]
    assert names("*ill*") == ["bills"]
    assert names("orders") == ["orders"]
