"""A transactional producer.

It uses the versions from before transaction.version 2, which every broker supports:
AddPartitionsToTxn adds partitions, and the end of a transaction does not change the epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, Final, NamedTuple, TypeVar

from broker_lite.client.client import TRANSACTION, Client
from broker_lite.client.errors import check
from broker_lite.client.partition_offsets import by_topic
from broker_lite.client.producing.producer import Batch, Producer
from broker_lite.client.producing.producer_config import ProducerConfig
from broker_lite.client.topic_partitions import TopicPartition
from broker_lite.errors import ClientError, SettingsError
from broker_lite.record.builder import BatchBuilder
from broker_lite.wire import messages

_PRODUCE_VERSION_MAX: Final = 11
_ADD_PARTITIONS_VERSION_MAX: Final = 3
_ADD_OFFSETS_VERSION_MAX: Final = 3
_COMMIT_VERSION_MAX: Final = 4
_END_VERSION_MAX: Final = 4
_Answer = TypeVar("_Answer", bound="messages.Message")


class GroupOffsets(NamedTuple):
    """Offsets to commit for a group without members, with a text that is kept beside each."""

    group: str
    offsets: Mapping[TopicPartition, int]
    metadata: str = ""


class TransactionalProducer(Producer):
    """Writes records to one topic in transactions; the first record begins one."""

    _version_max: ClassVar[int | None] = _PRODUCE_VERSION_MAX

    def __init__(
        self,
        client: Client,
        topic: str,
        config: ProducerConfig,
        *,
        transactional_id: str,
        timeout_ms: int,
        on_failure: Callable[[int, ClientError], None],
        on_settled: Callable[[int, int, bool], None] | None = None,
    ) -> None:
        """Fence earlier producers of the id, and abort their open transaction.

        Args:
            client: of the cluster.
            topic: see Producer.
            config: see Producer.
            transactional_id: of this producer.
            timeout_ms: how long a transaction may be open.
            on_failure: see Producer.
            on_settled: see Producer.

        Raises:
            SettingsError: the configuration turns idempotence off.
            ClientError: the topic does not exist in time, or the coordinator refused.
        """
        if not config.idempotent:
            raise SettingsError("a transactional.id needs enable.idempotence")
        self._transactional_id = transactional_id
        self._timeout_ms = timeout_ms
        self._added: set[int] = set()
        super().__init__(client, topic, config, on_failure=on_failure, on_settled=on_settled)

    def commit(self, positions: GroupOffsets | None = None) -> None:
        """Send all records and commit the transaction; the next record begins another one.

        Args:
            positions: offsets of a group that become committed with the records.

        Raises:
            ClientError: a coordinator refused.
        """
        self.flush()
        if positions is not None:
            self._client.retry(lambda: self._add_group(positions.group))
            self._client.retry(lambda: self._commit_offsets(positions))
        if self._added or positions is not None:
            self._client.retry(self._end)
            self._added.clear()

    def _add_group(self, group: str) -> None:
        value = messages.AddOffsetsToTxnRequest(
            transactional_id=self._transactional_id,
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            group_id=group,
        )
        self._check(self._ask(value, _ADD_OFFSETS_VERSION_MAX).error_code)

    def _commit_offsets(self, positions: GroupOffsets) -> None:
        make = messages.TxnOffsetCommitRequest
        topics = [
            make.TxnOffsetCommitRequestTopic(
                name=name,
                partitions=[
                    make.TxnOffsetCommitRequestPartition(
                        partition_index=number,
                        committed_offset=positions.offsets[name, number],
                        committed_metadata=positions.metadata,
                    )
                    for number in numbers
                ],
            )
            for name, numbers in by_topic(positions.offsets).items()
        ]
        value = make(
            transactional_id=self._transactional_id,
            group_id=positions.group,
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            generation_id_or_member_epoch=-1,
            member_id="",
            topics=topics,
        )
        answer = self._client.request(
            value,
            node_id=self._client.coordinator(positions.group),
            version_max=_COMMIT_VERSION_MAX,
        )
        for topic in answer.topics:
            for partition in topic.partitions:
                check(f"partition {topic.name}-{partition.partition_index}", partition.error_code)

    def _end(self) -> None:
        value = messages.EndTxnRequest(
            transactional_id=self._transactional_id,
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            committed=True,
        )
        self._check(self._ask(value, _END_VERSION_MAX).error_code)

    def _builder(self) -> BatchBuilder:  # type: ignore[explicit-override]
        builder = super()._builder()
        builder.is_transactional = True
        return builder

    def _request(  # type: ignore[explicit-override]
        self, batches: Iterable[Batch]
    ) -> messages.ProduceRequest:
        batches = tuple(batches)
        added = {batch.partition for batch in batches} - self._added
        if added:
            self._client.retry(lambda: self._add(sorted(added)))
            self._added |= added
        value = super()._request(batches)
        value.transactional_id = self._transactional_id
        return value

    def _add(self, partitions: list[int]) -> None:
        make = messages.AddPartitionsToTxnRequest
        topic = make.AddPartitionsToTxnTopic(name=self._topic.name, partitions=partitions)
        value = make(
            v3_and_below_transactional_id=self._transactional_id,
            v3_and_below_producer_id=self._producer_id,
            v3_and_below_producer_epoch=self._producer_epoch,
            v3_and_below_topics=[topic],
        )
        answer = self._ask(value, _ADD_PARTITIONS_VERSION_MAX)
        for found in answer.results_by_topic_v3_and_below:
            for result in found.results_by_partition:
                self._check(result.partition_error_code)

    def _ask_producer_id(  # type: ignore[explicit-override]
        self,
    ) -> messages.InitProducerIdResponse:
        value = messages.InitProducerIdRequest(
            transactional_id=self._transactional_id, transaction_timeout_ms=self._timeout_ms
        )
        answer = self._ask(value, None)
        self._check(answer.error_code)
        self._added.clear()
        return answer

    def _ask(self, value: messages.Request[_Answer], version_max: int | None) -> _Answer:
        node_id = self._client.coordinator(self._transactional_id, TRANSACTION)
        return self._client.request(value, node_id=node_id, version_max=version_max)

    def _check(self, code: int) -> None:
        check(f"transactional id {self._transactional_id}", code)
