"""What the groups of a coordinator hold, added up from what is there."""

from broker_lite.coordinator.classic.member import size_of_classic
from broker_lite.coordinator.consumer.member import size_of_subscription
from broker_lite.coordinator.held_bytes import size_of_promise
from broker_lite.coordinator.registry import GroupRegistry


def added_up(registry: GroupRegistry) -> int:
    """The bytes that all members and all ids that were given out count for."""
    found = 0
    for group_id in registry.groups:
        classic, consumer = registry.classic(group_id), registry.consumer(group_id)
        if classic is not None:
            found += sum(map(size_of_classic, classic.roster.members.values()))
            found += sum(map(size_of_promise, classic.roster.pending_members))
        if consumer is not None:
            found += sum(map(size_of_subscription, consumer.roster.members.values()))
    return found
