"""The single brokers of a cluster under test: what can happen to each."""

from collections.abc import Callable
from typing import Protocol


class Carry(Protocol):
    """Sends a command to the cluster; see broker_lite.server.commands."""

    def __call__(self, name: str, /, **arguments: object) -> object:
        """Return the result of a command."""


class BrokerNode:
    """One of the brokers of `Broker(brokers=3)`, as `broker.brokers[2]`.

    All methods return when clients and the other brokers see the change, but for what takes
    `broker.session.timeout.ms`.
    """

    def __init__(self, node_id: int, address: Callable[[], str], carry: Carry) -> None:
        self.node_id = node_id
        self._address = address
        self._carry = carry

    @property
    def bootstrap(self) -> str:
        """HOST:PORT of this broker alone."""
        return self._address()

    @property
    def state(self) -> str:
        """`up`, `hung` or `down`."""
        return str(self._of_states("state"))

    @property
    def is_fenced(self) -> bool:
        """Whether the cluster has taken it out: clients do not see it, and it leads nothing."""
        return bool(self._of_states("fenced"))

    @property
    def rack(self) -> str | None:
        """The rack that clients are told."""
        rack = self._of_states("rack")
        return None if rack is None else str(rack)

    def _of_states(self, name: str) -> object:
        states = self._carry("nodes")
        assert isinstance(states, list)
        return next(each[name] for each in states if each["node"] == self.node_id)

    def down(self) -> None:
        """Let it crash: connections break, new ones are refused, leaders move as in Kafka.

        The others notice after broker.session.timeout.ms of the broker's clock, see advance().

        Raises:
            BrokerFailed: it is down.
        """
        self._carry("down", node=self.node_id)

    def stop(self) -> None:
        """Shut it down: others take over what it leads before its connections are closed.

        Raises:
            BrokerFailed: it is not up.
        """
        self._carry("stop", node=self.node_id)

    def hang(self) -> None:
        """Let it accept clients, but read and answer nothing, as after SIGSTOP.

        Raises:
            BrokerFailed: it is not up.
        """
        self._carry("hang", node=self.node_id)

    def up(self) -> None:
        """Bring it back, at the same port; it joins the ISRs of its partitions again.

        Raises:
            BrokerFailed: it is up.
        """
        self._carry("up", node=self.node_id)

    def freeze_metadata(self) -> None:
        """Let it tell clients about brokers, topics and leaders as they are now, until the thaw.

        Whether it leads a partition or coordinates a group is checked by what is true. heal() and
        a return of the broker end it, too.

        Raises:
            BrokerFailed: it is not up.
        """
        self._carry("freeze_metadata", node=self.node_id)

    def thaw_metadata(self) -> None:
        """Let it tell clients about brokers, topics and leaders as they are, as the others do.

        Raises:
            BrokerFailed: it is not up.
        """
        self._carry("thaw_metadata", node=self.node_id)


def nodes_of(
    addresses: Callable[[], list[str]], first_id: int, carry: Carry
) -> dict[int, BrokerNode]:
    """Return the brokers of a cluster by their ids.

    Args:
        addresses: returns HOST:PORT of each, now.
        first_id: the id of the first; those of the others follow.
        carry: sends commands to the cluster.
    """

    def address(position: int) -> Callable[[], str]:
        return lambda: addresses()[position]

    return {
        first_id + position: BrokerNode(first_id + position, address(position), carry)
        for position in range(len(addresses()))
    }
