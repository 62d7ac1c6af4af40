"""A broker for async tests, under asyncio and trio; blocking calls run in a thread."""

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from anyio.to_thread import run_sync

if TYPE_CHECKING:
    from broker_lite.testing.batches import Headers
    from broker_lite.testing.broker import Broker
    from broker_lite.testing.records import Record


class AsyncBroker:
    """The blocking methods of a Broker as coroutines; a cancelled one finishes first."""

    def __init__(self, broker: "Broker") -> None:
        """Wrap a broker, which can still be used directly."""
        self.broker = broker

    async def start(self) -> None:
        """See Broker.start()."""
        await run_sync(self.broker.start)

    async def stop(self) -> None:
        """See Broker.stop()."""
        await run_sync(self.broker.stop)

    async def kill(self) -> None:
        """See Broker.kill()."""
        await run_sync(self.broker.kill)

    async def restart(self) -> None:
        """See Broker.restart()."""
        await run_sync(self.broker.restart)

    async def reset(self) -> None:
        """See Broker.reset()."""
        await run_sync(self.broker.reset)

    async def advance(self, delta: timedelta = timedelta()) -> None:
        """See Broker.advance()."""
        await run_sync(self.broker.advance, delta)

    async def create_topic(
        self, name: str, partitions: int = 1, configs: Mapping[str, object] | None = None
    ) -> None:
        """See Broker.create_topic()."""
        await run_sync(self.broker.create_topic, name, partitions, configs)

    async def produce(
        self,
        topic: str,
        *values: bytes | str | None,
        key: bytes | str | None = None,
        headers: "Headers" = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> None:
        """See Broker.produce()."""
        write = partial(
            self.broker.produce,
            topic,
            *values,
            key=key,
            headers=headers,
            partition=partition,
            timestamp_ms=timestamp_ms,
        )
        await run_sync(write)

    async def records(self, topic: str, *, read_committed: bool = False) -> "list[Record]":
        """See Broker.records()."""
        return await run_sync(partial(self.broker.records, topic, read_committed=read_committed))
