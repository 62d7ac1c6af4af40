"""Placement property by property; tests/differential/test_elections.py asks Kafka's own code."""

import random
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_lite.control.metadata.brokers import BrokerRegistration
from broker_lite.control.topics.placing import Placer
from broker_lite.errors import InvalidReplicationFactor
from tests.control.registered import broker

SEEDS = st.integers(0, 1_000_000)


class AtZero(random.Random):
    """Begins each stripe with the first broker of the first rack, and shuffles nothing."""

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        del start, stop, step
        return 0

    def shuffle(self, x: object) -> None:
        """Leave them as they are."""


def placed(
    brokers: Sequence[BrokerRegistration],
    replication_factor: int,
    count: int,
    chance: random.Random | None = None,
) -> list[tuple[int, ...]]:
    placer = Placer(brokers, chance=chance or AtZero())
    placer.check(replication_factor)
    return [placer.place(replication_factor) for _ in range(count)]


# -- stripes as in the comment of the class in Kafka


def test_c02_without_racks_each_partition_begins_one_broker_further_on() -> None:
    brokers = [broker(node_id) for node_id in (1, 2, 3, 4)]
    assert placed(brokers, 3, 5) == [(1, 2, 3), (2, 3, 4), (3, 4, 1), (4, 1, 2), (1, 2, 3)]


def test_c02_the_order_in_which_brokers_came_does_not_count() -> None:
    brokers = [broker(node_id) for node_id in (3, 1, 2)]
    assert placed(brokers, 2, 3) == [(1, 2), (2, 3), (3, 1)]


def test_c02_replicas_go_over_racks_and_brokers_in_stripes() -> None:
    brokers = [broker(10 * rack + number, "abc"[rack]) for rack in range(3) for number in range(3)]
    assert placed(brokers, 3, 3) == [(0, 10, 20), (11, 21, 1), (22, 2, 12)]


def test_c02_brokers_without_a_rack_are_the_first_rack() -> None:
    brokers = [broker(1, "a"), broker(2), broker(3, "")]
    assert placed(brokers, 3, 1) == [(2, 3, 1)]


def test_c02_more_replicas_than_racks_go_round_again() -> None:
    brokers = [broker(1, "a"), broker(2, "a"), broker(3, "b")]
    assert placed(brokers, 3, 2) == [(1, 3, 2), (3, 2, 1)]


def test_c02_a_small_rack_gets_a_replica_of_each_partition() -> None:
    brokers = [*(broker(node_id, "a") for node_id in range(1, 6)), broker(9, "b")]
    for replicas in placed(brokers, 2, 30, random.Random(3)):
        assert 9 in replicas


# -- fenced brokers


def test_c02_a_fenced_broker_comes_last_in_its_rack() -> None:
    brokers = [broker(1, is_fenced=True), broker(2), broker(3)]
    assert placed(brokers, 3, 3) == [(2, 3, 1), (3, 2, 1), (2, 3, 1)]
    assert all(1 not in replicas for replicas in placed(brokers, 2, 9, random.Random(1)))


def test_c02_a_rack_of_fenced_brokers_does_not_lead() -> None:
    brokers = [broker(1, "a", is_fenced=True), broker(2, "b"), broker(3, "c")]
    found = placed(brokers, 3, 6, random.Random(5))
    assert all(replicas[0] != 1 and sorted(replicas) == [1, 2, 3] for replicas in found)


def test_c02_one_broker_that_is_not_fenced_leads_everything() -> None:
    brokers = [broker(1, is_fenced=True), broker(2), broker(3, is_fenced=True)]
    found = placed(brokers, 2, 40, random.Random(5))
    assert {replicas[0] for replicas in found} == {2}
    assert {replicas[1] for replicas in found} == {1, 3}


def test_c01_somebody_has_to_be_let_in() -> None:
    for brokers in ([], [broker(1, is_fenced=True), broker(2, is_fenced=True)]):
        with pytest.raises(InvalidReplicationFactor) as raised:
            placed(brokers, 1, 1)
        assert raised.value.message == (
            "All brokers are currently fenced, or have all their log directories cordoned."
        )


def test_c01_fenced_brokers_count_for_the_replication_factor() -> None:
    brokers = [broker(1), broker(2, is_fenced=True)]
    assert placed(brokers, 2, 1) == [(1, 2)]
    with pytest.raises(InvalidReplicationFactor) as raised:
        placed(brokers, 3, 1)
    assert raised.value.message == (
        "The target replication factor of 3 cannot be reached because only 2 broker(s) are "
        "registered or some brokers have all their log directories cordoned."
    )


# -- properties

BROKERS = st.lists(
    st.tuples(st.sampled_from((None, "a", "b", "c")), st.booleans()), min_size=1, max_size=9
).map(
    lambda given: [
        broker(number, rack, is_fenced=is_fenced)
        for number, (rack, is_fenced) in enumerate(given, 1)
    ]
)


@given(BROKERS, SEEDS, st.integers(1, 40), st.data())
def test_replicas_are_different_brokers_and_the_first_one_may_lead(
    brokers: list[BrokerRegistration], seed: int, count: int, data: st.DataObject
) -> None:
    """C-02."""
    unfenced = {one.node_id for one in brokers if not one.is_fenced}
    if not unfenced:
        return
    factor = data.draw(st.integers(1, len(brokers)))
    for replicas in placed(brokers, factor, count, random.Random(seed)):
        assert len({*replicas}) == len(replicas) == factor
        assert {*replicas} <= {one.node_id for one in brokers}
        assert replicas[0] in unfenced


@given(BROKERS, SEEDS, st.data())
def test_no_rack_has_two_replicas_before_each_has_one(
    brokers: list[BrokerRegistration], seed: int, data: st.DataObject
) -> None:
    """C-02: racks go before everything else, also before fences."""
    if all(one.is_fenced for one in brokers):
        return
    rack_of = {one.node_id: one.rack for one in brokers}
    factor = data.draw(st.integers(1, len(brokers)))
    for replicas in placed(brokers, factor, 20, random.Random(seed)):
        used = Counter(rack_of[one] for one in replicas)
        assert len(used) == min(factor, len({*rack_of.values()}))


@given(st.integers(1, 8), SEEDS, st.integers(1, 6), st.data())
def test_each_round_leads_evenly(size: int, seed: int, rounds: int, data: st.DataObject) -> None:
    """C-02: as many partitions as there are brokers have as many leaders, and even replicas."""
    brokers = [broker(node_id) for node_id in range(1, size + 1)]
    factor = data.draw(st.integers(1, size))
    found = placed(brokers, factor, size * rounds, random.Random(seed))
    leaders = Counter(replicas[0] for replicas in found)
    assert {*leaders.values()} == {rounds}
    everywhere = Counter(one for replicas in found for one in replicas)
    assert {*everywhere.values()} == {rounds * factor}


def test_after_a_round_the_order_changes() -> None:
    """C-02: else the same sets of brokers would share their partitions for ever."""
    brokers = [broker(node_id) for node_id in range(1, 7)]
    found = placed(brokers, 2, 600, random.Random(8))
    assert len({frozenset(replicas) for replicas in found}) == 15


def test_stripes_begin_anywhere() -> None:
    """C-02."""
    brokers = [broker(node_id) for node_id in range(1, 6)]
    first = Counter(placed(brokers, 2, 1, random.Random(seed))[0] for seed in range(500))
    assert set(first) == {(1, 2), (2, 3), (3, 4), (4, 5), (5, 1)}
    assert min(first.values()) > 50


def test_the_same_chance_places_the_same() -> None:
    """C-02."""
    brokers = [broker(node_id, "ab"[node_id % 2]) for node_id in range(1, 6)]
    assert placed(brokers, 3, 50, random.Random(7)) == placed(brokers, 3, 50, random.Random(7))
