"""A bound of the subscriptions of a share group that Kafka does not have.

Each new assignment looks at all topics of the group, and each member has something of each of its
topics. So their numbers have to be small enough that other clients do not wait while a member
joins, or while the group is described.

A difference to Kafka: a member is refused as if its share group were full if all members then would
subscribe to more than 2,500 topics, or, each topic counted for each member, to more than 20,000.

Rule: K-38.
"""

from typing import Final

from broker_lite.coordinator.share.group import ShareGroup
from broker_lite.coordinator.share.member import ShareMember
from broker_lite.errors import GroupMaxSizeReached

TOPICS_MAX: Final = 2_500
"""The most topics of a group: each takes 8 us in every assignment."""
SUBSCRIPTIONS_MAX: Final = 20_000
"""The most topics of all members: each takes up to 1.3 us if all targets change."""


def check_subscriptions(group: ShareGroup, before: ShareMember, after: ShareMember) -> None:
    """Demand that a member does not make the subscriptions of its group too many.

    A group that had more when it was loaded may keep them.

    Args:
        group: its group.
        before: the member as it is, without topics if it is new.
        after: the member as it would be.

    Raises:
        GroupMaxSizeReached: it does; nothing has changed.
    """
    known, after_names = group.roster.subscribers, frozenset(after.topic_names)
    more = len(after.topic_names) - len(before.topic_names)
    if more > 0 and known.total() + more > SUBSCRIPTIONS_MAX:
        raise GroupMaxSizeReached(
            f"The members of the share group subscribe to more than {SUBSCRIPTIONS_MAX} topics, "
            "each counted for each member."
        )
    new = after_names.difference(known)
    gone = [name for name in before.topic_names if known[name] == 1 and name not in after_names]
    if new and len(known) - len(gone) + len(new) > TOPICS_MAX:
        raise GroupMaxSizeReached(f"The share group subscribes to more than {TOPICS_MAX} topics.")
