"""The data APIs over a real cluster on disk: request bytes in, response bytes out."""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.coordinators.start import Coordinators
from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.handler.context import Handler, HandlerContext, ListenerInfo, Request
from broker_lite.handler.fetch.session import FetchSessionCache
from broker_lite.handler.lane import Lane
from broker_lite.handler.table import APIS, load_handlers
from broker_lite.log.log import Log
from broker_lite.rate_limited_log import RateLimitedLog
from broker_lite.settings import load_settings
from broker_lite.wire import messages
from tests.support.handler_broker import join

PRODUCE, FETCH, LIST_OFFSETS, DELETE_RECORDS = 0, 1, 2, 21
INIT_PRODUCER_ID, OFFSET_FOR_LEADER_EPOCH, DESCRIBE_PRODUCERS = 22, 23, 61
TOPIC = "t"
load_handlers()  # a handler of here waits for no thread


class Handlers:
    """One broker without its sockets; topic "t" has two partitions."""

    def __init__(
        self, data_dir: Path, *, settings: Mapping[str, str] | None = None, slots: int = 1000
    ) -> None:
        self.clock = Clock.standing_still(1_700_000_000_000)
        loaded = load_settings(env={}, overrides=settings or {})
        self.cluster = Cluster.open(loaded, data_dir, self.clock)
        coordinators = Coordinators.start(self.cluster, self.clock)
        self.context = HandlerContext(
            cluster=self.cluster,
            groups=coordinators.groups,
            transactions=coordinators.transactions,
            clock=self.clock,
            client_log=RateLimitedLog(self.clock.monotonic_ms),
            settings=loaded,
            apis=APIS,
            listener=ListenerInfo("PLAINTEXT"),
            local_address=("127.0.0.1", 9092),
            client_address=("127.0.0.1", 40000),
            fetch_sessions=FetchSessionCache(slots),
            lane=Lane(),
        )
        self.create(TOPIC, 2)

    def create(self, name: str, partitions: int = 1, **configs: str) -> bytes:
        """Create a topic; config names with _ for the dots. Gives its id."""
        texts = [(key.replace("_", "."), value) for key, value in configs.items()]
        plan = self.cluster.plan_topic(NewTopic(name, partition_count=partitions, configs=texts))
        (topic,) = self.cluster.create_topics([plan])
        return topic.topic_id

    def delete(self, name: str) -> None:
        self.cluster.delete_topics([self.cluster.topics[name]])

    def topic_id(self, name: str = TOPIC) -> bytes:
        return self.cluster.topics[name].topic_id

    def log(self, partition: int = 0, topic: str = TOPIC) -> Log:
        return self.cluster.log(topic, partition)

    def elect(self, times: int, partition: int = 0, topic: str = TOPIC) -> None:
        """Have the leader of a partition elected again and again; it stays the leader."""
        for _ in range(times):
            known = self.cluster.topics[topic]
            before = known.partitions[partition]
            after = before._replace(leader_epoch=before.leader_epoch + 1)
            self.cluster.controller.alter(known, partition, after)

    # -- calling

    def request(
        self, api_key: int, version: int, body: bytes, client_id: str | None = "c"
    ) -> Request:
        flexible = version >= APIS[api_key].flexible_from
        return Request(api_key, version, 1, client_id, memoryview(bytearray(body)), 0, flexible)

    async def answer(
        self, api_key: int, version: int, value: Any, client_id: str | None = "c"
    ) -> Any:
        """Encode a request struct, call the handler, decode the answer."""
        request_type, response_type = messages.by_api(api_key)
        body = request_type.encode(value, version)
        handle: Handler = APIS[api_key].handle
        parts = await handle(self.context, self.request(api_key, version, body, client_id))
        if parts is None:
            return None
        data = join(parts)
        decoded, end = response_type.decode(data, version)
        assert end == len(data)
        return decoded

    def now(self, api_key: int, version: int, value: Any, client_id: str | None = "c") -> Any:
        """As answer(), for a handler that waits for nobody; it may let others have their turn."""
        waiting = self.answer(api_key, version, value, client_id)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(_in_a_loop(waiting))
        return _at_once(waiting)

    # -- produce

    def produce(
        self,
        *record_sets: bytes | None,
        version: int = 8,
        client_id: str | None = "c",
        **fields: Any,
    ) -> Any:
        """Produce a set to each partition (default: 0, 1, ...); gives the partition answers."""
        value = self.produce_request(*record_sets, version=version, **fields)
        return partition_answers(self.now(PRODUCE, version, value, client_id))

    def produce_request(
        self,
        *record_sets: bytes | None,
        version: int = 8,
        acks: int = -1,
        topic: str = TOPIC,
        topic_id: bytes | None = None,
        transactional_id: str | None = None,
        partitions: Sequence[int] | None = None,
    ) -> Any:
        """A Produce request of a set for each partition of one topic."""
        indexes = range(len(record_sets)) if partitions is None else partitions
        request = messages.ProduceRequest
        return request(
            transactional_id=transactional_id,
            acks=acks,
            timeout_ms=1000,
            topic_data=[
                request.TopicProduceData(
                    name=topic,
                    topic_id=topic_id or (self.topic_id(topic) if version >= 13 else bytes(16)),
                    partition_data=[
                        request.PartitionProduceData(index=index, records=records)
                        for index, records in zip(indexes, record_sets, strict=True)
                    ],
                )
            ],
        )

    # -- fetch

    def fetch_request(
        self,
        *partitions: Any,
        max_wait_ms: int = 0,
        min_bytes: int = 1,
        max_bytes: int = 57_671_680,
        topic: str = TOPIC,
        topic_id: bytes | None = None,
        forgotten: Sequence[int] = (),
        **fields: Any,
    ) -> Any:
        """A Fetch request for partitions of one topic."""
        request = messages.FetchRequest
        known = topic_id or (self.topic_id(topic) if topic in self.cluster.topics else bytes(16))
        topics = [request.FetchTopic(topic=topic, topic_id=known, partitions=list(partitions))]
        gone = request.ForgottenTopic(topic=topic, topic_id=known, partitions=list(forgotten))
        return request(
            max_wait_ms=max_wait_ms,
            min_bytes=min_bytes,
            max_bytes=max_bytes,
            topics=topics if partitions else [],
            forgotten_topics_data=[gone] if forgotten else [],
            **fields,
        )

    def fetch(self, *partitions: Any, version: int = 12, **fields: Any) -> Any:
        """Fetch without waiting; gives the partition answers with their records as bytes."""
        return fetched(self.now(FETCH, version, self.fetch_request(*partitions, **fields)))


def _at_once(waiting: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine returns that waits for nobody, though it may let others have a turn."""
    try:
        while waiting.send(None) is None:
            pass
    except StopIteration as stopped:
        return stopped.value
    waiting.close()
    raise AssertionError("it waits")


async def _in_a_loop(waiting: Coroutine[Any, Any, Any]) -> Any:
    return _at_once(waiting)


def wanted(partition: int = 0, offset: int = 0, max_bytes: int = 1_048_576, **fields: Any) -> Any:
    """A partition of a Fetch request."""
    return messages.FetchRequest.FetchPartition(
        partition=partition, fetch_offset=offset, partition_max_bytes=max_bytes, **fields
    )


def fetched(response: Any) -> list[Any]:
    """The partition answers of a Fetch response."""
    return [each for topic in response.responses for each in topic.partitions]


def size(answer: Any) -> int:
    """How many bytes of records a partition answer has."""
    return len(answer.records or b"")


def partition_answers(answer: Any) -> list[Any] | None:
    """What the partitions of a Produce are answered, all topics together."""
    if answer is None:
        return None
    return [each for topic in answer.responses for each in topic.partition_responses]


def outcome(answer: Any) -> tuple[int, int, int, int, int, str | None]:
    """Code, base offset, append time, log start offset, number of record errors, message."""
    return (
        answer.error_code,
        answer.base_offset,
        answer.log_append_time_ms,
        answer.log_start_offset,
        len(answer.record_errors),
        answer.error_message,
    )


def plain(code: int, start: int = -1) -> tuple[int, int, int, int, int, str | None]:
    return (code, -1, -1, start, 0, None)
