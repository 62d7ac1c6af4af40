"""OffsetForLeaderEpoch: F-80, F-81."""

from collections.abc import Callable
from typing import Any

import pytest

from broker_lite.log.files.leader_epochs import LeaderEpochCache
from broker_lite.wire import messages
from tests.handler.data_apis import OFFSET_FOR_LEADER_EPOCH, TOPIC, Handlers
from tests.log.batches import batch, records


@pytest.fixture
def handlers(handlers: Handlers) -> Handlers:
    handlers.produce(batch(records(12), count=12))
    return handlers


def ask(
    handlers: Handlers, epoch: int, *, version: int = 4, partition: int = 0, **fields: Any
) -> tuple[int, int, int]:
    request = messages.OffsetForLeaderEpochRequest
    value = request(
        replica_id=-1,
        topics=[
            request.OffsetForLeaderTopic(
                topic=TOPIC,
                partitions=[
                    request.OffsetForLeaderPartition(
                        partition=partition, leader_epoch=epoch, **fields
                    )
                ],
            )
        ],
    )
    (topic,) = handlers.now(OFFSET_FOR_LEADER_EPOCH, version, value).topics
    (answer,) = topic.partitions
    assert (topic.topic, answer.partition) == (TOPIC, partition)
    return answer.error_code, answer.leader_epoch, answer.end_offset


@pytest.mark.parametrize("version", [2, 3, 4])
@pytest.mark.parametrize(
    ("epoch", "expected"), [(0, (0, 0, 12)), (-1, (0, -1, -1)), (1, (0, -1, -1)), (5, (0, -1, -1))]
)
def test_f81_one_epoch(
    handlers: Handlers, version: int, epoch: int, expected: tuple[int, int, int]
) -> None:
    assert ask(handlers, epoch, version=version) == expected


def test_f81_errors(handlers: Handlers) -> None:
    assert ask(handlers, 0, current_leader_epoch=1) == (75, -1, -1)
    assert ask(handlers, 0, current_leader_epoch=-2) == (74, -1, -1)
    assert ask(handlers, 0, partition=2) == (3, -1, -1)


def test_an_unforeseen_error_is_minus_1_and_logged(
    handlers: Handlers, bug: Callable[[type, str], None], caplog: pytest.LogCaptureFixture
) -> None:
    bug(LeaderEpochCache, "end_offset_for")
    assert ask(handlers, 0) == (-1, -1, -1)
    assert "a bug" in caplog.text
