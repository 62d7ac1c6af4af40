"""A transactional producer with aiokafka; `tests.conformance.clients` lists its commands."""

import asyncio
from functools import partial

from aiokafka import AIOKafkaProducer, TopicPartition

from tests.conformance.python.lines import options, serve_async


def producer_of(given: dict[str, str]) -> AIOKafkaProducer:
    """The transactional producer that the options ask for."""
    return AIOKafkaProducer(
        bootstrap_servers=given["bootstrap"],
        transactional_id=given["transactional_id"],
        transaction_timeout_ms=int(given["timeout_ms"]),
        retry_backoff_ms=50,
    )


async def execute(producer: AIOKafkaProducer, topic: str, command: list[str]) -> tuple[()]:
    """Execute one command."""
    match command:
        case ["init"]:
            await producer.start()
        case ["begin"]:
            await producer.begin_transaction()
        case ["send", partition, value]:
            await producer.send_and_wait(topic, value.encode(), partition=int(partition))
        case ["offset", group, source, partition, offset]:
            position = {TopicPartition(source, int(partition)): int(offset)}
            await producer.send_offsets_to_transaction(position, group)
        case ["commit"]:
            await producer.commit_transaction()
        case ["abort"]:
            await producer.abort_transaction()
    return ()


async def main() -> None:
    """Execute each command until told to leave."""
    given = options()
    producer = producer_of(given)
    await serve_async(partial(execute, producer, given["topic"]))
    await producer.stop()


if __name__ == "__main__":
    asyncio.run(main())
