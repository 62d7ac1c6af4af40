"""Waiting until what was appended is on disk, where a topic or the broker asks for that.

Where nothing does, no log holds records back, and all of this is one look at an empty dict.
"""

import asyncio
from functools import partial, wraps
from typing import TYPE_CHECKING

from broker_lite.errors import BrokerError
from broker_lite.handler.context import CloseConnection, Handler, HandlerContext, Parts, Request
from broker_lite.handler.large import in_turns
from broker_lite.handler.produce_response import PartitionAnswer, PartitionKey, refusal

if TYPE_CHECKING:
    from broker_lite.control.cluster import Cluster
    from broker_lite.handler.produce_transaction import Accepted


async def wait_until_flushed(
    cluster: "Cluster",
    accepted: "dict[PartitionKey, Accepted]",
    answers: dict[PartitionKey, PartitionAnswer],
) -> None:
    """Wait for the flushes of all partitions of a request, which go on at the same time.

    Args:
        cluster: where the logs are.
        accepted: what was to be appended.
        answers: a partition whose records may not be on disk is answered with the error.

    Rule: S-32, V-59 (UnifiedLog.append, which flushes before it returns).
    """
    waiting: dict[PartitionKey, asyncio.Future[BrokerError | None]] = {}
    async for key, (topic, index, _, _) in in_turns(accepted.items()):
        if answers[key].error_code:
            continue
        waiting[key] = future = asyncio.get_running_loop().create_future()
        try:
            cluster.log(topic.name, index).when_flushed(partial(_tell, future))
        except BrokerError as error:  # deleted, or offline since the append
            # without the frames, which refer to the future
            future.set_result(error.with_traceback(None))
    for key, future in waiting.items():
        failure = await future
        if failure is not None:
            answers[key] = refusal(failure.code)


async def wait_for_coordinators(context: HandlerContext, failures: int) -> None:
    """Wait until what coordinators have decided is on disk, with all else that is held back now.

    Args:
        context: of the connection.
        failures: of the logs' commits before the decision.

    Raises:
        CloseConnection: something may not be on disk, so nothing can be said of what was decided.
            Who asks again is told that the coordinator is not there.

    Rule: S-32, T-72 (CoordinatorRuntime, which answers below the high watermark).
    """
    commits = context.cluster.logs.commits
    waiting: list[asyncio.Future[BrokerError | None]] = []
    for log in list(commits.held):
        waiting.append(asyncio.get_running_loop().create_future())
        log.when_flushed(partial(_tell, waiting[-1]))
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


def _tell(future: "asyncio.Future[BrokerError | None]", error: BrokerError | None) -> None:
    if not future.done():  # else its client has gone
        future.set_result(error)
