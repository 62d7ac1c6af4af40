"""The brokers of the cluster as the metadata knows them: a fold over their records.

Source: ClusterControlManager, KIP-631.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from broker_lite.control.metadata import metadata_records as kinds
from broker_lite.wire import ZERO_UUID, messages

_FENCED: Final = 1
_UNFENCED: Final = -1


class Endpoint(NamedTuple):
    """A listener as the cluster knows it."""

    name: str
    host: str
    port: int


class BrokerRegistration(NamedTuple):
    """A broker that has registered.

    Attributes:
        epoch: offset of the record by which it registered last.
        is_fenced: clients do not see it, and it leads nothing.
        is_stopping: it is in a controlled shutdown: it keeps what it leads until others take over,
            and joins no ISR.
        directories: ids of its data directories.
    """

    node_id: int
    epoch: int
    rack: str | None
    endpoints: tuple[Endpoint, ...]
    directories: tuple[bytes, ...]
    is_fenced: bool = True
    is_stopping: bool = False

    @property
    def is_active(self) -> bool:
        """Whether it may lead and be in an ISR."""
        return not self.is_fenced and not self.is_stopping


class BrokerRegistrations:
    """All brokers by id; `version` grows with each change of any of them.

    `alone_at` is the broker of the first of several processes. Each partition has one replica then,
    and the partitions of internal topics are there. It is None for brokers that share a process.
    """

    def __init__(self) -> None:
        self.alone_at: int | None = None
        self.by_id: dict[int, BrokerRegistration] = {}
        self.version = 0
        self.apply_by_kind: Mapping[int, Callable[[Any], None]] = {
            kinds.REGISTER_BROKER: self._register,
            kinds.UNREGISTER_BROKER: self._unregister,
            kinds.FENCE_BROKER: self._fence,
            kinds.UNFENCE_BROKER: self._unfence,
            kinds.BROKER_REGISTRATION_CHANGE: self._change,
        }

    def copy(self) -> "BrokerRegistrations":
        """Return the brokers of now; later changes do not reach the copy."""
        other = BrokerRegistrations()
        other.by_id.update(self.by_id)
        other.version = self.version
        other.alone_at = self.alone_at
        return other

    def alive(self) -> Sequence[BrokerRegistration]:
        """The brokers that clients may see, by their ids."""
        return [one for _, one in sorted(self.by_id.items()) if not one.is_fenced]

    def usable(self) -> Sequence[BrokerRegistration]:
        """Return the brokers that may get replicas: all but those in a controlled shutdown.

        Source: BrokerHeartbeatManager.UsableBrokerIterator.
        """
        return [one for one in self.by_id.values() if one.is_fenced or not one.is_stopping]

    def is_active(self, node_id: int) -> bool:
        """Whether a broker may lead and be in an ISR; false for one that is not registered."""
        one = self.by_id.get(node_id)
        return one is not None and one.is_active

    def expect(self, broker: BrokerRegistration) -> None:
        """Let a broker count that is about to register; no record tells of it."""
        self._store(broker)

    def default_directory(self, node_id: int) -> bytes:
        """Return the id of the data directory that gets a broker's new replicas.

        Source: ClusterControlManager.defaultDir, DirectoryId.UNASSIGNED.
        """
        one = self.by_id.get(node_id)
        return one.directories[0] if one is not None and len(one.directories) == 1 else ZERO_UUID

    def _store(self, one: BrokerRegistration) -> None:
        self.by_id[one.node_id] = one
        self.version += 1

    def _register(self, record: messages.RegisterBrokerRecord) -> None:
        self._store(
            BrokerRegistration(
                record.broker_id,
                record.broker_epoch,
                record.rack,
                tuple(Endpoint(one.name, one.host, one.port) for one in record.end_points),
                tuple(map(bytes, record.log_dirs)),
                record.fenced,
                record.in_controlled_shutdown,
            )
        )

    def _unregister(self, record: messages.UnregisterBrokerRecord) -> None:
        self.by_id.pop(record.broker_id, None)
        self.version += 1

    def _fence(self, record: messages.FenceBrokerRecord) -> None:
        one = self.by_id.get(record.id)
        if one is not None:
            self._store(one._replace(is_fenced=True))

    def _unfence(self, record: messages.UnfenceBrokerRecord) -> None:
        one = self.by_id.get(record.id)
        if one is not None:
            self._store(one._replace(is_fenced=False))

    def _change(self, record: messages.BrokerRegistrationChangeRecord) -> None:
        one = self.by_id.get(record.broker_id)
        if one is None:
            return
        if record.fenced in (_FENCED, _UNFENCED):
            one = one._replace(is_fenced=record.fenced == _FENCED)
        if record.in_controlled_shutdown:
            one = one._replace(is_stopping=True)
        if record.log_dirs:
            one = one._replace(directories=tuple(map(bytes, record.log_dirs)))
        self._store(one)
