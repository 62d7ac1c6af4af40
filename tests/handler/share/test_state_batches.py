"""Batches of states in messages: made while they are encoded, and freed a few at a time."""

import asyncio

import pytest

from broker_lite.coordinator.share_records.state import StateBatch
from broker_lite.handler.large import Turns
from broker_lite.handler.share import state_batches
from broker_lite.handler.share.state_batches import from_structs, to_structs
from broker_lite.wire import messages

BATCHES = [StateBatch(each, each, 0, 1 + each % 2) for each in range(1000)]


def test_k28_structs_are_made_while_they_are_encoded() -> None:
    made = list[int]()
    struct = messages.ReadShareGroupStateResponse.StateBatch

    def make(**fields: int) -> "messages.ReadShareGroupStateResponse.StateBatch":
        made.append(fields["first_offset"])
        return struct(**fields)

    structs = to_structs(BATCHES, make)
    assert len(structs) == 1000
    assert not made
    elements = iter(structs)
    assert next(elements) == struct(
        first_offset=0, last_offset=0, delivery_state=0, delivery_count=1
    )
    assert made == [0]


@pytest.mark.parametrize("count", [0, 1, 511, 512, 513, 1000])
def test_k28_what_was_said_is_as_it_was(count: int) -> None:
    said = [*to_structs(BATCHES[:count], messages.ReadShareGroupStateResponse.StateBatch)]
    assert asyncio.run(from_structs(said, Turns())) == BATCHES[:count]
    assert said == []


@pytest.mark.as_written
def test_k28_others_have_their_turn_before_all_is_taken(
    short_turns: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_batches, "_AT_A_TIME", 10)
    said = [*to_structs(BATCHES, messages.WriteShareGroupStateRequest.StateBatch)]
    left = list[int]()

    async def look() -> None:
        while True:
            left.append(len(said))
            await asyncio.sleep(0)

    async def scene() -> None:
        looking = asyncio.create_task(look())
        await from_structs(said, Turns())
        looking.cancel()

    asyncio.run(scene())
    assert left == [*range(990, -10, -10)]
