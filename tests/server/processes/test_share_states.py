"""Share groups whose partitions are in several processes."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from broker_lite.control.coordinators.kept_states import StateWrite
from broker_lite.coordinator.share_records.state import StateBatch, StateUpdate
from broker_lite.coordinator.share_records.states import KeptState, ShareKey
from broker_lite.handler import large
from broker_lite.handler.share.state_batches import to_structs
from broker_lite.protocol.framing import decode_header
from broker_lite.server.processes.channel import Channel
from broker_lite.server.processes.forwarded import encode_any
from broker_lite.server.processes.serving import _FLEXIBLE_FROM, _for_broker
from broker_lite.server.processes.share_states import StatesInFirst, decode_keys, encode_keys
from broker_lite.wire import messages
from tests.handler.share.share_requests import Sharer
from tests.server.processes.conftest import PROCESSES, Cluster, wait_until
from tests.server.processes.share_member import GROUP, OK, TOPIC, Member
from tests.support.handler_broker import handler_broker

RELEASE = 2


def test_share_partitions_are_told_as_they_are() -> None:
    keys = [ShareKey("g", b"t" * 16, each) for each in (0, 7)]
    keys.append(ShareKey("\u00e4", b"u" * 16, 1))
    assert [*decode_keys(encode_keys(keys))] == keys


class First:
    """The first process: it answers a read by one state, and takes all changes.

    Attributes:
        batches: of the state.
        written: the changes of the last request.
        turns: how often others had their turn since somebody has asked, or was answered.
    """

    def __init__(self, count: int) -> None:
        self.batches = [StateBatch(each, each, 0, 1 + each % 2) for each in range(count)]
        self.written: list[Any] = []
        self.turns: list[int] = [0]

    async def call(self, _kind: bytes, head: bytes, body: bytes) -> bytes:
        self.turns.append(0)
        if int.from_bytes(head[:2], "big") == 84:
            read = messages.ReadShareGroupStateResponse
            state = read.PartitionResult(
                state_epoch=3,
                start_offset=0,
                state_batches=to_structs(self.batches, read.StateBatch),
            )
            result = read.ReadStateResult(topic_id=KEY.topic_id, partitions=[state])
            data = read.encode(read(results=[result]), 0)
        else:
            write = messages.WriteShareGroupStateResponse
            self.written = messages.WriteShareGroupStateRequest.decode(body, 1)[0].topics
            results = [
                write.WriteStateResult(topic_id=KEY.topic_id, partitions=[write.PartitionResult()])
                for _ in self.written
            ]
            data = write.encode(write(results=results), 1)
        return await encode_any([data], 0)

    async def count(self) -> None:
        while True:
            await asyncio.sleep(0)
            self.turns[-1] += 1


KEY = ShareKey("g", b"t" * 16, 0)


@pytest.mark.parametrize("count", [1, 256, 257, 5000])
def test_k28_states_of_any_size_are_read_and_changed(count: int) -> None:
    first = First(count)
    states = StatesInFirst(cast("Channel", first))

    async def scene() -> None:
        state = (await states.read("g", [KEY]))[KEY]
        assert isinstance(state, KeptState)
        assert (state.state_epoch, state.batches) == (3, first.batches)
        write = StateWrite(KEY, 3, 0, StateUpdate(0, 0, first.batches))
        assert await states.write("g", [write, write]) == [None, None]

    asyncio.run(scene())
    for topic in first.written:
        (change,) = topic.partitions
        assert [each.first_offset for each in change.state_batches] == [*range(count)]


@pytest.mark.as_written
def test_k28_others_have_their_turn_while_a_large_state_is_read_or_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(large, "TURN_S", 0)
    first = First(5000)
    states = StatesInFirst(cast("Channel", first))

    async def scene() -> None:
        counting = asyncio.create_task(first.count())
        await states.read("g", [KEY])
        assert first.turns[-1] >= 80  # each after 64 elements, then some more
        await states.write("g", [StateWrite(KEY, 3, 0, StateUpdate(0, 0, first.batches))])
        assert first.turns[1] >= 90  # with those before the request was sent
        counting.cancel()

    asyncio.run(scene())


@pytest.mark.as_written
def test_k28_clients_have_their_turn_while_a_large_change_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large, "TURN_S", 0)
    turns, batches = [0], First(1000).batches
    with handler_broker(tmp_path / "data") as broker:
        sharer = Sharer(broker)
        sharer.beat()
        key = ShareKey("g", sharer.topic_id, 0)

        async def call(_kind: bytes, head: bytes, body: bytes) -> bytes:
            request = decode_header(memoryview(bytearray(head + body)), _FLEXIBLE_FROM)
            turns.append(0)
            parts = await _for_broker(broker.context, request)
            turns.append(0)
            return await encode_any(parts, 0)

        async def look() -> None:
            while True:
                await asyncio.sleep(0)
                turns[-1] += 1

        async def scene() -> None:
            states = StatesInFirst(cast("Channel", SimpleNamespace(call=call)))
            looking = asyncio.create_task(look())
            before = (await states.read("g", [key]))[key]
            assert isinstance(before, KeptState)
            del turns[1:]
            write = StateWrite(key, before.state_epoch, 0, StateUpdate(0, 0, batches))
            assert await states.write("g", [write]) == [None]
            assert turns[1] >= 15  # after each 64 elements
            read = (await states.read("g", [key]))[key]
            assert isinstance(read, KeptState)
            assert read.batches == batches
            looking.cancel()

        asyncio.run(scene())


@pytest.fixture
def member(started: Cluster) -> Iterator[Member]:
    """A member that reads from the beginning; each partition has ten records."""
    started.broker.create_topic(TOPIC, partitions=PROCESSES)
    for partition in range(PROCESSES):
        for number in range(10):
            started.broker.produce(TOPIC, str(number), partition=partition)
    with Member(started) as member:
        member.configure(share_auto_offset_reset="earliest")
        member.join()
        yield member


def kill(started: Cluster, node_id: int) -> None:
    """End a process, and wait until its broker is back."""
    killed = started.processes()[node_id]
    killed.kill()
    wait_until(lambda: started.processes().get(node_id) not in (None, killed))
    wait_until(lambda: _leads(started, node_id))


def _leads(started: Cluster, node_id: int) -> bool:
    asked = messages.MetadataRequest.MetadataRequestTopic(name=TOPIC)
    with Member(started) as looking:
        (topic,) = looking.coordinator.call("Metadata", 12, topics=[asked]).topics
    return any(each.leader_id == node_id for each in topic.partitions)


def test_k28_records_of_all_processes_are_shared(member: Member) -> None:
    for partition in range(PROCESSES):
        assert member.fetch(partition) == [(0, 9, 1)]
        assert member.say(partition, 0, 3) == OK
        assert member.say(partition, 4, 4, RELEASE) == OK
        assert member.fetch(partition) == [(4, 4, 2)]
    # as in Kafka, the start that is kept is the one before the last change
    assert set(member.describe().values()) == {(OK, 4, 6)}


def test_k20_k28_a_killed_process_goes_on_with_what_is_kept(
    started: Cluster, member: Member
) -> None:
    partition = member.partition_of(2)
    assert member.fetch(partition) == [(0, 9, 1)]
    assert member.say(partition, 0, 3) == OK
    assert member.say(partition, 4, 5, RELEASE) == OK
    assert member.fetch(partition) == [(4, 5, 2)]
    kill(started, 2)
    member.leave_sessions()
    # the release was kept, what was acquired after it was not
    assert member.fetch(partition) == [(4, 5, 2), (6, 9, 1)]
    assert member.say(partition, 4, 9) == OK
    assert member.fetch(partition) == []


def test_k28_a_clean_stop_of_a_process_keeps_what_its_sessions_release(
    started: Cluster, member: Member
) -> None:
    partition = member.partition_of(3)
    assert member.fetch(partition) == [(0, 9, 1)]
    stopped = started.processes()[3]
    stopped.terminate()
    wait_until(lambda: started.processes().get(3) not in (None, stopped))
    wait_until(lambda: _leads(started, 3))
    member.leave_sessions()
    assert member.fetch(partition) == [(0, 9, 2)]


def test_k26_what_is_in_flight_ends_with_the_connection(member: Member) -> None:
    partition = member.partition_of(2)
    assert member.fetch(partition) == [(0, 9, 1)]
    member.leave_sessions()
    assert wait_until(lambda: member.fetch(partition, 100)) == [(0, 9, 2)]


def test_k28_leaders_hear_of_starts_that_are_moved(member: Member) -> None:
    partition = member.partition_of(2)
    assert member.fetch(partition) == [(0, 9, 1)]
    assert member.say(partition, 0, 9) == OK
    member.beat(-1)
    assert member.alter(partition, 7) == OK
    assert member.describe()[partition] == (OK, 7, 3)
    member.join()
    assert wait_until(lambda: member.fetch(partition, 100)) == [(7, 9, 1)]
    assert member.say(partition, 7, 9) == OK


def test_k28_leaders_hear_of_deleted_groups(member: Member) -> None:
    partition = member.partition_of(2)
    assert member.fetch(partition) == [(0, 9, 1)]
    member.beat(-1)
    (deleted,) = member.coordinator.call("DeleteGroups", 2, groups_names=[GROUP]).results
    assert deleted.error_code == OK
    wait_until(lambda: member.say(partition, 0, 9) != OK)
    assert member.fetch(partition) == []
    member.join()
    assert wait_until(lambda: member.fetch(partition, 100)) == [(0, 9, 1)]
    assert member.say(partition, 0, 9) == OK


def test_k04_a_deleted_topic_is_forgotten(member: Member) -> None:
    partition = member.partition_of(3)
    assert member.fetch(partition) == [(0, 9, 1)]
    (deleted,) = member.coordinator.call(
        "DeleteTopics", 5, topic_names=[TOPIC], timeout_ms=1000
    ).responses
    assert deleted.error_code == OK
    wait_until(lambda: member.fetch(partition) == 100)


def test_k41_the_lag_of_a_partition_whose_process_is_away(started: Cluster, member: Member) -> None:
    partition = member.partition_of(2)
    assert member.fetch(partition) == [(0, 9, 1)]
    assert member.say(partition, 0, 9) == OK
    started.processes()[2].suspend()
    started.processes()[2].kill()
    wait_until(lambda: member.describe()[partition][0] != OK)
    wait_until(lambda: member.describe()[partition] == (OK, 0, 0))


def test_the_control_api_tells_the_lag_in_all_processes(started: Cluster, member: Member) -> None:
    for index in range(PROCESSES):
        wait_until(lambda index=index: member.fetch(index))
        assert member.say(index, 0, index) == OK

    def look() -> Any:
        return started.broker.control("GET", f"/v1/groups/{GROUP}")

    expected = {str(index): 9 - index for index in range(PROCESSES)}
    wait_until(
        lambda: {key: each["lag"] for key, each in look()["offsets"][TOPIC].items()} == expected
    )
    found = look()
    assert found["lag"] == sum(expected.values())
    assert found["offsets"][TOPIC]["2"]["committed"] == 3


def test_g91_new_configs_reach_the_leaders(member: Member) -> None:
    partition = member.partition_of(2)
    assert member.fetch(partition) == [(0, 9, 1)]
    member.configure(share_delivery_count_limit="2")
    assert member.say(partition, 0, 9, RELEASE) == OK
    assert member.fetch(partition) == [(0, 9, 2)]
    assert member.say(partition, 0, 9, RELEASE) == OK
    assert member.fetch(partition) == []
    assert member.fetch(partition) == []
