"""What a process is told at its start, and what it tells when it is ready; plain data as JSON."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

from broker_lite.control.metadata.brokers import Endpoint
from broker_lite.handler.context import ListenerInfo
from broker_lite.server.listener import ListenerAddress
from broker_lite.settings import Given, Settings


class Plan(NamedTuple):
    """A process to start.

    Attributes:
        settings: of its broker.
        data_dir: of its broker.
        cluster_id: of the cluster.
        addresses: where it listens; a port of 0 takes a free one.
        is_durable: whether everything is made durable at the end.
        clock_ms: how far the clock is ahead of the machine's.
        first_connection_id: of its connections.
    """

    settings: Settings
    data_dir: Path
    cluster_id: str
    addresses: Sequence[ListenerAddress]
    is_durable: bool
    clock_ms: int
    first_connection_id: int

    def encode(self) -> bytes:
        """Return the plan as bytes."""
        return json.dumps(
            {
                **self._asdict(),
                "settings": self.settings.given,
                "data_dir": str(self.data_dir),
            }
        ).encode()

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Return the plan in some bytes."""
        found = json.loads(data)
        given = {name: Given(*one) for name, one in found.pop("settings").items()}
        addresses = [
            ListenerAddress(ListenerInfo(*info), host, port)
            for info, host, port in found.pop("addresses")
        ]
        data_dir = Path(found.pop("data_dir"))
        return cls(settings=Settings(given), data_dir=data_dir, addresses=addresses, **found)


class Hello(NamedTuple):
    """What a process that is ready tells.

    Attributes:
        directory_id: of its data directory.
        was_clean: whether the last stop of its broker was clean.
        endpoints: its listeners as the metadata has them.
        addresses: its listeners, at the ports that they have now.
        address: HOST:PORT of the first listener.
    """

    directory_id: str
    was_clean: bool
    endpoints: Sequence[Endpoint]
    addresses: Sequence[ListenerAddress]
    address: str

    def encode(self) -> bytes:
        """Return it as bytes."""
        return json.dumps(self._asdict()).encode()

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Return what is in some bytes."""
        found = json.loads(data)
        endpoints = [Endpoint(*one) for one in found.pop("endpoints")]
        addresses = [
            ListenerAddress(ListenerInfo(*info), host, port)
            for info, host, port in found.pop("addresses")
        ]
        return cls(endpoints=endpoints, addresses=addresses, **found)


def encode_nodes(listeners: dict[int, list[ListenerInfo]]) -> bytes:
    """Return the listeners of all brokers, by their ids, as bytes."""
    return json.dumps(listeners).encode()


def decode_nodes(data: bytes) -> dict[int, list[ListenerInfo]]:
    """Return the listeners of all brokers in some bytes."""
    return {
        int(node_id): [ListenerInfo(*one) for one in infos]
        for node_id, infos in json.loads(data).items()
    }
