"""One partition that a member reads from, or acknowledges records of."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from broker_lite.control.coordinators.kept_states import Keeping
from broker_lite.control.coordinators.share_leaders import share_leader
from broker_lite.control.coordinators.share_service import Shares
from broker_lite.control.metadata.topic import Topic
from broker_lite.coordinator.effects import NO_START, ShareStart
from broker_lite.coordinator.share_records.acquire import Acquired
from broker_lite.coordinator.share_records.partition import SharePartition
from broker_lite.coordinator.share_records.sessions import SharedPartition
from broker_lite.coordinator.share_records.states import ShareKey
from broker_lite.errors import (
    BrokerError,
    ErrorCode,
    TopicAuthorizationFailed,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from broker_lite.handler.authorized import is_allowed
from broker_lite.handler.context import HandlerContext, Request
from broker_lite.handler.endpoints import endpoints_of, leader_known_to
from broker_lite.handler.large import enter_lane, leave_lane
from broker_lite.handler.leadership import check_leader
from broker_lite.handler.share.start import start_offset_of
from broker_lite.log.log import Log
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.wire.node_endpoints import NodeEndpoint

_MOVED: Final = frozenset((ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH))


Failures: TypeAlias = Mapping[ShareKey, BrokerError]
_NONE: Final[Failures] = MappingProxyType({})


class Answer:
    """What is answered for a partition.

    Attributes:
        partition: the id of its topic, and its index.
        error: why nothing could be read; None for no error.
        acknowledge_error: why what the member said about records does not count; None if it does.
        is_acknowledged: whether the request says something about records.
        keeping: tells whether that is kept; None if it is already.
        acquired: the records that the member gets.
        records: the record batches with these records.
    """

    __slots__ = (
        "acknowledge_error",
        "acquired",
        "error",
        "is_acknowledged",
        "keeping",
        "partition",
        "records",
    )

    def __init__(self, partition: SharedPartition) -> None:
        self.partition = partition
        self.error: BrokerError | None = None
        self.acknowledge_error: BrokerError | None = None
        self.is_acknowledged = False
        self.keeping: Keeping | None = None
        self.acquired: list[Acquired] = []
        self.records = b""


class Found(NamedTuple):
    """A partition that this broker leads.

    Attributes:
        key: of the share partition.
        log: of the partition.
    """

    key: ShareKey
    log: Log


def find(context: HandlerContext, group_id: str, partition: SharedPartition) -> Found:
    """Find the log of a partition, which this broker has to lead.

    Raises:
        UnknownTopicId, UnknownTopicOrPartition: there is no such partition.
        TopicAuthorizationFailed: the client may not read the topic.
        NotLeaderOrFollower: another broker leads it.
        KafkaStorageError: the log cannot be loaded.

    Rule: K-32 (KafkaApis.handleShareFetchRequest).
    """
    topic: Topic | None = context.cluster.topics_by_id.get(partition.topic_id)
    if topic is None:
        raise UnknownTopicId
    if not is_allowed(context, Operation.READ, ResourceType.TOPIC, topic.name):
        raise TopicAuthorizationFailed
    if not 0 <= partition.partition < topic.partition_count:
        raise UnknownTopicOrPartition
    log = context.cluster.log(topic.name, partition.partition)
    check_leader(context.cluster, context.node_id, log)
    return Found(ShareKey(group_id, *partition), log)


async def load(
    context: HandlerContext,
    request: Request,
    group_id: str,
    partitions: Iterable[SharedPartition],
) -> Failures:
    """Read the states that another process keeps, of partitions that this broker leads.

    A large request leaves the lane meanwhile: the other process may wait for the lane of this one.

    Returns:
        Those that cannot be read now, and why.

    See: K-28.
    """
    elsewhere = context.groups.shares.elsewhere
    if elsewhere is None:
        return _NONE
    keys = (ShareKey(group_id, *each) for each in partitions)
    led = [
        key
        for key in keys
        if elsewhere.get(key) is None
        and share_leader(context.cluster, key).leader == context.node_id
    ]
    leave_lane(request)
    failures = await elsewhere.load(group_id, led)
    await enter_lane(context, request)
    return failures


def forget_unopened(context: HandlerContext, group_id: str, partition: SharedPartition) -> None:
    """Forget the state that load() has read of a partition that could not be opened."""
    shares: Shares = context.groups.shares
    key = ShareKey(group_id, *partition)
    if shares.elsewhere is not None and shares.partition(key) is None:
        shares.elsewhere.forget(key)


async def opened(context: HandlerContext, found: Found) -> SharePartition | None:
    """Return the share partition of a partition; None if there is no such group.

    Raises:
        CoordinatorNotAvailable: its state cannot be read now.
        BrokerError: its state was lost, and cannot be written again.
        KafkaStorageError: the log cannot be read.
    """
    shares: Shares = context.groups.shares
    key, log = found
    if not has_state(context, key):
        return None
    start = log.log_start_offset
    if shares.needs_start(key):
        start = await start_offset_of(log, shares.settings_of(key.group_id), context)
        if not shares.is_known(key):  # the group was deleted meanwhile
            return None
        if not shares.needs_start(key):  # another request has begun meanwhile
            start = log.log_start_offset
    partition = shares.open(key, start)
    if shares.elsewhere is not None:
        shares.elsewhere.let_go(key)
    partition.advance_to(log.log_start_offset)
    return partition


def has_state(context: HandlerContext, key: ShareKey) -> bool:
    """Return whether a group has a state of a partition; one that was lost begins again.

    The states and the records of a group are written one after the other. If a group's states end,
    and its records cannot be written, the group goes on without states.

    Raises:
        CoordinatorNotAvailable: the state cannot be read now.
        BrokerError: it was lost, and cannot be written again.
    """
    shares: Shares = context.groups.shares
    if shares.is_known(key):
        return True
    if shares.elsewhere is not None:  # who keeps the states was asked
        return False
    group = context.groups.coordinator.registry.share(key.group_id)
    topic = None if group is None else group.stateful.get(key.topic_id)
    if group is None or topic is None or key.partition not in topic.partitions:
        return False
    shares.put_starts([ShareStart(*key, NO_START, group.group_epoch)])
    return True


def current_leader(
    context: HandlerContext, partition: SharedPartition, error: BrokerError | None
) -> tuple[int, int] | None:
    """Return id and epoch of the leader, for a partition that another broker has to be asked for.

    See: C-31.
    """
    if error is None or error.code not in _MOVED:
        return None
    return leader_known_to(context.cluster, context.node_id, *partition)


def endpoints(
    context: HandlerContext, leaders: "list[tuple[int, int] | None]"
) -> list[NodeEndpoint]:
    """Return where leaders are.

    See: C-31.
    """
    return endpoints_of(context, {each[0] for each in leaders if each is not None})
