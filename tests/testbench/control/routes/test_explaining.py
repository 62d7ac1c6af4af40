"""Explanations by the control API: of bytes, and of what a real broker refused."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from broker_lite.testing import Broker, BrokerFailed
from broker_lite.wire import messages
from tests.log.batches import batch, record
from tests.support.raw_client import RawClient


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker({"broker.lite.control": "127.0.0.1:0"}, topics=["t"]) as started:
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
