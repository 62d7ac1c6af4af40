"""ListOffsets: F-70 to F-75."""

from collections.abc import Callable
from typing import Any

import pytest

from broker_lite.log import timestamps
from broker_lite.record.control import EndTransactionMarker
from broker_lite.wire import messages
from tests.handler.data_apis import LIST_OFFSETS, TOPIC, Handlers
from tests.log.batches import BASE_TIMESTAMP, batch, record

T0 = BASE_TIMESTAMP
NOTHING = (0, -1, -1, -1)


def ask(
    handlers: Handlers,
    *timestamps: int,
    version: int = 11,
    topic: str = TOPIC,
    partition: int = 0,
    isolation_level: int = 0,
    replica_id: int = -1,
    **fields: int,
) -> list[Any]:
    request = messages.ListOffsetsRequest
    value = request(
        replica_id=replica_id,
        isolation_level=isolation_level,
        timeout_ms=1000 if version >= 10 else 0,
        topics=[
            request.ListOffsetsTopic(
                name=topic,
                partitions=[
                    request.ListOffsetsPartition(
                        partition_index=partition, timestamp=timestamp, **fields
                    )
                    for timestamp in timestamps
                ],
            )
        ],
    )
    (answer,) = handlers.now(LIST_OFFSETS, version, value).topics
    assert answer.name == topic
    partitions: list[Any] = answer.partitions
    return partitions


def found(handlers: Handlers, timestamp: int, **fields: Any) -> tuple[int, int, int, int]:
    (answer,) = ask(handlers, timestamp, **fields)
    return answer.error_code, answer.timestamp, answer.offset, answer.leader_epoch


def fill(handlers: Handlers, *timestamps: int) -> None:
    for timestamp in timestamps:
        assert handlers.produce(batch(record(), timestamp=timestamp))[0].error_code == 0


@pytest.mark.parametrize("version", range(1, 12))
def test_f70_every_version(handlers: Handlers, version: int) -> None:
    fill(handlers, T0, T0 + 10)
    epoch = 0 if version >= 4 else -1
    assert found(handlers, -1, version=version) == (0, -1, 2, epoch)
    assert found(handlers, -2, version=version) == (0, -1, 0, epoch)
    assert found(handlers, T0 + 1, version=version) == (0, T0 + 10, 1, epoch)


def test_f71_special_timestamps(handlers: Handlers) -> None:
    assert found(handlers, -3) == NOTHING
    fill(handlers, T0, T0 + 10, T0 + 5)
    handlers.log().delete_records_before(1)
    assert found(handlers, -1) == (0, -1, 3, 0)
    assert found(handlers, -2) == (0, -1, 1, 0)
    assert found(handlers, -3) == (0, T0 + 10, 1, 0)
    assert found(handlers, -4) == (0, -1, 1, 0)
    assert found(handlers, -5) == NOTHING
    assert found(handlers, -6) == NOTHING


@pytest.mark.parametrize(("timestamp", "version"), [(-3, 6), (-4, 7), (-5, 8), (-6, 10), (-7, 11)])
def test_f71_a_version_too_low_is_35(handlers: Handlers, timestamp: int, version: int) -> None:
    assert found(handlers, timestamp, version=version)[:3] == (35, -1, -1)


def test_f73_a_version_too_low_comes_before_an_unknown_partition(handlers: Handlers) -> None:
    assert found(handlers, -5, version=8, partition=9)[0] == 35
    assert found(handlers, -5, version=9, partition=9)[0] == 3


@pytest.mark.parametrize(("version", "code"), [(4, 5), (5, 78), (11, 78)])
def test_f73_a_new_leader_does_not_know_what_is_committed(
    handlers: Handlers, version: int, code: int
) -> None:
    fill(handlers, T0, T0 + 10)
    handlers.elect(1)
    log = handlers.log()
    log.visibility.high_watermark = 1  # as where too few replicas are in sync
    for timestamp in (-1, T0 + 10, T0 + 11):
        assert found(handlers, timestamp, version=version) == (code, -1, -1, -1)
    assert found(handlers, T0, version=version)[:3] == (0, T0, 0)
    assert found(handlers, -2, version=version)[:3] == (0, -1, 0)
    assert found(handlers, -1, version=version, replica_id=-2)[:3] == (0, -1, 2)
    log.visibility.high_watermark = 2
    assert found(handlers, -1, version=version)[:3] == (0, -1, 2)
    fill(handlers, T0 + 20)
    log.visibility.high_watermark = 2
    assert found(handlers, -1, version=version)[:3] == (0, -1, 2)
    assert found(handlers, T0 + 20, version=version)[:3] == (0, -1, -1)


def test_f75_who_debugs_may_ask_a_follower(handlers: Handlers) -> None:
    fill(handlers, T0)
    handlers.log().leader_id = 2
    handlers.log().visibility.high_watermark = 0
    assert found(handlers, -1)[0] == 6
    assert found(handlers, -1, replica_id=-2) == (0, -1, 1, 0)


def test_f72_by_timestamp(handlers: Handlers) -> None:
    fill(handlers, T0, T0 + 10, T0 + 5)
    assert found(handlers, 0) == (0, T0, 0, 0)
    assert found(handlers, T0 + 1) == (0, T0 + 10, 1, 0)
    assert found(handlers, T0 + 11) == NOTHING


def test_f71_f72_v94_committed_readers_see_less(handlers: Handlers) -> None:
    fill(handlers, T0)
    log = handlers.log()
    transactional = batch(
        record(), attributes=0x10, producer=(1, 0, 0), timestamp=T0 + 10, base_offset=1
    )
    log.append_batch(transactional, now_ms=1)
    fill(handlers, T0 + 20)
    assert found(handlers, -1, isolation_level=0)[2] == 3
    assert found(handlers, -1, isolation_level=1)[2] == 1
    assert found(handlers, T0 + 20, isolation_level=1) == NOTHING
    assert found(handlers, -3, isolation_level=1) == NOTHING
    # replicas and debugging consumers read to the log end
    assert found(handlers, -1, isolation_level=1, replica_id=-2)[2] == 3
    log.append_control(1, 0, EndTransactionMarker(True, 0), now_ms=1)
    assert found(handlers, T0 + 20, isolation_level=1) == (0, T0 + 20, 2, 0)


def test_f73_errors(handlers: Handlers) -> None:
    assert [each.error_code for each in ask(handlers, -1, -2)] == [42]
    assert found(handlers, -1, topic="unknown") == (3, -1, -1, -1)
    assert found(handlers, -1, partition=2) == (3, -1, -1, -1)
    assert found(handlers, -1, current_leader_epoch=1) == (75, -1, -1, -1)
    assert found(handlers, -1, current_leader_epoch=-2) == (74, -1, -1, -1)


@pytest.mark.as_written
def test_an_unforeseen_error_is_minus_1_and_logged(
    handlers: Handlers, bug: Callable[[object, str], None], caplog: pytest.LogCaptureFixture
) -> None:
    bug(timestamps, "max_timestamp_offset")
    assert found(handlers, -3)[0] == -1
    assert "a bug" in caplog.text


def old(handlers: Handlers, timestamp: int, count: int, **fields: Any) -> tuple[int, list[int]]:
    (answer,) = ask(handlers, timestamp, version=0, max_num_offsets=count, **fields)
    return answer.error_code, answer.old_style_offsets


def test_f74_version_0(handlers: Handlers) -> None:
    assert old(handlers, -1, 5) == (0, [0])
    fill(handlers, T0, T0 + 1)
    handlers.log().roll(handlers.clock.now_ms())
    fill(handlers, T0 + 2)
    assert old(handlers, -1, 1) == (0, [3])
    assert old(handlers, -1, 9) == (0, [3, 2, 0])
    assert old(handlers, -2, 9) == (0, [0])
    assert old(handlers, 5, 9) == (0, [])
    assert old(handlers, -3, 9) == (35, [])
    assert old(handlers, -1, 1, topic="unknown") == (3, [])
    (twice,) = ask(handlers, -1, -1, version=0, max_num_offsets=1)
    assert (twice.error_code, twice.old_style_offsets) == (0, [3])


def test_f74_a_consumer_sees_nothing_above_the_high_watermark(handlers: Handlers) -> None:
    """With one replica the watermark is the log end, so both readers get the same."""
    fill(handlers, T0)
    assert old(handlers, -1, 2) == old(handlers, -1, 2, replica_id=-2) == (0, [1, 0])
