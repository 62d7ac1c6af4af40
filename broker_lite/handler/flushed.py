"""Wait until a coordinator's decision is on disk, if the settings ask for fsync.

If they do not, no log holds records back, and the wait costs one look at an empty dict. A Produce
waits for its own partitions, see produce/flushed.py.
"""

import asyncio
from functools import partial, wraps

from broker_lite.errors import BrokerError
from broker_lite.handler.context import CloseConnection, Handler, HandlerContext, Parts, Request


async def wait_for_coordinators(context: HandlerContext, failures: int) -> None:
    """Wait until the coordinators' decisions are on disk, with all records that are held back now.

    Args:
        context: of the connection.
        failures: the number of failed commits of the logs before the decision was made.

    Raises:
        CloseConnection: an fsync failed, so it is unknown whether the decision is on disk. A client
            that asks again is answered that the coordinator is not available.

    See: S-32, T-72 (CoordinatorRuntime, which answers below the high watermark).
    """
    commits = context.cluster.logs.commits
    waiting: list[asyncio.Future[BrokerError | None]] = []
    for log in list(commits.held):
        waiting.append(asyncio.get_running_loop().create_future())
        log.when_flushed(partial(tell_waiting, waiting[-1]))
    # Look at errors and the count: a flush that has just failed may answer before it is counted.
    errors = [await future for future in waiting]
    if commits.failures != failures or any(errors):
        raise CloseConnection("the decision of a coordinator may not be on disk")


def answers_when_flushed(handle: Handler) -> Handler:
    """Wrap a handler so that its answers wait until the decisions that they report are on disk."""

    @wraps(handle)
    async def wait_and_answer(context: HandlerContext, request: Request) -> Parts | None:
        failures = context.cluster.logs.commits.failures
        answer = await handle(context, request)
        await wait_for_coordinators(context, failures)
        return answer

    return wait_and_answer


def tell_waiting(future: "asyncio.Future[BrokerError | None]", error: BrokerError | None) -> None:
    """Give the result of a flush to a waiting request, unless the request was cancelled."""
    if not future.done():  # a cancelled future is done: its client has gone
        future.set_result(error)
