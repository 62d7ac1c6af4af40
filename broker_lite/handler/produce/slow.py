"""Produce to topics that are slow, as over a network.

The records are appended at once, and the answer is late. The connection waits for it after the
request, so that a waiting request has no memory. See server/slow_answers.py.

See: P-18.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from broker_lite.handler.context import HandlerContext
from broker_lite.handler.large import in_turns

if TYPE_CHECKING:
    from broker_lite.handler.produce.check import Accepted


async def note_passage(context: HandlerContext, accepted: "Iterable[Accepted]") -> None:
    """Let the answer of the request in progress wait for the slow ones of its topics."""
    slow_topics, sizes = context.cluster.slow_topics, dict[str, int]()
    async for topic, _, records, _ in in_turns(accepted):
        if topic.name in slow_topics:
            sizes[topic.name] = sizes.get(topic.name, 0) + len(records)
    context.passage = slow_topics.passage_in(sizes)
