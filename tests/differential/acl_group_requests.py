"""Random requests about groups and transactions."""

from typing import Any

from broker_lite.wire import messages
from tests.differential.acl_names import (
    GROUPS,
    INVALID,
    TRANSACTIONAL_IDS,
    Build,
    Ids,
    Names,
    id_of,
)


class GroupRequests(Names):
    """Random requests about groups and transactions."""

    def _find_coordinator(self, version: int) -> Build:
        kind = messages.FindCoordinatorRequest
        is_group = self._flag()
        names = self._some(*(GROUPS if is_group else TRANSACTIONAL_IDS))
        fields = {"key_type": 0 if is_group else 1} if version >= 1 else {}
        if version >= 4:
            return lambda _: kind(coordinator_keys=names, **fields)
        return lambda _: kind(key=names[0], **fields)

    def _join_group(self, version: int) -> Build:
        kind = messages.JoinGroupRequest
        group = self._group()
        protocol = kind.JoinGroupRequestProtocol(name="range", metadata=b"\0\0\0\0\0\0\0\0\0\0")
        return lambda _: kind(
            group_id=group,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=1000,
            member_id="nobody",
            protocol_type="consumer",
            protocols=[protocol],
        )

    def _sync_group(self, version: int) -> Build:
        group = self._group()
        fields = {"protocol_type": "consumer", "protocol_name": "range"} if version >= 5 else {}
        return lambda _: messages.SyncGroupRequest(
            group_id=group, generation_id=1, member_id="m", assignments=[], **fields
        )

    def _heartbeat(self, version: int) -> Build:
        group = self._group()
        return lambda _: messages.HeartbeatRequest(group_id=group, generation_id=1, member_id="m")

    def _leave_group(self, version: int) -> Build:
        kind = messages.LeaveGroupRequest
        group = self._group()
        if version < 3:
            return lambda _: kind(group_id=group, member_id="m")
        return lambda _: kind(group_id=group, members=[kind.MemberIdentity(member_id="m")])

    def _offset_commit(self, version: int) -> Build:
        kind = messages.OffsetCommitRequest
        group, names, indexes = self._group(), self._known(), self._partitions()

        def build(ids: Ids) -> Any:
            topics = [
                kind.OffsetCommitRequestTopic(
                    **({"topic_id": id_of(ids, name)} if version >= 10 else {"name": name}),
                    partitions=[
                        kind.OffsetCommitRequestPartition(
                            partition_index=index, committed_offset=5, committed_metadata=""
                        )
                        for index in indexes
                    ],
                )
                for name in names
            ]
            return kind(
                group_id=group, generation_id_or_member_epoch=-1, member_id="", topics=topics
            )

        return build

    def _offset_fetch(self, version: int) -> Build:
        kind = messages.OffsetFetchRequest
        groups, names, is_all = self._some(*GROUPS), self._known(), self._flag()
        stable = {"require_stable": self._flag()} if version >= 7 else {}
        if version < 8:
            topics = [
                kind.OffsetFetchRequestTopic(name=name, partition_indexes=[0, 1]) for name in names
            ]
            every = is_all and version >= 2
            return lambda _: kind(group_id=groups[0], topics=None if every else topics, **stable)

        def build(ids: Ids) -> Any:
            topics = [
                kind.OffsetFetchRequestTopics(
                    **({"topic_id": id_of(ids, name)} if version >= 10 else {"name": name}),
                    partition_indexes=[0, 1],
                )
                for name in names
            ]
            asked = [
                kind.OffsetFetchRequestGroup(group_id=group, topics=None if is_all else topics)
                for group in groups
            ]
            return kind(groups=asked, **stable)

        return build

    def _offset_delete(self, version: int) -> Build:
        kind = messages.OffsetDeleteRequest
        group = self._group()
        topics = [
            kind.OffsetDeleteRequestTopic(
                name=name, partitions=[kind.OffsetDeleteRequestPartition(partition_index=1)]
            )
            for name in self._known()
        ]
        return lambda _: kind(group_id=group, topics=topics)

    def _describe_groups(self, version: int) -> Build:
        groups = self._some(*GROUPS)
        fields = {"include_authorized_operations": self._flag()} if version >= 3 else {}
        return lambda _: messages.DescribeGroupsRequest(groups=groups, **fields)

    def _list_groups(self, version: int) -> Build:
        return lambda _: messages.ListGroupsRequest()

    def _delete_groups(self, version: int) -> Build:
        groups = self._some(*GROUPS[:3], "nobody")
        return lambda _: messages.DeleteGroupsRequest(groups_names=groups)

    def _consumer_group_heartbeat(self, version: int) -> Build:
        group = self._group()
        names = self._known() if self._flag() else None
        regex = self._chance.choice(("a-.*", ".*", None)) if version >= 1 else None
        return lambda _: messages.ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id="m" if self._is_new(version) else "",
            member_epoch=5,
            rebalance_timeout_ms=5000,
            subscribed_topic_names=names,
            subscribed_topic_regex=regex,
            topic_partitions=[],
        )

    def _is_new(self, version: int) -> bool:
        return version >= 1

    def _consumer_group_describe(self, version: int) -> Build:
        groups, asked = self._some(*GROUPS), self._flag()
        return lambda _: messages.ConsumerGroupDescribeRequest(
            group_ids=groups, include_authorized_operations=asked
        )

    def _init_producer_id(self, version: int) -> Build:
        tx = self._transactional_id() if self._flag() else None
        return lambda _: messages.InitProducerIdRequest(
            transactional_id=tx, transaction_timeout_ms=60_000
        )

    def _add_partitions_to_txn(self, version: int) -> Build:
        kind = messages.AddPartitionsToTxnRequest
        tx = self._transactional_id()
        topics = [
            kind.AddPartitionsToTxnTopic(name=name, partitions=self._partitions())
            for name in self._known()
        ]
        if version >= 4:
            one = kind.AddPartitionsToTxnTransaction(
                transactional_id=tx,
                producer_id=9999,
                producer_epoch=0,
                verify_only=self._flag(),
                topics=topics,
            )
            return lambda _: kind(transactions=[one])
        return lambda _: kind(
            v3_and_below_transactional_id=tx,
            v3_and_below_producer_id=9999,
            v3_and_below_producer_epoch=0,
            v3_and_below_topics=topics,
        )

    def _add_offsets_to_txn(self, version: int) -> Build:
        tx, group = self._transactional_id(), self._group()
        return lambda _: messages.AddOffsetsToTxnRequest(
            transactional_id=tx, producer_id=9999, producer_epoch=0, group_id=group
        )

    def _txn_offset_commit(self, version: int) -> Build:
        kind = messages.TxnOffsetCommitRequest
        tx, group, names = self._transactional_id(), self._group(), self._known()

        def build(ids: Ids) -> Any:
            topics = [
                kind.TxnOffsetCommitRequestTopic(
                    **({"topic_id": id_of(ids, name)} if version >= 6 else {"name": name}),
                    partitions=[
                        kind.TxnOffsetCommitRequestPartition(
                            partition_index=0, committed_offset=1, committed_metadata=""
                        )
                    ],
                )
                for name in names
            ]
            return kind(
                transactional_id=tx,
                group_id=group,
                producer_id=9999,
                producer_epoch=0,
                topics=topics,
            )

        return build

    def _end_txn(self, version: int) -> Build:
        tx = self._transactional_id()
        return lambda _: messages.EndTxnRequest(
            transactional_id=tx, producer_id=9999, producer_epoch=0, committed=True
        )

    def _write_txn_markers(self, version: int) -> Build:
        kind = messages.WriteTxnMarkersRequest
        marker = kind.WritableTxnMarker(
            producer_id=9999,
            producer_epoch=0,
            transaction_result=True,
            topics=[
                kind.WritableTxnMarkerTopic(name=name, partition_indexes=[7])
                for name in self._known()
            ],
            coordinator_epoch=0,
        )
        return lambda _: kind(markers=[marker])

    def _describe_producers(self, version: int) -> Build:
        kind = messages.DescribeProducersRequest
        topics = [
            kind.TopicRequest(name=name, partition_indexes=[0, 7])
            for name in (*self._topics(), *self._some(*INVALID, low=0))
        ]
        return lambda _: kind(topics=topics)

    def _describe_transactions(self, version: int) -> Build:
        ids = self._some(*TRANSACTIONAL_IDS)
        return lambda _: messages.DescribeTransactionsRequest(transactional_ids=ids)

    def _list_transactions(self, version: int) -> Build:
        return lambda _: messages.ListTransactionsRequest()
