"""States that another process keeps: read once, changed in order, dropped when they are refused.

Also tests: broker_lite.control.coordinators.kept_states.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

import pytest

from broker_lite.control.coordinators import states_elsewhere
from broker_lite.control.coordinators.kept_states import StateWrite
from broker_lite.control.coordinators.states_elsewhere import StatesElsewhere
from broker_lite.coordinator.share_records.state import StateBatch, StateUpdate
from broker_lite.coordinator.share_records.states import KeptState, ShareKey
from broker_lite.errors import (
    BrokerError,
    CoordinatorNotAvailable,
    NotLeaderOrFollower,
    UnknownServerError,
)

KEYS = [ShareKey("g", b"t" * 16, index) for index in range(20)]
KEY, OTHER = KEYS[:2]
EPOCH = 7
UPDATE = StateUpdate(0, 1, [StateBatch(0, 0, 2, 1)])


class Keeper:
    """The process that keeps the states.

    Attributes:
        known: the states.
        read_keys: what was asked for, request by request.
        written: the changes, request by request.
        gate: answers wait for it.
        write_gate: answers to changes wait for it, too.
        refusals: the errors of changes, by share partition.
        told: what StatesElsewhere has told.
    """

    def __init__(self) -> None:
        self.known = {key: KeptState(5, EPOCH, 0) for key in KEYS}
        self.failures: dict[ShareKey, BrokerError] = {}
        self.read_keys: list[Sequence[ShareKey]] = []
        self.written: list[Sequence[StateWrite]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.write_gate = asyncio.Event()
        self.write_gate.set()
        self.refusals: dict[ShareKey, BrokerError] = {}
        self.told: list[tuple[str, ShareKey]] = []
        self.states = StatesElsewhere(
            self,
            kept=lambda key: self.told.append(("kept", key)),
            lost=lambda key: self.told.append(("lost", key)),
        )

    async def read(
        self, group_id: str, keys: Sequence[ShareKey]
    ) -> Mapping[ShareKey, KeptState | BrokerError]:
        assert group_id == "g"
        self.read_keys.append(keys)
        await self.gate.wait()
        found: dict[ShareKey, KeptState | BrokerError] = {
            key: self.known[key] for key in keys if key in self.known
        }
        return {**found, **{key: self.failures[key] for key in keys if key in self.failures}}

    async def write(
        self, group_id: str, writes: Sequence[StateWrite]
    ) -> Sequence[BrokerError | None]:
        assert {write.key.group_id for write in writes} == {group_id}
        self.written.append(writes)
        await self.gate.wait()
        await self.write_gate.wait()
        return [self.refusals.get(write.key) for write in writes]

    async def load(self, *keys: ShareKey) -> dict[ShareKey, BrokerError]:
        return await self.states.load("g", keys)


def run(test: Callable[[Keeper], Awaitable[None]]) -> None:
    async def begin() -> None:
        await test(Keeper())

    asyncio.run(begin())


def test_k28_a_state_is_read_once_and_held() -> None:
    async def test(keeper: Keeper) -> None:
        assert keeper.states.get(KEY) is None
        assert await keeper.load(KEY, OTHER) == {}
        assert await keeper.load(OTHER) == {}
        assert keeper.read_keys == [[KEY, OTHER]]
        assert keeper.states.get(KEY) is keeper.known[KEY]
        assert set(keeper.states.held) == {KEY, OTHER}
        keeper.states.check(KEY)
        keeper.states.forget(KEY)
        assert keeper.states.get(KEY) is None

    run(test)


def test_k28_many_are_read_by_several_requests() -> None:
    async def test(keeper: Keeper) -> None:
        await keeper.load(*KEYS)
        assert [len(keys) for keys in keeper.read_keys] == [8, 8, 4]

    run(test)


def test_what_there_is_not_and_what_cannot_be_read_is_not_held() -> None:
    async def test(keeper: Keeper) -> None:
        del keeper.known[KEY]
        keeper.failures[OTHER] = CoordinatorNotAvailable()
        assert await keeper.load(KEY, OTHER) == keeper.failures
        assert not keeper.states.held

    run(test)


def test_what_somebody_reads_already_is_not_read_twice() -> None:
    async def test(keeper: Keeper) -> None:
        keeper.gate.clear()
        loads = [asyncio.ensure_future(keeper.load(KEY)) for _ in range(2)]
        await asyncio.sleep(0)
        assert set(keeper.states.held) == {KEY}
        keeper.gate.set()
        await asyncio.gather(*loads)
        assert keeper.read_keys == [[KEY]]

    run(test)


def test_k28_what_begins_anew_while_it_is_read_is_not_held() -> None:
    async def test(keeper: Keeper) -> None:
        keeper.gate.clear()
        load = asyncio.ensure_future(keeper.load(KEY))
        await asyncio.sleep(0)
        keeper.states.forget(KEY)
        keeper.gate.set()
        assert await load == {}
        assert keeper.states.get(KEY) is None
        await keeper.load(KEY)
        assert keeper.states.get(KEY) is not None

    run(test)


def test_who_stops_to_wait_for_a_state_leaves_nothing_behind() -> None:
    async def test(keeper: Keeper) -> None:
        keeper.gate.clear()
        load = asyncio.ensure_future(keeper.load(KEY))
        await asyncio.sleep(0)
        load.cancel()
        with pytest.raises(asyncio.CancelledError):
            await load
        assert not keeper.states.held

    run(test)


def test_k28_changes_are_sent_together_with_the_epochs() -> None:
    async def test(keeper: Keeper) -> None:
        await keeper.load(KEY, OTHER)
        keepings = [keeper.states.update(key, UPDATE, 3) for key in (KEY, OTHER, KEY)]
        await asyncio.wait(keepings)
        assert [each.result() for each in keepings] == [None] * 3
        assert keeper.written == [
            [StateWrite(key, EPOCH, 3, UPDATE) for key in (KEY, OTHER, KEY)],
        ]
        assert keeper.told == [("kept", KEY), ("kept", OTHER), ("kept", KEY)]

    run(test)


def test_k28_the_next_changes_wait_until_these_are_answered() -> None:
    async def test(keeper: Keeper) -> None:
        await keeper.load(KEY)
        keeper.gate.clear()
        keeper.states.update(KEY, UPDATE, 0)
        await asyncio.sleep(0)
        later = keeper.states.update(KEY, UPDATE, 0)
        await asyncio.sleep(0)
        assert len(keeper.written) == 1
        keeper.gate.set()
        assert await later is None
        assert len(keeper.written) == 2

    run(test)


@pytest.mark.parametrize("limit", ["_WRITTEN_AT_A_TIME", "_BATCHES_AT_A_TIME"])
def test_a_request_has_not_too_many_changes(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states_elsewhere, limit, 2)

    async def test(keeper: Keeper) -> None:
        await keeper.load(KEY)
        await asyncio.wait([keeper.states.update(KEY, UPDATE, 0) for _ in range(5)])
        assert [len(writes) for writes in keeper.written] == [2, 2, 1]

    run(test)


def test_k28_what_builds_on_a_refused_change_is_refused_too() -> None:
    async def test(keeper: Keeper) -> None:
        await keeper.load(KEY, OTHER)
        keeper.refusals[KEY] = NotLeaderOrFollower()
        keeper.gate.clear()
        refused = keeper.states.update(KEY, UPDATE, 0)
        await asyncio.sleep(0)
        later = [keeper.states.update(key, UPDATE, 0) for key in (KEY, OTHER)]
        keeper.gate.set()
        await asyncio.wait([refused, *later])
        assert refused.result() is keeper.refusals[KEY]
        assert [each.result() for each in later] == [keeper.refusals[KEY], None]
        assert [[each.key for each in writes] for writes in keeper.written] == [[KEY], [OTHER]]
        assert keeper.told == [("lost", KEY), ("kept", OTHER)]

    run(test)


def test_k28_a_state_is_read_again_after_its_changes_were_answered() -> None:
    async def test(keeper: Keeper) -> None:
        await keeper.load(KEY)
        keeper.gate.clear()
        keeping = keeper.states.update(KEY, UPDATE, 0)
        keeper.states.forget(KEY)
        load = asyncio.ensure_future(keeper.load(KEY))
        await asyncio.sleep(0)
        assert len(keeper.read_keys) == 1
        keeper.gate.set()
        await load
        assert keeping.done()
        assert len(keeper.read_keys) == 2

    run(test)


def test_changes_that_do_not_count_any_more_are_not_sent() -> None:
    async def test(keeper: Keeper) -> None:
        await keeper.load(KEY, OTHER)
        keepings = [keeper.states.update(key, UPDATE, 0) for key in (KEY, OTHER)]
        error = NotLeaderOrFollower()
        keeper.states.refuse(KEY, error)
        keeper.states.refuse(ShareKey("h", b"", 0), error)
        assert keepings[0].result() is error
        assert await keepings[1] is None
        assert [[each.key for each in writes] for writes in keeper.written] == [[OTHER]]

    run(test)


def test_k28_the_answer_to_a_change_of_an_ended_state_says_nothing_of_the_new_one() -> None:
    async def test(keeper: Keeper) -> None:
        await keeper.load(KEY)
        keeper.gate.clear()
        sent = keeper.states.update(KEY, UPDATE, 0)
        await asyncio.sleep(0)
        waiting = keeper.states.update(KEY, UPDATE, 0)
        error = NotLeaderOrFollower()
        keeper.states.refuse(KEY, error)
        keeper.states.forget(KEY)
        assert sent.result() is waiting.result() is error
        keeper.refusals[KEY] = CoordinatorNotAvailable()
        keeper.gate.set()
        await keeper.states.drain()
        assert [[each.key for each in writes] for writes in keeper.written] == [[KEY]]
        assert keeper.told == []

    run(test)


def test_to_refuse_the_changes_of_one_state_does_not_look_at_all_others() -> None:
    compared = 0

    class Counted(ShareKey):
        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return super().__eq__(other)

        __hash__ = ShareKey.__hash__

    async def test(keeper: Keeper) -> None:
        nonlocal compared
        keys = [Counted("g", b"t" * 16, index) for index in range(200)]
        keeper.known = {key: KeptState(5, EPOCH, 0) for key in keys}
        await keeper.load(*keys)
        for key in keys:
            keeper.states.update(key, UPDATE, 0)
        compared = 0
        for key in keys:
            keeper.states.refuse(key, NotLeaderOrFollower())
        assert compared <= 2 * len(keys)
        await keeper.states.drain()
        assert keeper.written == []

    run(test)


def test_k28_a_state_is_not_read_before_a_change_that_came_meanwhile_is_answered() -> None:
    async def test(keeper: Keeper) -> None:
        last = KEYS[8]
        keeper.gate.clear()
        load = asyncio.ensure_future(keeper.load(*KEYS[:9]))
        other = asyncio.ensure_future(keeper.load(last))
        keeper.write_gate.clear()
        await asyncio.sleep(0)
        keeper.gate.set()
        await other
        keeping = keeper.states.update(last, UPDATE, 0)
        keeper.states.forget(last)
        await asyncio.sleep(0.01)
        assert len(keeper.read_keys) == 2
        keeper.write_gate.set()
        await load
        assert keeping.done()
        assert keeper.read_keys[2:] == [[last]]

    run(test)


def test_k28_what_others_have_read_meanwhile_is_not_read_again() -> None:
    async def test(keeper: Keeper) -> None:
        keeper.gate.clear()
        loads = [asyncio.ensure_future(keeper.load(*keys)) for keys in (KEYS[:9], KEYS[8:9])]
        await asyncio.sleep(0)
        keeper.gate.set()
        await asyncio.gather(*loads)
        assert [len(keys) for keys in keeper.read_keys] == [8, 1]

    run(test)


def test_drain_waits_for_all_changes() -> None:
    async def test(keeper: Keeper) -> None:
        await keeper.states.drain()
        await keeper.load(KEY)
        keeping = keeper.states.update(KEY, UPDATE, 0)
        await keeper.states.drain()
        assert keeping.done()

    run(test)


def test_nobody_waits_for_ever_when_the_end_comes() -> None:
    async def test(keeper: Keeper) -> None:
        await keeper.load(KEY)
        keeper.gate.clear()
        first = keeper.states.update(KEY, UPDATE, 0)
        await asyncio.sleep(0)
        second = keeper.states.update(KEY, UPDATE, 0)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.wait([first, second])
        assert isinstance(first.result(), UnknownServerError)
        assert isinstance(second.result(), UnknownServerError)

    run(test)
