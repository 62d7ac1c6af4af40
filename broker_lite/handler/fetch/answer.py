"""Encode the answer of a Fetch request."""

from typing import cast

from broker_lite.errors import ErrorCode
from broker_lite.handler.context import HandlerContext, Parts
from broker_lite.handler.endpoints import endpoints_of
from broker_lite.handler.fetch.many import PARTITIONS_AT_A_TIME, encode_many
from broker_lite.handler.fetch.read import CURRENT_LEADER_FROM, FetchTerms, PartitionRead
from broker_lite.handler.large import let_go
from broker_lite.wire.fetch import encode_fetch_response
from broker_lite.wire.node_endpoints import NodeEndpoint


async def answer(
    context: HandlerContext, terms: FetchTerms, answers: list[PartitionRead], session_id: int
) -> Parts:
    """Encode the answers, and drop them."""
    if len(answers) <= PARTITIONS_AT_A_TIME:
        return answer_few(context, terms, answers, session_id)
    parts = await encode_many(
        terms.version,
        answers,
        session_id=session_id,
        node_endpoints=_node_endpoints(context, terms, answers),
    )
    await let_go(answers)
    return _expanded(context, cast(Parts, parts))


def answer_few(
    context: HandlerContext, terms: FetchTerms, answers: list[PartitionRead], session_id: int
) -> Parts:
    """Encode the answers for at most PARTITIONS_AT_A_TIME partitions."""
    parts = encode_fetch_response(
        terms.version,
        answers,
        session_id=session_id,
        node_endpoints=_node_endpoints(context, terms, answers),
    )
    return _expanded(context, cast(Parts, parts))


def refuse(terms: FetchTerms, code: ErrorCode, session_id: int) -> Parts:
    """See: F-41: a top-level error, and no partitions; or none for a client that is throttled."""
    return cast(
        Parts,
        encode_fetch_response(terms.version, (), error_code=code, session_id=session_id),
    )


def _expanded(context: HandlerContext, parts: Parts) -> Parts:
    if context.cluster.canned_runs.is_used:
        # Imported here, because few topics are synthetic.
        from broker_lite.handler.fetch.synthetic import expanded

        return expanded(parts)
    return parts


def _node_endpoints(
    context: HandlerContext, terms: FetchTerms, answers: list[PartitionRead]
) -> list[NodeEndpoint]:
    """Return the addresses of the leaders that the answers name; Kafka tells followers none."""
    if terms.version < CURRENT_LEADER_FROM or terms.is_follower:
        return []
    leaders = {each.current_leader[0] for each in answers if each.current_leader is not None}
    return endpoints_of(context, leaders) if leaders else []
