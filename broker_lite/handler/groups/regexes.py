"""The regular expressions of a ConsumerGroupHeartbeat, matched before the group is asked.

To compile one takes up to 40 ms, and to match it up to 0.3 s, which a thread does; other
connections have their turn between and meanwhile.
"""

from typing import TYPE_CHECKING

from anyio import to_thread
from anyio.lowlevel import checkpoint

from broker_lite.handler.context import CloseConnection, HandlerContext
from broker_lite.wire import messages

if TYPE_CHECKING:
    from broker_lite.coordinator.subscriptions import Prepared


async def prepare_regexes(
    context: HandlerContext, body: messages.ConsumerGroupHeartbeatRequest
) -> "dict[str, Prepared]":
    """Prepare what a heartbeat will match; nothing, for most of them.

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
    return prepared
