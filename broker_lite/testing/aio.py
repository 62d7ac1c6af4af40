"""A broker for async tests, under asyncio and trio; blocking calls run in a thread."""

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from anyio.to_thread import run_sync

from broker_lite.testing.aio_bench import AsyncBenchCommands
from broker_lite.testing.aio_secured import AsyncSecuredCommands

if TYPE_CHECKING:
    from broker_lite.testing.batches import Headers
    from broker_lite.testing.broker import Broker
    from broker_lite.testing.client_configs import Config
    from broker_lite.testing.nodes import BrokerNode
    from broker_lite.testing.records import Record
    from broker_lite.testing.secured_commands import ObjectKind, TextKind


class AsyncBroker(AsyncBenchCommands, AsyncSecuredCommands):
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

    async def reset(self, *, keep_topics: bool = False) -> None:
        """See Broker.reset()."""
        await run_sync(partial(self.broker.reset, keep_topics=keep_topics))

    async def advance(self, delta: timedelta = timedelta()) -> None:
        """See Broker.advance()."""
        await run_sync(self.broker.advance, delta)

    async def freeze(self) -> None:
        """See Broker.freeze()."""
        await run_sync(self.broker.freeze)

    async def unfreeze(self) -> None:
        """See Broker.unfreeze()."""
        await run_sync(self.broker.unfreeze)

    async def control(
        self, method: str, path: str, body: object = None, *, wait: timedelta = timedelta()
    ) -> object:
        """See Broker.control()."""
        ask = partial(self.broker.control, method, path, body, wait=wait)
        return await run_sync(ask, abandon_on_cancel=True)

    async def client_config(
        self,
        client: "TextKind | ObjectKind",
        *,
        user: str = "user",
        mechanism: str = "SCRAM-SHA-512",
        password: str = "",
    ) -> "Config":
        """See Broker.client_config()."""
        tell = partial(
            self.broker.client_config, client, user=user, mechanism=mechanism, password=password
        )
        return await run_sync(tell)

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

    @property
    def brokers(self) -> "Mapping[int, AsyncBrokerNode]":
        """See Broker.brokers: `await broker.aio.brokers[2].down()`."""
        return {node_id: AsyncBrokerNode(node) for node_id, node in self.broker.brokers.items()}

    async def heal(self) -> None:
        """See Broker.heal()."""
        await run_sync(self.broker.heal)

    async def roll(self) -> None:
        """See Broker.roll()."""
        await run_sync(self.broker.roll)

    async def move_leader(self, topic: str, partition: int, *, to: int) -> None:
        """See Broker.move_leader()."""
        await run_sync(partial(self.broker.move_leader, topic, partition, to=to))

    async def elect_preferred(self, topic: str | None = None) -> None:
        """See Broker.elect_preferred()."""
        await run_sync(self.broker.elect_preferred, topic)

    async def elect_unclean(self, topic: str, partition: int, *, to: int) -> None:
        """See Broker.elect_unclean()."""
        await run_sync(partial(self.broker.elect_unclean, topic, partition, to=to))

    async def lag(
        self,
        topic: str,
        partition: int,
        *,
        node: int,
        records: int = 0,
        delay: timedelta = timedelta(),
    ) -> None:
        """See Broker.lag()."""
        lag = partial(self.broker.lag, node=node, records=records, delay=delay)
        await run_sync(lag, topic, partition)

    async def catch_up(self, topic: str, partition: int, *, node: int) -> None:
        """See Broker.catch_up()."""
        await run_sync(partial(self.broker.catch_up, topic, partition, node=node))

    async def shrink_isr(self, topic: str, partition: int, *, node: int) -> None:
        """See Broker.shrink_isr()."""
        await run_sync(partial(self.broker.shrink_isr, topic, partition, node=node))

    async def partition(self, topic: str, partition: int) -> dict[str, object]:
        """See Broker.partition()."""
        return await run_sync(self.broker.partition, topic, partition)

    async def records(self, topic: str, *, read_committed: bool = False) -> "list[Record]":
        """See Broker.records()."""
        return await run_sync(partial(self.broker.records, topic, read_committed=read_committed))


class AsyncBrokerNode:
    """A BrokerNode with coroutines, as `broker.aio.brokers[2]`; a cancelled one finishes first.

    The properties for which the process is asked are coroutines, too.
    """

    def __init__(self, node: "BrokerNode") -> None:
        """Wrap one of the brokers of a cluster, which can still be used directly."""
        self.node = node
        self.node_id = node.node_id

    @property
    def bootstrap(self) -> str:
        """See BrokerNode.bootstrap."""
        return self.node.bootstrap

    async def state(self) -> str:
        """See BrokerNode.state."""
        return await run_sync(lambda: self.node.state)

    async def is_fenced(self) -> bool:
        """See BrokerNode.is_fenced."""
        return await run_sync(lambda: self.node.is_fenced)

    async def rack(self) -> str | None:
        """See BrokerNode.rack."""
        return await run_sync(lambda: self.node.rack)

    async def down(self) -> None:
        """See BrokerNode.down()."""
        await run_sync(self.node.down)

    async def stop(self) -> None:
        """See BrokerNode.stop()."""
        await run_sync(self.node.stop)

    async def hang(self) -> None:
        """See BrokerNode.hang()."""
        await run_sync(self.node.hang)

    async def up(self) -> None:
        """See BrokerNode.up()."""
        await run_sync(self.node.up)

    async def freeze_metadata(self) -> None:
        """See BrokerNode.freeze_metadata()."""
        await run_sync(self.node.freeze_metadata)

    async def thaw_metadata(self) -> None:
        """See BrokerNode.thaw_metadata()."""
        await run_sync(self.node.thaw_metadata)
