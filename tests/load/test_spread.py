"""Which connection goes where."""

import pytest

from broker_lite.load.spread import Share, spread


def test_the_partitions_of_one_broker_take_turns() -> None:
    leaders = dict.fromkeys(range(5), 1)
    assert spread(leaders, 2) == [Share(1, [0, 2, 4]), Share(1, [1, 3])]


def test_each_leader_has_a_connection_whatever_was_asked() -> None:
    assert spread({0: 3, 1: 1, 2: 2}, 1) == [Share(1, [1]), Share(2, [2]), Share(3, [0])]


def test_who_leads_more_gets_more() -> None:
    leaders = {**dict.fromkeys(range(6), 1), 6: 2, 7: 2}
    assert [share.node_id for share in spread(leaders, 4)] == [1, 1, 1, 2]


@pytest.mark.parametrize("connections", [3, 100])
def test_no_connection_is_without_a_partition(connections: int) -> None:
    assert spread({0: 1, 1: 1, 2: 1}, connections) == [Share(1, [n]) for n in range(3)]


def test_without_leaders_there_is_none() -> None:
    assert spread({}, 4) == []
