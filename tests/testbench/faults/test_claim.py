"""A rule has hit a request when it acts, which may be long after the request has come."""

import anyio
import pytest

from broker_lite.handler.context import Parts
from broker_lite.record.builder import BatchBuilder
from broker_lite.testbench.faults.fault import Fault
from broker_lite.wire import messages
from tests.testbench.conftest import FaultyBroker, request_of

pytestmark = pytest.mark.anyio
FETCH = messages.FetchRequest
HEARTBEAT = messages.HeartbeatRequest


@pytest.fixture(params=[("asyncio", {"use_uvloop": False}), ("asyncio", {"use_uvloop": True})])
def anyio_backend(request: pytest.FixtureRequest) -> object:
    return request.param


@pytest.fixture
def empty(bench: FaultyBroker) -> FaultyBroker:
    """A broker with an empty topic; a Fetch of it waits for a record."""
    bench.topic()
    return bench


async def poll(bench: FaultyBroker, wait_ms: int = 10_000, offset: int = 0) -> bytes:
    """The records of a Fetch that waits for them."""
    wanted = FETCH.FetchTopic(
        topic="orders",
        partitions=[
            FETCH.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=999)
        ],
    )
    body = FETCH(max_wait_ms=wait_ms, min_bytes=1, max_bytes=9999, topics=[wanted])
    answer = await bench.send_body(FETCH, 11, body)
    return bytes(answer.responses[0].partitions[0].records or b"") if answer.responses else b""


def batch() -> bytes:
    builder = BatchBuilder()
    builder.append(1_700_000_000_000, b"k", b"v")
    return bytes(builder.build())


def write(bench: FaultyBroker) -> None:
    bench.broker.cluster.log("orders", 0).append_batch(batch(), now_ms=1)


def is_sound(records: bytes) -> bool:
    """True if the records are those that are written; the checksum begins at byte 17."""
    return records[17:] == batch()[17:]


async def beat(bench: FaultyBroker) -> Parts | None:
    return await bench.answer(request_of(HEARTBEAT, 4, HEARTBEAT(group_id="g")))


async def test_nothing_to_change_is_no_hit(empty: FaultyBroker) -> None:
    fault = empty.rule(keys=["Fetch"], poison="bad-crc")
    async with anyio.create_task_group() as group:
        group.start_soon(poll, empty, 50)
        await anyio.wait_all_tasks_blocked()
        assert (fault.hits, fault.state().left) == (0, 1)
    assert (fault.hits, fault.state().not_applied) == (0, 1)
    write(empty)
    assert not is_sound(await poll(empty))
    assert (fault.hits, fault.state().left) == (1, 0)


async def test_a_rule_that_is_removed_does_not_act_on_what_it_has_claimed(
    empty: FaultyBroker,
) -> None:
    fault = empty.rule(keys=["Fetch"], poison="bad-crc", delay_ms=60_000)
    records: list[bytes] = []

    async def reader() -> None:
        records.append(await poll(empty))

    async with anyio.create_task_group() as group:
        group.start_soon(reader)
        await anyio.wait_all_tasks_blocked()
        empty.faults.remove(fault.id)
        write(empty)
    assert is_sound(records[0])
    assert (fault.hits, fault.state().not_applied) == (0, 0)


async def test_a_claim_lets_no_other_request_pass(empty: FaultyBroker) -> None:
    """One Fetch waits in vain; the other one gets the records, and is the one to be hit."""
    fault = empty.rule(keys=["Fetch"], poison="bad-crc")
    write(empty)
    async with anyio.create_task_group() as group:
        group.start_soon(poll, empty, 300, 1)
        await anyio.wait_all_tasks_blocked()
        assert not is_sound(await poll(empty))
        assert fault.hits == 1
        group.cancel_scope.cancel()
    assert fault.hits == 1


async def test_the_rule_after_it_waits_for_the_hit(empty: FaultyBroker) -> None:
    first, second = empty.rules(
        {"id": "a", "keys": ["Fetch"], "poison": "bad-crc"},
        {"id": "b", "keys": ["Heartbeat"], "after": "a", "error": "NOT_COORDINATOR"},
    )
    await poll(empty, 20)
    await beat(empty)
    assert (first.hits, second.hits, second.is_armed) == (0, 0, False)
    write(empty)
    await poll(empty)
    await beat(empty)
    assert (first.hits, second.hits) == (1, 1)


async def test_a_client_that_goes_gives_the_claim_back(empty: FaultyBroker) -> None:
    fault = empty.rule(keys=["Fetch"], drop="after")
    with anyio.move_on_after(0.02):
        await poll(empty)
    assert (fault.hits, fault.state().left) == (0, 1)
    assert fault.near() == []  # it did not miss, it was let down


@pytest.mark.parametrize("held", [False, True])
async def test_a_delay_ends_with_its_rule(empty: FaultyBroker, held: bool) -> None:
    fault = empty.rule(keys=["Heartbeat"], delay_ms=60_000, hold=held)
    async with anyio.create_task_group() as group:
        group.start_soon(beat, empty)
        await fault.wait(1, 5000)
        if held:
            fault.release()
        await anyio.wait_all_tasks_blocked()
        empty.faults.remove(fault.id)
    assert fault.hits == 1


async def test_a_hit_is_told_in_the_order_of_the_hits(empty: FaultyBroker) -> None:
    """A replay goes by the number of the match, which is that of the arrival."""
    late, soon = empty.rules(
        {"id": "late", "keys": ["Fetch"], "drop": "after"},
        {"id": "soon", "keys": ["Heartbeat"], "drop": "before"},
    )
    faults: list[Fault] = [late, soon]
    async with anyio.create_task_group() as group:

        async def reader() -> None:
            await empty.answer(
                request_of(
                    FETCH, 11, FETCH(max_wait_ms=50, min_bytes=1, max_bytes=9, topics=[TOPIC])
                )
            )

        group.start_soon(reader)
        await anyio.wait_all_tasks_blocked()
        await beat(empty)
    assert [each.hits for each in faults] == [1, 1]
    told = [(each.rule, each.match, each.request) for each in empty.faults.decisions]
    assert told == [("soon", 1, 2), ("late", 1, 1)]


TOPIC = FETCH.FetchTopic(
    topic="orders",
    partitions=[FETCH.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=9)],
)
