"""ShareAcknowledge, and what is kept of it over restarts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broker_lite.coordinator.share_records.held_states import RUN_BYTES
from broker_lite.coordinator.share_records.parts import RUNS_MAX
from broker_lite.coordinator.share_records.sessions import SharedPartition
from broker_lite.coordinator.share_records.states import ShareKey
from broker_lite.handler.share.acknowledge import said_by
from tests.coordinator.share_records.share_driver import calls_of
from tests.handler.share.share_requests import Sharer, acquired, run
from tests.support.handler_broker import HandlerBroker, handler_broker
from tests.support.loop_turns import LoopTurns

MANY = 3 * RUNS_MAX


@pytest.fixture
def sharer(broker: HandlerBroker) -> Sharer:
    sharer = Sharer(broker)
    sharer.append(10)
    sharer.beat()
    sharer.fetch()
    return sharer


@pytest.mark.parametrize("version", [1, 2])
def test_k14_every_version_takes_types(sharer: Sharer, version: int) -> None:
    assert sharer.say({0: [(0, 3, [1, 0, 3, 2])]}, version=version) == {0: (0, None)}
    assert acquired(sharer.fetch()) == [(3, 3, 2)]


def test_k30_epochs(sharer: Sharer) -> None:
    assert sharer.say({}, epoch=0) == 123
    assert sharer.say({}, epoch=9) == 123
    assert sharer.say({}) == {}
    assert sharer.say({0: []}) == {}
    assert sharer.say({0: [(0, 9, [1])]}, epoch=-1) == {0: (0, None)}
    assert sharer.say({}, epoch=-1) == 122
    assert sharer.say({}, epoch=2) == 122


def test_k14_renewals(sharer: Sharer) -> None:
    assert sharer.say({0: [(0, 9, [4])]})[0][0] == 42
    sharer.broker.clock.step(20_000)
    assert sharer.say({0: [(0, 9, [4])]}, is_renew_ack=True) == {0: (0, None)}
    sharer.broker.clock.step(20_000)
    assert sharer.say({0: [(0, 9, [1])]}) == {0: (0, None)}


def test_k32_partitions_that_are_not_there(sharer: Sharer) -> None:
    assert sharer.say({1: [(0, 1, [1])]}) == {1: (3, None)}
    assert sharer.say({0: [(0, 1, [1])]}, topic_id=b"x" * 16) == {0: (100, None)}


def test_k31_a_group_without_state(sharer: Sharer) -> None:
    other = Sharer(sharer.broker, "n", group="other")
    other.fetch()
    text = "This server does not host this topic-partition."
    assert other.say({0: [(0, 1, [1])]}) == {0: (3, text)}


def test_k20_k21_nothing_that_was_acknowledged_comes_again(tmp_path: Path) -> None:
    with handler_broker(tmp_path / "data") as broker:
        sharer = Sharer(broker)
        sharer.append(10, 10)
        sharer.beat()
        sharer.fetch(count=10)
        sharer.say({0: [(2, 4, [1]), (5, 6, [3]), (7, 8, [2])]})
        sharer.fetch()
    for _ in range(2):  # the files are as a kill leaves them
        with handler_broker(tmp_path / "data") as broker:
            again = Sharer(broker)
            assert acquired(again.fetch()) == [(0, 1, 1), (7, 8, 2), (9, 19, 1)]
    with handler_broker(tmp_path / "data") as broker:
        again = Sharer(broker)
        again.fetch()
        again.say({0: [(0, 1, [1]), (7, 19, [1])]})
        again.append(1)
    with handler_broker(tmp_path / "data") as broker:
        assert acquired(Sharer(broker).fetch()) == [(20, 20, 1)]
        assert Sharer(broker).beat(names=None, epoch=2).error_code == 0


def test_k14_delivery_counts_are_kept(tmp_path: Path) -> None:
    counts = []
    for _ in range(7):
        with handler_broker(tmp_path / "data") as broker:
            sharer = Sharer(broker)
            if not counts:
                sharer.append(1)
                sharer.beat()
            found = acquired(sharer.fetch())
            counts += [each[2] for each in found]
            if found:
                sharer.say({0: [(0, 0, [2])]})
    assert counts == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("reset", "first"),
    [
        pytest.param("latest", 10, id="K-20 latest"),
        pytest.param("earliest", 0, id="K-20 earliest"),
        pytest.param("by_duration:PT1H", 5, id="K-20 duration"),
    ],
)
def test_where_a_group_begins(broker: HandlerBroker, reset: str, first: int) -> None:
    sharer = Sharer(broker, earliest=False, **{"share.auto.offset.reset": reset})
    now_ms = broker.clock.now_ms()
    sharer.append(5, at_ms=now_ms - 7_200_000)
    sharer.append(5, at_ms=now_ms - 60_000)
    sharer.beat()
    at_once = acquired(sharer.fetch())
    sharer.append(3)
    assert [*at_once, *acquired(sharer.fetch())][0][0] == first


@pytest.mark.as_written
def test_many_types_are_taken_in_turns(broker: HandlerBroker) -> None:
    count = 3 * RUNS_MAX
    sharer = Sharer(broker)
    sharer.append(count)
    sharer.beat()
    assert acquired(sharer.fetch(max_bytes=10_000_000)) == [(0, count - 1, 1)]
    updates = []
    shares = broker.context.groups.shares
    settle = shares.settle

    def settle_and_tell(*args: Any) -> None:
        updates.append(args[1])
        settle(*args)

    shares.settle = settle_and_tell  # type: ignore[method-assign]
    assert sharer.say({0: [(0, count - 1, [1, 2] * (count // 2))]}) == {0: (0, None)}
    assert [len(each.batches) for each in updates] == [RUNS_MAX] * 3
    key = ShareKey("g", sharer.topic_id, 0)
    assert shares.log.start_and_complete(key) == (1, count // 2 - 1, 0)


def test_k31_a_refused_record_far_behind_refuses_all(sharer: Sharer) -> None:
    sharer.append(2 * RUNS_MAX)
    sharer.fetch(max_bytes=10_000_000)
    assert sharer.say({0: [(10, 2 * RUNS_MAX + 10, [1, 2] * RUNS_MAX + [1])]})[0][0] == 42
    assert sharer.say({0: [(10, 2 * RUNS_MAX + 9, [1, 2] * RUNS_MAX)]}) == {0: (0, None)}


def test_k31_a_record_that_is_named_twice_in_two_parts_refuses_all(sharer: Sharer) -> None:
    sharer.append(2 * RUNS_MAX)
    sharer.fetch(max_bytes=10_000_000)
    last = 10 + RUNS_MAX - 1
    ones = [(each, each, [1]) for each in range(10, last + 1)]
    text = "The offset cannot be acknowledged. The offset is not acquired."
    assert sharer.say({0: [*ones, (last, last + 5, [1])]}) == {0: (121, text)}
    assert sharer.say({0: [*ones, (last + 1, last + 5, [1])]}) == {0: (0, None)}


def test_k31_records_before_the_start_are_no_part_of_what_is_said(sharer: Sharer) -> None:
    """Also the last one, where a batch that reaches behind the start begins."""
    sharer.append(10)
    sharer.fetch()
    sharer.say({0: [(0, 9, [1])]})
    low = [(5, 5, [1])] * (2 * RUNS_MAX)
    assert sharer.say({0: low}) == {0: (0, None)}
    assert sharer.say({0: [*low, (5, 19, [1])]}) == {0: (0, None)}
    assert sharer.say({0: [*low, (5, 4, [1])]}) == {0: (42, None)}


def test_what_is_said_is_taken_without_going_through_it(sharer: Sharer) -> None:
    few, many = (sharer.fetch_request(said={0: [(5, 5, [1])] * count}) for count in (1, 10_000))
    more = calls_of(lambda: run(said_by(many))) - calls_of(lambda: run(said_by(few)))
    assert more < 1000


@pytest.mark.as_written
@pytest.mark.usefixtures("short_turns")
def test_very_many_batches_are_taken_in_turns(sharer: Sharer) -> None:
    """Also of records before the start, which do nothing."""
    count, turns = 4096, LoopTurns()
    sharer.say({0: [(0, 9, [1])]})

    async def scene() -> None:
        async with turns:
            answer = await sharer.fetch_later(said={0: [(5, 5, [1])] * count}, count=0)
        assert answer[0].acknowledge_error_code == 0

    run(scene())
    assert turns.count >= 2 * count // 16


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Sharer]:
    """A member with many records, of which not all may have a fate of their own."""
    settings = {"broker.lite.groups.max.bytes": str(2 * (MANY + 1) * RUN_BYTES)}
    with handler_broker(tmp_path / "data", settings) as broker:
        sharer = Sharer(broker)
        sharer.append(MANY)
        sharer.beat()
        sharer.fetch(max_bytes=10_000_000)
        yield sharer


def test_k36_nothing_of_many_types_counts_without_memory_for_all(reader: Sharer) -> None:
    shares = reader.broker.context.groups.shares
    shares.held.add_runs(2)
    full = (15, "The states of share groups take as much memory as they may.")
    size_bytes = shares.held.size_bytes
    assert reader.say({0: [(0, MANY - 1, [2, 1] * (MANY // 2))]}) == {0: full}
    assert shares.held.size_bytes == size_bytes
    assert reader.say({0: [(0, MANY - 1, [1])]}) == {0: (0, None)}


def test_k36_parts_are_not_refused_for_what_is_kept_of_those_before(reader: Sharer) -> None:
    held = reader.broker.context.groups.shares.held
    assert reader.say({0: [(0, MANY - 1, [2, 1] * (MANY // 2))]}) == {0: (0, None)}
    assert (held.run_count, held.kept_count) == (MANY, MANY)


@pytest.mark.as_written
def test_k36_others_do_not_get_the_memory_of_parts_to_come(reader: Sharer) -> None:
    shares = reader.broker.context.groups.shares
    settle, counts = shares.settle, list[int]()

    def settle_and_count(*args: Any) -> None:
        counts.append(shares.held.run_count)
        settle(*args)

    shares.settle = settle_and_count  # type: ignore[method-assign]
    assert reader.say({0: [(0, MANY - 1, [2, 1] * (MANY // 2))]}) == {0: (0, None)}
    assert counts == [MANY] * 3


@pytest.mark.as_written
def test_a_session_that_ends_between_two_turns_loses_the_rest(broker: HandlerBroker) -> None:
    count = 3 * RUNS_MAX
    sharer = Sharer(broker)
    sharer.append(count)
    sharer.beat()
    sharer.fetch(max_bytes=10_000_000)
    shares = broker.context.groups.shares
    settle = shares.settle

    def settle_and_release(*args: Any) -> None:
        shares.settle = settle
        settle(*args)
        shares.release("g", "m", {SharedPartition(*args[0][1:])})

    shares.settle = settle_and_release  # type: ignore[method-assign]
    code, text = sharer.say({0: [(0, count - 1, [1, 3] * (count // 2))]})[0]
    assert (code, text) == (121, "The offset cannot be acknowledged. The offset is not acquired.")
    assert acquired(sharer.fetch(max_bytes=10_000_000)) == [(RUNS_MAX, count - 1, 2)]
    assert shares.held.run_count == RUNS_MAX + 1
