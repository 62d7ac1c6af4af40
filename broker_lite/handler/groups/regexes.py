"""Match the regular expressions of a ConsumerGroupHeartbeat before the group is asked.

Compiling one takes up to 40 ms in the event loop, and matching it takes up to 0.3 s in a thread.
Other connections have their turn in between and meanwhile.
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
    """Prepare the regular expressions that a heartbeat will match; most heartbeats have none.

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
