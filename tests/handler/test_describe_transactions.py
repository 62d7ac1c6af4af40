"""DescribeTransactions and ListTransactions: T-01 to T-06."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broker_lite.handler.describe_transactions import INLINE_SIZE_MAX
from broker_lite.wire import messages
from tests.handler.data_apis import Handlers
from tests.handler.transactions import DESCRIBE, LIST, Transactor


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Handlers]:
    handlers = Handlers(tmp_path / "data")
    for name in ("idle", "open"):
        Transactor(handlers, name).init()
    producer = Transactor(handlers, "open")
    producer.producer = (1, 0)
    producer.produce(1)
    yield handlers
    handlers.cluster.close()


def test_t02_describe(broker: Handlers) -> None:
    request = messages.DescribeTransactionsRequest(transactional_ids=["open", "nobody", ""])
    shown = broker.now(DESCRIBE, 0, request).transaction_states
    assert [each.error_code for each in shown] == [0, 105, 42]
    assert (shown[0].transaction_state, shown[0].transaction_timeout_ms) == ("Ongoing", 1000)
    assert [(each.topic, each.partitions) for each in shown[0].topics] == [("t", [1])]


def listed(broker: Handlers, version: int = 2, **filters: Any) -> tuple[list[str], list[str]]:
    answer = broker.now(LIST, version, messages.ListTransactionsRequest(**filters))
    assert answer.error_code == 0
    names = [each.transactional_id for each in answer.transaction_states]
    return names, answer.unknown_state_filters


@pytest.mark.parametrize("version", range(3))
def test_t01_t02_list(broker: Handlers, version: int) -> None:
    assert listed(broker, version) == (["idle", "open"], [])
    assert listed(broker, version, state_filters=["Empty"]) == (["idle"], [])
    assert listed(broker, version, state_filters=["empty", "no"]) == ([], ["empty", "no"])
    assert listed(broker, version, producer_id_filters=[1, 9]) == (["open"], [])


def test_t02_list_by_duration_and_pattern(broker: Handlers) -> None:
    broker.clock.step(500)
    filters: dict[str, Any] = {"state_filters": ["Ongoing"]}
    assert listed(broker, duration_filter=499, **filters) == (["open"], [])
    assert listed(broker, duration_filter=500, **filters) == ([], [])
    assert listed(broker, transactional_id_pattern=".*e") == (["idle"], [])
    request = messages.ListTransactionsRequest(transactional_id_pattern="(")
    assert broker.now(LIST, 2, request).error_code == 128


def test_an_id_that_comes_again_and_again_is_shown_a_few_times(broker: Handlers) -> None:
    request = messages.DescribeTransactionsRequest(transactional_ids=["open"] * 1000)
    assert len(broker.now(DESCRIBE, 0, request).transaction_states) == 10


@pytest.mark.anyio
async def test_t01_t06_many_ids_are_shown_beside_the_event_loop(broker: Handlers) -> None:
    ids = ["open", "idle", *(f"nobody-{number}" for number in range(INLINE_SIZE_MAX))]
    describe = messages.DescribeTransactionsRequest(transactional_ids=ids)
    shown = (await broker.answer(DESCRIBE, 0, describe)).transaction_states
    assert [each.transactional_id for each in shown] == ids
    for number in range(INLINE_SIZE_MAX):
        await broker.context.transactions.init_producer_id(
            f"id-{number}", timeout_ms=1, expected=None
        )
    wanted = messages.ListTransactionsRequest()
    listed = (await broker.answer(LIST, 2, wanted)).transaction_states
    assert len(listed) == INLINE_SIZE_MAX + 2
