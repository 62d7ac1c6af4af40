"""CreateTopics (19): create topics.

- v1 adds validate_only and error_message.
- v4 lets the broker choose the numbers (KIP-464); earlier versions may, too, as in Kafka.
- v5 answers with configs, partition count and replication factor (KIP-525); v7 with the topic id.
- v6 knows THROTTLING_QUOTA_EXCEEDED (KIP-599).

A topic exists when the answer is sent (P-108). The topics of a request are one change of the
metadata, written together. If there are more than 64 topics, each change has 64 of them, and other
connections have their turn in between.

Not done: timeout_ms, because the answer waits for nothing.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from anyio.lowlevel import checkpoint

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.metadata.topic import Topic
from broker_lite.control.topics.topic_rules import (
    USE_DEFAULT,
    NewTopic,
    TopicPlan,
    check_partition_total,
)
from broker_lite.errors import (
    BrokerError,
    ErrorCode,
    InvalidRequest,
    KafkaStorageError,
    TopicAuthorizationFailed,
)
from broker_lite.handler.authorized import is_allowed, is_allowed_on_cluster
from broker_lite.handler.codec import code_and_message, decode, encode_long
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.large import in_slices, in_turns, lazily
from broker_lite.handler.topics.charged import mutation_quota
from broker_lite.log.files.names import METADATA_TOPIC
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.settings.configs.describe import describe_topic
from broker_lite.wire import messages

if TYPE_CHECKING:
    from broker_lite.control.quotas.mutations import MutationQuota

TOPICS_AT_A_TIME: Final = 64
PARTITIONS_AT_A_TIME: Final = 1000
AHEAD_FROM: Final = 256
"""The places of so many partitions take a millisecond; those of more are found in slices."""
LOGS_AT_A_TIME: Final = 4
"""The time is looked at after so many directories: one takes 0.1 to 2 ms, depending on the disk."""

_STRICT_SINCE: Final = 6

T = TypeVar("T")


async def handle(context: HandlerContext, request: Request) -> Parts:
    """Create topics; for validate_only, only answer whether that is possible.

    Rule: P-107.
    See: P-102, P-106, P-108.
    """
    body = decode(messages.CreateTopicsRequest, request)
    cluster = context.cluster
    counts: Counter[str] = Counter()
    async for entry in in_turns(body.topics):
        counts[entry.name] += 1
    rights = _NO_LIMITS if context.authorizer is None else await _rights(context, counts)
    partition_count = 0
    async for entry in in_turns(body.topics):
        if entry.name not in rights.denied:
            partition_count += max(_partition_count(cluster, entry), 0)
    try:
        check_partition_total([partition_count])
    except BrokerError as error:
        refused = error.with_traceback(None)
        results = lazily(len(counts), (_failed(name, refused) for name in counts))
    else:
        quota = mutation_quota(context, request, _STRICT_SINCE)
        results = await _results(cluster, body, counts, rights, quota)
    response = messages.CreateTopicsResponse(topics=results)
    return await encode_long(messages.CreateTopicsResponse, response, request)


class _Rights(NamedTuple):
    """What the client may not do with the topics of the request.

    Attributes:
        denied: names of topics that it may not create.
        hidden: names of topics whose configs it may not see.
    """

    denied: Collection[str]
    hidden: Collection[str]


_NO_LIMITS: Final = _Rights((), ())


async def _rights(context: HandlerContext, counts: Counter[str]) -> _Rights:
    """Ask what the client may do; a name that comes twice is refused before its rights count.

    Rule: X-55 (ControllerApis.createTopics).
    """
    may_create_all = is_allowed_on_cluster(context, Operation.CREATE)
    denied, hidden = set[str](), set[str]()
    async for name, count in in_turns(counts.items()):
        if count > 1 or name == METADATA_TOPIC:  # refused for another reason
            continue
        if not may_create_all and not is_allowed(
            context, Operation.CREATE, ResourceType.TOPIC, name
        ):
            denied.add(name)
        elif not is_allowed(context, Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, name):
            hidden.add(name)
    return _Rights(denied, hidden)


async def _results(
    cluster: Cluster,
    body: messages.CreateTopicsRequest,
    counts: Counter[str],
    rights: _Rights,
    quota: "MutationQuota | None",
) -> "list[messages.CreateTopicsResponse.CreatableTopicResult]":
    """Create the topics that can be created, or only check them; return the results of all."""
    failed: list[tuple[str, BrokerError]] = []
    made: list[tuple[TopicPlan, bytes]] = []

    def count_of(entry: "messages.CreateTopicsRequest.CreatableTopic") -> int:
        return max(_partition_count(cluster, entry), 0)

    async for entries in in_turns(some_at_a_time(body.topics, count_of), at_least=1):
        new_topics = await _new_topics(cluster, entries, rights.denied)
        refused, plans = _plan(cluster, new_topics, counts, rights.denied, quota)
        failed += refused
        if body.validate_only:
            made += [(plan, cluster.make_id()) for plan in plans]
        else:
            await _create(cluster, plans, made, failed)
    results = chain(
        (_failed(name, error) for name, error in failed),
        (
            _hidden(plan, topic_id)
            if plan.name in rights.hidden
            else _created(cluster, plan, topic_id)
            for plan, topic_id in made
        ),
    )
    return lazily(len(failed) + len(made), results)


def some_at_a_time(items: Iterable[T], count_of: Callable[[T], int]) -> Iterator[list[T]]:
    """Split topics into the groups that are created or deleted as one change each.

    Args:
        items: all topics.
        count_of: returns the number of partitions of a topic.
    """
    topics: list[T] = []
    partition_count = 0
    for entry in items:
        count = count_of(entry)
        too_many = partition_count + count > PARTITIONS_AT_A_TIME
        if topics and (too_many or len(topics) == TOPICS_AT_A_TIME):
            yield topics
            topics, partition_count = [], 0
        topics.append(entry)
        partition_count += count
    if topics:
        yield topics


async def _new_topics(
    cluster: Cluster,
    entries: "Sequence[messages.CreateTopicsRequest.CreatableTopic]",
    denied: Collection[str],
) -> list[NewTopic]:
    """Return what is wanted of some topics, with their places if they have many partitions.

    Those that the client may not create get no places: nobody has looked how many they would be.
    """
    new_topics = [_new_topic(entry) for entry in entries]
    wanted = (
        max(_partition_count(cluster, each), 0) for each in entries if each.name not in denied
    )
    if sum(wanted) <= AHEAD_FROM:
        return new_topics
    return [
        new
        if new.name in denied
        else new._replace(ahead=await in_slices(cluster.place_topic_ahead(new)))
        for new in new_topics
    ]


def _plan(
    cluster: Cluster,
    new_topics: Sequence[NewTopic],
    counts: Counter[str],
    denied: Collection[str],
    quota: "MutationQuota | None",
) -> tuple[list[tuple[str, BrokerError]], list[TopicPlan]]:
    """Return the topics that cannot be created with the reasons, and the plans of the others.

    Args:
        cluster: the cluster in which they are to be created.
        new_topics: some topics of a request.
        counts: how often each name is in the request; 0 once that name has a result.
        denied: names of topics that the client may not create.
        quota: of the client; None if there is none.
    """
    refused: list[tuple[str, BrokerError]] = []
    plans: list[TopicPlan] = []
    for new in new_topics:
        if counts[new.name] == 0:
            continue
        try:
            if counts[new.name] > 1:
                counts[new.name] = 0  # one result for all of that name
                raise InvalidRequest("Duplicate topic name.")
            if new.name in denied:
                raise TopicAuthorizationFailed("Authorization failed.")
            plan = cluster.plan_topic(new)
            if quota is not None:
                quota.record(plan.partition_count)
            plans.append(plan)
        except BrokerError as error:
            refused.append((new.name, error.with_traceback(None)))
    return refused, plans


def _partition_count(cluster: Cluster, entry: "messages.CreateTopicsRequest.CreatableTopic") -> int:
    if entry.assignments:
        return len(entry.assignments)
    if entry.num_partitions == USE_DEFAULT:
        default: int = cluster.settings.num_partitions
        return default
    count: int = entry.num_partitions
    return count


def _new_topic(entry: "messages.CreateTopicsRequest.CreatableTopic") -> NewTopic:
    return NewTopic(
        entry.name,
        entry.num_partitions,
        entry.replication_factor,
        [(one.partition_index, one.broker_ids) for one in entry.assignments],
        [(config.name, config.value) for config in entry.configs],
    )


async def _create(
    cluster: Cluster,
    plans: Sequence[TopicPlan],
    made: list[tuple[TopicPlan, bytes]],
    failed: list[tuple[str, BrokerError]],
) -> None:
    """Create the planned topics; no other request was handled since they were planned."""
    try:
        topics = cluster.create_topics(plans)
    except KafkaStorageError as error:
        failed += [(plan.name, error.with_traceback(None)) for plan in plans]
        return
    for plan, topic in zip(plans, topics, strict=True):
        made.append((plan, topic.topic_id))
        await make_logs(cluster, topic, 0)


async def make_logs(cluster: Cluster, topic: Topic, start: int) -> None:
    """Make the logs of a topic's partitions from `start` on, without holding up other connections.

    It does no harm if the client goes away meanwhile: a missing log is made when it is first used.
    """
    await checkpoint()
    starts = range(start, topic.partition_count, LOGS_AT_A_TIME)
    async for first in in_turns(starts, at_least=1):
        cluster.make_logs(topic, first, first + LOGS_AT_A_TIME)


def _failed(name: str, error: BrokerError) -> "messages.CreateTopicsResponse.CreatableTopicResult":
    return messages.CreateTopicsResponse.CreatableTopicResult(
        name=name, configs=[], **code_and_message(error)
    )


def _hidden(
    plan: TopicPlan, topic_id: bytes
) -> "messages.CreateTopicsResponse.CreatableTopicResult":
    """Return the result for a new topic whose configs the client may not see.

    See: X-55.
    """
    return messages.CreateTopicsResponse.CreatableTopicResult(
        name=plan.name,
        error_message=None,
        topic_id=topic_id,
        topic_config_error_code=int(ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        configs=[],
    )


def _created(
    cluster: Cluster, plan: TopicPlan, topic_id: bytes
) -> "messages.CreateTopicsResponse.CreatableTopicResult":
    """Return the result for a new topic, as version 5 and later have it.

    Rule: P-107.
    """
    config = messages.CreateTopicsResponse.CreatableTopicConfigs
    return messages.CreateTopicsResponse.CreatableTopicResult(
        name=plan.name,
        error_message=None,
        topic_id=topic_id,
        num_partitions=plan.partition_count,
        replication_factor=plan.replication_factor,
        configs=[
            config(
                name=entry.name,
                value=entry.value,
                read_only=entry.read_only,
                config_source=int(entry.source),
                is_sensitive=entry.is_sensitive,
            )
            for entry in describe_topic(cluster.settings, plan.overrides)
        ],
    )
