"""Elections case by case; tests/differential/test_elections.py asks Kafka's own code."""

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from broker_lite.control.cluster.elections import (
    Election,
    ReplicaMove,
    Terms,
    change,
    change_record,
)
from broker_lite.control.metadata import metadata_records as kinds
from broker_lite.control.metadata.image import MetadataImage
from broker_lite.control.metadata.metadata_records import make
from broker_lite.control.metadata.topic import NO_LEADER, PartitionRegistration
from tests.control.cluster.election_cases import led, partition, terms
from tests.control.registered import directory

ID = b"i" * 16


# -- who is chosen


def test_c10_nothing_changes_while_the_leader_may_lead() -> None:
    before = partition(2, (1, 2, 3))
    for election in (Election.ONLINE, Election.UNCLEAN):
        assert change(before, terms(1, 2, 3, election=election)) is before


def test_c10_the_first_replica_in_sync_follows_a_leader_that_is_gone() -> None:
    before = partition(1, (3, 2, 1))
    after = change(before, terms(2, 3), isr=(3, 2))
    assert led(after) == (2, 6)
    assert after == before._replace(leader=2, leader_epoch=6, isr=(3, 2), partition_epoch=8)


def test_c10_the_order_of_the_replicas_counts_not_that_of_the_isr() -> None:
    before = partition(1, (1, 2, 3), replicas=(1, 3, 2))
    assert change(before, terms(2, 3), isr=(2, 3)).leader == 3


def test_c10_a_replica_that_is_not_active_is_passed_over() -> None:
    before = partition(1, (1, 2, 3))
    assert change(before, terms(3), isr=(2, 3)).leader == 3


def test_c10_a_replica_that_is_not_in_sync_is_passed_over() -> None:
    before = partition(1, (1, 3))
    assert change(before, terms(2, 3), isr=(3,)).leader == 3


def test_c10_the_preferred_leader_is_the_first_replica() -> None:
    before = partition(2, (1, 2, 3))
    after = change(before, terms(1, 2, 3, election=Election.PREFERRED))
    assert after == before._replace(leader=1, leader_epoch=6, partition_epoch=8)


@pytest.mark.parametrize(
    ("active", "isr"),
    [((2, 3), (1, 2, 3)), ((1, 2, 3), (2, 3))],
    ids=["not active", "not in sync"],
)
def test_c10_where_the_preferred_leader_cannot_lead_the_leader_stays(
    active: tuple[int, ...], isr: tuple[int, ...]
) -> None:
    before = partition(2, isr)
    assert change(before, terms(*active, election=Election.PREFERRED)) is before


def test_c10_where_neither_can_lead_the_next_one_does() -> None:
    before = partition(2, (1, 2, 3))
    after = change(before, terms(3, election=Election.PREFERRED))
    assert led(after) == (3, 6)


def test_c10_a_preferred_election_is_never_unclean() -> None:
    before = partition(1, (1,))
    after = change(before, terms(2, 3, election=Election.PREFERRED, tracks_eligible=False), isr=())
    assert (after.leader, after.isr, after.is_recovering) == (NO_LEADER, (1,), False)


def test_c10_the_preferred_one_is_the_first_of_the_new_replicas() -> None:
    before = partition(1, (1, 2, 3))
    after = change(before, terms(1, 2, 3, election=Election.PREFERRED), move=ReplicaMove((3, 2, 1)))
    assert led(after) == (3, 6)


# -- unclean elections


@pytest.mark.parametrize("tracks_eligible", [True, False])
def test_c11_without_a_replica_in_sync_nobody_leads(tracks_eligible: bool) -> None:
    before = partition(1, (1,))
    after = change(before, terms(2, 3, tracks_eligible=tracks_eligible), isr=())
    assert led(after) == (NO_LEADER, 6)
    assert not after.is_recovering


def test_c11_an_unclean_election_takes_the_first_active_replica() -> None:
    before = partition(1, (1,), replicas=(1, 3, 2))
    after = change(before, terms(2, 3, election=Election.UNCLEAN, tracks_eligible=False), isr=())
    assert after == before._replace(
        leader=3, leader_epoch=6, isr=(3,), partition_epoch=8, is_recovering=True
    )


def test_c11_an_unclean_election_is_clean_where_it_can_be() -> None:
    before = partition(1, (1, 3))
    after = change(before, terms(2, 3, election=Election.UNCLEAN), isr=(3,))
    assert (led(after), after.isr, after.is_recovering) == ((3, 6), (3,), False)


def test_c11_an_unclean_election_without_active_replicas_has_no_leader() -> None:
    before = partition(1, (1,))
    after = change(before, terms(4, election=Election.UNCLEAN, tracks_eligible=False), isr=())
    assert (led(after), after.isr, after.is_recovering) == ((NO_LEADER, 6), (1,), False)


def test_c11_an_unclean_election_empties_the_eligible_ones() -> None:
    """Also if one of them is chosen: it was not asked because the ISR is not empty."""
    before = partition(1, (1,), eligible=(2, 3))
    one = terms(2, 3, min_isr=2, election=Election.UNCLEAN)
    after = change(before, one)
    assert (led(after), after.isr, after.eligible) == ((2, 6), (2,), ())
    assert after.is_recovering


def test_c11_what_is_recovering_goes_on_recovering() -> None:
    before = partition(1, (1, 2), is_recovering=True)
    assert change(before, terms(2), isr=(2,)).is_recovering
    after = change(before, terms(3, election=Election.UNCLEAN, tracks_eligible=False), isr=())
    assert after.is_recovering


def test_c11_an_unclean_election_that_finds_the_leader_changes_nothing() -> None:
    """The leader is not in the ISR, which only a foreign image has."""
    before = partition(1, (2,))
    one = terms(1, election=Election.UNCLEAN, tracks_eligible=False)
    assert change(before, one) is before


# -- epochs


def test_c14_an_isr_that_shrinks_or_grows_is_no_new_leader_epoch() -> None:
    before = partition(1, (1, 2))
    shrunk = change(before, terms(1, 2, 3), isr=(1,))
    assert (led(shrunk), shrunk.partition_epoch) == ((1, 5), 8)
    grown = change(shrunk, terms(1, 2, 3), isr=(1, 2, 3))
    assert (led(grown), grown.partition_epoch) == ((1, 5), 9)


def test_c14_a_replica_that_is_taken_away_ends_the_epoch_of_the_leader() -> None:
    before = partition(1, (1, 2))
    after = change(before, terms(1, 2, 3, 4), move=ReplicaMove((1, 2)))
    assert after == before._replace(replicas=(1, 2), leader_epoch=6, partition_epoch=8)
    moved = change(before, terms(1, 2, 3, 4), move=ReplicaMove((1, 2, 4)))
    assert led(moved) == (1, 6)


def test_c14_replicas_that_come_or_change_places_do_not() -> None:
    before = partition(1, (1, 2))
    for replicas in ((1, 2, 3, 4), (3, 2, 1)):
        after = change(before, terms(1, 2, 3, 4), move=ReplicaMove(replicas))
        assert after == before._replace(replicas=replicas, partition_epoch=8)


def test_c14_a_reassignment_may_leave_nobody_who_leads() -> None:
    before = partition(NO_LEADER, (), eligible=(1,), last_leader=(1,))
    after = change(before, terms(4), move=ReplicaMove((1, 4)))
    assert led(after) == (NO_LEADER, 6)


def test_c14_without_eligible_leaders_the_isr_is_never_empty() -> None:
    before = partition(1, (1,))
    after = change(before, terms(tracks_eligible=False), isr=())
    assert (led(after), after.isr) == ((NO_LEADER, 6), (1,))


# -- reassignments


def test_c43_replicas_that_are_added_wait_for_the_isr() -> None:
    before = partition(1, (1, 2, 3))
    move = ReplicaMove((4, 2, 3, 1), adding=(4,), removing=(1,))
    first = change(before, terms(1, 2, 3, 4), move=move)
    assert first == before._replace(
        replicas=(4, 2, 3, 1), adding=(4,), removing=(1,), partition_epoch=8
    )
    # The replica that goes may leave the ISR meanwhile; nothing is complete by that.
    shrunk = change(first, terms(1, 2, 3, 4), isr=(1, 3))
    assert (shrunk.adding, shrunk.removing, led(shrunk)) == ((4,), (1,), (1, 5))
    done = change(shrunk, terms(1, 2, 3, 4), isr=(1, 3, 4))
    assert (done.replicas, done.isr, done.adding, done.removing) == ((4, 2, 3), (3, 4), (), ())
    assert led(done) == (4, 6)


def test_c43_replicas_are_not_removed_before_somebody_else_is_in_sync() -> None:
    before = partition(1, (1,), removing=(1,))
    assert change(before, terms(1, 2, 3), isr=(1,)) is before
    after = change(before, terms(1, 2, 3), isr=(1, 2))
    # With fewer added than removed all that stay have to be in sync.
    assert (after.replicas, after.isr, after.removing) == ((1, 2, 3), (1, 2), (1,))
    done = change(after, terms(1, 2, 3), isr=(1, 2, 3))
    assert (done.replicas, done.isr, led(done)) == ((2, 3), (2, 3), (2, 6))


def test_c43_a_leader_that_stays_has_a_new_epoch_when_replicas_go() -> None:
    before = partition(2, (1, 2, 3), removing=(1,))
    after = change(before, terms(1, 2, 3))
    assert (after.replicas, after.isr, led(after)) == ((2, 3), (2, 3), (2, 6))


# -- records


def image_with(before: PartitionRegistration) -> MetadataImage:
    image = MetadataImage()
    image.apply(
        [
            make(kinds.TOPIC, name="t", topic_id=ID),
            make(
                kinds.PARTITION,
                partition_id=0,
                topic_id=ID,
                replicas=list(before.replicas),
                isr=list(before.isr),
                leader=before.leader,
                leader_epoch=before.leader_epoch,
                partition_epoch=before.partition_epoch,
                eligible_leader_replicas=list(before.eligible),
                last_known_elr=list(before.last_leader),
                leader_recovery_state=int(before.is_recovering),
                adding_replicas=list(before.adding),
                removing_replicas=list(before.removing),
            ),
        ]
    )
    return image


IDS = st.lists(st.integers(1, 4), unique=True).map(tuple)
REPLICAS = st.lists(st.integers(1, 4), unique=True, min_size=1).map(tuple)
PARTITIONS = st.builds(
    PartitionRegistration,
    leader=st.integers(1, 4) | st.just(NO_LEADER),
    leader_epoch=st.integers(0, 9),
    replicas=REPLICAS,
    isr=IDS,
    eligible=IDS,
    last_leader=IDS.map(lambda ids: ids[:1]),
    partition_epoch=st.integers(0, 9),
    is_recovering=st.booleans(),
    adding=IDS,
    removing=IDS,
)
TERMS = st.builds(
    lambda active, min_isr, election, tracks, lost: terms(
        *active, min_isr=min_isr, election=election, tracks_eligible=tracks, lost=lost
    ),
    IDS,
    st.integers(1, 4),
    st.sampled_from(Election),
    st.booleans(),
    IDS,
)


MOVES = st.builds(ReplicaMove, REPLICAS, IDS, IDS)


@given(PARTITIONS, TERMS, st.none() | IDS, st.none() | MOVES)
def test_what_is_written_is_what_was_decided(
    before: PartitionRegistration,
    given_terms: Terms,
    isr: tuple[int, ...] | None,
    move: ReplicaMove | None,
) -> None:
    """C-14: the image folds the record to the same partition, with one more partition epoch."""
    image = image_with(before)
    assert image.topics["t"].partitions == (before,)
    after = change(before, given_terms, isr=isr, move=move)
    if after is before:
        return
    record = change_record(ID, 0, before, after, list(map(directory, after.replicas)))
    image.apply([kinds.decode(kinds.encode(record, 30))])
    assert image.topics["t"].partitions == (after,)
    assert after.partition_epoch == before.partition_epoch + 1
    assert (after.leader == before.leader) or (after.leader_epoch == before.leader_epoch + 1)


@given(PARTITIONS, TERMS, st.none() | IDS)
def test_whatever_happens_a_leader_is_active_and_in_sync(
    before: PartitionRegistration, given_terms: Terms, isr: tuple[int, ...] | None
) -> None:
    """C-10, C-11: a new one; and who is in sync is not eligible besides."""
    after = change(before, given_terms, isr=isr)
    if after.leader not in (before.leader, NO_LEADER):
        assert given_terms.may_lead(after.leader)
        assert after.leader in after.isr
    if after is not before and given_terms.tracks_eligible:
        assert not {*after.isr} & {*after.eligible}
        assert not {*after.eligible} & {*given_terms.unclean_shutdown}


@given(PARTITIONS, TERMS)
@example(
    partition(NO_LEADER, (), replicas=(1, 2, 3, 4), last_leader=(4,), removing=(1, 2, 3)),
    terms(1, 2, 3, 4),
)
def test_an_election_that_is_over_changes_nothing_more(
    before: PartitionRegistration, given_terms: Terms
) -> None:
    """C-10, C-43: with a leader that may lead; only the end of a reassignment is a new epoch."""
    if before.leader not in (NO_LEADER, *before.isr):
        return  # no image has that
    after = change(before, given_terms)
    if after.leader != NO_LEADER and given_terms.may_lead(after.leader):
        again = change(after, replace(given_terms, election=Election.ONLINE))
        assert again.leader == after.leader
        is_new_epoch = again.replicas != after.replicas
        assert again.leader_epoch == after.leader_epoch + is_new_epoch


def test_a_record_names_only_what_changes() -> None:
    before = partition(1, (1, 2), eligible=(3,), last_leader=(3,), is_recovering=True)
    record = change_record(ID, 4, before, before, [])
    assert record == make(kinds.PARTITION_CHANGE, partition_id=4, topic_id=ID)
    after = before._replace(isr=(), eligible=(), last_leader=(), is_recovering=False)
    assert change_record(ID, 4, before, after, []) == make(
        kinds.PARTITION_CHANGE,
        partition_id=4,
        topic_id=ID,
        isr=[],
        eligible_leader_replicas=[],
        last_known_elr=[],
        leader_recovery_state=0,
    )


def test_a_record_of_new_replicas_has_their_directories() -> None:
    before = partition(1, (1, 2, 3))
    after = before._replace(replicas=(2, 1), leader_epoch=6)
    record = change_record(ID, 0, before, after, [directory(2), directory(1)])
    assert record.value.replicas == [2, 1]
    assert record.value.directories == [directory(2), directory(1)]
    assert record.value.leader == 1
    assert record.value.isr is None
