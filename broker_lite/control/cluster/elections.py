"""Which replica leads a partition after a change of its replicas or of the brokers.

Pure: a partition and what is to change go in; the change with all that follows from it comes out.

Source: PartitionChangeBuilder; KIP-966 for the eligible leader replicas.
"""

import enum
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from broker_lite.control.metadata import metadata_records as kinds
from broker_lite.control.metadata.metadata_records import MetadataRecord, make
from broker_lite.control.metadata.topic import NO_LEADER, PartitionRegistration


class Election(enum.Enum):
    """Which replica is wanted as the leader."""

    PREFERRED = "preferred"
    """The first replica, if it is in sync."""
    ONLINE = "online"
    """Any replica that is in sync; the leader stays if it can."""
    UNCLEAN = "unclean"
    """As ONLINE; where no replica in sync is alive, any that is alive, though records are lost."""


class ReplicaMove(NamedTuple):
    """The replicas that a partition gets.

    Attributes:
        replicas: those it has from now on, also those that are being removed.
        adding: those of them that are not in sync yet.
        removing: those of them that go once the others are in sync.
    """

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What an election depends on beside the partition.

    Args:
        may_lead: whether a broker may become or stay the leader.
        min_isr: so many replicas have to be in sync; at most the replication factor.
        tracks_eligible: whether eligible.leader.replicas.version is 1 or higher.
        election: which leader is wanted.
        unclean_shutdown: brokers that came back without all that they had acknowledged.
    """

    may_lead: Callable[[int], bool]
    min_isr: int
    tracks_eligible: bool
    election: Election = Election.ONLINE
    unclean_shutdown: Collection[int] = ()


def change(
    before: PartitionRegistration,
    terms: Terms,
    *,
    isr: Sequence[int] | None = None,
    move: ReplicaMove | None = None,
) -> PartitionRegistration:
    """Return the partition after a change of its replicas or its ISR, and after its election.

    Args:
        before: as it is now.
        terms: of the election.
        isr: the new ISR; None to leave it.
        move: the new replicas; None to leave them.

    Returns:
        `before` itself if nothing changes.

    Rule: C-10 to C-14 (PartitionChangeBuilder.build).
    """
    target = _Target(before, terms, isr, move)
    target.complete_reassignment()
    target.track_eligible()
    is_unclean = target.elect()
    if target.leader == before.leader and not set(before.replicas) <= set(target.replicas):
        target.is_new_epoch = True  # a replica that is taken away must not go on as it is
    if is_unclean or not terms.tracks_eligible:
        target.eligible = ()
    if not target.isr and not terms.tracks_eligible:
        target.isr = before.isr  # without eligible leaders the last in-sync replica stays
    target.note_last_leader()
    return target.partition(is_unclean)


class _Target:
    """A partition in the making."""

    def __init__(
        self,
        before: PartitionRegistration,
        terms: Terms,
        isr: Sequence[int] | None,
        move: ReplicaMove | None,
    ) -> None:
        self.before = before
        self.terms = terms
        if move is None:
            move = ReplicaMove(before.replicas, before.adding, before.removing)
        self.replicas, self.adding, self.removing = move
        self.isr = before.isr if isr is None else tuple(isr)
        self.eligible = before.eligible
        self.last_leader = before.last_leader
        self.leader = before.leader
        self.is_new_epoch = False

    def complete_reassignment(self) -> None:
        """Take the removed replicas away once those that are added are in sync.

        Rule: C-43 (PartitionReassignmentReplicas.maybeCompleteReassignment).
        """
        if not self.adding and not self.removing:
            return
        isr = tuple(one for one in self.isr if one not in self.removing)
        replicas = tuple(one for one in self.replicas if one not in self.removing)
        in_sync = set(isr)
        if self.removing and (not isr or not replicas):
            return
        if not in_sync.issuperset(self.adding):
            return
        if len(self.adding) < len(self.removing) and not in_sync.issuperset(replicas):
            return
        self.isr, self.replicas, self.adding, self.removing = isr, replicas, (), ()

    def track_eligible(self) -> None:
        """Keep those that leave an ISR that becomes too small.

        Rule: C-12 (PartitionChangeBuilder.maybePopulateTargetElr).
        """
        if not self.terms.tracks_eligible:
            return
        if len(self.isr) >= self.terms.min_isr:
            self.eligible = ()
            return
        candidates = sorted({*self.eligible, *self.before.isr})
        gone = {*self.isr, *self.terms.unclean_shutdown}
        self.eligible = tuple(one for one in candidates if one not in gone)

    def elect(self) -> bool:
        """Choose the leader, and return whether records may be lost by it.

        Rule: C-11 (PartitionChangeBuilder.electLeader).
        """
        leader, is_unclean = self._best()
        if leader == self.before.leader:
            return False
        self.leader, self.is_new_epoch = leader, True
        if leader in self.eligible:
            self.isr = (leader,)
            self.eligible = tuple(one for one in self.eligible if one != leader)
        if is_unclean:
            self.isr = (leader,)
        return is_unclean

    def _best(self) -> tuple[int, bool]:
        order = [self.before.leader, *self.replicas]
        if self.terms.election is Election.PREFERRED:
            order.insert(0, self.replicas[0])
        for one in order:
            if self._is_valid(one):
                return one, False
        if self.terms.tracks_eligible and not self.isr and not self.eligible:
            last = self.before.last_leader
            if len(last) == 1 and self.terms.may_lead(last[0]):
                return last[0], True
        if self.terms.election is Election.UNCLEAN:
            for one in self.replicas:
                if self.terms.may_lead(one):
                    return one, True
        return NO_LEADER, False

    def _is_valid(self, node_id: int) -> bool:
        in_sync = self.isr or self.eligible
        return node_id in in_sync and self.terms.may_lead(node_id)

    def note_last_leader(self) -> None:
        """Remember the last leader when nobody leads any more; forget it at the next leader.

        Rule: C-13 (PartitionChangeBuilder.maybeUpdateLastKnownLeader).
        """
        if not self.terms.tracks_eligible or not self.is_new_epoch:
            return
        if self.leader != NO_LEADER:
            self.last_leader = ()
        elif not self.last_leader:
            self.last_leader = (self.before.leader,)

    def partition(self, is_unclean: bool) -> PartitionRegistration:
        """Return the result; the one before if nothing has changed."""
        before = self.before
        after = PartitionRegistration(
            self.leader,
            before.leader_epoch + self.is_new_epoch,
            self.replicas,
            self.isr,
            self.eligible,
            self.last_leader,
            before.partition_epoch,
            before.is_recovering or is_unclean,
            self.adding,
            self.removing,
        )
        return before if after == before else after._replace(partition_epoch=after[6] + 1)


def change_record(
    topic_id: bytes,
    index: int,
    before: PartitionRegistration,
    after: PartitionRegistration,
    directories: Sequence[bytes],
) -> MetadataRecord:
    """Return the record that makes one partition out of another.

    Args:
        topic_id: of the topic.
        index: of the partition.
        before: as the metadata has it.
        after: another one.
        directories: of the replicas of `after`; written only where the replicas change.
    """
    fields: dict[str, object] = {}
    if after.leader_epoch != before.leader_epoch:
        fields["leader"] = after.leader
    if after.replicas != before.replicas:
        fields["replicas"] = list(after.replicas)
        fields["directories"] = list(directories)
    if after.isr != before.isr:
        fields["isr"] = list(after.isr)
    if after.eligible != before.eligible:
        fields["eligible_leader_replicas"] = list(after.eligible)
    if after.adding != before.adding:
        fields["adding_replicas"] = list(after.adding)
    if after.removing != before.removing:
        fields["removing_replicas"] = list(after.removing)
    if after.last_leader != before.last_leader:
        fields["last_known_elr"] = list(after.last_leader)
    if after.is_recovering != before.is_recovering:
        fields["leader_recovery_state"] = int(after.is_recovering)
    return make(kinds.PARTITION_CHANGE, partition_id=index, topic_id=topic_id, **fields)
