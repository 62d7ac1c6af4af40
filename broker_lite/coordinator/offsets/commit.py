"""OffsetCommit, and the part of TxnOffsetCommit that concerns groups.

Both check the topics first, then the group. Partitions that the first check refuses come first in
the response, as in Kafka's. If the group refuses the commit, every remaining partition gets the
error, because the response has no field for an error of the group.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from broker_lite.coordinator.classic.group import ClassicGroup
from broker_lite.coordinator.consumer.group import ConsumerGroup
from broker_lite.coordinator.effects import Caller, Effects
from broker_lite.coordinator.offset_records import (
    NO_EXPIRY,
    CommittedOffset,
    encode_offset_key,
    encode_offset_value,
)
from broker_lite.coordinator.registry import GroupRegistry
from broker_lite.coordinator.share.group import ShareGroup
from broker_lite.coordinator.streams.group import StreamsGroup
from broker_lite.coordinator.texts import is_too_long
from broker_lite.coordinator.topics import TopicView
from broker_lite.errors import ErrorCode
from broker_lite.wire import ZERO_UUID, messages

# from these versions on, topics are named by id
_COMMIT_BY_ID: Final = 10
_TXN_COMMIT_BY_ID: Final = 6
# from this version on, there is an error code for a group that does not exist
_GROUP_ID_NOT_FOUND: Final = 9

_NO_RETENTION: Final = -1
_NONE: Final = ErrorCode.NONE
# a text of so few characters fits into a record, whatever the characters are
_SHORT_TEXT: Final = 10_000
_OLD_EPOCH: Final = (ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.ILLEGAL_GENERATION)

if TYPE_CHECKING:
    AnyCommit = messages.OffsetCommitRequest | messages.TxnOffsetCommitRequest
    CommitPartition = (
        messages.OffsetCommitRequest.OffsetCommitRequestPartition
        | messages.TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition
    )

Known = list[tuple[TopicView, "list[CommitPartition]"]]
"""Topics of a request with those of their partitions that exist."""


class _Results:
    """The result of each partition, by topic, because a topic comes only once in the response."""

    __slots__ = ("by_topic",)

    def __init__(self) -> None:
        self.by_topic: dict[tuple[str, bytes], list[tuple[int, ErrorCode]]] = {}

    def add(self, name: str, topic_id: bytes, partition: int, error_code: ErrorCode) -> None:
        """Add the result of a partition."""
        self.by_topic.setdefault((name, topic_id), []).append((partition, error_code))


class OffsetCommits:
    """The commits of all groups."""

    def __init__(self, registry: GroupRegistry) -> None:
        self._registry = registry

    def commit(self, request: messages.OffsetCommitRequest, caller: Caller, now_ms: int) -> Effects:
        """Handle an OffsetCommit.

        Rule: G-60, G-61, G-65, G-66.
        See: G-62, G-63.
        """
        effects = Effects()
        results = _Results()
        known = self._known(request, results, by_id=caller.version >= _COMMIT_BY_ID)
        if known:
            error_code = self._check(request, known, caller, now_ms)
            if error_code is not None:
                _refuse(known, results, error_code)
                effects.prompt = (caller.token,)
            else:
                expire_ms = _expire_ms(request.retention_time_ms, now_ms)
                group_id = request.group_id
                put = self._registry.offsets.put
                for name, partition, committed in self._accepted(known, results, now_ms, expire_ms):
                    self._write(group_id, name, partition, committed, effects)
                    put(group_id, name, partition, committed)
        else:
            effects.prompt = (caller.token,)
        effects.reply(caller.token, _response(results))
        return effects

    def refuse(
        self, request: messages.OffsetCommitRequest, version: int, error_code: ErrorCode
    ) -> messages.OffsetCommitResponse:
        """Answer an OffsetCommit with an error for every partition that exists.

        See: G-60 (GroupCoordinatorService.commitOffsets).
        """
        results = _Results()
        _refuse(self._known(request, results, by_id=version >= _COMMIT_BY_ID), results, error_code)
        return _response(results)

    def commit_transactional(
        self, request: messages.TxnOffsetCommitRequest, caller: Caller, now_ms: int
    ) -> Effects:
        """Handle a TxnOffsetCommit whose transaction has been checked already.

        Rule: T-41.
        See: T-40, T-43.
        """
        effects = Effects()
        results = _Results()
        known = self._known(request, results, by_id=caller.version >= _TXN_COMMIT_BY_ID)
        if known:
            error_code = self._check_transactional(request, known, caller)
            if error_code is not None:
                _refuse(known, results, error_code)
                effects.prompt = (caller.token,)
            else:
                effects.producer = (request.producer_id, request.producer_epoch)
                self._store_pending(request, known, results, effects, now_ms)
        else:
            effects.prompt = (caller.token,)
        effects.reply(caller.token, _transactional_response(results))
        return effects

    def _store_pending(
        self,
        request: messages.TxnOffsetCommitRequest,
        known: Known,
        results: _Results,
        effects: Effects,
        now_ms: int,
    ) -> None:
        group_id = request.group_id
        state_partition = self._registry.partition_of(group_id)
        put = self._registry.offsets.put_pending
        for name, partition, offset in self._accepted(known, results, now_ms, NO_EXPIRY):
            # Kafka does not store the topic id of a commit within a transaction
            committed = offset._replace(topic_id=ZERO_UUID)
            self._write(group_id, name, partition, committed, effects)
            put(state_partition, request.producer_id, group_id, (name, partition), committed)

    def _write(
        self, group_id: str, name: str, partition: int, committed: CommittedOffset, effects: Effects
    ) -> None:
        """Write a commit; without a group, make a simple group that only has offsets.

        Rule: G-61.
        """
        if group_id not in self._registry.groups:
            self._registry.make_classic(group_id, committed.commit_ms)
        effects.write(encode_offset_key(group_id, name, partition), encode_offset_value(committed))

    def _known(
        self,
        request: "AnyCommit",
        results: _Results,
        *,
        by_id: bool,
    ) -> Known:
        """Return the topics and partitions that exist, and add errors for the others to `results`.

        Rule: G-60 (KafkaApis.handleOffsetCommitRequest).
        """
        topics = self._registry.topics
        known: Known = []
        for asked in request.topics:
            topic = topics.by_id(asked.topic_id) if by_id else topics.get(asked.name)
            if topic is None:
                error_code = (
                    ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                )
                for partition in asked.partitions:
                    results.add(asked.name, asked.topic_id, partition.partition_index, error_code)
                continue
            count = topic.partition_count
            there = [one for one in asked.partitions if 0 <= one.partition_index < count]
            if len(there) < len(asked.partitions):
                for one in asked.partitions:
                    if not 0 <= one.partition_index < count:
                        error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                        results.add(topic.name, topic.topic_id, one.partition_index, error_code)
            if there:
                known.append((topic, there))
        return known

    def _check(
        self, request: messages.OffsetCommitRequest, known: Known, caller: Caller, now_ms: int
    ) -> ErrorCode | None:
        """Return the error if the group refuses a commit, None if it accepts it.

        Rule: G-61, G-64 (OffsetMetadataManager.validateOffsetCommit).
        See: G-62, G-63, G-30, K-07, C-60.
        """
        version = caller.version
        if not self._registry.is_coordinated(caller):
            return ErrorCode.NOT_COORDINATOR
        group = self._registry.groups.get(request.group_id)
        if group is None:
            if is_too_long(request.group_id):
                return ErrorCode.INVALID_GROUP_ID
            if request.generation_id_or_member_epoch < 0:
                return None
            if version >= _GROUP_ID_NOT_FOUND:
                return ErrorCode.GROUP_ID_NOT_FOUND
            return ErrorCode.ILLEGAL_GENERATION
        if isinstance(group, ShareGroup):
            return ErrorCode.GROUP_ID_NOT_FOUND
        if isinstance(group, ConsumerGroup | StreamsGroup):
            error_code = _check_consumer(group, request, version, is_transactional=False)
            is_old = error_code in _OLD_EPOCH
            return None if is_old and self._owns_since(group, request, known) else error_code
        error_code = _check_classic(group, request, version, is_transactional=False)
        if error_code is None:
            group.restart_session(request.member_id, now_ms)
        return error_code

    def _owns_since(
        self, group: ConsumerGroup | StreamsGroup, request: "AnyCommit", known: Known
    ) -> bool:
        """Return whether a member has had all partitions of a commit since the commit's epoch.

        Partitions whose metadata is refused do not count.

        See: G-63 (KIP-1251, ConsumerGroup.createAssignmentEpochValidator).
        """
        epoch = request.generation_id_or_member_epoch
        member = group.roster.members.get(request.member_id)
        if member is None or epoch > member.member_epoch:
            return False
        for topic, partitions in known:
            for one in partitions:
                since = group.assignment_epoch(request.member_id, topic, one.partition_index)
                is_owned = since is not None and since <= epoch
                if not is_owned and not self._is_refused(one.committed_metadata or ""):
                    return False
        return True

    def _check_transactional(
        self, request: messages.TxnOffsetCommitRequest, known: Known, caller: Caller
    ) -> ErrorCode | None:
        """Return the error if the group refuses a commit within a transaction, else None.

        Rule: T-41 (OffsetMetadataManager.validateTransactionalOffsetCommit).
        See: T-40, C-60.
        """
        version = caller.version
        if not request.group_id or is_too_long(request.group_id):
            return ErrorCode.INVALID_GROUP_ID
        if not caller.is_coordinator:
            return ErrorCode.NOT_COORDINATOR
        generation = request.generation_id_or_member_epoch
        group = self._registry.groups.get(request.group_id)
        if group is None:
            return ErrorCode.ILLEGAL_GENERATION if generation >= 0 else None
        if isinstance(group, ShareGroup):
            return ErrorCode.GROUP_ID_NOT_FOUND
        if isinstance(group, ClassicGroup):
            return _check_classic(group, request, version, is_transactional=True)
        if generation == -1 and not request.member_id and request.group_instance_id is None:
            # a producer from before KIP-447 does not name the member
            return None
        error_code = _check_consumer(group, request, version, is_transactional=True)
        if error_code in _OLD_EPOCH:
            is_kept = self._owns_since(group, request, known)
            return None if is_kept else ErrorCode.ILLEGAL_GENERATION
        return error_code

    def _accepted(
        self, known: Known, results: _Results, now_ms: int, expire_ms: int
    ) -> Iterator[tuple[str, int, CommittedOffset]]:
        """Iterate over the offsets to store, with topic and partition; fill in all results.

        Rule: G-65, G-66.
        See: T-43.
        """
        for topic, partitions in known:
            name, topic_id = topic.name, topic.topic_id
            for one in partitions:
                index = one.partition_index
                text = one.committed_metadata or ""
                if text and self._is_refused(text):
                    results.add(name, topic_id, index, ErrorCode.OFFSET_METADATA_TOO_LARGE)
                    continue
                results.add(name, topic_id, index, _NONE)
                yield (
                    name,
                    index,
                    CommittedOffset(
                        one.committed_offset,
                        one.committed_leader_epoch,
                        text,
                        now_ms,
                        expire_ms,
                        topic_id,
                    ),
                )

    def _is_refused(self, text: str) -> bool:
        """Return whether metadata has too many UTF-16 characters, or does not fit into a record.

        Rule: G-65.
        See: G-05.
        """
        limit = self._registry.settings.metadata_characters_max
        if 2 * len(text) <= min(limit, _SHORT_TEXT):
            return False
        return len(text.encode("utf-16-le", "surrogatepass")) > 2 * limit or is_too_long(text)


def _expire_ms(retention_ms: int, now_ms: int) -> int:
    """Return when an offset with its own retention time expires; a sum beyond int64 is negative.

    Rule: G-66 (OffsetMetadataManager.expireTimestampMs, which overflows).
    """
    if retention_ms == _NO_RETENTION:
        return NO_EXPIRY
    expire_ms = now_ms + retention_ms
    return expire_ms if expire_ms < 2**63 else expire_ms - 2**64


def _response(results: _Results) -> messages.OffsetCommitResponse:
    message = messages.OffsetCommitResponse
    make_partition = message.OffsetCommitResponsePartition
    return message(
        topics=[
            message.OffsetCommitResponseTopic(
                name=name,
                topic_id=topic_id,
                partitions=[
                    make_partition(partition_index=index, error_code=error_code)
                    for index, error_code in partitions
                ],
            )
            for (name, topic_id), partitions in results.by_topic.items()
        ]
    )


def _transactional_response(results: _Results) -> messages.TxnOffsetCommitResponse:
    message = messages.TxnOffsetCommitResponse
    make_partition = message.TxnOffsetCommitResponsePartition
    return message(
        topics=[
            message.TxnOffsetCommitResponseTopic(
                name=name,
                topic_id=topic_id,
                partitions=[
                    make_partition(partition_index=index, error_code=error_code)
                    for index, error_code in partitions
                ],
            )
            for (name, topic_id), partitions in results.by_topic.items()
        ]
    )


def _refuse(known: Known, results: _Results, error_code: ErrorCode) -> None:
    for topic, partitions in known:
        for one in partitions:
            results.add(topic.name, topic.topic_id, one.partition_index, error_code)


def _check_classic(
    group: ClassicGroup, request: "AnyCommit", version: int, *, is_transactional: bool
) -> ErrorCode | None:
    return group.check_commit(
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        generation=request.generation_id_or_member_epoch,
        version=version,
        is_transactional=is_transactional,
    )


def _check_consumer(
    group: ConsumerGroup | StreamsGroup,
    request: "AnyCommit",
    version: int,
    *,
    is_transactional: bool,
) -> ErrorCode | None:
    return group.check_commit(
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        member_epoch=request.generation_id_or_member_epoch,
        version=version,
        is_transactional=is_transactional,
    )
