"""The batches of kept states in the messages between processes: few at a time, however many.

A state may have 32,768 batches, and a message the states of several share partitions. To make or
free so many structs at once would hold the event loop for longer than any request may.

See: K-28.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from broker_lite.coordinator.share_records.state import StateBatch
from broker_lite.handler.large import Turns, lazily
from broker_lite.wire import messages

_AT_A_TIME: Final = 512
"""So many batches take some 300 microseconds."""

_Said = TypeVar(
    "_Said",
    "messages.ReadShareGroupStateResponse.StateBatch",
    "messages.WriteShareGroupStateRequest.StateBatch",
)
_Struct = TypeVar("_Struct")


def to_structs(batches: Sequence[StateBatch], struct: Callable[..., _Struct]) -> list[_Struct]:
    """Return batches as an array of a message, whose structs are made while it is encoded.

    Args:
        batches: of one state; nobody changes the list before the message is encoded.
        struct: the class of the message's structs.
    """
    made = (
        struct(
            first_offset=first,
            last_offset=last,
            delivery_state=delivery_state,
            delivery_count=count,
        )
        for first, last, delivery_state, count in batches
    )
    return lazily(len(batches), made)


async def from_structs(said: list[_Said], turns: Turns) -> list[StateBatch]:
    """Return the batches in an array of a message, which is empty then.

    Args:
        said: the structs; a few are freed at a time.
        turns: of the loop that goes through the states of the message.
    """
    batches: list[StateBatch] = []
    while said:
        batches += [
            StateBatch(
                each.first_offset, each.last_offset, each.delivery_state, each.delivery_count
            )
            for each in said[:_AT_A_TIME]
        ]
        del said[:_AT_A_TIME]
        await turns.turn()
    return batches
