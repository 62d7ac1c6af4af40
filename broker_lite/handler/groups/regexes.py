"""Match the regular expressions of a ConsumerGroupHeartbeat before the group is asked.

Compiling one takes up to 40 ms in the event loop, and matching it takes up to 0.3 s in a thread.
Other connections have their turn in between and meanwhile.

Expressions match only topics that the client may describe. The group keeps what the client whose
request caused the matching could see.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from anyio import to_thread
from anyio.lowlevel import checkpoint

from broker_lite.coordinator.effects import Caller, Effects
from broker_lite.handler.authorized import is_allowed
from broker_lite.handler.context import CloseConnection, HandlerContext
from broker_lite.handler.groups.ask_group import Event
from broker_lite.handler.large import in_turns
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.wire import messages

if TYPE_CHECKING:
    from broker_lite.coordinator.subscriptions import Prepared

Joining = TypeVar("Joining", "messages.JoinGroupRequest", "messages.ConsumerGroupHeartbeatRequest")


class VisibleTopics:
    """Tells which topics a client may describe; it asks once for each name."""

    def __init__(self, context: HandlerContext) -> None:
        self._context = context
        self._known: dict[str, bool] = {}

    def __call__(self, name: str) -> bool:
        """Return whether the client may describe a topic."""
        may = self._known.get(name)
        if may is None:
            may = is_allowed(self._context, Operation.DESCRIBE, ResourceType.TOPIC, name)
            self._known[name] = may
        return may


def visible_topics(context: HandlerContext) -> VisibleTopics | None:
    """Return what tells the topics that the client may describe; None if it may describe all."""
    return None if context.authorizer is None else VisibleTopics(context)


async def prepare_regexes(
    context: HandlerContext,
    body: messages.ConsumerGroupHeartbeatRequest,
    is_visible: VisibleTopics | None = None,
) -> "dict[str, Prepared]":
    """Prepare the regular expressions that a heartbeat will match; most heartbeats have none.

    Args:
        context: of the connection.
        body: the heartbeat.
        is_visible: is asked about the topics that an expression matches, if these may be many.

    Raises:
        CloseConnection: the matching was stopped.

    See: G-100.
    """
    prepared = {}
    stop = context.stop
    for regex, ready in context.groups.coordinator.members.prepare_regexes(body):
        prepared[regex] = ready
        if not ready.is_heavy:
            await checkpoint()
        elif not await to_thread.run_sync(ready.match_names, lambda: stop.is_set):
            raise CloseConnection("the matching of a regular expression was stopped")
        elif is_visible is not None:
            async for name in in_turns(ready.matched):
                is_visible(name)
    return prepared


def with_regexes(
    context: HandlerContext,
    event: Event[Joining],
    is_visible: VisibleTopics | None,
    prepared: "Mapping[str, Prepared]",
) -> Event[Joining]:
    """Return an event that uses prepared regular expressions, which match only visible topics.

    See: G-100 (TopicRegexResolver).
    """
    members = context.groups.coordinator.members

    def handle(body: Joining, caller: Caller, now_ms: int) -> Effects:
        with members.with_prepared(prepared, is_visible):
            return event(body, caller, now_ms)

    return handle
