"""How many records members of share groups have said something about."""

import asyncio

import pytest

from broker_lite.control.coordinators.kept_states import Keeping
from broker_lite.control.coordinators.share_said import ShareSaid
from broker_lite.coordinator.effects import ShareStart
from broker_lite.coordinator.share_records.partition import SharePartition
from broker_lite.coordinator.share_records.settings import ShareSettings
from broker_lite.coordinator.share_records.states import ShareKey
from broker_lite.errors import BrokerError, NotLeaderOrFollower

KEY = ShareKey("g", b"t" * 16, 0)


def partition(**said: int) -> SharePartition:
    found = SharePartition(0, (), ShareSettings())
    found.said = {int(kind.removeprefix("t")): count for kind, count in said.items()}
    return found


def test_numbers_add_up_over_share_partitions_that_are_made_anew() -> None:
    said = ShareSaid()
    assert said.of(KEY) == {}
    first = partition(t1=3)
    said.take(KEY, first)
    said.take(KEY, first)
    said.take(KEY, partition(t1=1, t2=5))
    said.take(KEY, partition())
    said.take(KEY, None)
    assert said.of(KEY) == {1: 4, 2: 5}
    assert said.of(KEY._replace(partition=1)) == {}


@pytest.mark.parametrize(
    ("error", "is_ended", "expected"),
    [(None, False, {1: 3}), (NotLeaderOrFollower(), False, {}), (None, True, {})],
)
def test_what_another_process_keeps_counts_when_it_is_kept_and_the_state_is_the_same(
    error: BrokerError | None, is_ended: bool, expected: dict[int, int]
) -> None:
    async def test() -> None:
        said = ShareSaid()
        keeping: Keeping = asyncio.get_running_loop().create_future()
        first = partition(t1=3)
        said.take(KEY, first, keeping)
        assert first.said == {}
        assert said.of(KEY) == {}
        if is_ended:
            said.end([ShareStart(*KEY, None, 0)])
        keeping.set_result(error)
        await asyncio.sleep(0)
        assert said.of(KEY) == expected

    asyncio.run(test())


def test_they_end_with_the_state() -> None:
    said = ShareSaid()
    said.end([ShareStart(*KEY, None, 0)])
    said.take(KEY, partition(t1=3))
    said.end([ShareStart(*KEY, 7, 2)])
    assert said.of(KEY) == {1: 3}
    said.end([ShareStart(*KEY, None, 2)])
    assert said.of(KEY) == {}
