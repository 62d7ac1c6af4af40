"""Starts both coordinators of a broker: groups first, because transactions need them."""

from typing import NamedTuple, Self

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.coordinators.alarm import Alarm
from broker_lite.control.coordinators.group_service import Groups
from broker_lite.control.coordinators.transaction_service import Transactions


class Coordinators(NamedTuple):
    """The coordinators of groups and transactions, and the alarm that both use."""

    groups: Groups
    transactions: Transactions
    alarm: Alarm

    @classmethod
    def idle(cls, cluster: Cluster, clock: Clock) -> Self:
        """Return coordinators of nothing, for a process whose broker leads no state log."""
        alarm = Alarm()
        clock.watch(lambda: alarm.wake())
        groups = Groups(cluster=cluster, clock=clock, alarm=alarm)
        return cls(
            groups,
            Transactions(cluster=cluster, clock=clock, groups=groups, alarm=alarm),
            alarm,
        )

    @classmethod
    def start(cls, cluster: Cluster, clock: Clock) -> Self:
        """Load both state logs, and finish the transactions that were ending at the last stop."""
        coordinators = cls.idle(cluster, clock)
        coordinators.groups.start()
        coordinators.transactions.start()
        return coordinators
