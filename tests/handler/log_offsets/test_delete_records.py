"""DeleteRecords: F-90, P-112."""

from collections.abc import Callable

import pytest

from broker_lite.log.log import Log
from broker_lite.wire import messages
from tests.handler.data_apis import DELETE_RECORDS, TOPIC, Handlers
from tests.log.batches import batch, records


@pytest.fixture
def handlers(handlers: Handlers) -> Handlers:
    handlers.produce(batch(records(10), count=10))
    return handlers


def delete(
    handlers: Handlers, offset: int, *, topic: str = TOPIC, partition: int = 0, version: int = 2
) -> tuple[int, int]:
    request = messages.DeleteRecordsRequest
    value = request(
        timeout_ms=1000,
        topics=[
            request.DeleteRecordsTopic(
                name=topic,
                partitions=[
                    request.DeleteRecordsPartition(partition_index=partition, offset=offset)
                ],
            )
        ],
    )
    (answer,) = handlers.now(DELETE_RECORDS, version, value).topics
    (result,) = answer.partitions
    assert (answer.name, result.partition_index) == (topic, partition)
    return result.error_code, result.low_watermark


@pytest.mark.parametrize("version", [0, 1, 2])
def test_f90_moves_the_log_start(handlers: Handlers, version: int) -> None:
    assert delete(handlers, 4, version=version) == (0, 4)
    assert delete(handlers, 2, version=version) == (0, 4)
    assert delete(handlers, -1, version=version) == (0, 10)
    assert handlers.log().log_start_offset == 10


def test_f90_errors(handlers: Handlers) -> None:
    handlers.create("compacted", cleanup_policy="compact")
    handlers.create("__consumer_offsets")
    assert delete(handlers, 11) == (1, -1)
    assert delete(handlers, -2) == (1, -1)
    assert delete(handlers, 0, topic="unknown") == (3, -1)
    assert delete(handlers, 0, partition=2) == (3, -1)
    assert delete(handlers, 0, topic="compacted") == (44, -1)
    assert delete(handlers, 0, topic="__consumer_offsets") == (17, -1)
    assert delete(handlers, 0, topic="__consumer_offsets", partition=9) == (3, -1)


def test_an_unforeseen_error_is_minus_1_and_logged(
    handlers: Handlers, bug: Callable[[type, str], None], caplog: pytest.LogCaptureFixture
) -> None:
    bug(Log, "delete_records_before")
    assert delete(handlers, 0) == (-1, -1)
    assert "a bug" in caplog.text
