"""The two APIs of client metrics, as values; the checks themselves are tested in control."""

import asyncio
import logging
import struct
import threading
from functools import cache
from typing import Any

import pytest
from anyio import create_task_group, to_thread
from anyio.lowlevel import checkpoint
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from broker_lite.control.metadata.image import CLIENT_METRICS_RESOURCE
from broker_lite.control.telemetry import otlp
from broker_lite.control.telemetry.series import Pushed
from broker_lite.errors import ErrorCode
from broker_lite.handler import large, telemetry
from broker_lite.handler.context import CloseConnection, Request
from broker_lite.handler.dispatch import dispatch
from broker_lite.handler.large import LARGE_BYTES
from broker_lite.handler.offered import offered
from broker_lite.handler.telemetry import INLINE_BYTES_MAX, SOFTWARE_CHARACTERS_MAX
from broker_lite.record.codecs.compression import Codec, compress
from broker_lite.wire import messages
from tests.support.handler_broker import HandlerBroker, OpenBroker

ZEROS = bytes(16)


@pytest.fixture
def broker(open_broker: OpenBroker) -> HandlerBroker:
    broker = open_broker(telemetry_max_bytes="20000")
    configs = {"metrics": "b,a", "interval.ms": "1000", "match": "client_id=test"}
    broker.cluster.alter_configs([(CLIENT_METRICS_RESOURCE, "s", configs)])
    return broker


def subscribe(broker: HandlerBroker, instance_id: bytes = ZEROS) -> Any:
    return broker.call("GetTelemetrySubscriptions", 0, client_instance_id=instance_id)


def push(broker: HandlerBroker, told: Any, metrics: bytes = b"", codec: int = 0) -> ErrorCode:
    fields = {
        "subscription_id": told.subscription_id,
        "client_instance_id": told.client_instance_id,
    }
    answer = broker.call(
        "PushTelemetry", 0, metrics=metrics, compression_type=codec, terminating=False, **fields
    )
    return ErrorCode(answer.error_code)


def metrics(points: int = 1) -> bytes:
    data = MetricsData()
    scope = data.resource_metrics.add().scope_metrics.add()
    for number in range(points):
        scope.metrics.add(name=f"a.{number}").gauge.data_points.add(as_double=number)
    return data.SerializeToString()


class SlowReads:
    """Reads pushes in threads that go on when a test lets them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.begun, self.may_end = threading.Event(), threading.Event()
        monkeypatch.setattr(telemetry, "read_push", self._read)

    def _read(self, *data: Any, **bounds: Any) -> Pushed:
        self.count += 1
        self.begun.set()
        assert self.may_end.wait(10)
        return otlp.read_push(*data, **bounds)

    async def until_begun(self) -> None:
        """Wait until the first one has begun."""
        assert await to_thread.run_sync(self.begun.wait, 10)


def push_request(told: Any, points: int, *, is_terminating: bool = False) -> Request:
    """A push as it comes in, large enough for a thread."""
    value = messages.PushTelemetryRequest(
        client_instance_id=told.client_instance_id,
        subscription_id=told.subscription_id,
        terminating=is_terminating,
        compression_type=0,
        metrics=metrics(points),
    )
    body = b"head" + messages.PushTelemetryRequest.encode(value, 0)
    return Request(72, 0, 1, "test", memoryview(bytearray(body)), 4, True)


def test_p151_a_client_is_told_what_to_push(broker: HandlerBroker) -> None:
    told = subscribe(broker)
    assert (told.error_code, told.requested_metrics) == (0, ["a", "b"])
    assert (told.push_interval_ms, told.telemetry_max_bytes) == (1000, 20_000)
    assert (told.accepted_compression_types, told.delta_temporality) == ([4, 3, 1, 2], True)
    assert struct.unpack(">2Q", told.client_instance_id)[0] >> 12 & 15 == 4


def test_p151_a_throttled_client_is_told_nothing(broker: HandlerBroker) -> None:
    told = subscribe(broker)
    again = subscribe(broker, told.client_instance_id)
    assert again.error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert (again.client_instance_id, again.subscription_id) == (ZEROS, 0)
    assert (again.requested_metrics, again.accepted_compression_types) == ([], [])
    assert (again.push_interval_ms, again.delta_temporality) == (0, False)
    broker.clock.step(1000)
    assert subscribe(broker, told.client_instance_id).error_code == 0


def test_p153_software_is_unknown_until_a_client_tells_it(broker: HandlerBroker) -> None:
    def asked(match: str) -> list[str]:
        configs = {"metrics": "a", "match": match}
        broker.cluster.alter_configs([(CLIENT_METRICS_RESOURCE, "s", configs)])
        told: list[str] = subscribe(broker).requested_metrics
        return told

    assert asked("client_software_name=unknown,client_software_version=unknown") == ["a"]
    software = {"client_software_name": "soft", "client_software_version": "1.2"}
    broker.call("ApiVersions", 4, **software)
    assert asked("client_software_name=unknown") == []
    assert asked("client_software_name=soft,client_software_version=1\\.2") == ["a"]
    assert asked("client_source_port=50000,client_source_address=127\\.0\\.0\\.1") == ["a"]


def test_p154_a_push_is_kept(broker: HandlerBroker) -> None:
    told = subscribe(broker)
    assert push(broker, told, metrics(), 0) is ErrorCode.NONE
    assert push(broker, told, metrics(), 0) is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    (client,) = broker.context.telemetry.get().clients
    assert (client.pushes, client.refused, client.pushed_bytes) == (1, 1, len(metrics()))
    assert [name for (name, _), _ in client.series.items()] == ["a.0"]


@pytest.mark.parametrize("codec", Codec)
def test_p156_a_large_push_is_read_in_a_thread(broker: HandlerBroker, codec: Codec) -> None:
    data = compress(codec, metrics(300))
    assert len(metrics(300)) > INLINE_BYTES_MAX
    assert push(broker, subscribe(broker), data, codec) is ErrorCode.NONE
    (client,) = broker.context.telemetry.get().clients
    assert len(client.series) == 300


def test_p154_a_push_that_is_too_large(broker: HandlerBroker) -> None:
    error = push(broker, subscribe(broker), bytes(20_001))
    assert error is ErrorCode.TELEMETRY_TOO_LARGE


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.ZSTD])
def test_p156_a_bomb_is_refused(broker: HandlerBroker, codec: Codec) -> None:
    told = subscribe(broker)
    bomb = compress(codec, bytes(10 << 20))
    assert len(bomb) < 20_000
    assert push(broker, told, bomb, codec) is ErrorCode.INVALID_RECORD
    (client,) = broker.context.telemetry.get().clients
    assert (client.pushes, client.last_refusal) == (0, ErrorCode.INVALID_RECORD)
    assert subscribe(broker, told.client_instance_id).error_code == 89


def test_p156_no_metrics_are_no_error(broker: HandlerBroker) -> None:
    assert push(broker, subscribe(broker)) is ErrorCode.NONE
    (client,) = broker.context.telemetry.get().clients
    assert (client.pushes, len(client.series)) == (1, 0)


def test_p154_a_push_whose_client_closes_right_after_it_is_kept(
    broker: HandlerBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads, told, context = SlowReads(monkeypatch), subscribe(broker), broker.context

    async def push_and_close() -> None:
        async with create_task_group() as tasks:
            tasks.start_soon(dispatch, context, push_request(told, 300, is_terminating=True))
            await reads.until_begun()
            context.telemetry.disconnected(context.connection_id)
            tasks.cancel_scope.cancel()
            reads.may_end.set()

    asyncio.run(push_and_close())
    (client,) = context.telemetry.get().clients
    assert (client.pushes, len(client.series), client.is_ended) == (1, 300, True)


@pytest.mark.parametrize("points", [1, 300])
def test_p154_a_push_whose_reading_is_stopped_closes_the_connection(
    broker: HandlerBroker, points: int
) -> None:
    assert otlp.is_readable()
    told = subscribe(broker)
    broker.context.stop.set()
    with pytest.raises(CloseConnection):
        asyncio.run(dispatch(broker.context, push_request(told, points)))
    (client,) = broker.context.telemetry.get().clients
    assert (client.pushes, client.refused) == (0, 0)


def test_one_push_is_read_at_a_time_and_other_large_requests_go_on(
    broker: HandlerBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = SlowReads(monkeypatch)
    requests = [push_request(subscribe(broker), 600) for _ in range(2)]
    assert len(requests[0].body) > LARGE_BYTES

    async def push_both() -> None:
        async with create_task_group() as tasks:
            for request in requests:
                tasks.start_soon(dispatch, broker.context, request)
            await reads.until_begun()
            for _ in range(10):
                await checkpoint()
            assert reads.count == 1
            await asyncio.wait_for(broker.context.lane.enter(), 10)
            broker.context.lane.leave()
            reads.may_end.set()

    asyncio.run(push_both())
    assert [each.pushes for each in broker.context.telemetry.get().clients] == [1, 1]


def test_what_a_client_tells_of_its_software_is_cut(broker: HandlerBroker) -> None:
    software = {"client_software_name": "s" * 30_000, "client_software_version": "1" * 30_000}
    broker.call("ApiVersions", 4, **software)
    subscribe(broker)
    (client,) = broker.context.telemetry.get().clients
    told = client.identity
    assert told.software_name == "s" * SOFTWARE_CHARACTERS_MAX
    assert told.software_version == "1" * SOFTWARE_CHARACTERS_MAX


def test_p154_reserved_ids_are_refused(broker: HandlerBroker) -> None:
    told = subscribe(broker)
    told.client_instance_id = ZEROS
    assert push(broker, told) is ErrorCode.INVALID_REQUEST


def test_without_the_package_pushes_are_taken_unread(
    broker: HandlerBroker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(otlp, "_parser", cache(lambda: None))
    with caplog.at_level(logging.WARNING):
        assert push(broker, subscribe(broker), metrics()) is ErrorCode.NONE
    assert telemetry.HINT in caplog.text
    (client,) = broker.context.telemetry.get().clients
    assert (client.pushes, len(client.series)) == (1, 0)


def test_a_release_that_does_not_know_telemetry() -> None:
    assert {71, 72} <= offered("4.0").keys()
    assert not {71, 72} & offered("3.9").keys()


def test_many_subscriptions_let_other_connections_have_their_turn(
    broker: HandlerBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each may take some milliseconds to compile and to match, and there may be 1,000."""
    monkeypatch.setattr(large, "TURN_S", 0)
    count = 50
    broker.cluster.alter_configs(
        (CLIENT_METRICS_RESOURCE, f"s{number}", {"metrics": f"m{number}"})
        for number in range(count)
    )
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await checkpoint()

    async def ask(instance_id: bytes) -> Any:
        kind = messages.GetTelemetrySubscriptionsRequest
        body = b"head" + kind.encode(kind(client_instance_id=instance_id), 0)
        request = Request(71, 0, 1, "test", memoryview(bytearray(body)), 4, True)
        async with create_task_group() as group:
            group.start_soon(count_turns)
            parts = await telemetry.handle_subscriptions(broker.context, request)
            group.cancel_scope.cancel()
        answer, _ = messages.GetTelemetrySubscriptionsResponse.decode(b"".join(parts), 0, 0)
        return answer

    told = asyncio.run(ask(ZEROS))
    assert len(told.requested_metrics) == count + 2
    assert turns > count
    # what is known is not searched again
    turns = 0
    asyncio.run(ask(told.client_instance_id))
    assert turns < 5
