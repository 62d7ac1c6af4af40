"""Which of the groups that a request names this broker coordinates."""

from broker_lite.handler.context import HandlerContext


def split(context: HandlerContext, group_ids: list[str]) -> tuple[list[str], list[str]]:
    """Return the groups that this broker coordinates, and the others.

    Rule: C-33 (GroupCoordinatorService).
    """
    topic, node_id = context.groups.topic, context.node_id
    if topic.leads_all(node_id):
        return group_ids, []
    led = {each: topic.is_led(each, node_id) for each in group_ids}
    return [each for each in group_ids if led[each]], [each for each in group_ids if not led[each]]
