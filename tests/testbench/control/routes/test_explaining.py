"""Explanations by the control API: of bytes, and of what a real broker refused."""

import base64
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from broker_lite.testing import Broker, BrokerFailed, make_batch
from broker_lite.wire import ZERO_UUID, messages
from tests.log.batches import batch, record
from tests.support.raw_client import RawClient


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    topics = [
        "t",
        "compact:1:cleanup.policy=compact",
        "tiny:2:max.message.bytes=1000",
        "large:1:max.message.bytes=2000000",
        "short:1:segment.bytes=1048576,max.message.bytes=2000000",
        "past:1:message.timestamp.before.max.ms=1000",
    ]
    with Broker({"broker.lite.control": "127.0.0.1:0"}, topics=topics) as started:
        yield started


def octets(broker: Broker, path: str, data: bytes) -> tuple[int, dict[str, Any]]:
    """Send octets over HTTP; return the status and what is told."""
    url = broker.log.partition("control API at ")[2].partition("\n")[0]
    request = urllib.request.Request(url + path, data, method="POST")
    request.add_header("Content-Type", "application/octet-stream")
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as refused:
        return refused.code, json.loads(refused.read())


def test_a_batch(broker: Broker) -> None:
    status, told = octets(broker, "/v1/explain", bytes(batch(record())))
    assert status == 200
    assert told["kind"] == "batch"
    assert told["refused"] is None


def test_a_response(broker: Broker) -> None:
    answer = messages.HeartbeatResponse(error_code=27)
    data = bytes(4) + b"\0" + messages.HeartbeatResponse.encode(answer, 4)
    _, told = octets(broker, "/v1/explain?response=Heartbeat:4", data)
    assert "error_code" in {each["path"] for each in told["fields"]}


@pytest.mark.parametrize("path", ["/v1/explain", "/v1/explain?response=Nothing:1"])
def test_what_is_neither(broker: Broker, path: str) -> None:
    status, told = octets(broker, path, b"\xff" * 9)
    assert status == 400
    assert "\n" not in told["error"]


def refused(
    broker: Broker, *records: tuple[str, int, bytes | bytearray], version: int = 9
) -> dict[str, Any]:
    """Send a Produce of topics, partitions and their records; return what is told of it."""
    kind = messages.ProduceRequest
    topic_data = []
    for name, index, data in records:
        part = kind.PartitionProduceData(index=index, records=bytes(data))
        topic_id = ZERO_UUID if version < 13 else broker_topic_id(broker, name)
        topic_data.append(
            kind.TopicProduceData(name=name, topic_id=topic_id, partition_data=[part])
        )
    with RawClient(broker.host, broker.port) as client:
        client.request(kind, kind(acks=-1, timeout_ms=1000, topic_data=topic_data), version)
    refusals = broker.control("GET", "/v1/refusals")
    assert isinstance(refusals, list)
    told = broker.control("GET", f"/v1/refusals/{refusals[-1]['id']}")
    assert isinstance(told, dict)
    assert (told["refused"]["error"], told["refused"]["text"]) == (told["error"], told["reason"])
    return told


def broker_topic_id(broker: Broker, name: str) -> bytes:
    topic = broker.control("GET", f"/v1/topics/{name}")
    assert isinstance(topic, dict)
    return base64.urlsafe_b64decode(f"{topic['id']}==")


def marked(told: dict[str, Any]) -> list[str]:
    return [each["path"] for each in told["fields"] if each.get("state") == "refused"]


@pytest.mark.parametrize("version", [9, 13])
@pytest.mark.parametrize(
    ("topic", "records", "error", "rule", "field"),
    [
        ("compact", batch(record(key=None)), "INVALID_RECORD", "V-44", "records[0].key_length"),
        ("tiny", batch(record(value=bytes(2000))), "MESSAGE_TOO_LARGE", "V-20", "length"),
        ("past", batch(record()), "INVALID_TIMESTAMP", "V-44", "records[0].timestamp_delta"),
        (
            "short",
            batch(record(value=bytes(1_500_000))),
            "RECORD_LIST_TOO_LARGE",
            "V-52",
            "length",
        ),
        (
            "t",
            batch(record(), producer=(1000, 3, 7)),
            "OUT_OF_ORDER_SEQUENCE_NUMBER",
            "V-57",
            "base_sequence",
        ),
        (
            "t",
            batch(record(), producer=(1000, 2, 1)),
            "INVALID_PRODUCER_EPOCH",
            "V-56",
            "producer_epoch",
        ),
    ],
)
def test_a_refusal_is_explained_with_what_the_broker_knew(
    broker: Broker,
    topic: str,
    records: bytearray,
    error: str,
    rule: str,
    field: str,
    version: int,
) -> None:
    broker.reset(keep_topics=True)
    with RawClient(broker.host, broker.port) as client:
        kind = messages.ProduceRequest
        first = kind.PartitionProduceData(
            index=0, records=bytes(batch(record(), producer=(1000, 3, 0)))
        )
        data = [kind.TopicProduceData(name="t", partition_data=[first])]
        client.request(kind, kind(acks=-1, timeout_ms=1000, topic_data=data), 9)
    told = refused(broker, (topic, 0, records), version=version)
    path = f"topic_data[0].partition_data[0].records.batches[0].{field}"
    assert (told["refused"]["error"], told["refused"]["rule"]) == (error, rule)
    assert (told["refused"]["path"], marked(told)) == (path, [path])


def test_only_what_the_broker_refused_is_marked(broker: Broker) -> None:
    """The others had other configs, and what was taken is stamped with its offset."""
    big = batch(record(value=bytes(1_500_000)))
    broker.produce("t", "x")
    told = refused(
        broker,
        ("large", 0, big),
        ("tiny", 1, batch(record(value=bytes(2000)))),
        ("t", 0, batch(record())),
    )
    path = "topic_data[1].partition_data[0].records.batches[0].length"
    assert marked(told) == [path]
    assert "more_refused" not in told


def test_a_refusal_that_no_field_can_be_named_for(broker: Broker) -> None:
    wrong = bytearray(batch(record()))
    wrong[-2] ^= 1
    told = refused(broker, ("t", 7, wrong))
    assert told["refused"]["error"] == "UNKNOWN_TOPIC_OR_PARTITION"
    assert told["refused"]["path"] is None
    with RawClient(broker.host, broker.port) as client:
        join = messages.JoinGroupRequest
        client.request(join, join(group_id="g", session_timeout_ms=1, protocol_type="c"), 3)
    refusals = broker.control("GET", "/v1/refusals")
    assert isinstance(refusals, list)
    last = broker.control("GET", f"/v1/refusals/{refusals[-1]['id']}")
    assert isinstance(last, dict)
    found = last["refused"]
    assert (found["error"], found["code"], found["path"]) == ("INVALID_SESSION_TIMEOUT", 26, None)
    assert "group.min.session.timeout.ms" in found["text"]


def test_a_refused_request_is_explained_by_the_id_in_the_log(broker: Broker) -> None:
    wrong = bytearray(batch(record(value=b"abc")))
    wrong[-2] ^= 1
    kind = messages.ProduceRequest
    data = kind.PartitionProduceData(index=0, records=bytes(wrong))
    topic = kind.TopicProduceData(name="t", partition_data=[data])
    with RawClient(broker.host, broker.port) as client:
        answer = client.request(kind, kind(acks=-1, timeout_ms=1000, topic_data=[topic]), 9)
    assert answer.responses[0].partition_responses[0].error_code == 2
    refusals = broker.control("GET", "/v1/refusals")
    assert isinstance(refusals, list)
    last = refusals[-1]
    assert (last["api"], last["error"]) == ("Produce", "CORRUPT_MESSAGE")
    assert f" request={last['id']} error=CORRUPT_MESSAGE" in broker.log
    told = broker.control("GET", f"/v1/refusals/{last['id']}")
    assert isinstance(told, dict)
    assert told["refused"]["rule"].startswith(("V-", "R-"))
    with pytest.raises(BrokerFailed, match="there is no refused request 'x0'"):
        broker.control("GET", "/v1/refusals/x0")


def test_decompressed_bytes_are_told_to_who_asks(broker: Broker) -> None:
    data = make_batch(b"value", compression="gzip")
    _, told = octets(broker, "/v1/explain?kind=batch&with_bytes=true", data)
    (part,) = told["records"]["parts"]
    content = base64.b64decode(part["bytes"])
    assert len(content) == part["size"]
    assert b"value" in content
    _, told = octets(broker, "/v1/explain?kind=batch", data)
    assert "bytes" not in told["records"]["parts"][0]


def test_the_bytes_of_a_refused_request(broker: Broker) -> None:
    spoiled = bytearray(batch(record()))
    spoiled[20] ^= 1
    told = refused(broker, ("t", 0, spoiled))
    data = broker.control("GET", f"/v1/refusals/{told['id']}/request")
    assert isinstance(data, bytes)
    assert bytes(spoiled) in data
    again: Any = broker.control("GET", f"/v1/refusals/{told['id']}?with_bytes=true")
    assert again["refused"]["rule"] == "V-20"
