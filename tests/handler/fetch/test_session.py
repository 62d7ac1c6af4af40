"""Fetch sessions (KIP-227), through the handler and the cache by itself: F-40 to F-48.

Also tests: broker_lite.handler.fetch.partition.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from broker_lite.handler.fetch.partition import PARTITION_BYTES, FetchPartitions
from broker_lite.handler.fetch.session import (
    MIN_EVICTION_MS,
    FetchSessionCache,
    next_epoch,
    random_session_id,
)
from broker_lite.wire.fetch_request import wanted_of
from tests.handler.data_apis import FETCH, Handlers, fetched, size, wanted
from tests.log.batches import batch, record

BATCH = batch(record())
SIZE = len(BATCH)


class Client:
    """A consumer with a session."""

    def __init__(self, handlers: Handlers, *partitions: Any, version: int = 12, **fields: Any):
        self.broker = handlers
        self.version = version
        self.first = self.send(*partitions, session_id=0, session_epoch=0, **fields)
        self.session_id: int = self.first.session_id
        self.epoch = 1

    def send(self, *partitions: Any, **fields: Any) -> Any:
        request = self.broker.fetch_request(*partitions, **fields)
        return self.broker.now(FETCH, fields.pop("version", self.version), request)

    def next(self, *partitions: Any, **fields: Any) -> Any:
        """The next request of the session."""
        response = self.send(
            *partitions, session_id=self.session_id, session_epoch=self.epoch, **fields
        )
        assert (response.error_code, response.session_id) == (0, self.session_id)
        self.epoch += 1
        return response

    def news(self, *partitions: Any, **fields: Any) -> list[tuple[int, int, int]]:
        """Partition, error and size of what the next request is answered."""
        answers = fetched(self.next(*partitions, **fields))
        return [(each.partition_index, each.error_code, size(each)) for each in answers]


def indexes(response: Any) -> list[int]:
    return [each.partition_index for each in fetched(response)]


@pytest.mark.parametrize(
    ("version", "fields"),
    [
        pytest.param(6, {}, id="F-40 before v7"),
        pytest.param(7, {"session_epoch": -1}, id="F-40 epoch -1"),
    ],
)
def test_f40_no_session_is_made(handlers: Handlers, version: int, fields: dict[str, int]) -> None:
    response = handlers.now(FETCH, version, handlers.fetch_request(wanted(), **fields))
    assert response.session_id == 0
    assert len(handlers.context.fetch_sessions) == 0


@pytest.mark.parametrize("epoch", [0, -1])
def test_f40_a_full_fetch_ends_the_session_it_names(handlers: Handlers, epoch: int) -> None:
    client = Client(handlers, wanted())
    client.send(wanted(), session_id=client.session_id, session_epoch=epoch)
    old = client.send(session_id=client.session_id, session_epoch=1)
    assert (old.error_code, old.session_id, old.responses) == (70, 0, [])


@pytest.mark.parametrize("session_id", [0, -5, 123456])
def test_f41_unknown_sessions(handlers: Handlers, session_id: int) -> None:
    request = handlers.fetch_request(wanted(), session_id=session_id, session_epoch=1)
    response = handlers.now(FETCH, 12, request)
    assert (response.error_code, response.session_id, response.responses) == (70, 0, [])


def test_f41_wrong_epoch_and_wrong_naming_leave_the_session(handlers: Handlers) -> None:
    client = Client(handlers, wanted())
    for epoch in (2, 99):
        wrong = client.send(session_id=client.session_id, session_epoch=epoch)
        assert (wrong.error_code, wrong.session_id, wrong.responses) == (71, 0, [])
    request = handlers.fetch_request(session_id=client.session_id, session_epoch=1)
    wrong = handlers.now(FETCH, 13, request)
    assert (wrong.error_code, wrong.session_id, wrong.responses) == (106, 0, [])
    assert client.news() == []


def test_f42_the_full_answer_has_all_partitions(handlers: Handlers) -> None:
    client = Client(handlers, wanted(0), wanted(1), wanted(9))
    assert indexes(client.first) == [0, 1, 9]
    assert client.session_id > 0


def test_f42_epochs_wrap() -> None:
    assert [next_epoch(0), next_epoch(7), next_epoch(2147483647)] == [1, 8, 1]


def test_f43_partitions_are_added_changed_and_forgotten(handlers: Handlers) -> None:
    handlers.produce(BATCH, BATCH)
    client = Client(handlers, wanted(0))
    assert client.news(wanted(0, offset=1), wanted(1)) == [(1, 0, SIZE)]
    assert client.news(wanted(1, offset=1)) == []
    handlers.produce(BATCH, BATCH)
    assert client.news(forgotten=[0]) == [(1, 0, SIZE)]
    client.news(forgotten=[7])
    response = client.send(session_id=client.session_id, session_epoch=client.epoch, forgotten=[1])
    assert (response.error_code, response.session_id, response.responses) == (0, 0, [])
    assert len(handlers.context.fetch_sessions) == 0
    assert not handlers.log().visibility.is_watched
    assert not handlers.log(1).visibility.is_watched


def test_f41_only_a_request_of_a_session_forgets_partitions(handlers: Handlers) -> None:
    handlers.produce(BATCH)
    for epoch in (-1, 0):
        request = handlers.fetch_request(wanted(0), session_epoch=epoch, forgotten=[0])
        assert [size(each) for each in fetched(handlers.now(FETCH, 12, request))] == [SIZE]


def test_f44_only_changes_are_answered(handlers: Handlers) -> None:
    client = Client(handlers, wanted(0), wanted(1))
    assert client.news() == []
    handlers.produce(BATCH)
    assert client.news() == [(0, 0, SIZE)]
    # what was not taken comes again
    assert client.news() == [(0, 0, SIZE)]
    assert client.news(wanted(0, offset=1)) == []
    handlers.log(0).delete_records_before(1)
    assert client.news() == [(0, 0, 0)]
    assert client.news() == []


def test_f44_the_high_watermark_alone_is_news(handlers: Handlers) -> None:
    transactional = batch(record(), attributes=0x10, producer=(1, 0, 0))
    client = Client(handlers, wanted(0), isolation_level=1)
    handlers.log().append_batch(transactional, now_ms=1)
    assert client.news(isolation_level=1) == [(0, 0, 0)]
    assert client.news(isolation_level=1) == []
    # another isolation level: everything is looked at again
    assert client.news(isolation_level=0) == [(0, 0, len(transactional))]


def test_f44_errors_are_repeated_and_the_good_answer_after_them_is_sent(handlers: Handlers) -> None:
    client = Client(handlers, wanted(0), wanted(1))
    assert client.news(wanted(0, offset=5)) == [(0, 1, 0)]
    assert client.news() == [(0, 1, 0)]
    assert client.news(wanted(0, offset=0)) == [(0, 0, 0)]
    assert client.news() == []


def test_f44_a_diverging_epoch_is_repeated(handlers: Handlers) -> None:
    handlers.produce(BATCH)
    client = Client(handlers, wanted(0, offset=1))
    assert client.news(wanted(0, offset=2, last_fetched_epoch=0)) == [(0, 0, 0)]
    assert client.news() == [(0, 0, 0)]


def test_f45_who_got_records_moves_to_the_end(handlers: Handlers) -> None:
    for _ in range(3):
        handlers.produce(BATCH, BATCH)
    client = Client(handlers, wanted(0), wanted(1), max_bytes=1)
    assert [size(each) for each in fetched(client.first)] == [SIZE, 0]
    assert client.news(max_bytes=1) == [(0, 0, SIZE)]
    assert client.news(max_bytes=1) == [(1, 0, SIZE)]
    assert client.news(max_bytes=1) == [(0, 0, SIZE)]


def test_f45_unknown_topics_stand_behind(handlers: Handlers) -> None:
    client = Client(handlers, wanted(9), wanted(0))
    assert indexes(client.first) == [0, 9]
    handlers.produce(BATCH)
    assert client.news() == [(0, 0, SIZE), (9, 3, 0)]


def test_f48_unknown_ids_are_asked_for_until_they_are_known(handlers: Handlers) -> None:
    client = Client(handlers, wanted(), version=13, topic_id=b"\7" * 16)
    assert client.news() == [(0, 100, 0)]
    assert client.news() == [(0, 100, 0)]


@pytest.mark.parametrize(("version", "code"), [(12, 3), (13, 100)])
def test_p110_a_deleted_topic_is_unknown_to_the_session(
    handlers: Handlers, version: int, code: int
) -> None:
    topic_id = handlers.topic_id()
    client = Client(handlers, wanted(), version=version)
    assert client.news() == []
    handlers.delete("t")
    assert client.news() == [(0, code, 0)]
    new_id = handlers.create("t")
    assert new_id != topic_id
    assert client.news() == ([(0, 0, 0)] if version == 12 else [(0, 100, 0)])


def test_an_incremental_fetch_looks_at_changed_partitions_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handlers = Handlers(tmp_path / "data")
    handlers.create("many", 50)
    client = Client(handlers, *(wanted(index) for index in range(50)), topic="many")
    session = handlers.context.fetch_sessions.get(client.session_id)
    assert session is not None
    handlers.produce(BATCH, partitions=[33], topic="many")
    assert [each.index for each in session.partitions.pending()] == [33]
    assert client.news() == [(33, 0, SIZE)]
    handlers.cluster.close()


# -- the cache by itself


def cache_with(ids: Sequence[int], slots: int) -> FetchSessionCache:
    numbers = iter(ids)
    return FetchSessionCache(slots, make_id=lambda: next(numbers))


def some(count: int) -> FetchPartitions:
    partitions = FetchPartitions()
    for index in range(count):
        partitions.want("t", wanted_of(wanted(index)))
    return partitions


def create(cache: FetchSessionCache, count: int, now_ms: int) -> int:
    session = cache.create(some(count), uses_topic_ids=False, now_ms=now_ms)
    return session.session_id if session is not None else 0


def test_f47_ids_are_not_used_twice() -> None:
    cache = cache_with([5, 5, 6], 3)
    assert [create(cache, 1, 0), create(cache, 1, 0)] == [5, 6]


def test_f47_random_ids_are_positive() -> None:
    assert all(1 <= random_session_id() <= 2147483647 for _ in range(100))


def test_f47_without_slots_there_are_no_sessions() -> None:
    assert create(cache_with([], 0), 1, 0) == 0


def test_f47_a_full_cache_keeps_young_sessions() -> None:
    cache = cache_with([1, 2, 3], 2)
    assert [create(cache, 1, 0), create(cache, 1, 0)] == [1, 2]
    assert create(cache, 100, MIN_EVICTION_MS) == 0


def test_f47_an_idle_session_goes_first() -> None:
    cache = cache_with([1, 2, 3], 2)
    create(cache, 9, 0)
    create(cache, 1, 0)
    first = cache.get(1)
    assert first is not None
    cache.touch(first, MIN_EVICTION_MS)
    assert create(cache, 1, MIN_EVICTION_MS + 1) == 3
    assert cache.get(2) is None
    assert cache.get(1) is first


@pytest.mark.parametrize(
    ("count", "made"),
    [
        pytest.param(1, 0, id="smaller than all"),
        pytest.param(2, 0, id="as large as the smallest, but its id counts as 0"),
        pytest.param(3, 3, id="larger"),
    ],
)
def test_f47_else_the_smallest_of_the_old_ones(count: int, made: int) -> None:
    cache = cache_with([1, 2, 3], 2)
    create(cache, 2, 0)
    create(cache, 4, 0)
    for number in (1, 2):
        session = cache.get(number)
        assert session is not None
        cache.touch(session, MIN_EVICTION_MS + 1)
    assert create(cache, count, MIN_EVICTION_MS + 2) == made
    assert (cache.get(1) is None) == bool(made)


EACH = PARTITION_BYTES + len("t")
"""What a partition of the cache's tests counts as."""


def bounded(partitions: int, ids: Sequence[int] = (1, 2, 3)) -> FetchSessionCache:
    numbers = iter(ids)
    return FetchSessionCache(9, partitions * EACH, make_id=lambda: next(numbers))


def test_f47_the_memory_of_all_sessions_is_bounded() -> None:
    cache = bounded(10)
    assert [create(cache, 11, 0), create(cache, 6, 0), create(cache, 4, 0)] == [0, 1, 2]
    assert cache.size_bytes == 10 * EACH
    assert create(cache, 1, 0) == 0, "young sessions stay, as where there is no slot"
    cache.remove(1)
    assert cache.size_bytes == 4 * EACH
    assert create(cache, 6, 0) == 3


def test_f47_a_fetch_without_a_session_holds_memory_too() -> None:
    cache = bounded(10)
    assert cache.hold(9 * EACH)
    assert not cache.hold(2 * EACH)
    assert cache.size_bytes == 9 * EACH
    cache.give_back(9 * EACH)
    assert cache.hold(10 * EACH)


def test_f47_as_many_idle_sessions_go_as_are_in_the_way() -> None:
    cache = bounded(10, (1, 2, 3, 4))
    for count in (3, 3, 3):
        create(cache, count, 0)
    assert create(cache, 5, MIN_EVICTION_MS + 1) == 4
    assert [cache.get(number) is None for number in (1, 2, 3)] == [True, True, False]
    assert cache.size_bytes == 8 * EACH


def test_f47_a_session_that_grows_beyond_the_bound_ends() -> None:
    cache = bounded(10)
    create(cache, 6, 0)
    create(cache, 3, 0)
    session = cache.get(2)
    assert session is not None
    session.partitions.want("t", wanted_of(wanted(7)))
    assert cache.touch(session, 1)
    session.partitions.want("t", wanted_of(wanted(8)))
    assert not cache.touch(session, 2)
    assert cache.get(2) is None
    assert cache.size_bytes == 6 * EACH
    first = cache.get(1)
    assert first is not None
    first.partitions.forget("t", 0)
    assert cache.touch(first, 3)
    assert cache.size_bytes == 5 * EACH


@pytest.mark.parametrize(
    ("name", "name_bytes"), [("n" * 1000, 1000), ("n" * 999 + "\N{SNOWMAN}", 4000)]
)
def test_f47_long_names_count(name: str, name_bytes: int) -> None:
    """One character beyond ASCII may make all of a text take four bytes each."""
    partitions = FetchPartitions()
    partitions.want(name, wanted_of(wanted(0)))
    assert partitions.size_bytes == PARTITION_BYTES + name_bytes
    partitions.forget(name, 1)
    partitions.forget(name, 0)
    assert partitions.size_bytes == 0


def test_f47_a_client_whose_session_grows_too_much_begins_anew(handlers: Handlers) -> None:
    """The answer is complete, and has no session id: clients send a full fetch next."""
    sessions = FetchSessionCache(9, 2 * EACH + 1)
    handlers.context.fetch_sessions = sessions
    client = Client(handlers, wanted(0))
    assert client.session_id
    handlers.log(0).append_batch(BATCH, now_ms=0)
    answer = client.send(wanted(1), wanted(2), session_id=client.session_id, session_epoch=1)
    assert (answer.error_code, answer.session_id) == (0, 0)
    assert sorted(indexes(answer)) == [0, 1, 2]
    assert (len(sessions), sessions.size_bytes) == (0, 0)
    assert not handlers.log(0).visibility.is_watched
    again = client.send(wanted(0), wanted(1), session_id=0, session_epoch=0)
    assert again.session_id
    assert client.send(*map(wanted, range(3)), session_id=0, session_epoch=0).session_id == 0
