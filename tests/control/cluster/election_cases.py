"""Partitions and terms of elections for the tests of elections."""

from collections.abc import Collection, Sequence
from typing import Any

from broker_lite.control.cluster.elections import Election, Terms
from broker_lite.control.metadata.topic import PartitionRegistration


def terms(
    *active: int,
    min_isr: int = 1,
    election: Election = Election.ONLINE,
    tracks_eligible: bool = True,
    lost: Collection[int] = (),
) -> Terms:
    return Terms(
        may_lead=frozenset(active).__contains__,
        min_isr=min_isr,
        tracks_eligible=tracks_eligible,
        election=election,
        unclean_shutdown=lost,
    )


def partition(
    leader: int,
    isr: Sequence[int],
    *,
    replicas: Sequence[int] = (1, 2, 3),
    **fields: Any,
) -> PartitionRegistration:
    return PartitionRegistration(
        leader, leader_epoch=5, replicas=tuple(replicas), isr=tuple(isr), partition_epoch=7
    )._replace(**fields)


def led(found: PartitionRegistration) -> tuple[int, int]:
    return found.leader, found.leader_epoch
