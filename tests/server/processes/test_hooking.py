"""The test bench of the first process, and clients of all processes.

Also tests: broker_lite.server.processes.wire_answers, broker_lite.testbench.alone.
"""

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import pytest

from broker_lite.handler.context import CloseConnection, Request, WireAnswer
from broker_lite.server.processes.hooking import decode_request, encode_request, split_token
from broker_lite.server.processes.wire_answers import decode_wire, encode_wire
from broker_lite.testing import Broker, BrokerFailed, make_batch
from broker_lite.wire import messages
from tests.server.processes.conftest import Cluster, wait_until
from tests.support.raw_client import Closed, RawClient

NO_ERROR, NOT_ENOUGH_REPLICAS = 0, 19


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    with Broker({"broker.lite.processes": "2"}) as broker:
        broker.create_topic("t", partitions=8)
        yield Cluster(broker)


class Notes:
    """A connection, and what is done to it."""

    def __init__(self) -> None:
        self.done: list[object] = []

    async def send(self, data: bytes) -> None:
        self.done.append(data)

    def reset(self) -> None:
        self.done.append("reset")


def left(answer: WireAnswer) -> list[object]:
    """What an answer does on a connection."""
    notes = Notes()
    try:
        asyncio.run(answer.leave(notes))  # type: ignore[arg-type]
    except CloseConnection as reason:
        notes.done.append(str(reason))
    return notes.done


def test_an_answer_does_the_same_in_another_process() -> None:
    async def leave(wire: object) -> None:
        assert hasattr(wire, "send")
        await wire.send(b"one")
        await wire.send(b"two")
        wire.reset()  # type: ignore[attr-defined]
        raise CloseConnection("that was all")

    answer = WireAnswer(leave)  # type: ignore[arg-type]
    elsewhere = decode_wire(asyncio.run(encode_wire(answer)))
    assert left(elsewhere) == left(answer) == [b"one", b"two", "reset", "that was all"]


def test_a_request_comes_back_as_it_is() -> None:
    request = Request(0, 9, 7, None, memoryview(bytearray(b"frame")), 3, flexible=True)
    payload = memoryview(b"".join(encode_request(5, request)))
    assert decode_request(payload) == (5, request)
    assert split_token(payload)[0] == 5


def test_the_journal_has_the_requests_of_all_processes(shared: Cluster) -> None:
    broker = shared.broker
    broker.record_requests("headers")
    for number in range(8):
        broker.produce("t", str(number), partition=number)
    broker.records("t")
    found = broker.requests("Produce")
    assert len(found) == 8
    assert {one.node for one in found} == {1, 2}
    assert {one.node for one in broker.requests("Fetch")} == {1, 2}
    broker.record_requests("off")


def produced(shared: Cluster, node_id: int, partition: int) -> int:
    """The code of the answer to a Produce that one of the brokers gets."""
    types = messages.ProduceRequest
    data = types.PartitionProduceData(index=partition, records=memoryview(make_batch("v")))
    topic = types.TopicProduceData(name="t", partition_data=[data])
    with RawClient(*shared.addresses[node_id - 1], timeout_s=5) as client:
        answer = client.call("Produce", 8, acks=-1, timeout_ms=1000, topic_data=[topic])
    code = answer.responses[0].partition_responses[0].error_code
    assert isinstance(code, int)
    return code


def led_by(shared: Cluster, node_id: int) -> int:
    """A partition that a broker leads."""
    return next(one for one in range(8) if shared.broker.partition("t", one)["leader"] == node_id)


@pytest.mark.parametrize("node_id", [1, 2])
def test_a_rule_holds_in_each_process(shared: Cluster, node_id: int) -> None:
    partition = led_by(shared, node_id)
    with shared.broker.fault("Produce", error="NOT_ENOUGH_REPLICAS", topic="t", count=1) as fault:
        assert produced(shared, node_id, partition) == NOT_ENOUGH_REPLICAS
        assert produced(shared, node_id, partition) == NO_ERROR
        assert fault.hits == 1
    assert produced(shared, node_id, partition) == NO_ERROR


@pytest.mark.parametrize("node_id", [1, 2])
def test_a_connection_breaks_where_it_is(shared: Cluster, node_id: int) -> None:
    partition = led_by(shared, node_id)
    with shared.broker.fault("Produce", drop="before"), pytest.raises(Closed):
        produced(shared, node_id, partition)
    with shared.broker.fault("Produce", cut_at=6), pytest.raises(Closed):
        produced(shared, node_id, partition)
    with (
        shared.broker.fault("Metadata", drop="after"),
        RawClient(*shared.addresses[node_id - 1]) as client,
        pytest.raises(Closed),
    ):
        client.call("Metadata", 1, topics=[])


def test_silence_ends_with_the_client(shared: Cluster) -> None:
    with (
        shared.broker.fault("ApiVersions", silence=True),
        RawClient(*shared.addresses[1], timeout_s=0.3) as client,
        pytest.raises(TimeoutError),
    ):
        client.call("ApiVersions", 0)
    with RawClient(*shared.addresses[1]) as client:
        assert client.call("ApiVersions", 0).error_code == NO_ERROR


def test_the_clock_goes_on_in_all_processes(shared: Cluster) -> None:
    broker = shared.broker
    broker.create_topic("aged", partitions=8, configs={"retention.ms": 1000})
    day_ms = 24 * 3_600_000
    broker.advance(timedelta(days=1))
    for partition in range(8):
        broker.produce("aged", "new", partition=partition)
    stamps = {one.partition: one.timestamp_ms for one in broker.records("aged")}
    assert len(stamps) == 8
    assert max(stamps.values()) - min(stamps.values()) < day_ms


@pytest.mark.parametrize(
    "ask",
    [
        lambda broker: broker.freeze(),
        lambda broker: broker.snapshot("s"),
        lambda broker: broker.brokers[1].down(),
    ],
    ids=["freeze", "snapshot", "down"],
)
def test_what_is_not_done_is_told(shared: Cluster, ask: object) -> None:
    assert callable(ask)
    with pytest.raises(BrokerFailed, match="not with several processes"):
        ask(shared.broker)


def test_records_elsewhere_are_not_told_here(shared: Cluster) -> None:
    there = led_by(shared, 2)
    with pytest.raises(BrokerFailed, match="in another process"):
        shared.broker.control("GET", f"/v1/topics/t/records?partition={there}")
    told = shared.broker.control("GET", "/v1/topics/t")
    assert isinstance(told, dict)
    ends = {one["partition"]: one["end"] for one in told["offsets"]}
    assert ends[there] == -1


def test_a_process_that_comes_back_has_the_rules(started: Cluster) -> None:
    started.broker.create_topic("t", partitions=8)
    with started.broker.fault("ApiVersions", drop="before") as fault:
        started.processes()[2].kill()

        def is_hit() -> bool:
            try:
                with RawClient(*started.addresses[1]) as client:
                    client.call("ApiVersions", 0)
            except (Closed, ConnectionRefusedError):
                return fault.hits > 0
            return False

        wait_until(is_hit)
