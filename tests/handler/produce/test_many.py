"""A Produce of very many partitions: answered as one of few, with turns of others between.

Also tests: broker_lite.handler.produce.flushed.
"""

import gc
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from broker_lite.errors import ErrorCode
from broker_lite.handler import large
from broker_lite.handler.context import CloseConnection
from broker_lite.handler.dispatch import dispatch
from broker_lite.handler.large import LargeRequest
from broker_lite.handler.produce import api as produce
from broker_lite.handler.produce import many as produce_many
from broker_lite.handler.produce.flushed import wait_until_flushed
from broker_lite.handler.produce.transaction import Accepted
from broker_lite.handler.table import APIS
from broker_lite.log.validate.old_messages import check_old_record_set
from broker_lite.wire import DecodeError, messages
from broker_lite.wire.produce import PARTITIONS_MAX, PartitionAnswer
from tests.handler.data_apis import PRODUCE, TOPIC, Handlers
from tests.handler.fetch.old_client_requests import message, stand_in_for_3_9
from tests.handler.produce.test_outcomes import REJECTED
from tests.log.batches import batch, record
from tests.support.handler_broker import join

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("short_turns")]

GOOD = batch(record())
TRANSACTIONAL = 0x10
TYPES = messages.ProduceRequest


@pytest.fixture
def twin(tmp_path: Path) -> Iterator[Handlers]:
    """Another broker that has the same."""
    opened = Handlers(tmp_path / "twin")
    yield opened
    opened.cluster.close()


def ask(topics: dict[str, list[tuple[int, bytes | None]]], version: int, **fields: Any) -> Any:
    """A Produce request; from version 13 topics have ids, those of absent topics made up."""
    data = [
        TYPES.TopicProduceData(
            name=name,
            partition_data=[
                TYPES.PartitionProduceData(index=index, records=records)
                for index, records in partitions
            ],
        )
        for name, partitions in topics.items()
    ]
    return TYPES(**{"acks": -1, "timeout_ms": 1000, "topic_data": data, **fields})


def with_ids(handlers: Handlers, value: Any) -> Any:
    for topic in value.topic_data:
        known = handlers.cluster.topics.get(topic.name)
        topic.topic_id = known.topic_id if known is not None else topic.name.encode().ljust(16)
    return value


async def as_large(handlers: Handlers, version: int, value: Any) -> Any:
    """What a request is answered that is handled as one of very many partitions."""
    request = handlers.request(PRODUCE, version, TYPES.encode(with_ids(handlers, value), version))
    many = LargeRequest.of(request)
    many.decoded, _ = TYPES.decode(request.body, version)
    assert await produce.handle(handlers.context, many) == []
    assert many.answer is not None
    kind, response = many.answer
    pieces = kind.encode_slices(response, version)
    return kind.decode(b"".join(pieces), version)[0]


async def as_usual(handlers: Handlers, version: int, value: Any) -> Any:
    return await handlers.answer(PRODUCE, version, with_ids(handlers, value))


def plain(response: Any) -> list[tuple[str, int, str]]:
    """The answers of all partitions, without ids that differ from broker to broker."""
    return [
        (topic.name, each.index, repr(each))
        for topic in response.responses
        for each in topic.partition_responses
    ]


REQUESTS: dict[str, tuple[dict[str, list[tuple[int, bytes | None]]], dict[str, Any]]] = {
    "V-01 all there is": ({TOPIC: [(0, GOOD), (1, GOOD)]}, {}),
    "V-01 nothing": ({}, {}),
    "V-01 topics without partitions": ({TOPIC: [], "absent": [], "u": [(0, GOOD)]}, {}),
    "V-03 an entry that comes twice": ({TOPIC: [(0, b""), (0, GOOD), (1, GOOD), (1, b"")]}, {}),
    "V-08 what is not there": (
        {TOPIC: [(number, GOOD) for number in range(-2, 700)], "absent": [(0, GOOD)] * 300},
        {},
    ),
    "V-14 refused": (
        {TOPIC: [(0, batch(record(length_error=1))), (1, batch(record(), crc=1))]},
        {},
    ),
    "V-09 odd": ({TOPIC: [(0, REJECTED["two batches"][0]), (1, None)]}, {}),
    "V-06 a malformed first header": ({TOPIC: [(0, GOOD)], "u": [(0, batch(b"", magic=3))]}, {}),
    "V-06 behind a transactional batch": (
        {TOPIC: [(0, batch(record(), attributes=TRANSACTIONAL)), (1, batch(b"", magic=3))]},
        {"transactional_id": "x"},
    ),
    "V-07 no transactional id": (
        {TOPIC: [(0, GOOD)], "u": [(0, batch(record(), attributes=TRANSACTIONAL))]},
        {},
    ),
    "V-10 two producers": (
        {
            TOPIC: [
                (number, batch(record(), attributes=TRANSACTIONAL, producer=(number, 0, 0)))
                for number in (0, 1)
            ]
        },
        {"transactional_id": "x"},
    ),
    "V-11 acks": ({TOPIC: [(0, GOOD), (1, GOOD)]}, {"acks": 2}),
}


@pytest.mark.parametrize("version", range(3, 14))
@pytest.mark.parametrize("name", REQUESTS)
async def test_the_answers_are_those_of_a_usual_request(
    handlers: Handlers, twin: Handlers, name: str, version: int
) -> None:
    topics, fields = REQUESTS[name]
    expected = await as_usual(twin, version, ask(topics, version, **fields))
    answered = await as_large(handlers, version, ask(topics, version, **fields))
    assert plain(answered) == plain(expected)
    for index in range(2):
        assert handlers.log(index).log_end_offset == twin.log(index).log_end_offset


def very_many(version: int, count: int = PARTITIONS_MAX + 1, **fields: Any) -> Any:
    """More partitions than are decoded without a pause, of which one is there."""
    return ask({TOPIC: [(index + 1, GOOD) for index in range(count)]}, version, **fields)


@asynccontextmanager
async def others(action: Callable[[], None] = lambda: None) -> AsyncIterator[list[int]]:
    """Do something in each turn of the others; gives their number so far."""
    turns = [0]

    async def take_turns() -> None:
        while True:
            turns[0] += 1
            action()
            await checkpoint()

    async with anyio.create_task_group() as group:
        group.start_soon(take_turns)
        yield turns
        group.cancel_scope.cancel()


@pytest.mark.parametrize("version", [3, 8, 9, 13])
async def test_p34_others_have_their_turn_and_one_is_worked_on_at_a_time(
    handlers: Handlers, version: int
) -> None:
    """Decoding, two passes of checks, telling what is refused and the answer are in slices."""
    body = TYPES.encode(with_ids(handlers, very_many(version)), version)
    request = handlers.request(PRODUCE, version, body)
    async with others(lambda: collects.append(gc.isenabled())) as turns:
        collects: list[bool] = []
        parts = await dispatch(handlers.context, request)
        assert turns[0] > 850
    assert parts is not None
    assert not all(collects)
    assert gc.isenabled()
    response, _ = messages.ProduceResponse.decode(join(parts), version)
    codes = [each.error_code for each in response.responses[0].partition_responses]
    assert sorted(codes) == [0, *[3] * PARTITIONS_MAX]
    assert handlers.log(1).log_end_offset == 1


async def test_p34_more_elements_than_any_request_may_have(handlers: Handlers) -> None:
    body = TYPES.encode(ask({TOPIC: [(0, None)] * large.ELEMENTS_MAX}, 9), 9)
    with pytest.raises(DecodeError):
        await dispatch(handlers.context, handlers.request(PRODUCE, 9, body))
    assert gc.isenabled()


@pytest.mark.parametrize("is_sound", [True, False])
async def test_p07_acks_0_closes_after_a_failure(handlers: Handlers, is_sound: bool) -> None:
    indexes = [1] * PARTITIONS_MAX if is_sound else range(PARTITIONS_MAX)
    topics = {TOPIC: [(index, GOOD) for index in (1, *indexes)]}
    body = TYPES.encode(ask(topics, 8, acks=0), 8)
    waiting = dispatch(handlers.context, handlers.request(PRODUCE, 8, body))
    if is_sound:
        assert await waiting is None
    else:
        with pytest.raises(CloseConnection, match="error 3"):
            await waiting
    assert handlers.log(1).log_end_offset == 1


async def test_p92_a_topic_that_is_deleted_after_the_checks(handlers: Handlers) -> None:
    """What was appended before stays answered so; the rest finds no topic."""
    handlers.create("going", 14)
    large_batch = batch(record(value=bytes(100_000)))
    first = handlers.log(0, "going")

    def delete() -> None:
        if first.log_end_offset and "going" in handlers.cluster.topics:
            handlers.delete("going")

    async with others(delete):
        topics = {"going": [(index, large_batch) for index in range(14)]}
        response = await as_large(handlers, 8, ask(topics, 8))
    codes = [each.error_code for each in response.responses[0].partition_responses]
    assert codes == sorted(codes)
    assert set(codes) == {0, 3}


async def test_v92_an_old_set_is_walked_with_pauses(handlers: Handlers) -> None:
    stand_in_for_3_9(handlers)
    data = message() * 5000
    value = ask({TOPIC: [(0, data), (5, b""), (1, message())]}, 2)
    async with others() as turns:
        response = await handlers.answer(PRODUCE, 2, value)
        assert turns[0] > 5000 / 16
    codes = {each.index: each.error_code for each in response.responses[0].partition_responses}
    assert codes == {0: 0, 1: 0, 5: 3}
    assert len(list(check_old_record_set(memoryview(data)))) == 5000


async def test_v02_null_records_of_an_old_client_fail_all(handlers: Handlers) -> None:
    stand_in_for_3_9(handlers)
    sets: list[dict[str, list[tuple[int, bytes | None]]]] = [
        {TOPIC: [(0, message()), (1, None)]},
        {TOPIC: [(1, None)], "u": [(0, None)]},
    ]
    for topics in sets:
        response = await as_usual(handlers, 2, ask(topics, 2))
        assert {
            each.error_code for topic in response.responses for each in topic.partition_responses
        } == {87}
    assert handlers.log().log_end_offset == 0
    response = await as_usual(handlers, 2, ask({"u": [(0, None)]}, 2))
    assert response.responses[0].partition_responses[0].error_code == 3


async def test_p92_a_topic_deleted_before_its_flush_is_no_garbage(
    handlers: Handlers,
) -> None:
    handlers.create("gone")
    topic = handlers.cluster.topics["gone"]
    handlers.delete("gone")
    key = "gone", 0
    accepted = {key: Accepted(topic, 0, memoryview(b""), None)}

    async def answered() -> int:
        answers: dict[Any, PartitionAnswer] = {key: PartitionAnswer(ErrorCode.NONE)}
        await wait_until_flushed(handlers.cluster, accepted, answers)
        return int(answers[key].error_code)

    await answered()
    gc.collect()
    gc.disable()
    try:
        assert await answered() == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_the_first_version_of_batches() -> None:
    assert APIS[PRODUCE].min_version == produce_many.OLDEST_OF_BATCHES
    assert APIS[PRODUCE].handle is produce.handle
