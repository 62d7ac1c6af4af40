"""What a ShareFetch reads of a log: how much, in a thread or not, from a disk that fails."""

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from broker_lite.control.coordinators.share_service import Shares
from broker_lite.coordinator.effects import ShareStart
from broker_lite.coordinator.share_records.states import ShareKey
from broker_lite.handler.share import read
from broker_lite.log.files.headers import BatchHeader
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.control import EndTransactionMarker
from tests.coordinator.share_records.share_driver import calls_of
from tests.handler.share.share_requests import Sharer, acquired, run
from tests.support.disk import Disk
from tests.support.handler_broker import HandlerBroker, OpenBroker, handler_broker
from tests.support.small_disk import files_end_at


def begun(broker: HandlerBroker, *sizes: int, **configs: str) -> Sharer:
    sharer = Sharer(broker, **configs)
    sharer.append(*sizes)
    sharer.beat()
    return sharer


def key_of(sharer: Sharer) -> ShareKey:
    return ShareKey("g", sharer.topic_id, 0)


def shares_of(broker: HandlerBroker) -> Shares:
    return broker.coordinators.groups.shares


def test_k33_the_broker_limits_the_bytes_too(open_broker: OpenBroker) -> None:
    broker = open_broker(fetch_max_bytes="1024")
    sharer = begun(broker, 60, 60, 60)
    answer = sharer.fetch(max_bytes=2**31 - 1)
    assert acquired(answer) == [(0, 59, 1)]
    assert len(answer[0].records) <= 1024


def test_no_more_headers_are_read_than_there_is_room_for_records(
    broker: HandlerBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    sharer = begun(broker, *[1] * 300, **{"share.partition.max.record.locks": "100"})
    seen: list[BatchHeader] = []

    def walk(*arguments: Any) -> Iterator[BatchHeader]:
        for header in real(*arguments):
            seen.append(header)
            yield header

    real = read.walk_headers
    monkeypatch.setattr(read, "walk_headers", walk)
    assert acquired(sharer.fetch(count=2**31 - 1)) == [(0, 99, 1)]
    assert len(seen) == 100


@pytest.mark.parametrize("is_short", [False, True])
def test_a_disk_that_fails_is_an_error_of_the_partition(
    broker: HandlerBroker, disk: Disk, is_short: bool
) -> None:
    sharer = begun(broker, 10)
    with disk.changed():
        if is_short:
            disk.around("pread", _short_batch)
        else:
            disk.refuse("pread", below="t-0")
        answer = sharer.fetch()
        assert answer[0].error_code == 56
        assert (acquired(answer), answer[0].records) == ([], b"")
    assert acquired(sharer.fetch()) == [(0, 9, 1)]


def _short_batch(path: str, do: Callable[[], bytes]) -> bytes:
    """Give less than a whole batch, but its header, as where a sector is bad."""
    data = do()
    return data[:-1] if path.endswith(".log") else data


@pytest.mark.as_written
def test_k11_many_bytes_are_read_in_a_thread(
    broker: HandlerBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "_AT_ONCE_BYTES_MAX", 0)
    sharer, other = begun(broker, 10, 10), Sharer(broker, "n")
    other.beat()

    async def scene() -> None:
        answers = await asyncio.gather(sharer.fetch_later(count=10), other.fetch_later(count=10))
        offsets = [one for each in answers for one in acquired(each)]
        assert offsets == [(0, 9, 1)]  # both have read the same batch, and one has got it

    run(scene())
    assert acquired(sharer.fetch()) == [(10, 19, 1)]


@pytest.mark.as_written
def test_k35_what_is_acquired_is_told_although_the_time_ends_meanwhile(
    broker: HandlerBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    sharer = Sharer(broker, partitions=2)
    sharer.beat()
    monkeypatch.setattr(read, "_AT_ONCE_BYTES_MAX", 0)
    pauses_s = [0, 0.1]  # the time ends while the second partition is read

    async def work_slowly(work: Callable[[], bytes]) -> bytes:
        await asyncio.sleep(pauses_s.pop(0))
        return work()

    async def scene() -> None:
        fields: dict[str, Any] = {"partitions": [0, 1], "count": 100, "max_wait_ms": 50}
        waiting = asyncio.create_task(sharer.fetch_later(**fields))
        await asyncio.sleep(0)
        sharer.append(10)
        sharer.append(10, partition=1)
        answer = await waiting
        assert (acquired(answer), acquired(answer, 1)) == ([(0, 9, 1)], [(0, 9, 1)])

    with monkeypatch.context() as patch:
        patch.setattr(read.to_thread, "run_sync", work_slowly)
        run(scene())


def test_k35_who_gets_nothing_of_new_records_waits_on(broker: HandlerBroker) -> None:
    sharer, other = begun(broker), Sharer(broker, "n")
    other.beat()

    async def scene() -> None:
        both = [
            asyncio.create_task(each.fetch_later(max_wait_ms=60_000)) for each in (sharer, other)
        ]
        for number in range(2):
            await asyncio.sleep(0.01)
            assert not any(each.done() for each in both)
            sharer.append(1)
            done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.sleep(0.01)
            (one,) = done
            assert acquired(one.result()) == [(number, number, 1)]
            both.remove(one)

    run(scene())


@pytest.mark.as_written
def test_records_that_are_read_are_acquired_only_where_they_are_in_flight(
    broker: HandlerBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    sharer = begun(broker, 10)
    key = key_of(sharer)
    monkeypatch.setattr(read, "_AT_ONCE_BYTES_MAX", 0)

    async def drop_and_work(work: Callable[[], bytes]) -> bytes:
        shares_of(broker).put_starts([ShareStart(*key, 5, 2)])
        return work()

    with monkeypatch.context() as patch:
        patch.setattr(read.to_thread, "run_sync", drop_and_work)
        assert acquired(sharer.fetch()) == []
    assert acquired(sharer.fetch()) == [(5, 9, 1)]


def test_a_share_partition_that_was_just_dropped_gives_no_records(broker: HandlerBroker) -> None:
    """The locks that are due end at the next request; if that is not written, all are lost."""
    sharer, other = begun(broker, 10, 10), Sharer(broker, "n")
    other.beat()
    other.fetch(count=0)
    sharer.fetch(count=10)
    broker.clock.step(30_000)
    with files_end_at(0):
        assert acquired(other.fetch()) == []
    assert acquired(other.fetch()) == [(0, 19, 1)]
    assert acquired(sharer.fetch()) == []


def _wait(sharer: Sharer, **fields: Any) -> Any:
    async def scene() -> Any:
        return await asyncio.wait_for(sharer.fetch_later(max_wait_ms=60_000, **fields), 10)

    return run(scene())


def test_k35_no_more_is_waited_for_than_may_be_given(broker: HandlerBroker) -> None:
    sharer = begun(broker, 10, 10)
    assert acquired(_wait(sharer, min_bytes=10_000, max_bytes=100)) == [(0, 9, 1)]


def test_k35_the_rest_of_an_old_segment_is_enough(broker: HandlerBroker) -> None:
    sharer = begun(broker, 10)
    broker.cluster.log("t", 0).roll(broker.clock.now_ms())
    sharer.append(10)
    assert acquired(_wait(sharer, min_bytes=10_000)) == [(0, 9, 1)]


def aborted(broker: HandlerBroker, count: int) -> Sharer:
    """Transactions of one record, one after the other; the last one is committed."""
    sharer = begun(broker, **{"share.isolation.level": "read_committed"})
    log, now_ms = broker.cluster.log("t", 0), broker.clock.now_ms()
    for number in range(count):
        builder = BatchBuilder(
            producer_id=1, producer_epoch=0, base_sequence=number, is_transactional=True
        )
        builder.append(now_ms, None, b"x")
        log.append_batch(builder.build(), now_ms=now_ms)
        marker = EndTransactionMarker(number == count - 1, 0)
        log.append_control(1, 0, marker, now_ms=now_ms)
    return sharer


def test_k19_only_the_aborted_transactions_of_what_is_read_are_looked_at(
    open_broker: OpenBroker, tmp_path: Path
) -> None:
    costs = []
    for count in (50, 500):
        with handler_broker(tmp_path / f"{count}") as broker:
            sharer = aborted(broker, count)
            sharer.fetch(count=4, batch_size=4)
            costs.append(calls_of(partial(sharer.fetch, count=4, batch_size=4)))
    assert costs[1] < costs[0] + 200


@pytest.mark.as_written
def test_k19_aborted_transactions_are_known_although_the_log_drops_them(
    broker: HandlerBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    sharer = aborted(broker, 5)
    index = broker.cluster.log("t", 0).segments.active.transaction_index
    monkeypatch.setattr(read, "_AT_ONCE_BYTES_MAX", 0)

    async def drop_and_work(work: Callable[[], bytes]) -> bytes:
        index.clear()
        return work()

    with monkeypatch.context() as patch:
        patch.setattr(read.to_thread, "run_sync", drop_and_work)
        assert acquired(sharer.fetch()) == [(1, 1, 1), (3, 3, 1), (5, 5, 1), (7, 9, 1)]


@pytest.mark.as_written
def test_k19_nothing_is_acquired_while_aborted_transactions_cannot_be_listed(
    broker: HandlerBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    sharer = aborted(broker, 2)
    with monkeypatch.context() as patch:
        patch.setattr(read, "aborted_within", lambda *_: None)
        began_s = monotonic()
        assert acquired(sharer.fetch(max_wait_ms=100)) == []
        assert monotonic() - began_s > 0.09  # it waits, and does not ask again and again
    assert acquired(sharer.fetch()) == [(1, 3, 1)]
