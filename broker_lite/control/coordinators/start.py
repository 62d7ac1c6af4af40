"""Both coordinators of a broker, started in the order in which they need each other."""

from typing import NamedTuple, Self

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.coordinators.alarm import Alarm
from broker_lite.control.coordinators.group_service import Groups
from broker_lite.control.coordinators.transaction_service import Transactions


class Coordinators(NamedTuple):
    """Groups and transactions, and the alarm that both set."""

    groups: Groups
    transactions: Transactions
    alarm: Alarm

    @classmethod
    def start(cls, cluster: Cluster, clock: Clock) -> Self:
        """Read both state logs; what was ending when the broker stopped is ended."""
        alarm = Alarm()
        clock.watch(lambda: alarm.wake())
        groups = Groups(cluster=cluster, clock=clock, alarm=alarm)
        groups.start()
        transactions = Transactions(cluster=cluster, clock=clock, groups=groups, alarm=alarm)
        transactions.start()
        return cls(groups, transactions, alarm)
