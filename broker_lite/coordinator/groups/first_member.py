"""A group is created for its first member, and may take the place of an empty classic group."""

from collections.abc import Callable

from broker_lite.coordinator.classic.group import ClassicGroup
from broker_lite.coordinator.consumer.group import ConsumerGroup
from broker_lite.coordinator.effects import Effects
from broker_lite.coordinator.registry import GroupRegistry
from broker_lite.coordinator.streams.group import StreamsGroup
from broker_lite.errors import ErrorCode


def admit_first(
    registry: GroupRegistry,
    group: ConsumerGroup | StreamsGroup,
    old: ClassicGroup | None,
    heartbeat: Callable[[Effects], object],
    effects: Effects,
) -> None:
    """Let the first member into a new group; if the member is refused, nothing changes.

    The tombstone of the classic group is written before the records of the new one.

    Args:
        registry: has the new group already.
        group: the new group.
        old: the group without members whose place it takes, if there is one.
        heartbeat: handles the heartbeat of the member.
        effects: of the event.

    See: G-80, U-03.
    """
    created = Effects()
    heartbeat(created)
    if group.is_unwritten:
        registry.remove(group.group_id)
        if old is not None:
            registry.add(old)
    elif old is not None:
        old.write_tombstone(effects)
        old.dismiss(ErrorCode.UNKNOWN_MEMBER_ID, effects)
    effects.add(created)
