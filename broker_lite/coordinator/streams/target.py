"""Computes the target assignment of a streams group, unless it has to wait.

Rule: U-15 (GroupMetadataManager.maybeUpdateStreamsTargetAssignment, TargetAssignmentBuilder).
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from broker_lite.coordinator.streams.assign import MemberBefore, Wanted, assign_sticky
from broker_lite.coordinator.streams.configured import ConfiguredTopology, Status, StatusCode
from broker_lite.coordinator.streams.group import Configs, StreamsGroup
from broker_lite.coordinator.streams.java_order import hash_order
from broker_lite.coordinator.streams.member import StreamsMember
from broker_lite.coordinator.streams.tasks import NO_TASKS, TaskSets
from broker_lite.coordinator.timers import INITIAL_DELAY

INITIAL: Final = Status(
    StatusCode.ASSIGNMENT_DELAYED,
    "Assignment delayed due to the configured initial rebalance delay.",
)
"""The first assignment waits for more members."""
_INTERVAL: Final = Status(
    StatusCode.ASSIGNMENT_DELAYED, "Assignment delayed due to the configured assignment interval."
)


class NewTarget(NamedTuple):
    """A target assignment that has to be written.

    Attributes:
        epoch: the group epoch that it is for.
        targets: of all members, in Kafka's order.
    """

    epoch: int
    targets: dict[str, TaskSets]

    def changed(self, group: StreamsGroup) -> list[str]:
        """Return the members whose target is another one than before, in Kafka's order."""
        return [each for each, new in self.targets.items() if group.targets.get(each) != new]


def why_delayed(group: StreamsGroup, group_epoch: int, now_ms: int) -> Status | None:
    """Return why a target assignment for a group epoch may not be computed now, or None."""
    if group.timers.is_set(INITIAL_DELAY, ""):
        return INITIAL
    interval_ms = group.settings.streams_assignment_interval_ms
    if (
        group.target_epoch < group_epoch
        and group.target_timestamp_ms
        and now_ms < group.target_timestamp_ms + interval_ms
    ):
        return _INTERVAL
    return None


def compute(
    group: StreamsGroup,
    group_epoch: int,
    members: Mapping[str, StreamsMember],
    configured: ConfiguredTopology,
    configs: Configs,
) -> NewTarget:
    """Return the target assignment for a group epoch; without a topology that runs it is empty.

    Args:
        group: has the last target, which is kept as far as possible.
        group_epoch: the epoch.
        members: those of the group, as they will be.
        configured: the topology.
        configs: the settings of the assignment.
    """
    hashes = {member_id: group.roster.hashes_of(each) for member_id, each in members.items()}
    order = hash_order(sorted(members), hash_of=lambda member_id: hashes[member_id].member_id)
    subtopologies = configured.subtopologies
    if not configured.is_ready or subtopologies is None:
        return NewTarget(group_epoch, dict.fromkeys(order, NO_TASKS))
    before = {
        member_id: MemberBefore(
            members[member_id].process_id, group.target_of(member_id), hashes[member_id]
        )
        for member_id in order
    }
    wanted = Wanted(
        {key: each.task_count for key, each in subtopologies.items()},
        frozenset(key for key, each in subtopologies.items() if each.is_stateful),
        int(dict(configs).get("num.standby.replicas", "0")),
    )
    return NewTarget(group_epoch, assign_sticky(before, wanted))
