"""P-18: a Fetch of slow topics holds its records back. Times are lower bounds only."""

import os
import time
from typing import Any

import anyio
import pytest

from tests.handler.data_apis import FETCH, TOPIC, Handlers, fetched, size, wanted
from tests.handler.fetch.test_long_poll import settle, waiting_request
from tests.handler.fetch.test_synthetic import alter
from tests.log.batches import batch, record

pytestmark = pytest.mark.anyio

LARGE = batch(record(value=b"v" * 10_000))
SMALL = batch(record())


async def timed(handlers: Handlers, request: Any, version: int = 12) -> tuple[list[Any], float]:
    begin = time.monotonic()
    with anyio.fail_after(20):
        answers = fetched(await handlers.answer(FETCH, version, request))
    return answers, time.monotonic() - begin


@pytest.mark.parametrize("version", [4, 12, 18])
async def test_p_18_records_take_their_time(handlers: Handlers, version: int) -> None:
    handlers.produce(LARGE)
    alter(handlers, out_byte_rate=100_000, rtt_ms=50)
    request = handlers.fetch_request(wanted(), max_wait_ms=1)
    (answer,), took_s = await timed(handlers, request, version)
    assert size(answer) == len(LARGE)
    assert took_s >= 0.15 - 0.015


async def test_p_18_an_answer_has_what_half_a_second_carries(handlers: Handlers) -> None:
    for _ in range(5):
        handlers.produce(LARGE, LARGE)
    alter(handlers, out_byte_rate=50_000)
    request = handlers.fetch_request(wanted(0), wanted(1))
    answers, took_s = await timed(handlers, request)
    assert sum(map(size, answers)) == 25_000
    assert took_s >= 0.5 - 0.015
    # one batch is whole, however slow
    alter(handlers, out_byte_rate=100_000)
    alter(handlers, out_byte_rate=200_000)
    answers, _ = await timed(handlers, handlers.fetch_request(wanted(0), max_bytes=10))
    assert size(answers[0]) == len(LARGE)


async def test_p_18_those_who_wait_share_what_an_answer_may_have(handlers: Handlers) -> None:
    for _ in range(5):
        handlers.produce(LARGE)
    alter(handlers, out_byte_rate=60_000)
    sizes = []

    async def fetch() -> None:
        (answer,), _ = await timed(handlers, handlers.fetch_request(wanted()))
        sizes.append(size(answer))

    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(fetch)
    assert sizes == [30_000, 15_000, len(LARGE), len(LARGE)]


async def test_other_topics_are_not_slow(handlers: Handlers) -> None:
    handlers.create("fast")
    handlers.produce(LARGE, topic="fast")
    handlers.produce(LARGE)
    alter(handlers, out_byte_rate=1)
    async with anyio.create_task_group() as group:
        group.start_soon(handlers.answer, FETCH, 12, handlers.fetch_request(wanted()))
        await settle()
        (answer,), _ = await timed(handlers, handlers.fetch_request(wanted(), topic="fast"))
        assert size(answer) == len(LARGE)
        group.cancel_scope.cancel()


async def test_p_18_no_file_is_open_while_a_fetch_waits(handlers: Handlers) -> None:
    handlers.produce(LARGE)
    alter(handlers, out_byte_rate=1)
    before = handlers.cluster.logs.sent_files_max
    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(handlers.answer, FETCH, 12, handlers.fetch_request(wanted()))
        await settle()
        open_files = [os.readlink(f"/proc/self/fd/{fd}") for fd in _descriptors()]
        own = f"{handlers.log().directory}/"
        assert sum(name.endswith(".log") and name.startswith(own) for name in open_files) <= 1
        assert handlers.cluster.logs.sent_files_max == before
        group.cancel_scope.cancel()
    # those that have left made room
    alter(handlers, out_byte_rate=1_000_000)
    (answer,), _ = await timed(handlers, handlers.fetch_request(wanted()))
    assert size(answer) == len(LARGE)


def _descriptors() -> list[str]:
    return [fd for fd in os.listdir("/proc/self/fd") if os.path.islink(f"/proc/self/fd/{fd}")]


async def test_p_18_a_long_poll_waits_for_records_first(handlers: Handlers) -> None:
    alter(handlers, out_byte_rate=1000)
    answers: list[Any] = []

    async def fetch() -> None:
        answers.extend(fetched(await handlers.answer(FETCH, 12, request)))

    request = waiting_request(handlers, wanted())
    begin = time.monotonic()
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(fetch)
            await settle()
            handlers.produce(SMALL)
    assert size(answers[0]) == len(SMALL)
    assert time.monotonic() - begin >= len(SMALL) / 1000 - 0.015


async def test_a_fetch_goes_on_by_new_configs_and_without_its_topic(handlers: Handlers) -> None:
    for change in (
        lambda: alter(handlers, out_byte_rate=0),
        lambda: handlers.delete(TOPIC),
    ):
        handlers.produce(LARGE)
        alter(handlers, out_byte_rate=1)
        answers: list[Any] = []

        async def fetch(into: list[Any] = answers) -> None:
            request = handlers.fetch_request(wanted())
            into.extend(fetched(await handlers.answer(FETCH, 12, request)))

        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(fetch)
                await settle()
                change()
        assert [each.error_code for each in answers] in ([0], [3])


async def test_records_that_came_meanwhile_are_waited_for_by_the_next_fetch(
    handlers: Handlers,
) -> None:
    handlers.produce(SMALL)
    alter(handlers, out_byte_rate=100_000, rtt_ms=50)

    answers: list[Any] = []

    async def fetch() -> None:
        answers.extend(fetched(await handlers.answer(FETCH, 12, handlers.fetch_request(wanted()))))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(fetch)
            await settle()
            handlers.produce(LARGE)
    assert size(answers[0]) == len(SMALL) + len(LARGE)
    alter(handlers, rtt_ms=0)
    _, took_s = await timed(handlers, handlers.fetch_request(wanted(offset=0)))
    assert took_s >= 0.1


async def test_p_18_synthetic_records_take_their_time(handlers: Handlers) -> None:
    alter(handlers, mode="synthetic", record_bytes=100, batch_records=10, out_byte_rate=50_000)
    answers, took_s = await timed(handlers, handlers.fetch_request(wanted()))
    assert 0 < size(answers[0]) <= 25_000
    assert took_s >= 0.4
