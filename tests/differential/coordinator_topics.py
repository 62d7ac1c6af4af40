"""Topics that sequences need or change, on one broker; every function waits until it is so."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from broker_lite.wire import messages
from tests.differential.coordinator_connection import Connections

ANSWER_TIMEOUT_S: Final = 20.0
POLL_S: Final = 0.02
SETTLE_S: Final = 0.3
TOPIC_EXISTS: Final = 36
UNKNOWN_TOPIC: Final = 3


async def ask(connections: Connections, request: Any, version: int) -> Any:
    """Ask for something that is answered at once."""
    return await asyncio.wait_for(connections.ask(request, version), ANSWER_TIMEOUT_S)


async def create_topics(connections: Connections, topics: Mapping[str, int]) -> dict[str, bytes]:
    """Create what is not there, and wait until it can be used; return the topics' ids."""
    kind = messages.CreateTopicsRequest
    asked = [
        kind.CreatableTopic(name=name, num_partitions=count, replication_factor=1)
        for name, count in topics.items()
    ]
    answer = await ask(connections, kind(topics=asked, timeout_ms=10_000), 5)
    codes = {topic.name: topic.error_code for topic in answer.topics}
    assert set(codes.values()) <= {0, TOPIC_EXISTS}, answer
    counts = {name: count if codes[name] == 0 else 1 for name, count in topics.items()}
    return await _wait_for(connections, counts)


async def grow_topic(connections: Connections, name: str, count: int) -> None:
    """Give a topic more partitions, where it has fewer."""
    kind = messages.CreatePartitionsRequest
    request = kind(topics=[kind.CreatePartitionsTopic(name=name, count=count)], timeout_ms=10_000)
    answer = await ask(connections, request, 3)
    if answer.results[0].error_code == 0:
        await _wait_for(connections, {name: count})


async def delete_topics(connections: Connections, names: Sequence[str]) -> None:
    """Delete topics where they are there, and wait until nobody knows them any more."""
    kind = messages.DeleteTopicsRequest
    await ask(connections, kind(topic_names=list(names), timeout_ms=10_000), 5)
    async with asyncio.timeout(ANSWER_TIMEOUT_S):
        while True:
            found = await _described(connections, names)
            if {topic.error_code for topic in found} == {UNKNOWN_TOPIC}:
                return
            await asyncio.sleep(POLL_S)


async def change_topic(
    connections: Connections, action: str, name: str, count: int
) -> dict[str, bytes]:
    """Create, grow or delete a topic, and leave coordinators the time to see it.

    Returns:
        The id by the name, if it was created.
    """
    ids: dict[str, bytes] = {}
    if action == "create":
        ids = await create_topics(connections, {name: count})
    elif action == "grow":
        await grow_topic(connections, name, count)
    else:
        await delete_topics(connections, [name])
    # Kafka's coordinators follow the metadata in the background
    await asyncio.sleep(SETTLE_S)
    return ids


async def latest_offsets(connections: Connections, topic: str, count: int, isolation: int) -> Any:
    """What ListOffsets says of the ends of the first partitions of a topic."""
    kind = messages.ListOffsetsRequest
    partitions = [
        kind.ListOffsetsPartition(partition_index=index, timestamp=-1) for index in range(count)
    ]
    value = kind(
        replica_id=-1,
        isolation_level=isolation,
        topics=[kind.ListOffsetsTopic(name=topic, partitions=partitions)],
    )
    return (await ask(connections, value, 5)).topics[0].partitions


async def _wait_for(connections: Connections, topics: Mapping[str, int]) -> dict[str, bytes]:
    async with asyncio.timeout(ANSWER_TIMEOUT_S):
        while True:
            found = await _described(connections, list(topics))
            there = [await _is_there(connections, topic, topics[topic.name]) for topic in found]
            if all(there):
                return {topic.name: topic.topic_id for topic in found}
            await asyncio.sleep(POLL_S)


async def _is_there(connections: Connections, topic: Any, count: int) -> bool:
    if topic.error_code or len(topic.partitions) < count:
        return False
    rows = await latest_offsets(connections, topic.name, count, 0)
    return not any(row.error_code for row in rows)


async def _described(connections: Connections, names: Sequence[str]) -> Any:
    kind = messages.MetadataRequest
    topics = [kind.MetadataRequestTopic(name=name) for name in names]
    answer = await ask(connections, kind(topics=topics, allow_auto_topic_creation=False), 12)
    return answer.topics
