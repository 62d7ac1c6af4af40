"""Which of the groups that a request names another broker coordinates."""

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
