"""CreatePartitions (37): add partitions to existing topics (KIP-195).

- v2 is flexible; v3 knows THROTTLING_QUOTA_EXCEEDED (KIP-599).

The new partitions exist when the answer is sent. The topics of a request are one change of the
metadata; if there are more than 64 topics, each change has 64 of them.

Not done: timeout_ms, because the answer waits for nothing.
"""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.topics.topic_rules import PARTITIONS_PER_REQUEST_MAX, Growth, GrowthPlan
from broker_lite.errors import (
    BrokerError,
    InvalidRequest,
    KafkaStorageError,
    TopicAuthorizationFailed,
    UnknownServerError,
)
from broker_lite.handler.authorized import is_allowed
from broker_lite.handler.codec import code_and_message, decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.large import in_slices, in_turns, lazily
from broker_lite.handler.topics.charged import mutation_quota
from broker_lite.handler.topics.create_topics import TOPICS_AT_A_TIME, make_logs
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.wire import messages

if TYPE_CHECKING:
    from broker_lite.control.quotas.mutations import MutationQuota

_STRICT_SINCE: Final = 3

Outcome = tuple[str, BrokerError | None]
"""A topic's name and the error why it did not grow, None if it grew."""


async def handle(context: HandlerContext, request: Request) -> Parts:
    """Add partitions to topics; for validate_only, only answer whether that is possible.

    See: P-106, P-111, X-56.
    """
    body = decode(messages.CreatePartitionsRequest, request)
    cluster = context.cluster
    counts: Counter[str] = Counter()
    async for entry in in_turns(body.topics):
        counts[entry.name] += 1
    twice = InvalidRequest("Duplicate topic name.")
    outcomes: list[Outcome] = []
    async for name, count in in_turns(counts.items()):
        if count > 1:
            outcomes.append((name, twice))
    denied = frozenset[str]()
    if context.authorizer is not None:
        denied = await _denied(context, counts)
        outcomes += [(name, TopicAuthorizationFailed()) for name in counts if name in denied]
    quota = mutation_quota(context, request, _STRICT_SINCE)
    room = PARTITIONS_PER_REQUEST_MAX
    starts = range(0, len(body.topics), TOPICS_AT_A_TIME)
    async for start in in_turns(starts, at_least=1):
        some = body.topics[start : start + TOPICS_AT_A_TIME]
        once = [entry for entry in some if counts[entry.name] == 1 and entry.name not in denied]
        growths = await _growths(cluster, once, max(room, 0))
        refused, planned = _plan(cluster, growths, room, quota)
        room -= sum(len(plan.placements) for plan in planned)
        error = None if body.validate_only else await _grow(cluster, planned)
        outcomes += refused
        outcomes += [(plan.topic.name, error) for plan in planned]
    results = lazily(len(outcomes), (_result(name, error) for name, error in outcomes))
    response = messages.CreatePartitionsResponse(results=results)
    return encode(messages.CreatePartitionsResponse, response, request)


async def _denied(context: HandlerContext, counts: Counter[str]) -> frozenset[str]:
    """Return the topics that are named once and that the client may not change.

    See: X-56.
    """
    return frozenset(
        [
            name
            async for name, count in in_turns(counts.items())
            if count == 1 and not is_allowed(context, Operation.ALTER, ResourceType.TOPIC, name)
        ]
    )


async def _growths(cluster: Cluster, entries: Sequence[Any], room: int) -> list[Growth]:
    """Return what is wanted of some topics, with the places of the added partitions."""
    growths = []
    for entry in entries:
        assignments = entry.assignments
        replicas = None if assignments is None else [one.broker_ids for one in assignments]
        growth = Growth(entry.name, entry.count, replicas)
        ahead = await in_slices(cluster.place_growth_ahead(growth, room))
        if ahead is not None:
            room = max(room - len(ahead.placements), 0)
        growths.append(growth._replace(ahead=ahead))
    return growths


def _plan(
    cluster: Cluster, growths: Sequence[Growth], room: int, quota: "MutationQuota | None"
) -> tuple[list[Outcome], list[GrowthPlan]]:
    """What cannot grow and why, the plans of what can.

    If a request adds too many partitions, Kafka fails half way, with the same error. Here a topic
    for which there is no room gets none of its new partitions.

    Args:
        cluster: the cluster whose topics are to grow.
        growths: what a request wants of some topics.
        room: how many partitions may be added.
        quota: of the client; None if there is none.
    """
    refused: list[Outcome] = []
    planned: list[GrowthPlan] = []
    for growth in growths:
        try:
            plan = cluster.plan_growth(growth, max(room, 0))
            if quota is not None:
                quota.record(len(plan.placements))
            room -= len(plan.placements)
            if room < 0:
                raise UnknownServerError
            planned.append(plan)
        except UnknownServerError as error:  # no room: none for the topics after it either
            room = -1
            refused.append((growth.name, error.with_traceback(None)))
        except BrokerError as error:
            refused.append((growth.name, error.with_traceback(None)))
    return refused, planned


async def _grow(cluster: Cluster, planned: Sequence[GrowthPlan]) -> BrokerError | None:
    """Add what was planned; no other request was handled since then."""
    try:
        grown = cluster.create_partitions(planned)
    except KafkaStorageError as error:
        return error.with_traceback(None)
    for plan, topic in zip(planned, grown, strict=True):
        await make_logs(cluster, topic, plan.topic.partition_count)
    return None


def _result(
    name: str, error: BrokerError | None
) -> "messages.CreatePartitionsResponse.CreatePartitionsTopicResult":
    return messages.CreatePartitionsResponse.CreatePartitionsTopicResult(
        name=name, **code_and_message(error)
    )
