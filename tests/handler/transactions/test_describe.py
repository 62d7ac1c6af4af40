"""DescribeTransactions and ListTransactions: T-01 to T-06."""

import threading
from typing import Any

import pytest

from broker_lite.coordinator.subscriptions import matching_names
from broker_lite.coordinator.transactions import views as transaction_views
from broker_lite.coordinator.transactions.terms import Terms
from broker_lite.handler.transactions.describe import INLINE_SIZE_MAX
from broker_lite.wire import messages
from tests.handler.data_apis import Handlers
from tests.handler.transactions.transaction_requests import DESCRIBE, LIST, Transactor


@pytest.fixture
def handlers(handlers: Handlers) -> Handlers:
    for name in ("idle", "open"):
        Transactor(handlers, name).init()
    producer = Transactor(handlers, "open")
    producer.producer = (1, 0)
    producer.produce(1)
    return handlers


def test_p145_t02_describe(handlers: Handlers) -> None:
    request = messages.DescribeTransactionsRequest(transactional_ids=["open", "nobody", ""])
    shown = handlers.now(DESCRIBE, 0, request).transaction_states
    assert [each.error_code for each in shown] == [0, 105, 42]
    assert (shown[0].transaction_state, shown[0].transaction_timeout_ms) == ("Ongoing", 1000)
    assert [(each.topic, each.partitions) for each in shown[0].topics] == [("t", [1])]


def listed(handlers: Handlers, version: int = 2, **filters: Any) -> tuple[list[str], list[str]]:
    answer = handlers.now(LIST, version, messages.ListTransactionsRequest(**filters))
    assert answer.error_code == 0
    names = [each.transactional_id for each in answer.transaction_states]
    return names, answer.unknown_state_filters


@pytest.mark.parametrize("version", range(3))
def test_p144_t01_t02_list(handlers: Handlers, version: int) -> None:
    assert listed(handlers, version) == (["idle", "open"], [])
    assert listed(handlers, version, state_filters=["Empty"]) == (["idle"], [])
    assert listed(handlers, version, state_filters=["empty", "no"]) == ([], ["empty", "no"])
    assert listed(handlers, version, producer_id_filters=[1, 9]) == (["open"], [])


def test_p144_t02_list_by_duration(handlers: Handlers) -> None:
    handlers.clock.step(500)
    filters: dict[str, Any] = {"state_filters": ["Ongoing"]}
    assert listed(handlers, duration_filter=499, **filters) == (["open"], [])
    assert listed(handlers, duration_filter=500, **filters) == ([], [])


@pytest.mark.anyio
async def test_p144_t02_a_pattern_is_matched_beside_the_event_loop(
    handlers: Handlers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is hostile takes 0.3 s however few ids there are."""
    threads: list[str] = []

    def names(*args: Any) -> tuple[str, ...]:
        threads.append(threading.current_thread().name)
        return matching_names(*args)

    monkeypatch.setattr(transaction_views, "matching_names", names)
    request = messages.ListTransactionsRequest(transactional_id_pattern=".*e")
    (found,) = (await handlers.answer(LIST, 2, request)).transaction_states
    assert found.transactional_id == "idle"
    bad = messages.ListTransactionsRequest(transactional_id_pattern="(")
    assert (await handlers.answer(LIST, 2, bad)).error_code == 128
    assert len(threads) == 2
    assert threading.main_thread().name not in threads


def test_an_id_that_comes_again_and_again_is_shown_a_few_times(handlers: Handlers) -> None:
    request = messages.DescribeTransactionsRequest(transactional_ids=["open"] * 1000)
    assert len(handlers.now(DESCRIBE, 0, request).transaction_states) == 10


@pytest.mark.anyio
async def test_t01_t06_many_ids_are_shown_beside_the_event_loop(handlers: Handlers) -> None:
    ids = ["open", "idle", *(f"nobody-{number}" for number in range(INLINE_SIZE_MAX))]
    describe = messages.DescribeTransactionsRequest(transactional_ids=ids)
    shown = (await handlers.answer(DESCRIBE, 0, describe)).transaction_states
    assert [each.transactional_id for each in shown] == ids
    for number in range(INLINE_SIZE_MAX):
        await handlers.context.transactions.init_producer_id(
            f"id-{number}", Terms(1), expected=None, node_id=1
        )
    wanted = messages.ListTransactionsRequest()
    listed = (await handlers.answer(LIST, 2, wanted)).transaction_states
    assert len(listed) == INLINE_SIZE_MAX + 2
