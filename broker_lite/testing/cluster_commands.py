"""What a test does to a cluster of several brokers."""

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import quote

from broker_lite.testing.controlled import Controlled
from broker_lite.testing.processes.forks import BrokerFailed

if TYPE_CHECKING:
    from broker_lite.testing.nodes import BrokerNode


class ClusterCommands(Controlled):
    """The commands about brokers and partitions; each returns when all brokers know of it.

    Attributes:
        settings: of the cluster.
        addresses: HOST:PORT of each broker.
    """

    settings: dict[str, str]
    addresses: list[str]

    @property
    def brokers(self) -> "Mapping[int, BrokerNode]":
        """The brokers of the cluster by id, from 1 on: `broker.brokers[2].down()`."""
        from broker_lite.testing.nodes import nodes_of

        first_id = int(self.settings.get("node.id", "1"))
        return nodes_of(lambda: self.addresses, first_id, self.control)

    def heal(self) -> None:
        """Bring every broker back, with all records, and let preferred replicas lead again."""
        self.control("POST", "/v1/cluster/heal")

    def roll(self) -> None:
        """Restart the brokers one after the other, each by a controlled shutdown."""
        self.control("POST", "/v1/cluster/roll")

    def move_leader(self, topic: str, partition: int, *, to: int) -> None:
        """Let another broker lead a partition.

        Raises:
            BrokerFailed: it is not in the ISR of the partition.
        """
        self.control("PATCH", _path(topic, partition), {"leader": to})

    def elect_unclean(self, topic: str, partition: int, *, to: int) -> None:
        """Let a replica lead although it is not in sync; what it lacks is lost.

        Raises:
            BrokerFailed: it has no replica of the partition, or is down.
        """
        self.control("PATCH", _path(topic, partition), {"unclean_leader": to})

    def lag(
        self,
        topic: str,
        partition: int,
        *,
        node: int,
        records: int = 0,
        delay: timedelta = timedelta(),
    ) -> None:
        """Let a follower be behind: for good, by a number of records, or by a time.

        While it is in the ISR, the high watermark waits for it, and so do producers with acks=all.
        A follower that is behind for longer than replica.lag.time.max.ms leaves the ISR. A broker
        without a replica does not join the ISR by a reassignment until it has caught up.

        Args:
            topic: of the partition.
            partition: its number.
            node: the follower, or a broker without a replica.
            records: how many records it is behind.
            delay: how much later it gets each record; without both it fetches nothing any more.

        Raises:
            BrokerFailed: there is no such broker, or it leads the partition.
        """
        ms = delay // timedelta(milliseconds=1)
        lag = {"node": node, "records": records, "ms": ms}
        self.control("PATCH", _path(topic, partition), {"lagging": [lag]})

    def catch_up(self, topic: str, partition: int, *, node: int) -> None:
        """Let a follower have all records again, and join the ISR.

        Raises:
            BrokerFailed: there is no such broker, or it leads the partition.
        """
        self.control("PATCH", _path(topic, partition), {"caught_up": [node]})

    def shrink_isr(self, topic: str, partition: int, *, node: int) -> None:
        """Let a follower leave the ISR at once, as if it had been behind for too long.

        Raises:
            BrokerFailed: it has no replica of the partition, or leads it.
        """
        found = self.partition(topic, partition)
        isr, replicas = found["isr"], found["replicas"]
        assert isinstance(isr, list)
        assert isinstance(replicas, list)
        if node not in replicas:
            raise BrokerFailed(f"broker {node} has no replica of {topic}-{partition}")
        if node in isr:
            stay = [each for each in isr if each != node]
            self.control("PATCH", _path(topic, partition), {"isr": stay})

    def elect_preferred(self, topic: str | None = None) -> None:
        """Let the first replica of each partition lead where it is in the ISR.

        Args:
            topic: None for all.
        """
        self.control("POST", "/v1/cluster/elections", {"topic": topic})

    def partition(self, topic: str, partition: int) -> dict[str, object]:
        """Return who has a partition and leads it, as the cluster's metadata has it.

        Returns:
            leader, leader_epoch, replicas, isr, eligible, last_leader, partition_epoch,
            is_recovering, adding, removing.
        """
        found = self.control("GET", _path(topic, partition))
        assert isinstance(found, dict)
        return found


def _path(topic: str, partition: int) -> str:
    return f"/v1/topics/{quote(topic, safe='')}/{partition}"
