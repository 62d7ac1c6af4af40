"""The states of share partitions as leaders in other processes read and change them."""

import asyncio
import random
from collections.abc import Iterable
from itertools import count
from typing import Any

import pytest

from broker_lite.coordinator.effects import ShareStart
from broker_lite.coordinator.share_records.held_states import KEPT_BYTES, RUN_BYTES
from broker_lite.coordinator.share_records.states import ShareKey
from broker_lite.handler import large
from broker_lite.handler.share import states
from broker_lite.protocol.framing import Request
from broker_lite.wire import messages
from tests.handler.share.share_requests import Sharer
from tests.support.handler_broker import HandlerBroker, join
from tests.support.loop_turns import LoopTurns
from tests.support.small_disk import files_end_at

NO_START = -1
OK, UNKNOWN, NOT_AVAILABLE, STORAGE, FENCED_LEADER, FENCED_STATE = 0, 3, 15, 56, 74, 124


class Leader:
    """The leader of all partitions of `t`, of which group `g` has states."""

    def __init__(self, broker: HandlerBroker) -> None:
        self.broker = broker
        self.sharer = Sharer(broker, partitions=2)
        self.sharer.beat()
        self.epochs = [each.state_epoch for each in self.read(0, 1)]

    def read(self, *indexes: int) -> list[Any]:
        message = messages.ReadShareGroupStateRequest
        partitions = [message.PartitionData(partition=each) for each in indexes or (0,)]
        topic = message.ReadStateData(topic_id=self.sharer.topic_id, partitions=partitions)
        answer = self._ask(states.handle_read, message(group_id="g", topics=[topic]), 0)
        ((result),) = answer.results
        return list(result.partitions)

    def write(self, *changes: tuple[int, int, int], epoch: int = 0, leader_epoch: int = 0) -> Any:
        """Accept records of partitions, each given by partition, first and last offset."""
        message = messages.WriteShareGroupStateRequest
        partitions = [
            message.PartitionData(
                partition=index,
                state_epoch=epoch or (*self.epochs, 0)[min(index, 2)],
                leader_epoch=leader_epoch,
                start_offset=first,
                delivery_complete_count=last - first + 1,
                state_batches=[
                    message.StateBatch(
                        first_offset=first, last_offset=last, delivery_state=2, delivery_count=1
                    )
                ],
            )
            for index, first, last in changes
        ]
        topic = message.WriteStateData(topic_id=self.sharer.topic_id, partitions=partitions)
        answer = self._ask(states.handle_write, message(group_id="g", topics=[topic]), 1)
        ((result),) = answer.results
        return [each.error_code for each in result.partitions]

    def write_runs(self, first: int, count: int) -> Any:
        """Say of single records of partition 0 that they are available, after 1 or 2 deliveries."""
        message = messages.WriteShareGroupStateRequest
        partition = message.PartitionData(
            partition=0,
            state_epoch=self.epochs[0],
            start_offset=0,
            state_batches=[
                message.StateBatch(
                    first_offset=offset,
                    last_offset=offset,
                    delivery_state=0,
                    delivery_count=1 + offset % 2,
                )
                for offset in range(first, first + count)
            ],
        )
        topic = message.WriteStateData(topic_id=self.sharer.topic_id, partitions=[partition])
        answer = self._ask(states.handle_write, message(group_id="g", topics=[topic]), 1)
        return [each.error_code for each in answer.results[0].partitions]

    def _ask(self, handle: Any, value: Any, version: int) -> Any:
        kind = messages.by_api(84 if handle is states.handle_read else 85)
        body = memoryview(bytearray(b"head" + kind[0].encode(value, version)))
        request = Request(kind[0].api_key or 0, version, 1, "test", body, 4, True)
        return kind[1].decode(join(asyncio.run(handle(self.broker.context, request))), version)[0]

    @property
    def group_epoch(self) -> int:
        """The epoch of the group when the state of partition 0 began."""
        state = self.broker.coordinators.groups.shares.log.get(self.key)
        assert state is not None
        return state.state_epoch

    @property
    def key(self) -> ShareKey:
        return ShareKey("g", self.sharer.topic_id, 0)


def kept(answered: Iterable[Any]) -> list[Any]:
    return [
        (each.error_code, each.start_offset, [*map(_of, each.state_batches)]) for each in answered
    ]


def _of(batch: Any) -> tuple[int, int, int, int]:
    return batch.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count


def test_k28_states_are_read_and_changed(broker: HandlerBroker) -> None:
    leader = Leader(broker)
    assert kept(leader.read(0, 1)) == [(OK, NO_START, [])] * 2
    assert leader.write((0, 3, 4), (1, 0, 0), (0, 5, 5)) == [OK] * 3
    assert kept(leader.read(0, 1)) == [(OK, 5, [(5, 5, 2, 1)]), (OK, 0, [(0, 0, 2, 1)])]


def test_k28_what_the_group_has_no_state_of_is_not_known(broker: HandlerBroker) -> None:
    leader = Leader(broker)
    assert kept(leader.read(7)) == [(UNKNOWN, 0, [])]
    assert leader.write((7, 0, 0)) == [FENCED_STATE]


def test_k28_a_state_that_was_lost_begins_again_when_it_is_read(broker: HandlerBroker) -> None:
    leader = Leader(broker)
    shares = broker.coordinators.groups.shares
    shares.put_starts([ShareStart(*leader.key, None, 0)])
    assert kept(leader.read()) == [(OK, NO_START, [])]


def test_k28_who_has_read_an_older_state_changes_nothing(broker: HandlerBroker) -> None:
    leader = Leader(broker)
    assert leader.write((0, 0, 1), leader_epoch=2) == [OK]
    assert leader.write((0, 2, 2), leader_epoch=1) == [FENCED_LEADER]
    shares = broker.coordinators.groups.shares
    shares.put_starts([ShareStart(*leader.key, 9, leader.group_epoch + 1)])
    assert leader.write((0, 2, 2), leader_epoch=2) == [FENCED_STATE]
    assert leader.write((0, 9, 9), epoch=leader.read()[0].state_epoch) == [OK]
    assert kept(leader.read()) == [(OK, 9, [(9, 9, 2, 1)])]


def test_k28_who_has_read_the_state_of_a_deleted_group_changes_nothing(
    broker: HandlerBroker,
) -> None:
    leader = Leader(broker)
    epoch = leader.group_epoch
    leader.sharer.beat(-1)
    (deleted,) = broker.call("DeleteGroups", 2, groups_names=["g"]).results
    assert deleted.error_code == OK
    leader.sharer.beat()
    assert leader.group_epoch == epoch
    assert leader.write((0, 0, 9)) == [FENCED_STATE]
    assert kept(leader.read()) == [(OK, NO_START, [])]


def test_k28_a_state_that_is_read_from_its_log_again_is_the_same(broker: HandlerBroker) -> None:
    leader = Leader(broker)
    log = broker.coordinators.groups.shares.log
    assert leader.write((0, 0, 1)) == [OK]
    with files_end_at(0):
        assert leader.write((0, 2, 2)) == [STORAGE]
    assert leader.write((0, 2, 2)) == [OK]
    log.reload(log.place_of(leader.key))
    assert not log.states._serials._forgotten
    assert leader.write((0, 3, 3)) == [OK]
    assert kept(leader.read()) == [(OK, 3, [(3, 3, 2, 1)])]


def test_k28_what_follows_a_change_that_failed_fails_too(broker: HandlerBroker) -> None:
    leader = Leader(broker)
    assert leader.write((0, 0, 0), (1, 0, 0)) == [OK, OK]
    with files_end_at(0):
        assert leader.write((0, 1, 1), (0, 2, 2)) == [STORAGE, STORAGE]
    assert leader.write((0, 1, 1), (1, 1, 1)) == [OK, OK]
    assert kept(leader.read(0)) == [(OK, 1, [(1, 1, 2, 1)])]


def test_k28_only_the_changes_of_the_same_state_follow(broker: HandlerBroker) -> None:
    leader = Leader(broker)
    assert leader.write((7, 0, 0), (0, 0, 0), (7, 1, 1)) == [FENCED_STATE, OK, FENCED_STATE]


def test_k36_what_would_split_runs_is_not_kept_without_memory(broker: HandlerBroker) -> None:
    leader = Leader(broker)
    held = broker.coordinators.groups.shares.held
    assert leader.write_runs(0, 100) == [OK]
    held._bytes_max = 110 * KEPT_BYTES
    assert leader.write_runs(100, 20) == [NOT_AVAILABLE]
    assert held.kept_count == 100
    assert leader.write_runs(100, 10) == [OK]
    assert held.size_bytes == 110 * KEPT_BYTES
    assert leader.write_runs(110, 2) == [NOT_AVAILABLE]


def test_k36_whole_runs_are_kept_without_memory(broker: HandlerBroker) -> None:
    leader = Leader(broker)
    held = broker.coordinators.groups.shares.held
    assert leader.write_runs(0, 8) == [OK]
    held._bytes_max = 8 * KEPT_BYTES  # of which two runs in flight would take most
    assert leader.write_runs(0, 8) == [OK]
    assert leader.write_runs(8, 1) == [OK]
    assert leader.write_runs(9, 1) == [OK]
    assert held.kept_count == 10
    assert leader.write_runs(10, 1) == [NOT_AVAILABLE]
    assert held.kept_count == 10
    assert leader.write((0, 8, 9)) == [OK]
    assert held.kept_count == 1


@pytest.mark.parametrize("seed", range(3))
def test_k36_random_changes_one_run_at_a_time_never_keep_more(
    broker: HandlerBroker, seed: int
) -> None:
    chance, leader, refused = random.Random(seed), Leader(broker), 0
    held = broker.coordinators.groups.shares.held
    held._bytes_max = chance.choice([5, 20, 40]) * RUN_BYTES
    for _ in range(300):
        first = chance.randrange(1000)
        (code,) = leader.write_runs(first, chance.choice([1, 1, 1, 2]))
        assert code in (OK, NOT_AVAILABLE)
        refused += code == NOT_AVAILABLE
        assert held.size_bytes <= held._bytes_max * (1 + KEPT_BYTES / RUN_BYTES)
    assert refused
    assert leader.write((0, 998, 1000)) == [OK]


def test_k28_nobody_reads_a_state_that_is_not_available(broker: HandlerBroker) -> None:
    leader = Leader(broker)
    log = broker.coordinators.groups.shares.log
    with files_end_at(0):
        log.forget_all()
        place = log.place_of(leader.key)
        log._loading[place] = object()
    assert [code for code, *_ in kept(leader.read())] == [15]
    del log._loading[place]


@pytest.mark.as_written
@pytest.mark.parametrize("api", [(84, 0), (85, 1)])
def test_k28_clients_have_their_turn_between_the_states_of_a_request(
    broker: HandlerBroker, monkeypatch: pytest.MonkeyPatch, api: tuple[int, int]
) -> None:
    """They are of a topic each, as changes are: each look at the clock is 1 ms later here."""
    leader, turns = Leader(broker), LoopTurns()
    topic_id = leader.sharer.topic_id
    value: Any
    if api[0] == 84:
        read, handle = messages.ReadShareGroupStateRequest, states.handle_read
        one: Any = read.ReadStateData(topic_id=topic_id, partitions=[read.PartitionData()])
        value = read(group_id="g", topics=[one] * 30)
    else:
        write, handle = messages.WriteShareGroupStateRequest, states.handle_write
        change = write.PartitionData(state_epoch=leader.epochs[0], start_offset=0)
        one = write.WriteStateData(topic_id=topic_id, partitions=[change])
        value = write(group_id="g", topics=[one] * 30)
    body = memoryview(bytearray(messages.by_api(api[0])[0].encode(value, api[1])))
    monkeypatch.setattr(large, "perf_counter", count(step=0.001).__next__)

    async def scene() -> None:
        async with turns:
            await handle(broker.context, Request(*api, 1, "test", body, 0, True))

    asyncio.run(scene())
    assert turns.count >= 5
