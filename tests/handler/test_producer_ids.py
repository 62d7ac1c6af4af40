"""InitProducerId: T-12 to T-26."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_lite.errors import KafkaStorageError
from broker_lite.wire import messages
from tests.handler.data_apis import INIT_PRODUCER_ID, Handlers


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Handlers]:
    handlers = Handlers(tmp_path / "data")
    yield handlers
    handlers.cluster.close()


def init(
    broker: Handlers,
    transactional_id: str | None = None,
    *,
    version: int = 5,
    timeout_ms: int = 1000,
    producer: tuple[int, int] = (-1, -1),
) -> tuple[int, int, int]:
    value = messages.InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=timeout_ms,
        producer_id=producer[0],
        producer_epoch=producer[1],
    )
    answer = broker.now(INIT_PRODUCER_ID, version, value)
    return answer.error_code, answer.producer_id, answer.producer_epoch


@pytest.mark.parametrize("version", range(6))
def test_t15_ids_ascend_from_0(broker: Handlers, version: int) -> None:
    assert [init(broker, version=version) for _ in range(3)] == [(0, n, 0) for n in range(3)]


def test_t14_what_the_request_says_is_ignored(broker: Handlers) -> None:
    assert init(broker, timeout_ms=-1, producer=(77, 5)) == (0, 0, 0)


@pytest.mark.parametrize("producer", [(1, -1), (-1, 1)])
def test_t13_id_and_epoch_come_together(broker: Handlers, producer: tuple[int, int]) -> None:
    assert init(broker, producer=producer) == (42, -1, -1)


def test_t14_an_empty_transactional_id_is_42(broker: Handlers) -> None:
    assert init(broker, "") == (42, -1, -1)


@pytest.mark.parametrize("version", range(6))
def test_t17_t23_a_transactional_id_has_its_producer(broker: Handlers, version: int) -> None:
    assert [init(broker, "x", version=version) for _ in range(2)] == [(0, 0, 0), (0, 0, 1)]


@pytest.mark.parametrize(("version", "code"), [(3, 47), (4, 90)])
def test_t19_t26_another_producer_is_fenced(broker: Handlers, version: int, code: int) -> None:
    init(broker, "x")
    assert init(broker, "x", version=version, producer=(9, 0)) == (code, -1, -1)
    assert init(broker, "x", version=version, producer=(0, 0)) == (0, 0, 1)


def test_t16_a_timeout_that_is_too_long(broker: Handlers) -> None:
    assert init(broker, "x", timeout_ms=900_001) == (50, -1, -1)


def test_a_block_that_cannot_be_written_is_answered(
    broker: Handlers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> int:
        raise KafkaStorageError

    monkeypatch.setattr(broker.cluster, "next_producer_id", fail)
    assert init(broker) == (56, -1, -1)
