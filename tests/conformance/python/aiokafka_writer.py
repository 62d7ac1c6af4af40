"""A producer with aiokafka; `tests.conformance.clients` lists its commands."""

import asyncio
from collections.abc import Iterable
from functools import partial

from aiokafka import AIOKafkaProducer, TopicPartition

from tests.conformance.python.lines import options, serve_async
from tests.conformance.python.load import PAUSE_S, acked, lost


class Writer:
    """Executes the commands."""

    def __init__(self, given: dict[str, str]) -> None:
        self._topic = given["topic"]
        self._load: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()
        self._producer = AIOKafkaProducer(
            bootstrap_servers=given["bootstrap"],
            enable_idempotence=given["idempotent"] == "true",
            acks="all" if given["acks"] == "all" else int(given["acks"]),
            request_timeout_ms=int(given["request_ms"]),
            retry_backoff_ms=50,
            metadata_max_age_ms=2000,
        )

    async def run(self) -> None:
        """Execute each command until told to leave."""
        async with self._producer:
            await serve_async(self._execute)

    async def _execute(self, command: list[str]) -> Iterable[object]:
        match command:
            case ["send", partition, value]:
                sent = await self._producer.send_and_wait(
                    self._topic, value.encode(), partition=int(partition)
                )
                return partition, sent.offset
            case ["load", partitions]:
                self._load = asyncio.create_task(self._write(int(partitions)))
            case ["stop"]:
                assert self._load is not None
                self._stopping.set()
                await self._load
                await self._producer.flush()
            case ["leaders"]:
                found = sorted(await self._producer.partitions_for(self._topic))
                leader = self._producer.client.cluster.leader_for_partition
                return [f"{each}:{leader(TopicPartition(self._topic, each))}" for each in found]
        return ()

    async def _write(self, partitions: int) -> None:
        number = 0
        while not self._stopping.is_set():
            for partition in range(partitions):
                value = str(number).encode()
                sent = await self._producer.send(self._topic, value, partition=partition)
                sent.add_done_callback(partial(self._sent, partition, number))
            number += 1
            await asyncio.sleep(PAUSE_S)

    @staticmethod
    def _sent(partition: int, number: int, sent: "asyncio.Future[object]") -> None:
        if (error := sent.exception()) is None:
            acked(partition, sent.result().offset, number)  # type: ignore[attr-defined]
        else:
            lost(partition, number, error)


async def main() -> None:
    """Run the writer that the options ask for."""
    await Writer(options()).run()


if __name__ == "__main__":
    asyncio.run(main())
