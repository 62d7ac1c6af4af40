"""The partitions of a Fetch that its client may not read.

They are answered as unknown ones are: behind the others, and the request still waits for records of
the others. What the client may do is decided once, when the request comes, and holds until it is
answered.
"""

from broker_lite.errors import ErrorCode
from broker_lite.handler.authorized import is_allowed_on_cluster
from broker_lite.handler.context import HandlerContext
from broker_lite.handler.denied import NONE_DENIED, denied_topics_in_turns
from broker_lite.handler.fetch.partition import FetchPartition
from broker_lite.handler.fetch.read import FetchRead, FetchTerms, PartitionRead
from broker_lite.handler.large import in_turns
from broker_lite.security.acls.acl import Operation


async def judge(
    context: HandlerContext, terms: FetchTerms, partitions: list[FetchPartition]
) -> FetchTerms:
    """Return the terms of a request with the topics that the client may not read.

    A topic id that does not exist is not asked about. A follower needs a right on the cluster; then
    it may read every topic, else none.

    Rule: X-47 (KafkaApis.handleFetchRequest).
    See: X-63.
    """
    keys = (partition.topic for partition in partitions)
    if not terms.is_follower:
        denied = await denied_topics_in_turns(context, Operation.READ, keys)
    elif is_allowed_on_cluster(context, Operation.CLUSTER_ACTION):
        denied = NONE_DENIED
    else:
        denied = frozenset(keys)
    return terms._replace(denied=denied) if denied else terms


async def set_aside(
    partitions: list[FetchPartition], denied: frozenset[str | bytes], read: FetchRead
) -> list[FetchPartition]:
    """Answer for the partitions of denied topics, and return the others.

    Args:
        partitions: to look at, in their order.
        denied: the topics that the client may not read, as the partitions name them.
        read: gets the answers.
    """
    rest = []
    async for partition in in_turns(partitions):
        if partition.topic not in denied:
            rest.append(partition)
            continue
        code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        # the list of aborted transactions is empty here, not null (F-04)
        read.add_unknown(PartitionRead(partition, None, code, aborted_transactions=()))
    return rest
