"""Fetch without waiting, from request bytes to response bytes: F-01 to F-06, F-10 to F-22.

Also tests: broker_lite.handler.fetch.partition, broker_lite.handler.fetch.read.
"""

import asyncio
from asyncio import create_task, sleep
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from broker_lite.handler.fetch import api as fetch
from broker_lite.handler.fetch import read
from broker_lite.log.read import read_log
from broker_lite.record.control import EndTransactionMarker
from broker_lite.wire import messages
from tests.handler.data_apis import (
    FETCH,
    LIST_OFFSETS,
    OFFSET_FOR_LEADER_EPOCH,
    TOPIC,
    Handlers,
    fetched,
    size,
    wanted,
)
from tests.log.batches import batch, record, records

TRANSACTIONAL = 0x10


BATCH = batch(record(value=bytes(109)))
SIZE = len(BATCH)


def fill(handlers: Handlers, *counts: int) -> None:
    """Append so many batches of one record to partition 0, 1, ..."""
    for partition, count in enumerate(counts):
        for _ in range(count):
            (answer,) = handlers.produce(BATCH, partitions=[partition])
            assert answer.error_code == 0


def offsets(answer: Any) -> tuple[int, int, int]:
    return answer.high_watermark, answer.last_stable_offset, answer.log_start_offset


def aborted(answer: Any) -> list[tuple[int, int]] | None:
    if answer.aborted_transactions is None:
        return None
    return [(each.producer_id, each.first_offset) for each in answer.aborted_transactions]


@pytest.mark.parametrize("version", range(4, 19))
def test_f01_every_version_reads(handlers: Handlers, version: int) -> None:
    fill(handlers, 2)
    response = handlers.now(FETCH, version, handlers.fetch_request(wanted(offset=1)))
    (topic,) = response.responses
    assert (topic.topic_id if version >= 13 else topic.topic) == (
        handlers.topic_id() if version >= 13 else TOPIC
    )
    (answer,) = topic.partitions
    assert answer.error_code == 0
    assert offsets(answer) == (2, 2, 0 if version >= 5 else -1)
    assert answer.preferred_read_replica == -1
    assert aborted(answer) is None
    assert bytes(answer.records)[:8] == (1).to_bytes(8, "big")
    assert size(answer) == SIZE


def test_f02_a_follower_is_not_a_replica(handlers: Handlers) -> None:
    fill(handlers, 1)
    assert handlers.fetch(wanted(), version=12, replica_id=7)[0].error_code == 6
    epoch = wanted(current_leader_epoch=0)
    assert handlers.fetch(epoch, version=12, replica_id=7)[0].error_code == 75
    state = messages.FetchRequest.ReplicaState(replica_id=7)
    request = handlers.fetch_request(wanted(), replica_state=state)
    response = handlers.now(FETCH, 16, request)
    (answer,) = fetched(response)
    # v16+ names the leader, but its address to consumers only
    assert (answer.error_code, answer.current_leader.leader_id) == (6, 1)
    assert response.node_endpoints == []


@pytest.mark.parametrize("replica_id", [-2, -3])
def test_f02_other_readers(handlers: Handlers, replica_id: int) -> None:
    fill(handlers, 1)
    assert size(handlers.fetch(wanted(), replica_id=replica_id)[0]) == SIZE


def test_f03_the_last_entry_of_a_partition_counts(handlers: Handlers) -> None:
    fill(handlers, 2)
    answers = handlers.fetch(wanted(offset=9), wanted(offset=1))
    assert [(each.error_code, size(each)) for each in answers] == [(0, SIZE)]


def test_f04_unknown_topics(handlers: Handlers) -> None:
    for answer, code in (
        (handlers.fetch(wanted(), topic="unknown")[0], 3),
        (handlers.fetch(wanted(2))[0], 3),
        (handlers.fetch(wanted(), version=13, topic_id=b"\7" * 16)[0], 100),
        (handlers.fetch(wanted(5), version=13)[0], 3),
    ):
        assert answer.error_code == code
        assert offsets(answer) == (-1, -1, -1)
        assert aborted(answer) == []
        assert size(answer) == 0


def test_f04_unknown_partitions_are_answered_behind_the_others(handlers: Handlers) -> None:
    fill(handlers, 1)
    answers = handlers.fetch(wanted(7), wanted(0))
    assert [each.partition_index for each in answers] == [0, 7]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        pytest.param({"offset": 3}, 1, id="F-05 above the log end"),
        pytest.param({"offset": -1}, 1, id="F-05 below the log start"),
        pytest.param({"max_bytes": -1}, -1, id="F-05 negative size"),
        pytest.param({"current_leader_epoch": 1}, 75, id="F-20 newer epoch"),
    ],
)
def test_f05_errors_while_reading(handlers: Handlers, fields: dict[str, int], code: int) -> None:
    fill(handlers, 2)
    (answer,) = handlers.fetch(wanted(**fields), isolation_level=1)
    assert answer.error_code == code
    assert offsets(answer) == (-1, -1, -1)
    assert aborted(answer) is None
    assert size(answer) == 0


def test_f05_v16_74_names_the_leader(handlers: Handlers) -> None:
    handlers.elect(3)
    response = handlers.now(FETCH, 16, handlers.fetch_request(wanted(current_leader_epoch=2)))
    (answer,) = fetched(response)
    assert (answer.error_code, answer.current_leader.leader_id) == (74, 1)
    assert answer.current_leader.leader_epoch == 3
    (endpoint,) = response.node_endpoints
    assert (endpoint.node_id, endpoint.host, endpoint.port) == (1, "127.0.0.1", 9092)


def test_f05_f20_at_the_end_and_without_epoch_there_is_less_to_check(handlers: Handlers) -> None:
    fill(handlers, 2)
    assert handlers.fetch(wanted(offset=2, max_bytes=-1))[0].error_code == 0
    assert handlers.fetch(wanted(current_leader_epoch=-2))[0].error_code == 0


def test_f11_a_negative_limit_fails_the_first_partition_only(handlers: Handlers) -> None:
    fill(handlers, 2, 2)
    answers = handlers.fetch(wanted(0), wanted(1), max_bytes=-1)
    assert [(each.error_code, size(each)) for each in answers] == [(-1, 0), (0, SIZE)]


@pytest.mark.parametrize(("version", "answers"), [(12, [-1]), (13, [])])
def test_e05_an_unknown_isolation_level_fails_the_request(
    handlers: Handlers, version: int, answers: list[int]
) -> None:
    response = handlers.now(FETCH, version, handlers.fetch_request(wanted(), isolation_level=2))
    assert response.error_code == -1
    assert [each.error_code for each in fetched(response)] == answers


@pytest.mark.as_written
def test_an_unforeseen_error_is_minus_1_and_logged(
    handlers: Handlers, bug: Callable[[object, str], None], caplog: pytest.LogCaptureFixture
) -> None:
    bug(read, "read_log")
    assert handlers.fetch(wanted())[0].error_code == -1
    assert "a bug" in caplog.text


def test_f06_isolation_decides_about_the_aborted_list(handlers: Handlers) -> None:
    fill(handlers, 1)
    assert aborted(handlers.fetch(wanted(), isolation_level=0)[0]) is None
    assert aborted(handlers.fetch(wanted(), isolation_level=1)[0]) == []
    assert aborted(handlers.fetch(wanted(offset=1), isolation_level=1)[0]) == []


def test_f10_reading_begins_with_the_whole_batch(handlers: Handlers) -> None:
    three = batch(records(3), count=3)
    handlers.produce(three)
    handlers.log().delete_records_before(2)
    (answer,) = handlers.fetch(wanted(offset=2))
    assert size(answer) == len(three)
    assert offsets(answer) == (3, 3, 2)
    assert handlers.fetch(wanted(offset=1))[0].error_code == 1


@pytest.mark.parametrize("max_bytes", [0, 1])
def test_f11_the_first_batch_comes_whole(handlers: Handlers, max_bytes: int) -> None:
    fill(handlers, 3)
    assert size(handlers.fetch(wanted(max_bytes=max_bytes))[0]) == SIZE


def test_f11_the_rest_may_be_partial(handlers: Handlers) -> None:
    fill(handlers, 3)
    assert size(handlers.fetch(wanted(max_bytes=SIZE + 21))[0]) == SIZE + 21


@pytest.mark.parametrize(
    ("counts", "max_bytes", "sizes"),
    [
        pytest.param((3, 3), 1, [SIZE, 0], id="F-11 the second gets nothing"),
        pytest.param((3, 3), SIZE + 121, [SIZE + 121, 0], id="F-11 the first takes all"),
        pytest.param((0, 3), 1, [0, SIZE], id="F-11 the exception moves on"),
        pytest.param((1, 3), SIZE + 5, [SIZE, 0], id="F-11 no fragment in the second"),
        pytest.param((1, 3), 2 * SIZE + 5, [SIZE, SIZE + 5], id="F-11 shared"),
    ],
)
def test_f11_two_partitions(
    handlers: Handlers, counts: tuple[int, int], max_bytes: int, sizes: list[int]
) -> None:
    fill(handlers, *counts)
    answers = handlers.fetch(wanted(0), wanted(1), max_bytes=max_bytes)
    assert [size(each) for each in answers] == sizes
    assert [each.high_watermark for each in answers] == list(counts)


def test_f11_without_room_errors_are_still_found(handlers: Handlers) -> None:
    fill(handlers, 1, 1)
    for isolation_level, names in ((0, None), (1, [])):
        answers = handlers.fetch(
            wanted(0), wanted(1), max_bytes=SIZE, isolation_level=isolation_level
        )
        assert [size(each) for each in answers] == [SIZE, 0]
        assert aborted(answers[1]) == names
    answers = handlers.fetch(wanted(0), wanted(1, offset=5), max_bytes=SIZE)
    assert [each.error_code for each in answers] == [0, 1]


def test_f11_fetch_max_bytes_is_the_brokers_limit(tmp_path: Path) -> None:
    handlers = Handlers(tmp_path / "data", settings={"fetch.max.bytes": "1024"})
    fill(handlers, 10)
    assert size(handlers.fetch(wanted())[0]) == 1024
    handlers.cluster.close()


def test_f12_f13_one_segment_a_partition(handlers: Handlers) -> None:
    fill(handlers, 2)
    handlers.log().roll(handlers.clock.now_ms())
    fill(handlers, 1)
    assert size(handlers.fetch(wanted())[0]) == 2 * SIZE
    assert size(handlers.fetch(wanted(offset=2))[0]) == SIZE


def test_f13_f14_v94_a_transaction(handlers: Handlers) -> None:
    log, now_ms = handlers.log(), handlers.clock.now_ms()
    transactional = batch(records(2), count=2, attributes=TRANSACTIONAL, producer=(1, 0, 0))
    handlers.produce(BATCH)
    log.append_batch(transactional, now_ms=now_ms)
    fill(handlers, 1)
    (answer,) = handlers.fetch(wanted(), isolation_level=1)
    assert offsets(answer) == (4, 1, 0)
    assert size(answer) == SIZE
    assert size(handlers.fetch(wanted(), isolation_level=0)[0]) == log.segments.size_bytes
    for offset in (1, 3):
        (answer,) = handlers.fetch(wanted(offset=offset), isolation_level=1)
        assert (answer.error_code, size(answer), aborted(answer)) == (0, 0, [])
    log.append_control(1, 0, EndTransactionMarker(False, 0), now_ms=now_ms)
    (answer,) = handlers.fetch(wanted(), isolation_level=1)
    assert (aborted(answer), size(answer)) == ([(1, 1)], log.segments.size_bytes)
    assert aborted(handlers.fetch(wanted(), isolation_level=0)[0]) is None


@pytest.mark.parametrize("version", [4, 9])
def test_f63_a_broker_of_today_gives_zstd_to_old_clients(handlers: Handlers, version: int) -> None:
    handlers.create("z", compression_type="zstd")
    handlers.produce(BATCH, topic="z")
    assert handlers.fetch(wanted(), topic="z", version=version)[0].error_code == 0


def test_f47_a_session_that_ended_keeps_no_partitions(handlers: Handlers) -> None:
    session_id = handlers.now(
        FETCH, 12, handlers.fetch_request(wanted(), session_epoch=0)
    ).session_id
    request = handlers.fetch_request(session_id=session_id, session_epoch=1)
    assert handlers.now(FETCH, 12, request).error_code == 0
    session = handlers.context.fetch_sessions.get(session_id)
    assert session is not None
    assert len(session.partitions) == 1
    handlers.context.fetch_sessions.remove(session_id)
    assert len(session.partitions) == 0


def test_f21_f22_where_the_logs_part(handlers: Handlers) -> None:
    fill(handlers, 2)
    log = handlers.log()
    log.become_leader(3)
    fill(handlers, 2)

    def ask(offset: int, epoch: int) -> Any:
        return handlers.fetch(wanted(offset=offset, last_fetched_epoch=epoch))[0]

    assert size(ask(2, 0)) == 2 * SIZE
    for offset, epoch, tag in ((3, 0, (0, 2)), (4, 2, (0, 2)), (9, 3, (3, 4))):
        answer = ask(offset, epoch)
        assert (answer.error_code, size(answer)) == (0, 0)
        assert offsets(answer) == (4, 4, 0)
        assert (answer.diverging_epoch.epoch, answer.diverging_epoch.end_offset) == tag
    assert ask(4, 4).error_code == 1
    log.delete_records_before(1)
    assert ask(0, 0).error_code == 1


def test_f15_the_length_is_that_of_the_range(handlers: Handlers) -> None:
    fill(handlers, 1)
    request = handlers.fetch_request(wanted())
    body = messages.FetchRequest.encode(request, 12)
    waiting: Any = fetch.handle(handlers.context, handlers.request(FETCH, 12, body))
    with pytest.raises(StopIteration) as stopped:
        waiting.send(None)
    head, records_part, tail = stopped.value.value
    fill(handlers, 1)
    assert records_part.size_bytes == SIZE
    assert head.endswith((SIZE + 1 & 0x7F | 0x80).to_bytes(1, "big") + bytes([SIZE + 1 >> 7]))
    assert tail == bytes(3)


def test_f11_no_more_files_are_sent_than_may_be_open(tmp_path: Path) -> None:
    """The partitions behind them have nothing this time; their offsets are told."""
    handlers = Handlers(tmp_path / "data", settings={"broker.lite.open.files.max": "4"})
    handlers.create("many", 5)
    for partition in range(5):
        handlers.produce(BATCH, topic="many", partitions=[partition])
    asked = [wanted(partition) for partition in range(5)]
    response = handlers.now(FETCH, 11, handlers.fetch_request(*asked, topic="many"))
    answers = response.responses[0].partitions
    assert [len(each.records or b"") for each in answers] == [SIZE, SIZE, 0, 0, 0]
    assert [offsets(each) for each in answers] == [(1, 1, 0)] * 5
    handlers.cluster.close()


def test_f11_answers_that_nobody_takes_do_not_hold_all_files(tmp_path: Path) -> None:
    """Their files leave the cache and stay open: others get no records until they are sent."""
    handlers = Handlers(tmp_path / "data", settings={"broker.lite.open.files.max": "4"})
    handlers.create("many", 5)
    for partition in range(5):
        handlers.produce(BATCH, topic="many", partitions=[partition])
    logs = [handlers.cluster.log("many", index) for index in range(2)]
    held = [read_log(log, 0, max_bytes=SIZE).slice for log in logs]
    for partition in range(5):
        handlers.produce(BATCH, topic="many", partitions=[partition])

    def fetched() -> list[int]:
        request = handlers.fetch_request(wanted(0), wanted(4), topic="many")
        answers = handlers.now(FETCH, 11, request).responses[0].partitions
        assert [each.error_code for each in answers] == [0, 0]
        return [len(each.records or b"") for each in answers]

    assert fetched() == [0, 0]
    held.clear()
    assert fetched() == [2 * SIZE, 2 * SIZE]
    handlers.cluster.close()


@pytest.mark.parametrize("api", ["fetch", "list offsets", "offset for leader epoch"])
def test_f04_many_logs_are_loaded_a_few_at_a_time(handlers: Handlers, api: str) -> None:
    """Other connections have their turn in between, also where partitions are unknown."""
    handlers.create("many", 130)
    indexes = range(140)
    if api == "fetch":
        value = handlers.fetch_request(*map(wanted, indexes), topic="many")
        code = FETCH
    elif api == "list offsets":
        lists = messages.ListOffsetsRequest
        asked = [lists.ListOffsetsPartition(partition_index=i, timestamp=-1) for i in indexes]
        value = lists(topics=[lists.ListOffsetsTopic(name="many", partitions=asked)])
        code = LIST_OFFSETS
    else:
        epochs = messages.OffsetForLeaderEpochRequest
        parts = [epochs.OffsetForLeaderPartition(partition=i, leader_epoch=0) for i in indexes]
        value = epochs(topics=[epochs.OffsetForLeaderTopic(topic="many", partitions=parts)])
        code = OFFSET_FOR_LEADER_EPOCH
    others = []

    async def run() -> list[int]:
        async def other() -> None:
            while True:
                others.append(1)
                await sleep(0)

        task = create_task(other())
        response = await handlers.answer(code, 4, value)
        task.cancel()
        topics = response.topics if code != FETCH else response.responses
        return [each.error_code for each in topics[0].partitions]

    assert asyncio.run(run()) == [0] * 130 + [3] * 10
    assert len(others) >= 2
