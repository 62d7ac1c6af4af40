"""Which of the groups that a request names this broker coordinates, and which another does."""

from collections.abc import Iterable
from typing import Final

from broker_lite.handler.context import HandlerContext

_NONE: Final[frozenset[str]] = frozenset()


def foreign_groups(context: HandlerContext, group_ids: Iterable[str]) -> frozenset[str]:
    """Return those of the groups that another broker coordinates, or that no broker does.

    Rule: C-33 (GroupCoordinatorService).
    """
    topic, node_id = context.groups.topic, context.node_id
    if topic.leads_all(node_id):
        return _NONE
    return frozenset(each for each in group_ids if not topic.is_led(each, node_id))


def is_foreign(context: HandlerContext, group_id: str) -> bool:
    """Return whether another broker coordinates a group, or no broker does.

    Raises:
        NotCoordinator: the state topic does not exist yet; or this broker coordinates the group,
            and cannot read its state.

    See: C-33, G-23.
    """
    found = foreign_groups(context, [group_id])
    context.groups.check_loaded(() if found else (group_id,))
    return bool(found)
