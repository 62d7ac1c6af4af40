"""Wait until the records of a Produce are on disk, if a setting of topic or broker asks for it."""

import asyncio
from functools import partial

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.errors import BrokerError
from broker_lite.handler.flushed import tell_waiting
from broker_lite.handler.large import in_turns
from broker_lite.handler.produce.check import Accepted
from broker_lite.wire.produce import PartitionAnswer, PartitionKey


async def wait_until_flushed(
    cluster: Cluster,
    accepted: dict[PartitionKey, Accepted],
    answers: dict[PartitionKey, PartitionAnswer],
) -> None:
    """Wait for the flushes of all partitions of a request; they run at the same time.

    Args:
        cluster: the cluster with the logs.
        accepted: the partitions of the request that passed its checks.
        answers: the answers by partition; if a partition's records may not be on disk, its answer
            is replaced by the error.

    See: S-32, V-59 (UnifiedLog.append, which flushes before it returns).
    """
    waiting: dict[PartitionKey, asyncio.Future[BrokerError | None]] = {}
    async for key, (topic, index, _, _) in in_turns(accepted.items()):
        if answers[key].error_code:
            continue
        waiting[key] = future = asyncio.get_running_loop().create_future()
        try:
            log = cluster.log(topic.name, index)
            log.visibility.when_flushed(partial(tell_waiting, future))
        except BrokerError as error:  # deleted, or offline since the append
            # without the traceback, whose frames refer to the future
            future.set_result(error.with_traceback(None))
    for key, future in waiting.items():
        failure = await future
        if failure is not None:
            answers[key] = PartitionAnswer(failure.code)
