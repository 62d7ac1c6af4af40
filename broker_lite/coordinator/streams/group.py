"""A streams group: its members, epochs, topology, target assignment, and who has which task."""

from collections.abc import Collection, Iterable
from enum import Enum
from typing import Final, NamedTuple

from broker_lite.coordinator.group_records import STREAMS
from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.coordinator.newer_group import NewerGroup
from broker_lite.coordinator.streams.configured import ConfiguredTopology
from broker_lite.coordinator.streams.member import StreamsMember, StreamsMemberState
from broker_lite.coordinator.streams.roster import StreamsRoster
from broker_lite.coordinator.streams.tasks import NO_TASKS, TaskSets
from broker_lite.coordinator.streams.topology import NO_MAPS, TopicInfo, Topology
from broker_lite.coordinator.timers import (
    INITIAL_DELAY,
    REBALANCE,
    SESSION,
    TimerKey,
    Timers,
)
from broker_lite.coordinator.topics import Topics, TopicView, hash_of_topics
from broker_lite.errors import ErrorCode

_FIRST_MEMBER_EPOCHS: Final = 9
NOT_VALIDATED: Final = -1
"""The validated topology epoch while the topology cannot run."""

Configs = tuple[tuple[str, str], ...]
"""Settings of an assignment: names with values, sorted."""


class StreamsGroupState(Enum):
    """The states of a streams group; the values are Kafka's words."""

    EMPTY = "Empty"
    NOT_READY = "NotReady"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


class NotCreated(NamedTuple):
    """Internal topics that could not be created, and that nobody tries to create for some time.

    Attributes:
        names: of the topics, in the order in which they were missing.
        text: why they could not be created, for the status.
        until_ms: when they are tried again.
    """

    names: tuple[str, ...]
    text: str
    until_ms: int

    def holds(self, missing: Iterable[str], now_ms: int) -> bool:
        """Return whether it is all that is missing now, and too early for the next try."""
        return now_ms < self.until_ms and self.names == tuple(missing)


class StreamsGroup(NewerGroup[StreamsRoster, TaskSets]):
    """One streams group.

    Args:
        group_id: its id.
        timers: of all groups.
        settings: of this group.
        topics: a live view of all topics.

    Attributes:
        validated_epoch: the epoch of the topology if it could run when the group epoch began, else
            NOT_VALIDATED.
        last_configs: the settings of the assignment when that epoch began.
        topology: what the members run; None before the first one. Set with `maps`, by
            changes.hold_topology.
        maps: what is looked up in it.
        configured: the topology with its topics, None if it has to be found again. Not in the log.
        missing: internal topics that have to be created. Not in the log.
        not_created: those for which that failed; None if it did not. Not in the log.
        endpoint_epoch: goes up when a member with an endpoint gets other tasks. Not in the log.
        shutdown_by: the member that has asked all others to end. Not in the log.

    See: U-04 (StreamsGroup).
    """

    __slots__ = (
        "configured",
        "endpoint_epoch",
        "last_configs",
        "maps",
        "missing",
        "not_created",
        "shutdown_by",
        "topology",
        "validated_epoch",
    )

    record_types = STREAMS

    def __init__(
        self, group_id: str, timers: Timers[TimerKey], settings: GroupSettings, topics: Topics
    ) -> None:
        super().__init__(group_id, StreamsRoster(), timers, settings, topics)
        self.validated_epoch = 0
        self.last_configs: Configs = ()
        self.topology: Topology | None = None
        self.maps = NO_MAPS
        self.configured: ConfiguredTopology | None = None
        self.missing: tuple[TopicInfo, ...] = ()
        self.not_created: NotCreated | None = None
        self.endpoint_epoch = 0
        self.shutdown_by: str | None = None

    @property
    def state(self) -> StreamsGroupState:
        """The state of the group, derived from its members, its topology and its epochs.

        Rule: U-05 (StreamsGroup.maybeUpdateGroupState).
        """
        members = self.roster.members
        if self.is_deleted:
            return StreamsGroupState.DEAD
        if not members:
            return StreamsGroupState.EMPTY
        if self.topology is None or self.topology.epoch != self.validated_epoch:
            return StreamsGroupState.NOT_READY
        if self.group_epoch > self.target_epoch:
            return StreamsGroupState.ASSIGNING
        if all(member.is_reconciled(self.target_epoch) for member in members.values()):
            return StreamsGroupState.STABLE
        return StreamsGroupState.RECONCILING

    def assignment_configs(self) -> Configs:
        """Return the settings that an assignment uses now."""
        return (("num.standby.replicas", str(self.settings.streams_standby_count)),)

    def subscribed_topics(self) -> frozenset[str]:
        """Return the topics that the members read; none without members.

        See: U-21 (StreamsGroup.isSubscribedToTopic).
        """
        return self.maps.inputs if self.roster.members else frozenset()

    def target_of(self, member_id: str) -> TaskSets:
        """Return one member's part of the target assignment."""
        return self.targets.get(member_id, NO_TASKS)

    def hash_of(self, topology: Topology) -> int:
        """Return a hash of the topics of a topology that exist: ids and partition counts."""
        is_known = topology is self.topology
        required = self.maps.required_topics if is_known else topology.required_topics()
        return hash_of_topics(self.topics, required)

    @property
    def is_configured(self) -> bool:
        """Whether it has a topology, and knows that topology with its topics as they are now."""
        has_both = self.topology is not None and self.configured is not None
        return has_both and not self.is_metadata_stale

    def topics_changed(self, names: Collection[str]) -> None:
        """Let the next heartbeat look at topics again that were created, deleted or grew."""
        if not self.maps.required_topics.isdisjoint(names):
            self.is_metadata_stale = True

    # -- timers

    def start_session(self, member_id: str, now_ms: int) -> None:
        """Restart a member's session."""
        self.timers.set(SESSION, member_id, now_ms + self.settings.streams_session_timeout_ms)

    def watch_revocation(self, member: StreamsMember, now_ms: int) -> None:
        """Limit the time in which a member gives back tasks, if it has to give back any."""
        if member.state is StreamsMemberState.UNREVOKED_TASKS:
            self.timers.set(REBALANCE, member.member_id, now_ms + member.rebalance_timeout_ms)
        else:
            self.timers.cancel(REBALANCE, member.member_id)

    def cancel_timers(self, member_id: str) -> None:
        """Stop the timers of a member."""
        self.timers.cancel(SESSION, member_id)
        self.timers.cancel(REBALANCE, member_id)

    def loaded(self, now_ms: int) -> None:
        """Start all timers after the log has been read to its end."""
        for member in self.roster.members.values():
            self.start_session(member.member_id, now_ms)
            self.watch_revocation(member, now_ms)

    def unload(self) -> None:
        """Stop all timers, before the group is removed from memory."""
        self.timers.cancel(INITIAL_DELAY, "")
        for member_id in self.roster.members:
            self.cancel_timers(member_id)

    # -- committed offsets

    def check_commit(
        self,
        *,
        member_id: str,
        instance_id: str | None,
        member_epoch: int,
        version: int,
        is_transactional: bool,
    ) -> ErrorCode | None:
        """Return the error if the group refuses a commit, None if it accepts it.

        STALE_MEMBER_EPOCH of an epoch that the member has had may still be accepted: see
        `assignment_epoch`.

        Rule: U-20 (StreamsGroup.validateOffsetCommit).
        """
        members = self.roster.members
        if member_epoch < 0 and not members:
            return None
        if is_transactional and member_epoch == -1 and not member_id and instance_id is None:
            return None
        member = members.get(member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if not is_transactional and version < _FIRST_MEMBER_EPOCHS:
            return ErrorCode.UNSUPPORTED_VERSION
        return None if member_epoch == member.member_epoch else ErrorCode.STALE_MEMBER_EPOCH

    def assignment_epoch(self, member_id: str, topic: TopicView, partition: int) -> int | None:
        """Return since which epoch a member runs the task that reads a partition, if it does.

        A task that it has to give back counts.

        Rule: U-20 (StreamsGroup.createAssignmentEpochValidator).
        """
        member = self.roster.members.get(member_id)
        key = self.maps.subtopology_of_input.get(topic.name)
        if member is None or key is None:
            return None
        since = member.assigned.active.get(key, {}).get(partition)
        return member.pending.active.get(key, {}).get(partition) if since is None else since

    def check_fetch(self, *, member_id: str | None, member_epoch: int) -> ErrorCode | None:
        """Return the error if the group refuses an OffsetFetch, None if it accepts it.

        Rule: U-21 (StreamsGroup.validateOffsetFetch).
        """
        if member_id is None and member_epoch < 0:
            return None
        member = self.roster.members.get(member_id or "")
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return None if member_epoch == member.member_epoch else ErrorCode.STALE_MEMBER_EPOCH
