"""ShareFetch and ShareAcknowledge where another process keeps the states."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from broker_lite.control.coordinators.kept_states import StateWrite
from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.coordinator.effects import NO_START, ShareStart
from broker_lite.coordinator.share_records.acknowledge import Acknowledgement, acknowledge
from broker_lite.coordinator.share_records.held_states import RUN_BYTES
from broker_lite.coordinator.share_records.state import StateBatch
from broker_lite.coordinator.share_records.states import KeptState, ShareKey, ShareStates
from broker_lite.errors import BrokerError, CoordinatorNotAvailable, NotLeaderOrFollower
from broker_lite.handler.share import fetch
from tests.handler.share.share_requests import Sharer, acquired
from tests.support.handler_broker import HandlerBroker, OpenBroker

OK, UNKNOWN, NOT_LEADER, NOT_AVAILABLE = (0, None), 3, 6, 15
EPOCH = 4


class Keeper:
    """The process that keeps the states.

    Attributes:
        states: what it keeps.
        refusal: why changes are refused; None if they are kept.
        hangs: whether it answers no changes.
        ended: answers to changes wait for it, which were made before their state ended.
        read_count: how many states were read.
    """

    def __init__(self) -> None:
        self.states = ShareStates(500)
        self.refusal: BrokerError | None = None
        self.failure: BrokerError | None = None
        self.hangs = False
        self.ended: asyncio.Event | None = None
        self.read_count = 0

    async def read(
        self, group_id: str, keys: Sequence[ShareKey]
    ) -> Mapping[ShareKey, KeptState | BrokerError]:
        assert {key.group_id for key in keys} == {group_id}
        self.read_count += len(keys)
        if self.failure is not None:
            return dict.fromkeys(keys, self.failure)
        return {key: _copy(self.states._by_key[key]) for key in keys if key in self.states}

    async def write(
        self, group_id: str, writes: Sequence[StateWrite]
    ) -> Sequence[BrokerError | None]:
        if self.hangs:
            await asyncio.Event().wait()
        if self.ended is not None:
            await self.ended.wait()
            return [None for _ in writes]
        if self.refusal is None:
            for key, state_epoch, leader_epoch, update in writes:
                assert state_epoch == EPOCH
                self.states.update(key, update, leader_epoch, 0)
        return [self.refusal for _ in writes]


def _copy(kept: KeptState) -> KeptState:
    state = KeptState(kept.start_offset, kept.state_epoch, 0)
    state.batches = kept.batches
    return state


class Scene:
    """A member whose group has a state of partition 0, which is kept elsewhere."""

    def __init__(self, broker: HandlerBroker, *, earliest: bool = True) -> None:
        self.keeper = Keeper()
        self.shares = broker.coordinators.groups.shares
        self.shares.keep_elsewhere(self.keeper)
        self.sharer = Sharer(broker, earliest=earliest)
        self.key = ShareKey("g", self.sharer.topic_id, 0)
        self.keeper.states._put(self.key, KeptState(NO_START, EPOCH, 0))

    @property
    def kept(self) -> tuple[int, list[tuple[int, int, int, int]]]:
        state = self.keeper.states.get(self.key)
        assert state is not None
        return state.start_offset, [tuple(each) for each in state.batches]  # type: ignore[misc]


def test_k28_the_member_is_answered_when_its_words_are_kept(broker: HandlerBroker) -> None:
    scene = Scene(broker)
    sharer = scene.sharer
    sharer.append(10)
    assert acquired(sharer.fetch()) == [(0, 9, 1)]
    assert sharer.say({0: [(0, 3, [1])]}) == {0: OK}
    assert scene.kept == (0, [(0, 3, 2, 1)])
    answer = sharer.fetch(said={0: [(4, 9, [2])]})
    assert answer[0].acknowledge_error_code == 0
    assert acquired(answer) == [(4, 9, 2)]
    assert scene.kept == (4, [(4, 9, 0, 1)])
    assert scene.keeper.read_count == 1


def test_k28_a_refused_change_drops_what_is_in_flight(broker: HandlerBroker) -> None:
    scene = Scene(broker)
    sharer = scene.sharer
    sharer.append(10)
    assert acquired(sharer.fetch()) == [(0, 9, 1)]
    assert sharer.say({0: [(0, 3, [1])]}) == {0: OK}
    scene.keeper.refusal = NotLeaderOrFollower()
    assert scene.shares.said.of(scene.key) == {1: 4}
    assert sharer.say({0: [(4, 5, [1])]})[0][0] == NOT_LEADER
    assert scene.shares.said.of(scene.key) == {1: 4}
    scene.keeper.refusal = None
    assert sharer.say({0: [(4, 5, [1])]})[0][0] == UNKNOWN
    assert acquired(sharer.fetch()) == [(4, 9, 1)]
    assert scene.keeper.read_count == 2
    assert scene.shares.elsewhere is not None
    held = scene.shares.elsewhere.get(scene.key)
    assert held is not None
    assert held.batches == []


def test_k20_k28_latest_loses_nothing_when_the_first_change_is_refused(
    broker: HandlerBroker,
) -> None:
    scene = Scene(broker, earliest=False)
    sharer = scene.sharer
    sharer.append(3)
    assert acquired(sharer.fetch()) == []
    sharer.append(5)
    assert acquired(sharer.fetch()) == [(3, 7, 1)]
    scene.keeper.refusal = CoordinatorNotAvailable()
    assert sharer.say({0: [(3, 7, [2])]})[0][0] == NOT_AVAILABLE
    scene.keeper.refusal = None
    assert acquired(sharer.fetch()) == [(3, 7, 1)]


def test_k27_k28_nobody_waits_for_ever(open_broker: OpenBroker) -> None:
    scene = Scene(open_broker(share_coordinator_write_timeout_ms="1"))
    sharer = scene.sharer
    sharer.append(10)
    assert acquired(sharer.fetch()) == [(0, 9, 1)]
    scene.keeper.hangs = True
    assert sharer.say({0: [(0, 3, [1])]})[0][0] == NOT_AVAILABLE


def test_k28_a_group_without_a_state_gets_nothing(broker: HandlerBroker) -> None:
    scene = Scene(broker)
    scene.keeper.states.forget([scene.key])
    scene.sharer.append(10)
    assert acquired(scene.sharer.fetch()) == []


def test_k28_a_state_that_cannot_be_read(broker: HandlerBroker) -> None:
    scene = Scene(broker)
    scene.sharer.append(10)
    scene.keeper.failure = CoordinatorNotAvailable()
    assert scene.sharer.fetch()[0].error_code == NOT_AVAILABLE
    scene.keeper.failure = None
    assert acquired(scene.sharer.fetch()) == [(0, 9, 1)]


def test_k36_a_state_that_there_is_no_memory_for_is_not_held(broker: HandlerBroker) -> None:
    scene = Scene(broker)
    state = KeptState(0, EPOCH, 0)
    state.batches = [StateBatch(each, each, 0, 1 + each % 2) for each in range(10)]
    scene.keeper.states._put(scene.key, state)
    scene.sharer.append(10)
    scene.shares.held._bytes_max = 9 * RUN_BYTES
    assert scene.sharer.fetch()[0].error_code == NOT_AVAILABLE
    assert scene.shares.elsewhere is not None
    assert not scene.shares.elsewhere.held
    scene.shares.held._bytes_max = 20 * RUN_BYTES
    scene.sharer.fetch()
    assert set(scene.shares.elsewhere.held) == {scene.key}
    assert scene.sharer.fetch(partitions=[0, 7])[7].error_code == UNKNOWN
    assert set(scene.shares.elsewhere.held) == {scene.key}


def test_k36_what_lies_between_kept_records_takes_memory_too(broker: HandlerBroker) -> None:
    scene = Scene(broker)
    state = KeptState(0, EPOCH, 0)
    state.batches = [StateBatch(each, each, 0, 1) for each in (1, 3, 5)]
    scene.keeper.states._put(scene.key, state)
    scene.sharer.append(*[1] * 10)
    scene.shares.held._bytes_max = 5 * RUN_BYTES
    assert scene.sharer.fetch()[0].error_code == NOT_AVAILABLE
    scene.shares.held._bytes_max = 6 * RUN_BYTES
    assert scene.sharer.fetch()[0].error_code == 0
    assert scene.shares.held.size_bytes == 6 * RUN_BYTES


def test_k28_only_what_is_led_here_is_read(broker: HandlerBroker) -> None:
    scene = Scene(broker)
    assert scene.sharer.fetch(partitions=[0, 7])[7].error_code == UNKNOWN
    assert scene.keeper.read_count == 1


def test_k28_a_state_that_begins_anew_is_read_again(broker: HandlerBroker) -> None:
    scene = Scene(broker)
    sharer = scene.sharer
    sharer.append(10)
    assert acquired(sharer.fetch()) == [(0, 9, 1)]
    assert sharer.say({0: [(0, 0, [1])]}) == {0: OK}
    assert scene.shares.said.of(scene.key) == {1: 1}
    scene.shares.states_began([scene.key])
    assert scene.shares.said.of(scene.key) == {}
    scene.keeper.states._put(scene.key, KeptState(7, EPOCH, 0))
    assert sharer.say({0: [(0, 3, [1])]})[0][0] == UNKNOWN
    assert acquired(sharer.fetch()) == [(7, 9, 1)]


def test_k20_k28_a_late_answer_does_not_move_the_start_of_a_state_that_began_anew(
    broker: HandlerBroker,
) -> None:
    scene = Scene(broker, earliest=False)
    sharer, shares = scene.sharer, scene.shares
    sharer.append(3)

    async def test() -> None:
        assert acquired(await sharer.fetch_later()) == []
        sharer.append(4)
        assert acquired(await sharer.fetch_later()) == [(3, 6, 1)]
        scene.keeper.ended = asyncio.Event()
        partition = shares.partition(scene.key)
        assert partition is not None
        for offset in 3, 4:
            update = acknowledge(partition, "m", [Acknowledgement(offset, offset, [1])], 0)
            shares.settle(scene.key, update, 0)
            await asyncio.sleep(0)
        shares.states_began([scene.key])
        assert acquired(await sharer.fetch_later()) == []
        sharer.append(5)
        assert acquired(await sharer.fetch_later()) == [(7, 11, 1)]
        scene.keeper.ended.set()
        assert shares.elsewhere is not None
        await shares.elsewhere.drain()
        shares._forget(scene.key)
        assert acquired(await sharer.fetch_later()) == [(7, 11, 1)]

    asyncio.run(test())


def test_k15_k28_locks_that_end_are_kept_too(broker: HandlerBroker) -> None:
    scene = Scene(broker)
    sharer = scene.sharer
    sharer.append(10)
    assert acquired(sharer.fetch()) == [(0, 9, 1)]

    async def end() -> None:
        broker.clock.step(30_000)
        scene.shares.on_time()
        assert scene.shares.elsewhere is not None
        await scene.shares.elsewhere.drain()

    asyncio.run(end())
    assert scene.kept == (0, [(0, 9, 0, 1)])
    assert acquired(sharer.fetch()) == [(0, 9, 2)]


@pytest.mark.parametrize("is_deleted", [True, False])
def test_k24_what_was_read_is_forgotten_with_its_partition(
    broker: HandlerBroker, is_deleted: bool
) -> None:
    scene = Scene(broker)
    cluster = broker.cluster
    scene.sharer.append(10)
    assert acquired(scene.sharer.fetch()) == [(0, 9, 1)]
    if is_deleted:
        cluster.delete_topics([cluster.topics["t"]])
    else:
        cluster.controller.fence(broker.context.node_id)
    assert scene.shares.elsewhere is not None
    assert not scene.shares.elsewhere.held
    assert scene.shares.partition(scene.key) is None


def test_k28_others_are_told_of_states_that_they_may_have_read(broker: HandlerBroker) -> None:
    told: list[ShareKey] = []
    shares = broker.coordinators.groups.shares
    shares.tell_others = told.extend
    sharer = Sharer(broker)
    sharer.beat()
    assert told == []
    broker.cluster.create_topics([broker.cluster.plan_topic(NewTopic("u", 1))])
    broker.cluster.delete_topics([broker.cluster.topics["t"]])
    assert told == [ShareKey("g", sharer.topic_id, 0)]
    del told[:]
    shares.log._unloaded.add(0)
    key = ShareKey("h", sharer.topic_id, 0)
    shares.put_starts([ShareStart(*key, None, 0)])
    assert told == [key]


@pytest.mark.as_written
def test_k28_large_requests_go_on_while_a_state_is_read(
    broker: HandlerBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that keeps the states may wait for a large request of this one."""
    scene = Scene(broker)
    scene.sharer.append(3)
    scene.sharer.fetch(count=0)  # begins a session, which counts as one of very many partitions
    monkeypatch.setattr(fetch, "_LONG_SESSION", 0)
    lane, read = broker.context.lane, scene.keeper.read

    async def read_when_it_is_free(
        group_id: str, keys: Sequence[ShareKey]
    ) -> Mapping[ShareKey, KeptState | BrokerError]:
        await asyncio.wait_for(lane.enter(), 10)
        lane.leave()
        return await read(group_id, keys)

    monkeypatch.setattr(scene.keeper, "read", read_when_it_is_free)
    assert acquired(scene.sharer.fetch()) == [(0, 2, 1)]
    assert scene.keeper.read_count == 1
