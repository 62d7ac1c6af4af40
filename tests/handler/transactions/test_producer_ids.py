"""InitProducerId: T-12 to T-26."""

from pathlib import Path

import pytest

from broker_lite.wire import messages
from tests.handler.data_apis import INIT_PRODUCER_ID, Handlers
from tests.support.disk import Disk


def init(
    handlers: Handlers,
    transactional_id: str | None = None,
    *,
    version: int = 5,
    timeout_ms: int = 1000,
    producer: tuple[int, int] = (-1, -1),
    **fields: bool,
) -> tuple[int, int, int]:
    value = messages.InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=timeout_ms,
        producer_id=producer[0],
        producer_epoch=producer[1],
        **fields,
    )
    answer = handlers.now(INIT_PRODUCER_ID, version, value)
    return answer.error_code, answer.producer_id, answer.producer_epoch


@pytest.mark.parametrize("version", range(7))
def test_t15_ids_ascend_from_0(handlers: Handlers, version: int) -> None:
    assert [init(handlers, version=version) for _ in range(3)] == [(0, n, 0) for n in range(3)]


def test_t14_what_the_request_says_is_ignored(handlers: Handlers) -> None:
    assert init(handlers, timeout_ms=-1, producer=(77, 5)) == (0, 0, 0)


@pytest.mark.parametrize("producer", [(1, -1), (-1, 1)])
def test_t13_id_and_epoch_come_together(handlers: Handlers, producer: tuple[int, int]) -> None:
    assert init(handlers, producer=producer) == (42, -1, -1)


def test_t14_an_empty_transactional_id_is_42(handlers: Handlers) -> None:
    assert init(handlers, "") == (42, -1, -1)


@pytest.mark.parametrize("version", range(7))
def test_t17_t23_a_transactional_id_has_its_producer(handlers: Handlers, version: int) -> None:
    assert [init(handlers, "x", version=version) for _ in range(2)] == [(0, 0, 0), (0, 0, 1)]


@pytest.mark.parametrize(("version", "code"), [(3, 47), (4, 90)])
def test_t19_t26_another_producer_is_fenced(handlers: Handlers, version: int, code: int) -> None:
    init(handlers, "x")
    assert init(handlers, "x", version=version, producer=(9, 0)) == (code, -1, -1)
    assert init(handlers, "x", version=version, producer=(0, 0)) == (0, 0, 1)


def test_t16_a_timeout_that_is_too_long(handlers: Handlers) -> None:
    assert init(handlers, "x", timeout_ms=900_001) == (50, -1, -1)


def test_a_block_that_cannot_be_written_is_answered(handlers: Handlers, disk: Disk) -> None:
    disk.refuse("pwrite", below="__cluster_metadata")
    assert init(handlers) == (56, -1, -1)


def test_t69_two_phases(tmp_path: Path, handlers: Handlers) -> None:
    """Measured on 4.3.1."""
    assert init(handlers, "x", version=6, enable2_pc=True) == (53, -1, -1)
    assert init(handlers, version=6, enable2_pc=True, keep_prepared_txn=True) == (0, 0, 0)
    opened = Handlers(tmp_path / "other", settings={"transaction.two.phase.commit.enable": "true"})
    assert init(opened, "x", version=6, enable2_pc=True, timeout_ms=0) == (0, 0, 0)
    assert init(opened, "x", version=6, keep_prepared_txn=True) == (35, -1, -1)
    opened.cluster.close()
