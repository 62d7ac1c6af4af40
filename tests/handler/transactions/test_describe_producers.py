"""DescribeProducers: P-143."""

from collections.abc import Callable
from typing import Any

import pytest

from broker_lite.log.producers.state import ProducerStateManager
from broker_lite.wire import messages
from tests.handler.data_apis import DESCRIBE_PRODUCERS, TOPIC, Handlers
from tests.log.batches import BASE_TIMESTAMP, batch, record, records


def describe(handlers: Handlers, topic: str = TOPIC, partition: int = 0) -> Any:
    request = messages.DescribeProducersRequest
    value = request(topics=[request.TopicRequest(name=topic, partition_indexes=[partition])])
    (answer,) = handlers.now(DESCRIBE_PRODUCERS, 0, value).topics
    (result,) = answer.partitions
    assert (answer.name, result.partition_index) == (topic, partition)
    return result


def test_p143_producers_of_a_partition(handlers: Handlers) -> None:
    assert describe(handlers).active_producers == []
    handlers.produce(batch(records(3), count=3, producer=(7, 1, 0)))
    handlers.log().append_batch(
        batch(record(), attributes=0x10, producer=(8, 0, 5), timestamp=BASE_TIMESTAMP + 1),
        now_ms=1,
    )
    first, second = describe(handlers).active_producers
    fields = ("producer_id", "producer_epoch", "last_sequence", "last_timestamp")
    more = ("coordinator_epoch", "current_txn_start_offset")
    assert [getattr(first, name) for name in fields + more] == [7, 1, 2, BASE_TIMESTAMP, -1, -1]
    assert [getattr(second, name) for name in fields + more] == [8, 0, 5, BASE_TIMESTAMP + 1, -1, 3]


@pytest.mark.parametrize(
    ("topic", "partition", "code", "text"),
    [
        (TOPIC, 2, 3, None),
        ("unknown", 0, 3, "This server does not host this topic-partition."),
        (
            "not legal",
            0,
            17,
            "Topic name is invalid: 'not legal' contains one or more characters other than "
            "ASCII alphanumerics, '.', '_' and '-'",
        ),
    ],
)
def test_p143_errors(
    handlers: Handlers, topic: str, partition: int, code: int, text: str | None
) -> None:
    answer = describe(handlers, topic, partition)
    assert (answer.error_code, answer.error_message) == (code, text)


def test_an_unforeseen_error_is_minus_1_and_logged(
    handlers: Handlers, bug: Callable[[type, str], None], caplog: pytest.LogCaptureFixture
) -> None:
    bug(ProducerStateManager, "describe")
    assert describe(handlers).error_code == -1
    assert "a bug" in caplog.text
