"""The brokers of the cluster: one or several, which share a process or have one each.

Each has an id of its own, an address, a rack, and an id of the data directory. Those that share a
process share its directory, too, and have ids as if they did not.
In the metadata they are brokers like any other's.

A difference to Kafka: when all brokers of a process stop and start together, leaders, leader epochs
and ISRs stay as they were (C-20). In Kafka each broker leaves all ISRs when it registers again.
"""

import logging
from collections.abc import Callable, Sequence

from broker_lite.control.cluster import metadata_changes as changes
from broker_lite.control.cluster.controller import Controller, Writer
from broker_lite.control.cluster.features import Supported
from broker_lite.control.metadata.brokers import BrokerRegistration, BrokerRegistrations, Endpoint
from broker_lite.errors import KafkaStorageError
from broker_lite.settings import Settings

_log = logging.getLogger("broker_lite.control")


class Membership:
    """Brings brokers into the cluster and takes them out.

    Attributes:
        due_at: told when on_time() has to be called.
    """

    def __init__(
        self,
        *,
        node_ids: range,
        brokers: BrokerRegistrations,
        controller: Controller,
        write: Writer,
        make_id: Callable[[], bytes],
        settings_of: Callable[[int], Settings],
        steady_ms: Callable[[], int],
    ) -> None:
        """Remember what is needed.

        Args:
            node_ids: the brokers.
            brokers: those of the image.
            controller: of the cluster.
            write: see Cluster.write.
            make_id: makes ids of directories and of starts.
            settings_of: returns the settings of a broker.
            steady_ms: the clock's.
        """
        self.node_ids = node_ids
        self._brokers = brokers
        self._controller = controller
        self._write = write
        self._make_id = make_id
        self._settings_of = settings_of
        self._steady_ms = steady_ms
        self._registered: set[int] = set()
        self._sessions_end_ms: dict[int, int] = {}
        self.due_at: Callable[[int | None], object] = lambda _: None

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
                    self._settings_of(node_id).broker_rack,
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

    def register(
        self,
        node_id: int,
        endpoints: Sequence[Endpoint],
        supported: Supported,
        directory_id: bytes | None = None,
    ) -> None:
        """Write a broker with its listeners into the metadata, and let it in.

        Args:
            node_id: one of `node_ids`.
            endpoints: its listeners, which are open.
            supported: its features.
            directory_id: of the data directory of another process; None for the one that it had.

        Raises:
            KafkaStorageError: not written.
        """
        self._controller.register(
            node_id,
            directory_id or self._brokers.default_directory(node_id),
            incarnation_id=self._make_id(),
            endpoints=endpoints,
            rack=self._settings_of(node_id).broker_rack,
            supported=supported,
        )
        self._registered.add(node_id)

    # -- what happens to a broker

    def go_silent(self, node_id: int) -> None:
        """Note that a broker sends no heartbeats any more; it is fenced when its session ends.

        Raises:
            KafkaStorageError: not written.

        Rule: C-26 (BrokerHeartbeatManager).
        """
        timeout_ms = self._settings_of(self.node_ids.start).broker_session_timeout_ms
        if timeout_ms <= 0:
            self._controller.fence(node_id)
            return
        deadline_ms = self._steady_ms() + timeout_ms
        self._sessions_end_ms[node_id] = deadline_ms
        self.due_at(deadline_ms)

    def is_silent(self, node_id: int) -> bool:
        """Whether a broker is gone, and the cluster has not noticed yet."""
        return node_id in self._sessions_end_ms

    def speak(self, node_id: int) -> None:
        """Note that a broker sends heartbeats again; if it was fenced, it is let in.

        Raises:
            KafkaStorageError: not written.

        See: C-26.
        """
        self._sessions_end_ms.pop(node_id, None)
        self._controller.unfence(node_id)

    def shut_down(self, node_id: int) -> None:
        """Begin a controlled shutdown, unless controlled.shutdown.enable forbids it.

        Raises:
            KafkaStorageError: not written.

        See: C-22 (BrokerServer.shutdown).
        """
        if self._settings_of(node_id).controlled_shutdown_enable:
            self._controller.shut_down(node_id)

    def has_shut_down(self, node_id: int) -> None:
        """Note that a broker has ended after shut_down(); without control its session goes on.

        Raises:
            KafkaStorageError: not written.

        See: C-22, C-26.
        """
        if self._settings_of(node_id).controlled_shutdown_enable:
            self.fence(node_id)
        else:
            self.go_silent(node_id)

    def fence(self, node_id: int) -> None:
        """Take a broker out; see Controller.fence."""
        self._sessions_end_ms.pop(node_id, None)
        self._controller.fence(node_id)

    def prepare_return(self, node_id: int, *, was_killed: bool) -> None:
        """Take a broker out that is about to register anew, as if its session had ended.

        A broker that was unregistered counts as killed: nobody knows any more how it had ended.

        Args:
            node_id: of the broker.
            was_killed: whether it ended without a shutdown.

        Raises:
            KafkaStorageError: not written.

        See: C-25 (ClusterControlManager.registerBroker).
        """
        self.fence(node_id)
        if was_killed or node_id not in self._brokers.by_id:
            self._controller.lose(node_id)

    def next_deadline_ms(self) -> int | None:
        """When on_time() has to be called next, in steady milliseconds."""
        return min(self._sessions_end_ms.values(), default=None)

    def on_time(self) -> None:
        """Fence the brokers whose sessions have ended."""
        now_ms = self._steady_ms()
        for node_id, end_ms in [*self._sessions_end_ms.items()]:
            if end_ms <= now_ms:
                _log.info("broker fenced, its session has ended node=%d", node_id)
                self.fence(node_id)

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
