"""Where the replicas of new partitions go: in stripes over racks and brokers, as Kafka places them.

One stripe begins at a random rack and a random broker in each rack. Each further partition begins
one rack and one broker further on. After as many partitions as there are brokers the order of racks
and brokers is shuffled, so that the same sets of brokers do not come again and again.

Source: StripedReplicaPlacer.
"""

import random
from collections.abc import Collection, Iterable, Sequence

from broker_lite.control.metadata.brokers import BrokerRegistration
from broker_lite.errors import InvalidReplicationFactor


class _Ring:
    """Brokers of one rack in turns; each partition begins one broker further on."""

    def __init__(self, broker_ids: Iterable[int], chance: random.Random) -> None:
        self.ids = sorted(broker_ids)
        self._taken = 0
        self._partition = 0
        self._offset = chance.randrange(len(self.ids)) if self.ids else 0

    def next(self, partition: int) -> int | None:
        """Return the next broker for a partition, None when each was taken for it."""
        size = len(self.ids)
        if not size:
            return None
        if self._partition != partition:
            self._partition, self._taken = partition, 0
            self._offset = (self._offset + 1) % size
        if self._taken >= size:
            return None
        self._taken += 1
        return self.ids[(self._taken - 1 + self._offset) % size]


class _Rack:
    """The brokers of a rack; those that are fenced come after all others."""

    def __init__(self, brokers: Sequence[BrokerRegistration], chance: random.Random) -> None:
        self.fenced = _Ring([one.node_id for one in brokers if one.is_fenced], chance)
        self.unfenced = _Ring([one.node_id for one in brokers if not one.is_fenced], chance)

    def next(self, partition: int) -> int | None:
        """Return the next broker for a partition that is not its first."""
        found = self.unfenced.next(partition)
        return found if found is not None else self.fenced.next(partition)

    def shuffle(self, chance: random.Random) -> None:
        """Bring the brokers into another order."""
        chance.shuffle(self.fenced.ids)
        chance.shuffle(self.unfenced.ids)


class Placer:
    """Places the partitions of one topic, one after the other."""

    def __init__(self, brokers: Collection[BrokerRegistration], *, chance: random.Random) -> None:
        """Begin a stripe.

        Args:
            brokers: all that may get replicas; see BrokerRegistrations.usable.
            chance: where the stripe begins.

        Rule: C-02 (StripedReplicaPlacer.RackList).
        """
        self._chance = chance
        racks: dict[str | None, list[BrokerRegistration]] = {}
        for broker in brokers:
            racks.setdefault(broker.rack, []).append(broker)
        self._racks = {name: _Rack(members, chance) for name, members in racks.items()}
        # Brokers without a rack come first.
        self._names = sorted(racks, key=lambda name: (name is not None, name or ""))
        self._broker_count = len(brokers)
        self._unfenced_count = sum(not broker.is_fenced for broker in brokers)
        self._partition = 0
        self._offset = chance.randrange(len(self._names)) if self._names else 0

    def check(self, replication_factor: int) -> None:
        """Check that there are enough brokers.

        Raises:
            InvalidReplicationFactor: there are not.

        Rule: C-01 (StripedReplicaPlacer.place).
        """
        if not self._unfenced_count:
            raise InvalidReplicationFactor(
                "All brokers are currently fenced, or have all their log directories cordoned."
            )
        if replication_factor > self._broker_count:
            raise InvalidReplicationFactor(
                f"The target replication factor of {replication_factor} cannot be reached because "
                f"only {self._broker_count} broker(s) are registered or some brokers have all "
                "their log directories cordoned."
            )

    def place(self, replication_factor: int) -> tuple[int, ...]:
        """Return the replicas of the next partition; the first one is not fenced.

        Args:
            replication_factor: one that check() lets pass.

        See: C-02 (StripedReplicaPlacer.RackList.place).
        """
        if self._partition == self._unfenced_count and self._unfenced_count > 1:
            self._chance.shuffle(self._names)
            for rack in self._racks.values():
                rack.shuffle(self._chance)
            self._partition = 0
        self._offset %= len(self._names)
        leader_rack, leader = self._place_leader()
        replicas = [leader]
        index = self._offset
        is_leaders_turn = True
        while len(replicas) < replication_factor:
            found = None
            if index == leader_rack and is_leaders_turn:
                is_leaders_turn = False  # this rack has given its replica already
            else:
                found = self._racks[self._names[index]].next(self._partition)
            index = (index + 1) % len(self._names)
            if found is not None:
                replicas.append(found)
        self._partition += 1
        self._offset += 1
        return tuple(replicas)

    def _place_leader(self) -> tuple[int, int]:
        index = self._offset
        while True:
            found = self._racks[self._names[index]].unfenced.next(self._partition)
            if found is not None:
                return index, found
            index = (index + 1) % len(self._names)
