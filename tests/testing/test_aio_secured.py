from collections.abc import Iterator

import anyio
import pytest

from broker_lite.testing import AsyncBroker, Broker
from tests.support.tls_client import seen_by_python

pytestmark = pytest.mark.anyio

AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


@pytest.fixture(scope="module")
def started() -> Iterator[Broker]:
    with Broker({"authorizer.class.name": AUTHORIZER}, security="ssl") as broker:
        yield broker


@pytest.fixture
def broker(started: Broker) -> AsyncBroker:
    return started.aio


async def test_acls(broker: AsyncBroker) -> None:
    await broker.add_acl("TOPIC", "t", "User:user", "WRITE")
    assert [each["name"] for each in await broker.acls("TOPIC", operation="WRITE")] == ["t"]
    assert len(await broker.remove_acls("TOPIC", "t")) == 1
    assert await broker.acls() == []


async def test_a_certificate(broker: AsyncBroker) -> None:
    async with broker.certificate_fault("expired"):
        assert await anyio.to_thread.run_sync(seen_by_python, broker.broker) == (
            "certificate has expired"
        )
    assert await anyio.to_thread.run_sync(seen_by_python, broker.broker) == "fine"


async def test_a_cancelled_test_puts_it_back(broker: AsyncBroker) -> None:
    with anyio.CancelScope() as scope:
        async with broker.certificate_fault("expired"):
            scope.cancel()
            await anyio.sleep_forever()
    assert await anyio.to_thread.run_sync(seen_by_python, broker.broker) == "fine"
