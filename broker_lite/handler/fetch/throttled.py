"""How large the answer of a Fetch is for the consumer's quota.

The size is that before records are converted for old clients, and without the addresses of leaders.

Rule: F-46, F-97 (FetchContext.getResponseSize, getThrottledResponse).
"""

from collections.abc import Sequence
from typing import Final

from broker_lite.handler.fetch.many import PARTITIONS_AT_A_TIME, encode_many
from broker_lite.handler.fetch.read import FetchTerms, PartitionRead
from broker_lite.handler.large import in_turns
from broker_lite.wire.fetch import Part, encode_fetch_response

_SIZE_BYTES: Final = 4


async def answer_bytes(
    terms: FetchTerms, answers: Sequence[PartitionRead], *, only_news: bool
) -> int:
    """Return the size of an answer, with the four bytes of its size.

    Args:
        terms: of the request.
        answers: for all partitions that were read; they stay as they are.
        only_news: whether those without news are left out, as in a session.
    """
    if only_news:
        answers = [each async for each in in_turns(answers) if each.is_news]
    if len(answers) > PARTITIONS_AT_A_TIME:
        parts = await encode_many(terms.version, answers, session_id=0, node_endpoints=())
    else:
        parts = encode_fetch_response(terms.version, answers)
    total = _SIZE_BYTES + sum(map(_size_bytes, parts))
    if terms.is_old:
        total += sum(each.size_bytes - _size_bytes(each.records or b"") for each in answers)
    return total


def _size_bytes(part: Part) -> int:
    return len(part) if isinstance(part, bytes) else part.size_bytes
