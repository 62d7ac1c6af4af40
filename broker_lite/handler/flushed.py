"""Waiting until what coordinators decided is on disk, where the broker asks for that.

Where it does not, no log holds records back, and all of this is one look at an empty dict. A
Produce waits for its own partitions, see produce/flushed.py.
"""

import asyncio
from functools import partial, wraps

from broker_lite.errors import BrokerError
from broker_lite.handler.context import CloseConnection, Handler, HandlerContext, Parts, Request


async def wait_for_coordinators(context: HandlerContext, failures: int) -> None:
    """Wait until what coordinators have decided is on disk, with all else that is held back now.

    Args:
        context: of the connection.
        failures: of the logs' commits before the decision.

    Raises:
        CloseConnection: something may not be on disk, so nothing can be said of what was decided.
            Who asks again is told that the coordinator is not there.

    See: S-32, T-72 (CoordinatorRuntime, which answers below the high watermark).
    """
    commits = context.cluster.logs.commits
    waiting: list[asyncio.Future[BrokerError | None]] = []
    for log in list(commits.held):
        waiting.append(asyncio.get_running_loop().create_future())
        log.when_flushed(partial(tell_waiting, waiting[-1]))
    # a flush that has just failed in its thread is told of before it is counted
    errors = [await future for future in waiting]
    if commits.failures != failures or any(errors):
        raise CloseConnection("what was decided may not be on disk")


def answers_when_flushed(handle: Handler) -> Handler:
    """Have a handler's answers wait until what they tell of is on disk."""

    @wraps(handle)
    async def wait_and_answer(context: HandlerContext, request: Request) -> Parts | None:
        failures = context.cluster.logs.commits.failures
        answer = await handle(context, request)
        await wait_for_coordinators(context, failures)
        return answer

    return wait_and_answer


def tell_waiting(future: "asyncio.Future[BrokerError | None]", error: BrokerError | None) -> None:
    """Tell who waits for a flush how it ended, as long as somebody does."""
    if not future.done():  # else its client has gone
        future.set_result(error)
