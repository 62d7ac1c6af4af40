"""The single brokers of a cluster under test: what can happen to each."""

from collections.abc import Callable
from typing import Protocol


class Control(Protocol):
    """Sends a request of the control API to the cluster."""

    def __call__(self, method: str, path: str, body: object = None) -> object:
        """Return the body of the answer."""


class BrokerNode:
    """One of the brokers of `Broker(brokers=3)`, as `broker.brokers[2]`.

    All methods return when clients and the other brokers see the change, but for what takes
    `broker.session.timeout.ms`.
    """

    def __init__(self, node_id: int, address: Callable[[], str], control: Control) -> None:
        self.node_id = node_id
        self._address = address
        self._control = control

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
        found = self._control("GET", f"/v1/brokers/{self.node_id}")
        assert isinstance(found, dict)
        return found[name]

    def _become(self, **change: str) -> None:
        self._control("PATCH", f"/v1/brokers/{self.node_id}", change)

    def down(self) -> None:
        """Let it crash: connections break, new ones are refused, leaders move as in Kafka.

        The others notice after broker.session.timeout.ms of the broker's clock, see advance().

        Raises:
            BrokerFailed: it is down.
        """
        self._become(state="down")

    def stop(self) -> None:
        """Shut it down: others take over what it leads before its connections are closed.

        Raises:
            BrokerFailed: it is not up.
        """
        self._become(state="stopped")

    def hang(self) -> None:
        """Let it accept clients, but read and answer nothing, as after SIGSTOP.

        Raises:
            BrokerFailed: it is not up.
        """
        self._become(state="hung")

    def up(self) -> None:
        """Bring it back, at the same port; it joins the ISRs of its partitions again.

        Raises:
            BrokerFailed: it is up.
        """
        self._become(state="up")

    def freeze_metadata(self) -> None:
        """Let it tell clients about brokers, topics and leaders as they are now, until the thaw.

        Whether it leads a partition or coordinates a group is checked by what is true. heal() and
        a return of the broker end it, too.

        Raises:
            BrokerFailed: it is not up.
        """
        self._become(metadata="frozen")

    def thaw_metadata(self) -> None:
        """Let it tell clients about brokers, topics and leaders as they are, as the others do.

        Raises:
            BrokerFailed: it is not up.
        """
        self._become(metadata="live")


def nodes_of(
    addresses: Callable[[], list[str]], first_id: int, control: Control
) -> dict[int, BrokerNode]:
    """Return the brokers of a cluster by their ids.

    Args:
        addresses: returns HOST:PORT of each, now.
        first_id: the id of the first; those of the others follow.
        control: sends requests to the cluster.
    """

    def address(position: int) -> Callable[[], str]:
        return lambda: addresses()[position]

    return {
        first_id + position: BrokerNode(first_id + position, address(position), control)
        for position in range(len(addresses()))
    }
