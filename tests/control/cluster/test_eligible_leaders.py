"""Elections with eligible leader replicas, and by the last leader: C-12, C-13."""

import pytest

from broker_lite.control.cluster.elections import Election, change
from broker_lite.control.metadata.topic import NO_LEADER, PartitionRegistration
from tests.control.cluster.election_cases import led, partition, terms

# -- eligible leader replicas


def test_c12_who_leaves_an_isr_that_becomes_too_small_stays_eligible() -> None:
    before = partition(1, (1, 2, 3))
    after = change(before, terms(1, 2, 3, min_isr=2), isr=(1, 2))
    assert after.eligible == ()
    after = change(after, terms(1, 2, 3, min_isr=2), isr=(1,))
    assert (after.isr, after.eligible, led(after)) == ((1,), (2,), (1, 5))
    after = change(after, terms(2, 3, min_isr=2), isr=())
    assert (after.isr, after.eligible, led(after)) == ((2,), (1,), (2, 6))


def test_c12_who_joins_the_isr_is_not_among_the_eligible_ones() -> None:
    before = partition(1, (1,), eligible=(2, 3))
    after = change(before, terms(1, 2, 3, min_isr=3), isr=(1, 3))
    assert (after.isr, after.eligible) == ((1, 3), (2,))
    after = change(after, terms(1, 2, 3, min_isr=3), isr=(1, 3, 2))
    assert (after.isr, after.eligible) == ((1, 3, 2), ())


def test_c12_an_isr_that_is_large_enough_empties_the_eligible_ones() -> None:
    """Also if only min.insync.replicas was lowered."""
    before = partition(1, (1,), eligible=(2, 3))
    after = change(before, terms(1, 2, 3, min_isr=1))
    assert after == before._replace(eligible=(), partition_epoch=8)


def test_c12_an_eligible_replica_leads_when_nobody_is_in_sync() -> None:
    before = partition(NO_LEADER, (), eligible=(1, 3), last_leader=(1,))
    after = change(before, terms(3, min_isr=2))
    assert after == before._replace(
        leader=3, leader_epoch=6, isr=(3,), eligible=(1,), last_leader=(), partition_epoch=8
    )
    assert not after.is_recovering


def test_c12_an_eligible_replica_does_not_lead_while_somebody_is_in_sync() -> None:
    before = partition(1, (1,), eligible=(2,))
    after = change(before, terms(2, min_isr=2))
    assert (led(after), after.isr, after.eligible) == ((NO_LEADER, 6), (1,), (2,))


def test_c12_the_last_one_in_sync_becomes_eligible_itself() -> None:
    before = partition(1, (1,))
    after = change(before, terms(2, 3), isr=())
    assert (led(after), after.isr, after.eligible) == ((NO_LEADER, 6), (), (1,))
    back = change(after, terms(1, 2, 3))
    assert (led(back), back.isr, back.eligible, back.last_leader) == ((1, 7), (1,), (), ())


def test_c12_who_was_not_shut_down_is_not_eligible() -> None:
    before = partition(1, (1, 2), eligible=(3,))
    after = change(before, terms(1, 3, min_isr=3, lost=(2,)), isr=(1,))
    assert (after.isr, after.eligible) == ((1,), (3,))
    after = change(after, terms(1, min_isr=3, lost=(3,)))
    assert after.eligible == ()


def test_c12_without_the_feature_nobody_is_eligible() -> None:
    before = partition(1, (1, 2), eligible=(3,))
    off = terms(1, min_isr=3, tracks_eligible=False)
    after = change(before, off, isr=(1,))
    assert (after.isr, after.eligible) == ((1,), ())
    assert change(after, off) is after


def test_c12_without_the_feature_an_eligible_one_is_still_chosen_once() -> None:
    before = partition(NO_LEADER, (), eligible=(3,))
    after = change(before, terms(3, tracks_eligible=False))
    assert (led(after), after.isr, after.eligible) == ((3, 6), (3,), ())


def test_c12_the_eligible_ones_are_sorted() -> None:
    before = partition(1, (3, 1, 2))
    assert change(before, terms(1, min_isr=3), isr=(1,)).eligible == (2, 3)


# -- the last leader


def test_c13_the_last_leader_is_remembered_while_there_is_none() -> None:
    before = partition(1, (1,))
    after = change(before, terms(2, 3, lost=(1,)), isr=())
    assert (after.isr, after.eligible, after.last_leader) == ((), (), (1,))
    assert led(after) == (NO_LEADER, 6)
    # Nothing of it changes while it stays away.
    assert change(after, terms(2, 3)) is after


def test_c13_the_last_leader_comes_back_though_records_may_be_lost() -> None:
    before = partition(NO_LEADER, (), last_leader=(2,))
    for election in Election:
        after = change(before, terms(1, 2, 3, election=election))
        assert after == before._replace(
            leader=2,
            leader_epoch=6,
            isr=(2,),
            last_leader=(),
            partition_epoch=8,
            is_recovering=True,
        )


@pytest.mark.parametrize(
    "before",
    [
        partition(NO_LEADER, (1,), last_leader=(2,)),
        partition(NO_LEADER, (), eligible=(1,), last_leader=(2,)),
        partition(NO_LEADER, (), last_leader=(2, 3)),
        partition(NO_LEADER, ()),
    ],
    ids=["somebody is in sync", "somebody is eligible", "there are two", "it is not known"],
)
def test_c13_when_the_last_leader_is_not_asked(before: PartitionRegistration) -> None:
    assert change(before, terms(2, 3, min_isr=2)).leader == NO_LEADER


def test_c13_without_the_feature_the_last_leader_does_not_count() -> None:
    before = partition(NO_LEADER, (), last_leader=(2,))
    assert change(before, terms(2, tracks_eligible=False)) is before
    gone = change(partition(1, (1,)), terms(tracks_eligible=False), isr=())
    assert gone.last_leader == ()


def test_c13_a_leader_that_is_lost_with_somebody_in_sync_is_remembered_too() -> None:
    """The one in sync is not active: nobody leads, though the ISR is not empty."""
    after = change(partition(1, (1, 2)), terms(3), isr=(2,))
    assert (led(after), after.isr, after.last_leader) == ((NO_LEADER, 6), (2,), (1,))
    back = change(after, terms(2, 3))
    assert (led(back), back.last_leader, back.is_recovering) == ((2, 7), (), False)


def test_c13_the_first_last_leader_stays() -> None:
    before = partition(1, (), last_leader=(2,))
    after = change(before, terms(3))
    assert (led(after), after.last_leader) == ((NO_LEADER, 6), (2,))
