"""A member of a share group: its requests through the handlers, and the answers as plain values."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.handler.dispatch import dispatch
from broker_lite.log.producers.entry import AppendOrigin
from broker_lite.protocol.framing import Request
from broker_lite.record.batch import RecordBatch, walk
from broker_lite.record.builder import BatchBuilder
from broker_lite.wire import messages
from tests.support.handler_broker import HandlerBroker, join

Said = Mapping[int, Sequence[tuple[int, int, Sequence[int]]]]


class Sharer:
    """A share group's member, and the topic `t` that it reads from.

    Attributes:
        epoch: that its session has next.
    """

    def __init__(
        self,
        broker: HandlerBroker,
        member_id: str = "m",
        *,
        group: str = "g",
        partitions: int = 1,
        earliest: bool = True,
        **configs: str,
    ) -> None:
        self.broker, self.member_id, self.group = broker, member_id, group
        cluster = broker.cluster
        if "t" not in cluster.topics:
            cluster.create_topics([cluster.plan_topic(NewTopic("t", partitions))])
        self.topic_id = cluster.topics["t"].topic_id
        if earliest:
            configs = {"share.auto.offset.reset": "earliest", **configs}
        if configs:
            self.configure(**configs)
        self.epoch = 0

    def configure(self, **configs: str) -> None:
        message = messages.IncrementalAlterConfigsRequest
        resource = message.AlterConfigsResource(
            resource_type=32,
            resource_name=self.group,
            configs=[
                message.AlterableConfig(name=name, config_operation=0, value=value)
                for name, value in configs.items()
            ],
        )
        answer = self.broker.call("IncrementalAlterConfigs", 1, resources=[resource])
        assert answer.responses[0].error_code == 0, answer.responses[0].error_message

    def beat(self, epoch: int = 0, names: Sequence[str] | None = ("t",)) -> Any:
        return self.broker.call(
            "ShareGroupHeartbeat",
            1,
            group_id=self.group,
            member_id=self.member_id,
            member_epoch=epoch,
            subscribed_topic_names=None if names is None else list(names),
        )

    def append(self, *sizes: int, partition: int = 0, at_ms: int | None = None) -> None:
        """Append batches of so many records."""
        log = self.broker.cluster.log("t", partition)
        now_ms = self.broker.clock.now_ms() if at_ms is None else at_ms
        for size in sizes:
            builder = BatchBuilder()
            for number in range(size):
                builder.append(now_ms, None, b"v%d" % number)
            log.append_batch(builder.build(), now_ms=now_ms, origin=AppendOrigin.REPLICATION)

    def fetch_request(
        self,
        *,
        said: Said | None = None,
        partitions: Iterable[int] = (),
        count: int = 500,
        epoch: int | None = None,
        **fields: Any,
    ) -> messages.ShareFetchRequest:
        message = messages.ShareFetchRequest
        said = said or {}
        named = {*said, *(partitions if partitions or self.epoch or epoch else [0])}
        topics = []
        if named:
            topic = message.FetchTopic(
                topic_id=self.topic_id,
                partitions=[
                    message.FetchPartition(
                        partition_index=index,
                        acknowledgement_batches=[
                            message.AcknowledgementBatch(
                                first_offset=first, last_offset=last, acknowledge_types=list(kinds)
                            )
                            for first, last, kinds in said.get(index, ())
                        ],
                    )
                    for index in sorted(named)
                ],
            )
            topics.append(topic)
        given = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1_000_000, "batch_size": 500}
        return message(
            group_id=self.group,
            member_id=self.member_id,
            share_session_epoch=self.epoch if epoch is None else epoch,
            max_records=count,
            topics=topics,
            **{**given, **fields},
        )

    def fetch(self, version: int = 2, **fields: Any) -> Any:
        """Send a ShareFetch; return the answer's fields by partition, or the error."""
        request = self.fetch_request(**fields)
        answer = self.broker.request("ShareFetch", version, request)
        if request.share_session_epoch >= 0 and not answer.error_code:
            self.epoch = request.share_session_epoch + 1
        return fetched(answer)

    async def fetch_later(self, **fields: Any) -> Any:
        """Do as fetch() within an event loop."""
        value = self.fetch_request(**fields)
        message = messages.ShareFetchRequest
        body = memoryview(bytearray(b"head" + message.encode(value, 2)))
        parts = await dispatch(self.broker.context, Request(78, 2, 1, "test", body, 4, True))
        assert parts is not None
        self.epoch = value.share_session_epoch + 1
        return fetched(messages.ShareFetchResponse.decode(join(parts), 2)[0])

    def say(
        self,
        said: Said,
        *,
        epoch: int | None = None,
        version: int = 2,
        topic_id: bytes = b"",
        **fields: Any,
    ) -> Any:
        """Send a ShareAcknowledge; return the answer's fields by partition, or the error."""
        message = messages.ShareAcknowledgeRequest
        topic = message.AcknowledgeTopic(
            topic_id=topic_id or self.topic_id,
            partitions=[
                message.AcknowledgePartition(
                    partition_index=index,
                    acknowledgement_batches=[
                        message.AcknowledgementBatch(
                            first_offset=first, last_offset=last, acknowledge_types=list(kinds)
                        )
                        for first, last, kinds in batches
                    ],
                )
                for index, batches in said.items()
            ],
        )
        used = self.epoch if epoch is None else epoch
        answer = self.broker.call(
            "ShareAcknowledge",
            version,
            group_id=self.group,
            member_id=self.member_id,
            share_session_epoch=used,
            topics=[topic] if said else [],
            **fields,
        )
        if used >= 0 and not answer.error_code:
            self.epoch = used + 1
        if answer.error_code:
            return answer.error_code
        return {
            each.partition_index: (each.error_code, each.error_message)
            for found in answer.responses
            for each in found.partitions
        }


def fetched(answer: Any) -> Any:
    if answer.error_code:
        assert answer.acquisition_lock_timeout_ms == 0
        return answer.error_code
    return {each.partition_index: each for found in answer.responses for each in found.partitions}


def acquired(answer: Any, partition: int = 0) -> list[tuple[int, int, int]]:
    """What was acquired of a partition; nothing if it is not in the answer."""
    if partition not in answer:
        return []
    return [
        (each.first_offset, each.last_offset, each.delivery_count)
        for each in answer[partition].acquired_records
    ]


def run(coroutine: Any) -> Any:
    return asyncio.run(coroutine)


def begun(broker: HandlerBroker, *sizes: int, **configs: str) -> Sharer:
    """A member that has joined, after batches of so many records were appended."""
    sharer = Sharer(broker, **configs)
    sharer.append(*sizes)
    sharer.beat()
    return sharer


def batches_of(answer: Any, partition: int = 0) -> list[tuple[int, int]]:
    """The first and last offset of each record batch that was answered for a partition."""
    data = memoryview(bytes(answer[partition].records))
    batches = [RecordBatch(data, each.position, each.size_bytes) for each in walk(data)]
    return [(each.base_offset, each.base_offset + each.last_offset_delta) for each in batches]
