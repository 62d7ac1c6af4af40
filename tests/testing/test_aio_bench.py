"""Faults, recorded requests and waits in async tests.

Also tests: broker_lite.testing.aio.
"""

from collections.abc import Iterator
from datetime import timedelta

import anyio
import pytest

from broker_lite.errors import ClientError
from broker_lite.testing import AsyncBroker, Broker, BrokerFailed, Fault, FaultUnused
from broker_lite.testing.aio_bench import AsyncFault

pytestmark = pytest.mark.anyio

SOON = timedelta(seconds=0.02)


@pytest.fixture(scope="module")
def started() -> Iterator[Broker]:
    with Broker(topics=["orders:2"]) as broker:
        yield broker


@pytest.fixture
def broker(started: Broker) -> AsyncBroker:
    started.clear_faults()
    started.control("DELETE", "/v1/requests")
    return started.aio


async def test_a_barrier(broker: AsyncBroker) -> None:
    async with anyio.create_task_group() as group, broker.hold("Produce") as held:
        group.start_soon(broker.produce, "orders", "x")
        await held.wait()
        assert (await held.hits(), await held.held(), await held.left()) == (1, 1, 0)
        assert await broker.records("orders") == []
        assert await held.release() == 1
    assert len(await broker.records("orders")) == 1


async def test_a_fault_that_is_not_met(broker: AsyncBroker) -> None:
    rule = {"topic": "order", "error": "REQUEST_TIMED_OUT"}
    fault = await broker.fault("Produce", **rule)
    await broker.produce("orders", "x")
    assert len(await fault.near()) == 1
    with pytest.raises(FaultUnused, match="topic 'orders' is not 'order'"):
        async with fault:
            pass


async def test_a_fault_without_a_context(broker: AsyncBroker) -> None:
    fault = broker.fault("Produce", error="NOT_LEADER_OR_FOLLOWER")
    with pytest.raises(RuntimeError, match="is not in force"):
        _ = fault.id
    await fault
    with pytest.raises(ClientError):
        await broker.produce("orders", "x")
    (same,) = await broker.faults()
    assert (same.id, await same.hits()) == (fault.id, 1)
    await fault.remove()
    assert await broker.faults() == []
    await broker.hold("EndTxn")
    await broker.clear_faults()
    assert await broker.faults() == []


async def test_a_cancelled_wait(broker: AsyncBroker) -> None:
    with anyio.fail_after(10), anyio.move_on_after(0.05) as scope:
        async with broker.hold("EndTxn") as held:
            await held.wait(timeout=timedelta(hours=1))
    assert scope.cancelled_caught
    assert await broker.faults() == []


async def test_recorded_requests(broker: AsyncBroker) -> None:
    await broker.record_requests()
    await broker.produce("orders", "x")
    (request,) = await broker.requests("Produce")
    assert request.body["acks"] == -1
    (same,) = await broker.wait_for_request("Produce", where={"acks": -1})
    (again,) = await broker.expect("Produce", others_ok=None)
    assert same.id == again.id == request.id
    with pytest.raises(BrokerFailed, match="0 of 1"):
        await broker.wait_for_request("EndTxn", timeout=SOON)


async def test_waits(broker: AsyncBroker) -> None:
    topic = await broker.wait_for_topic("orders", partitions=2)
    assert topic["partitions"] == 2
    assert await broker.control("GET", "/v1/ready") == {}


async def test_every_method_is_there(broker: AsyncBroker) -> None:
    elsewhere = {"bootstrap", "connect", "aio"}  # of the broker itself
    values = {name for name in dir(Broker) if isinstance(getattr(Broker, name), property)}
    methods = {name for name in dir(Broker) if not name.startswith("_")} - values - elsewhere
    assert methods - set(dir(AsyncBroker)) == set()
    of_fault = {name for name in dir(Fault) if not name.startswith("_")} - {"rule", "state"}
    assert of_fault - set(dir(AsyncFault)) == set()
