"""Random requests about data and topics."""

from typing import Any

from broker_lite.wire import messages
from tests.differential.acl_names import (
    INVALID,
    MADE,
    MISSING,
    TOPICS,
    Build,
    Ids,
    Names,
    id_of,
)
from tests.differential.batches import BatchSpec, RecordSpec


class DataRequests(Names):
    """Random requests about data and topics."""

    def _produce(self, version: int) -> Build:
        kind = messages.ProduceRequest
        names = self._known()
        transactional = self._chance.random() < 0.2
        producer_id, epoch = (9999, 0) if transactional or self._chance.random() < 0.3 else (-1, -1)
        batch = BatchSpec(
            records=(RecordSpec(value=b"v"),),
            attributes=16 if transactional else 0,
            base_timestamp=1_700_000_000_000,
            base_sequence=0 if producer_id >= 0 else -1,
            producer_id=producer_id,
            producer_epoch=epoch,
        ).encode()
        tx = self._transactional_id() if transactional else None
        indexes = self._partitions()

        def build(ids: Ids) -> Any:
            topics = [
                kind.TopicProduceData(
                    **({"topic_id": id_of(ids, name)} if version >= 13 else {"name": name}),
                    partition_data=[
                        kind.PartitionProduceData(index=index, records=batch) for index in indexes
                    ],
                )
                for name in names
            ]
            return kind(transactional_id=tx, acks=-1, timeout_ms=5000, topic_data=topics)

        return build

    def _fetch(self, version: int) -> Build:
        kind = messages.FetchRequest
        names, indexes = self._topics(), self._partitions()

        def build(ids: Ids) -> Any:
            topics = [
                kind.FetchTopic(
                    **({"topic_id": id_of(ids, name)} if version >= 13 else {"topic": name}),
                    partitions=[
                        kind.FetchPartition(partition=index, partition_max_bytes=1)
                        for index in indexes
                    ],
                )
                for name in names
            ]
            replica = {} if version >= 15 else {"replica_id": -1}
            return kind(max_wait_ms=0, max_bytes=1000, session_epoch=-1, topics=topics, **replica)

        return build

    def _list_offsets(self, version: int) -> Build:
        kind = messages.ListOffsetsRequest
        topics = [
            kind.ListOffsetsTopic(
                name=name,
                partitions=[
                    kind.ListOffsetsPartition(partition_index=index, timestamp=-2)
                    for index in self._partitions()
                ],
            )
            for name in self._topics()
        ]
        return lambda _: kind(replica_id=-1, topics=topics)

    def _offset_for_leader_epoch(self, version: int) -> Build:
        kind = messages.OffsetForLeaderEpochRequest
        topics = [
            kind.OffsetForLeaderTopic(
                topic=name, partitions=[kind.OffsetForLeaderPartition(partition=0, leader_epoch=0)]
            )
            for name in self._topics()
        ]
        return lambda _: kind(replica_id=-1, topics=topics)

    def _delete_records(self, version: int) -> Build:
        kind = messages.DeleteRecordsRequest
        topics = [
            kind.DeleteRecordsTopic(
                name=name,
                partitions=[kind.DeleteRecordsPartition(partition_index=0, offset=0)],
            )
            for name in self._topics()
        ]
        return lambda _: kind(timeout_ms=5000, topics=topics)

    def _metadata(self, version: int) -> Build:
        kind = messages.MetadataRequest
        what = self._chance.choice(("all", "names", "names", "ids"))
        names = self._topics() + self._some(*INVALID, low=0)
        fields: dict[str, Any] = {}
        if version >= 4:
            fields["allow_auto_topic_creation"] = self._chance.random() < 0.3
        if version >= 8:
            fields["include_topic_authorized_operations"] = self._flag()
            if version <= 10:
                fields["include_cluster_authorized_operations"] = self._flag()
        if what == "ids" and version >= 12:

            def build(ids: Ids) -> Any:
                topics = [
                    kind.MetadataRequestTopic(name=None, topic_id=id_of(ids, name))
                    for name in names
                ]
                return kind(topics=topics, **fields)

            return build
        if what == "all":
            return lambda _: kind(topics=None, **fields)
        return lambda _: kind(
            topics=[kind.MetadataRequestTopic(name=name) for name in names], **fields
        )

    def _describe_topic_partitions(self, version: int) -> Build:
        kind = messages.DescribeTopicPartitionsRequest
        names = self._topics() if self._flag() else []
        topics = [kind.TopicRequest(name=name) for name in names]
        limit = self._chance.choice((1, 2, 3, 5, 2000))
        cursor = None
        if self._chance.random() < 0.4:
            cursor = kind.Cursor(topic_name=self._chance.choice(names or TOPICS), partition_index=0)
        return lambda _: kind(topics=topics, response_partition_limit=limit, cursor=cursor)

    def _create_topics(self, version: int) -> Build:
        kind = messages.CreateTopicsRequest
        names = self._some(*MADE, *TOPICS[:2], *INVALID, "__cluster_metadata")
        names += names[:1] if self._chance.random() < 0.2 else []
        topics = [
            kind.CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names
        ]
        validate = self._chance.random() < 0.6
        return lambda _: kind(topics=topics, timeout_ms=10_000, validate_only=validate)

    def _delete_topics(self, version: int) -> Build:
        kind = messages.DeleteTopicsRequest
        names = self._some(*MADE, *MADE, *MISSING)
        if version < 6:
            return lambda _: kind(topic_names=names, timeout_ms=10_000)
        by_id = [self._flag() for _ in names]

        def build(ids: Ids) -> Any:
            topics = [
                kind.DeleteTopicState(name=None, topic_id=id_of(ids, name))
                if is_by_id
                else kind.DeleteTopicState(name=name)
                for name, is_by_id in zip(names, by_id, strict=True)
            ]
            return kind(topics=topics, timeout_ms=10_000)

        return build

    def _create_partitions(self, version: int) -> Build:
        kind = messages.CreatePartitionsRequest
        names = self._topics()
        names += names[:1] if self._chance.random() < 0.2 else []
        topics = [
            kind.CreatePartitionsTopic(name=name, count=3, assignments=None) for name in names
        ]
        return lambda _: kind(topics=topics, timeout_ms=5000, validate_only=True)
