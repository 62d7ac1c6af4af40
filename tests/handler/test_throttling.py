"""Requests of clients with quotas: P-13, V-73."""

import asyncio
from collections.abc import Awaitable
from typing import Any

import anyio
import pytest

from broker_lite.handler.context import (
    CloseConnection,
    Handler,
    HandlerContext,
    Hooks,
    MutedAnswer,
    Parts,
    Request,
    WireAnswer,
)
from broker_lite.handler.dispatch import dispatch
from broker_lite.handler.table import APIS, OLD_MIN_VERSIONS
from broker_lite.handler.throttling import OnLoop, with_throttle_time
from broker_lite.wire import messages
from broker_lite.wire.produce import PARTITIONS_MAX
from tests.handler.quota_broker import QuotaBroker
from tests.log.batches import batch, record
from tests.support.handler_broker import HandlerBroker

PRODUCE, METADATA, API_VERSIONS, MARKERS = 0, 3, 18, 27
ALWAYS = 0.000_001
"""A request percentage that every request exceeds."""


@pytest.fixture
def limited(broker: HandlerBroker) -> QuotaBroker:
    return QuotaBroker(broker)


def produce(limited: QuotaBroker, *, acks: int = 1, version: int = 9, topic: str = "t") -> Any:
    types = messages.ProduceRequest
    data = types.PartitionProduceData(index=0, records=batch(record(value=bytes(900))))
    topics = [types.TopicProduceData(name=topic, partition_data=[data])]
    return limited.call("Produce", version, acks=acks, timeout_ms=1000, topic_data=topics)


def make_topic(limited: QuotaBroker) -> None:
    entry = messages.MetadataRequest.MetadataRequestTopic
    limited.call("Metadata", 4, topics=[entry(name="t")], allow_auto_topic_creation=True)


def test_v73_the_answer_tells_the_time_for_which_the_connection_is_muted(
    limited: QuotaBroker,
) -> None:
    make_topic(limited)
    limited.set("producer_byte_rate", 50.0)
    told = produce(limited)
    partition = told.answer.responses[0].partition_responses[0]
    assert (partition.error_code, partition.base_offset) == (0, 0)
    assert told.throttle_ms == told.muted_ms
    assert 8_000 < told.muted_ms < 12_000
    assert limited.throttling.quotas.throttled_count == 1


@pytest.mark.parametrize("version", range(3, 13))
def test_p13_every_version_of_produce_tells_it(limited: QuotaBroker, version: int) -> None:
    make_topic(limited)
    limited.set("producer_byte_rate", 50.0)
    told = produce(limited, version=version)
    assert told.throttle_ms == told.muted_ms > 0


def test_v73_without_an_answer_bytes_mute_and_time_does_not(limited: QuotaBroker) -> None:
    make_topic(limited)
    limited.set("request_percentage", ALWAYS)
    assert produce(limited, acks=0) == (None, 0)
    limited.set("producer_byte_rate", 50.0)
    answer, muted_ms = produce(limited, acks=0)
    assert answer is None
    assert muted_ms > 8_000


def test_v73_a_request_that_closes_the_connection_counts(limited: QuotaBroker) -> None:
    make_topic(limited)
    limited.set("producer_byte_rate", 50.0)
    with pytest.raises(CloseConnection):
        produce(limited, acks=0, topic="none")
    assert produce(limited).muted_ms > 20_000


def test_v73_a_refused_request_does_not_count(limited: QuotaBroker) -> None:
    make_topic(limited)
    limited.set("producer_byte_rate", 100.0)
    types = messages.ProduceRequest
    data = [types.PartitionProduceData(index=0, records=batch(record(), attributes=16))]
    topics = [types.TopicProduceData(name="t", partition_data=data)] * 20
    told = limited.call("Produce", 9, acks=1, timeout_ms=1000, topic_data=topics)
    assert told.answer.responses[0].partition_responses[0].error_code != 0
    assert told.muted_ms == 0


def test_p13_who_is_within_its_quota_is_not_throttled(limited: QuotaBroker) -> None:
    make_topic(limited)
    limited.set("producer_byte_rate", 1e6)
    told = produce(limited)
    assert (told.throttle_ms, told.muted_ms) == (0, 0)


def answer_of(key: int, version: int) -> bytes:
    kind = messages.by_api(key)[1]
    return kind.encode(kind(), version)


@pytest.mark.parametrize("key", sorted(APIS))
def test_p13_every_answer_that_has_a_throttle_time_gets_it(key: int) -> None:
    kind = messages.by_api(key)[1]
    first = OLD_MIN_VERSIONS.get(key, APIS[key].min_version)
    for version in range(first, APIS[key].max_version + 1):
        request = Request(key, version, 1, "c", memoryview(b""), 0, False)
        plain = answer_of(key, version)
        changed = asyncio.run(with_throttle_time(request, [plain], 1234))
        (data,) = changed
        assert isinstance(data, bytes)
        answer, end = kind.decode(data, version)
        assert end == len(data)
        layout = kind.layout(version)
        assert layout is not None
        has_it = any(
            field.attribute == "throttle_time_ms" and version in field.versions
            for field in layout.schema.structs[layout.schema.name]
        )
        assert getattr(answer, "throttle_time_ms", 0) == (1234 if has_it else 0)
        if not has_it:
            assert data == plain


def test_p13_an_answer_without_a_version_of_its_own_stays_as_it_is(limited: QuotaBroker) -> None:
    limited.set("request_percentage", ALWAYS)
    body = messages.ApiVersionsRequest.encode(messages.ApiVersionsRequest(), 0)
    request = Request(API_VERSIONS, 99, 1, "c", memoryview(bytearray(body)), 0, True)
    parts = asyncio.run(wait_for(dispatch(limited.broker.context, request)))
    assert isinstance(parts, MutedAnswer)
    assert list(parts) == [bytes.fromhex("0023 00000001 0012 0000 0005")]
    odd = Request(METADATA, 99, 1, "c", memoryview(b""), 0, True)
    assert asyncio.run(with_throttle_time(odd, [b"x"], 1)) == [b"x"]


async def wait_for(awaitable: Awaitable[Parts | None]) -> Parts | None:
    return await awaitable


def test_x85_every_request_counts_its_time(limited: QuotaBroker) -> None:
    limited.set("request_percentage", ALWAYS)
    told = limited.call("Metadata", 9, topics=[])
    assert (told.throttle_ms, told.muted_ms) == (1000, 1000)
    told = limited.call("ApiVersions", 0)
    assert (told.answer.throttle_time_ms, told.muted_ms) == (0, 1000)


def test_x85_what_brokers_send_each_other_does_not_count(limited: QuotaBroker) -> None:
    limited.set("request_percentage", ALWAYS)
    assert limited.call("WriteTxnMarkers", 1, markers=[]).muted_ms == 0


def test_x80_a_client_without_an_id_counts_as_one_with_an_empty_id(limited: QuotaBroker) -> None:
    body = messages.MetadataRequest.encode(messages.MetadataRequest(topics=[]), 9)
    limited.set("request_percentage", ALWAYS)
    assert limited.send(METADATA, 9, body, None).muted_ms == 0
    limited.set("request_percentage", ALWAYS, user="ANONYMOUS")
    assert limited.send(METADATA, 9, body, None).muted_ms == 1000


def test_p13_a_very_large_answer_is_told_in_slices(limited: QuotaBroker) -> None:
    make_topic(limited)
    limited.set("producer_byte_rate", 50.0)
    types = messages.ProduceRequest
    data = [
        types.PartitionProduceData(index=number, records=b"")
        for number in range(PARTITIONS_MAX + 1)
    ]
    topics = [types.TopicProduceData(name="t", partition_data=data)]
    told = limited.call("Produce", 9, acks=1, timeout_ms=1000, topic_data=topics)
    assert len(told.answer.responses[0].partition_responses) == PARTITIONS_MAX + 1
    assert told.throttle_ms == told.muted_ms > 0


# -- hooks


async def call_hooked(limited: QuotaBroker, hook: Any) -> Parts | None:
    context = limited.broker.context
    context.hooks = Hooks({METADATA: hook})
    body = messages.MetadataRequest.encode(messages.MetadataRequest(topics=[]), 9)
    request = Request(METADATA, 9, 1, "c", memoryview(bytearray(body)), 0, True)
    return await dispatch(context, request)


def test_p13_a_hook_sees_the_throttle_time(limited: QuotaBroker) -> None:
    seen: list[Parts | None] = []

    async def hook(context: HandlerContext, request: Request, handle: Handler) -> Parts | None:
        seen.append(await handle(context, request))
        return [b"changed"]

    limited.set("request_percentage", ALWAYS)
    parts = asyncio.run(call_hooked(limited, hook))
    assert isinstance(parts, MutedAnswer)
    assert list(parts) == [b"changed"]
    (answer,) = seen
    assert answer is not None
    assert isinstance(answer[0], bytes)
    assert messages.MetadataResponse.decode(answer[0], 9)[0].throttle_time_ms == 1000


def test_a_fault_decides_what_happens_to_the_connection(limited: QuotaBroker) -> None:
    async def leave(_: object) -> None:
        raise AssertionError("nobody sends it")

    async def hook(context: HandlerContext, request: Request, handle: Handler) -> Parts | None:
        await handle(context, request)
        return WireAnswer(leave)

    limited.set("request_percentage", ALWAYS)
    assert type(asyncio.run(call_hooked(limited, hook))) is WireAnswer


def test_a_hook_that_answers_itself_counts_nothing(limited: QuotaBroker) -> None:
    async def hook(context: HandlerContext, request: Request, handle: Handler) -> Parts | None:
        return [b"own"]

    limited.set("request_percentage", ALWAYS)
    assert asyncio.run(call_hooked(limited, hook)) == [b"own"]
    assert limited.broker.context.quota is None


# -- time on the loop


class Spent:
    """Takes the time of a request."""

    spent_ns = 0
    resumed_ns = 0


def test_x85_waits_do_not_count() -> None:
    spent: Any = Spent()

    async def handler() -> Parts | None:
        await anyio.sleep(0.2)
        return [b"late"]

    assert asyncio.run(wait_for(OnLoop(handler(), spent))) == [b"late"]
    assert 0 < spent.spent_ns < 100_000_000


def test_x85_a_cancellation_and_an_error_reach_the_handler() -> None:
    spent: Any = Spent()
    seen: list[str] = []

    async def handler(is_broken: bool) -> Parts | None:
        if is_broken:
            raise CloseConnection("broken")
        try:
            await anyio.sleep_forever()
        except BaseException as error:
            seen.append(type(error).__name__)
            raise
        return None

    async def cancelled() -> None:
        with anyio.move_on_after(0.01):
            await OnLoop(handler(is_broken=False), spent)

    asyncio.run(cancelled())
    assert seen == ["CancelledError"]
    with pytest.raises(CloseConnection):
        asyncio.run(wait_for(OnLoop(handler(is_broken=True), spent)))


def test_x85_an_abandoned_request_is_closed() -> None:
    spent: Any = Spent()
    ended: list[str] = []

    class Waits:
        def __await__(self) -> Any:
            try:
                yield None
            finally:
                ended.append("closed")

    steps = OnLoop(Waits(), spent).__await__()
    steps.send(None)
    steps.close()
    assert ended == ["closed"]
