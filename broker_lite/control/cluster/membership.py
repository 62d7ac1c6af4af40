"""The brokers of this process: one or several, which share one data directory.

Each has an id of its own, an address, a rack, and an id of the data directory as if it had its own.
In the metadata they are brokers like any other's.
"""

import logging
from collections.abc import Callable, Sequence

from broker_lite.control.cluster import metadata_changes as changes
from broker_lite.control.cluster.controller import Controller, Writer
from broker_lite.control.cluster.features import Supported
from broker_lite.control.metadata.brokers import BrokerRegistration, BrokerRegistrations, Endpoint
from broker_lite.errors import KafkaStorageError

_log = logging.getLogger("broker_lite.control")


class Membership:
    """Brings brokers of this process into the cluster and takes them out."""

    def __init__(
        self,
        *,
        node_ids: range,
        brokers: BrokerRegistrations,
        controller: Controller,
        write: Writer,
        make_id: Callable[[], bytes],
        rack_of: Callable[[int], str | None],
    ) -> None:
        """Remember what is needed.

        Args:
            node_ids: the brokers of this process.
            brokers: those of the image.
            controller: of the cluster.
            write: see Cluster.write.
            make_id: makes ids of directories and of starts.
            rack_of: where a broker stands.
        """
        self.node_ids = node_ids
        self._brokers = brokers
        self._controller = controller
        self._write = write
        self._make_id = make_id
        self._rack_of = rack_of
        self._registered: set[int] = set()

    def expect(self, directory_id: bytes) -> None:
        """Let the brokers of this process count as active before they have told their addresses.

        So topics can be created in a directory that nobody serves. Nothing is written.

        Args:
            directory_id: the first broker's; another one keeps the id that it had.
        """
        for node_id in self.node_ids:
            known = self._brokers.by_id.get(node_id)
            if node_id != self.node_ids.start:
                directory_id = (
                    known.directories[0] if known and known.directories else self._make_id()
                )
            self._brokers.expect(
                BrokerRegistration(
                    node_id,
                    -1 if known is None else known.epoch,
                    self._rack_of(node_id),
                    () if known is None else known.endpoints,
                    (directory_id,),
                    is_fenced=False,
                )
            )

    def fence_others(self) -> None:
        """Take out brokers that the directory knows and this process does not serve.

        Raises:
            KafkaStorageError: not written.
        """
        for node_id in [*self._brokers.by_id]:
            if node_id not in self.node_ids:
                self._controller.fence(node_id)

    def register(self, node_id: int, endpoints: Sequence[Endpoint], supported: Supported) -> None:
        """Write a broker with its listeners into the metadata, and let it in.

        Args:
            node_id: one of `node_ids`.
            endpoints: its listeners, which are open.
            supported: its features.

        Raises:
            KafkaStorageError: not written.
        """
        self._controller.register(
            node_id,
            self._brokers.default_directory(node_id),
            incarnation_id=self._make_id(),
            endpoints=endpoints,
            rack=self._rack_of(node_id),
            supported=supported,
        )
        self._registered.add(node_id)

    def leave(self) -> None:
        """Fence all of them at once, without a change of leaders: the next start goes on as it is.

        Without it Kafka would wait for their sessions to end.
        """
        gone = [one for one in self._brokers.alive() if one.node_id in self._registered]
        self._registered.clear()
        try:
            self._write([changes.fencing(one.node_id, one.epoch) for one in gone])
        except KafkaStorageError:
            _log.exception("departure not written")
