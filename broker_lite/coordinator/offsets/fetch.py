"""OffsetFetch: the committed offsets of groups.

Before v8 a request names only one group, in fields of the request itself. Such a request is
converted into a group of v8, and the response back, so that the rules are implemented only once. An
unknown group or partition is no error: its offset is -1.
"""

from collections.abc import Container, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from broker_lite.coordinator.committed_offsets import GroupOffsets, TopicPartition
from broker_lite.coordinator.consumer.group import ConsumerGroup
from broker_lite.coordinator.offset_records import CommittedOffset
from broker_lite.coordinator.registry import GroupRegistry
from broker_lite.coordinator.repeats import few_repeats
from broker_lite.coordinator.streams.group import StreamsGroup
from broker_lite.errors import ErrorCode
from broker_lite.wire import ZERO_UUID, messages

if TYPE_CHECKING:
    TopicAsked = messages.OffsetFetchRequest.OffsetFetchRequestTopics
    TopicAnswer = messages.OffsetFetchResponse.OffsetFetchResponseTopics
    PartitionAnswer = messages.OffsetFetchResponse.OffsetFetchResponsePartitions

# from these versions on, a request names several groups, and topics are named by id
_SEVERAL_GROUPS: Final = 8
_BY_ID: Final = 10
# before this version, there is no error of the whole request
_TOP_LEVEL_ERROR: Final = 2

_NO_OFFSETS: Final = GroupOffsets()
_ALL_STABLE: Final[frozenset[TopicPartition]] = frozenset()


class OffsetFetches:
    """Answers OffsetFetch in every version."""

    def __init__(self, registry: GroupRegistry) -> None:
        self._registry = registry

    def fetch(
        self,
        request: messages.OffsetFetchRequest,
        version: int,
        foreign: Container[str] = (),
        replicated: Mapping[str, GroupOffsets] | None = None,
    ) -> messages.OffsetFetchResponse:
        """Answer an OffsetFetch.

        Args:
            request: the decoded message.
            version: of the request.
            foreign: those of its groups that another broker coordinates; none before v8.
            replicated: what is answered for some groups in place of their newest offsets.

        Rule: G-67, G-68, G-70, G-71.
        See: G-69, C-60.
        """
        fetch = partial(_GroupFetch, self._registry, request.require_stable, replicated or {})
        if version >= _SEVERAL_GROUPS:
            by_id = version >= _BY_ID
            return messages.OffsetFetchResponse(
                groups=[
                    _foreign_group(asked.group_id)
                    if asked.group_id in foreign
                    else fetch(asked, by_id=by_id).run()
                    for asked in few_repeats(request.groups, _whole_group)
                ]
            )
        asked = messages.OffsetFetchRequest.OffsetFetchRequestGroup(
            group_id=request.group_id,
            # a topic of an old request has all fields of a group's topic that are read here
            topics=cast("list[TopicAsked]", request.topics),
        )
        return _single_group(fetch(asked, by_id=False).run())

    @staticmethod
    def refuse(
        request: messages.OffsetFetchRequest, version: int, error_code: ErrorCode
    ) -> messages.OffsetFetchResponse:
        """Answer an OffsetFetch with an error for every group.

        Rule: G-71 (OffsetFetchResponse.groupError).
        """
        message = messages.OffsetFetchResponse
        if version >= _SEVERAL_GROUPS:
            return message(
                groups=[
                    message.OffsetFetchResponseGroup(group_id=asked.group_id, error_code=error_code)
                    for asked in request.groups
                ]
            )
        if version >= _TOP_LEVEL_ERROR:
            return message(error_code=error_code)
        make_partition = message.OffsetFetchResponsePartition
        return message(
            topics=[
                message.OffsetFetchResponseTopic(
                    name=topic.name,
                    partitions=[
                        make_partition(
                            partition_index=index,
                            committed_offset=-1,
                            metadata="",
                            error_code=error_code,
                        )
                        for index in topic.partition_indexes
                    ],
                )
                for topic in request.topics or ()
            ]
        )


def _whole_group(asked: "messages.OffsetFetchRequest.OffsetFetchRequestGroup") -> str | None:
    """Return the group id if all offsets are asked for: a short request with a long response."""
    return asked.group_id if asked.topics is None else None


def _foreign_group(group_id: str) -> "messages.OffsetFetchResponse.OffsetFetchResponseGroup":
    """Return the response for a group that another broker coordinates."""
    error_code = ErrorCode.NOT_COORDINATOR
    group = messages.OffsetFetchResponse.OffsetFetchResponseGroup
    return group(group_id=group_id, error_code=error_code)


class _GroupFetch:
    """The part of an OffsetFetch for one group."""

    def __init__(
        self,
        registry: GroupRegistry,
        require_stable: bool,
        replicated: Mapping[str, GroupOffsets],
        asked: "messages.OffsetFetchRequest.OffsetFetchRequestGroup",
        *,
        by_id: bool,
    ) -> None:
        self._registry = registry
        self._asked = asked
        self._by_id = by_id
        group = registry.groups.get(asked.group_id)
        newest = None if group is None else registry.offsets.of(asked.group_id)
        offsets = replicated.get(asked.group_id, newest)
        self._group = group
        self._offsets = _NO_OFFSETS if offsets is None else offsets
        self._unstable = self._offsets.unstable() if require_stable else _ALL_STABLE
        self._make_topic = messages.OffsetFetchResponse.OffsetFetchResponseTopics
        self._make_partition = messages.OffsetFetchResponse.OffsetFetchResponsePartitions

    def run(self) -> "messages.OffsetFetchResponse.OffsetFetchResponseGroup":
        """Return the response for the group."""
        asked = self._asked
        response = messages.OffsetFetchResponse.OffsetFetchResponseGroup(group_id=asked.group_id)
        error_code = self._check()
        if error_code is not None:
            response.error_code = error_code
        else:
            response.topics = self._all_committed() if asked.topics is None else self._requested()
        return response

    def _check(self) -> ErrorCode | None:
        """Return the error if a consumer or streams group refuses the member, else None.

        See: G-69.
        """
        if not isinstance(self._group, ConsumerGroup | StreamsGroup):
            return None
        asked = self._asked
        return self._group.check_fetch(member_id=asked.member_id, member_epoch=asked.member_epoch)

    def _all_committed(self) -> "list[TopicAnswer]":
        """Return all committed offsets; by topic id only those of topics that exist.

        Rule: G-67, G-68.
        """
        topics = []
        for name in self._offsets.committed:
            topic_id = ZERO_UUID
            if self._by_id:
                topic = self._registry.topics.get(name)
                if topic is None:
                    continue
                topic_id = topic.topic_id
            partitions = [
                self._partition(name, index, committed)
                for index, committed in self._offsets.of_topic(name)
            ]
            topics.append(self._make_topic(name=name, topic_id=topic_id, partitions=partitions))
        return topics

    def _requested(self) -> "list[TopicAnswer]":
        """Return the offsets of the requested partitions; topics with an unknown id come last.

        Rule: G-67, G-68 (KafkaApis.fetchOffsetsForGroup).
        """
        topics = []
        unknown = []
        for asked in self._asked.topics or ():
            name, topic_id = asked.name, ZERO_UUID
            if self._by_id:
                topic_id = asked.topic_id
                topic = self._registry.topics.by_id(topic_id)
                if topic is None:
                    unknown.append(self._unknown(asked))
                    continue
                name = topic.name
            partitions = [
                self._partition(name, index, self._current(name, index, topic_id))
                for index in asked.partition_indexes
            ]
            topics.append(self._make_topic(name=name, topic_id=topic_id, partitions=partitions))
        return topics + unknown

    def _unknown(self, asked: "TopicAsked") -> "TopicAnswer":
        error_code = ErrorCode.UNKNOWN_TOPIC_ID
        return self._make_topic(
            name=asked.name,
            topic_id=asked.topic_id,
            partitions=[
                self._make_answer(index, None, error_code) for index in asked.partition_indexes
            ],
        )

    def _current(self, name: str, index: int, topic_id: bytes) -> CommittedOffset | None:
        """Return the committed offset, unless it is of an earlier topic with the same name."""
        committed = self._offsets.get(name, index)
        if committed is None or ZERO_UUID in (topic_id, committed.topic_id):
            return committed
        return committed if committed.topic_id == topic_id else None

    def _partition(
        self, name: str, index: int, committed: CommittedOffset | None
    ) -> "PartitionAnswer":
        """Return the response for one partition.

        Rule: G-67, G-70.
        """
        if (name, index) in self._unstable:
            return self._make_answer(index, None, ErrorCode.UNSTABLE_OFFSET_COMMIT)
        return self._make_answer(index, committed, ErrorCode.NONE)

    def _make_answer(
        self, index: int, committed: CommittedOffset | None, error_code: ErrorCode
    ) -> "PartitionAnswer":
        if committed is None:
            return self._make_partition(
                partition_index=index, committed_offset=-1, metadata="", error_code=error_code
            )
        return self._make_partition(
            partition_index=index,
            committed_offset=committed.offset,
            committed_leader_epoch=committed.leader_epoch,
            metadata=committed.metadata,
            error_code=error_code,
        )


def _single_group(
    fetched: "messages.OffsetFetchResponse.OffsetFetchResponseGroup",
) -> messages.OffsetFetchResponse:
    """Return the response in its form before v8.

    Rule: G-67.
    """
    message = messages.OffsetFetchResponse
    return message(
        error_code=fetched.error_code,
        topics=[
            message.OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    message.OffsetFetchResponsePartition(
                        partition_index=one.partition_index,
                        committed_offset=one.committed_offset,
                        committed_leader_epoch=one.committed_leader_epoch,
                        metadata=one.metadata,
                        error_code=one.error_code,
                    )
                    for one in topic.partitions
                ],
            )
            for topic in fetched.topics
        ],
    )
