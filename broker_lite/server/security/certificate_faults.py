"""Certificates that clients have to refuse, in the place of those of the TLS listeners.

Only the private keys and certificates are others: clients are asked for what they were asked for
before. A key store that changes meanwhile counts when the fault ends.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from anyio import to_thread

from broker_lite.errors import SettingsError
from broker_lite.security.one_word.faulty_certificate import faulty_keys
from broker_lite.security.one_word.keep import read_kept
from broker_lite.security.one_word.names import names_of
from broker_lite.security.tls.names import ADDRESS, DNS_NAME, alternative_names
from broker_lite.security.tls.stores import Store
from broker_lite.server.security.tls_listeners import Faulty, TlsListener, context_of
from broker_lite.settings import Settings
from broker_lite.settings.declared.one_word_settings import CertificateFault

logger = logging.getLogger("broker_lite.server")

_OF_HOSTS: Final = (DNS_NAME, ADDRESS)


class Place(NamedTuple):
    """A TLS listener of a node.

    Attributes:
        node_id: of the node.
        name: of the listener.
        listener: what its connections share.
    """

    node_id: int
    name: str
    listener: TlsListener


class CertificateFaults:
    """The faults of the certificates of all TLS listeners, through one life of the broker."""

    def __init__(
        self,
        listeners: Mapping[int, Mapping[str, TlsListener]],
        settings_of: Callable[[int], Settings],
        data_dir: Path,
    ) -> None:
        """Begin without a fault.

        Args:
            listeners: by node and name.
            settings_of: returns the settings of a node as they are now.
            data_dir: may have the key of the CA.
        """
        self._places = [
            Place(node_id, name, listener)
            for node_id, each in listeners.items()
            for name, listener in each.items()
        ]
        self._settings_of = settings_of
        self._data_dir = data_dir
        self._at_start: dict[TlsListener, Faulty] = {}

    def begin(self, fault: CertificateFault) -> None:
        """Let all listeners have a fault from the start of this life on.

        Raises:
            SettingsError: see put_in_force().
        """
        self._at_start = self._made(fault, self._places)
        self.put_back_as_at_start()

    async def put_in_force(self, fault: CertificateFault, node_id: int | None = None) -> None:
        """Let the clients that come from now on get a certificate that they have to refuse.

        Args:
            fault: why they refuse it.
            node_id: the node that has it; None for all.

        Raises:
            SettingsError: it cannot be had here; nothing has changed.
        """
        places = self.places(node_id)
        made = await to_thread.run_sync(self._made, fault, places)
        for listener, faulty in made.items():
            listener.faulty = faulty
        logger.info("new clients get a certificate with the fault %s", fault)

    def put_back(self, node_id: int | None = None) -> None:
        """Let the clients that come from now on get the right certificate.

        Args:
            node_id: the node that has it; None for all.
        """
        for place in self.places(node_id):
            place.listener.faulty = None

    def put_back_as_at_start(self) -> None:
        """Let the clients that come from now on get the certificate of the start."""
        for place in self._places:
            place.listener.faulty = self._at_start.get(place.listener)

    def places(self, node_id: int | None = None) -> Sequence[Place]:
        """Return the TLS listeners of a node; None for those of all nodes."""
        return [each for each in self._places if node_id in (None, each.node_id)]

    def _made(self, fault: CertificateFault, places: Iterable[Place]) -> dict[TlsListener, Faulty]:
        """Make what listeners are to have; it waits for a child process.

        Raises:
            SettingsError: it cannot be made here.
        """
        kept = read_kept(self._data_dir)
        made: dict[bytes, Store] = {}  # nodes mostly have the same certificate
        found = {}
        for place in places:
            listener, settings = place.listener, self._settings_of(place.node_id)
            own = listener.context.entries[0].certificate
            try:
                if own not in made:
                    made[own] = faulty_keys(fault, _host_names(own, settings), own, kept)
                context = context_of(
                    listener.settings,
                    place.name,
                    has_sasl=listener.has_sasl,
                    stores=settings,
                    keys=made[own],
                )
            except (SettingsError, ValueError) as error:
                raise SettingsError(f"listener {place.name}: {error}") from error
            found[listener] = Faulty(fault, context)
        return found


def _host_names(certificate: bytes, settings: Settings) -> Sequence[str]:
    """Return the names of hosts in a certificate, or else those of this machine."""
    found = [text for kind, text in alternative_names(certificate) if kind in _OF_HOSTS]
    return found or [*names_of(settings)]
