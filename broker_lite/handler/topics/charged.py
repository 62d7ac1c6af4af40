"""Changes of topics count for the quota of the client that asks for them (KIP-599).

One more partition, or one less, counts as one. A request that only validates counts, too.
"""

from typing import TYPE_CHECKING

from broker_lite.handler.context import HandlerContext, Request

if TYPE_CHECKING:
    from broker_lite.control.quotas.mutations import MutationQuota


def mutation_quota(
    context: HandlerContext, request: Request, strict_since: int
) -> "MutationQuota | None":
    """Return the quota that a request's changes count for; None if no client has one.

    Args:
        context: of the connection.
        request: the request.
        strict_since: the first version that knows THROTTLING_QUOTA_EXCEEDED. Changes of earlier
            versions are made although the quota is used up, and the client is throttled.
    """
    if context.quota is None:
        return None
    return context.quota.mutations(is_strict=request.api_version >= strict_since)
