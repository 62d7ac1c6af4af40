"""The key stores of the TLS listeners of a node, which can change while it runs.

New connections get the new certificate, and those that are open keep theirs. Files are read in a
thread, one change at a time. What changes while a listener has a faulty certificate counts when the
fault ends, see certificate_faults.
"""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import anyio
from anyio import to_thread

from broker_lite.errors import InvalidRequest, SettingsError
from broker_lite.rate_limited_log import RateLimitedLog
from broker_lite.security.tls.replacing import Incompatible, check_replacement
from broker_lite.security.tls.store_files import UnreadableFile
from broker_lite.security.tls.store_rules import Mismatched
from broker_lite.security.tls.stores import ServerContext
from broker_lite.server.security.tls_listeners import TlsListener, context_of, is_changed_on_disk
from broker_lite.settings import Settings
from broker_lite.settings.configs.reconfigure import refused
from broker_lite.settings.declared.security_settings import OF_STORES

logger = logging.getLogger("broker_lite.server")

_ERRORS: Final = "org.apache.kafka.common."


class KeyStores:
    """What is read of the files of a node.

    Attributes:
        listeners: those with TLS, by name.
    """

    def __init__(self, listeners: Mapping[str, TlsListener], log: RateLimitedLog) -> None:
        """Begin with what was read at the start.

        Args:
            listeners: their contexts are replaced.
            log: takes the lines that clients can cause.
        """
        self.listeners = listeners
        self._log = log
        self._turn = anyio.Lock()

    @property
    def turn(self) -> anyio.Lock:
        """Held by who changes configs of the broker, from the check on to the change."""
        return self._turn

    async def read(
        self, before: Settings, after: Settings, *, may_reload: bool
    ) -> Callable[[], None]:
        """Read the stores that a change of settings is about.

        Args:
            before: the current settings.
            after: those after the change.
            may_reload: whether files that have changed are read, too, where no setting has. If such
                a file cannot be used, the old one stays in use, and the log says so.

        Returns:
            What puts them into use, for new connections.

        Raises:
            InvalidRequest: one cannot be used, or must not take the place of the old one.

        See: X-66 (DynamicBrokerConfig).
        """
        found: dict[str, ServerContext] = {}
        for name, listener in self.listeners.items():
            is_changed = _stores_of(before, name) != _stores_of(after, name)
            if not is_changed and not may_reload:
                continue
            read = partial(_read, after, name, listener, only_if_newer=not is_changed)
            try:
                new = await to_thread.run_sync(read)
            except (SettingsError, ValueError) as error:
                self._log.write(
                    logger,
                    logging.WARNING,
                    ("key store", name),
                    "listener %s keeps its certificate: %s",
                    name,
                    error,
                )
                if is_changed:
                    raise InvalidRequest(_text(error)) from None
            else:
                if new is not None:
                    found[name] = new
        return partial(self._use, found)

    def _use(self, found: Mapping[str, ServerContext]) -> None:
        for name, context in found.items():
            self.listeners[name].context = context
            logger.info("listener %s has a new certificate", name)


def _stores_of(settings: Settings, listener: str) -> list[object]:
    return [settings.value_for_listener(listener, name) for name in OF_STORES]


def _read(
    settings: Settings, name: str, listener: TlsListener, *, only_if_newer: bool
) -> ServerContext | None:
    """Read the stores of a listener that settings name; None if they are those that it has.

    Raises:
        SettingsError, ValueError: they cannot be used.
    """
    if only_if_newer and not is_changed_on_disk(settings, name, listener.context):
        return None
    # What is no store stays as it was at the start, as in Kafka.
    at_start = listener.settings
    new = context_of(at_start, name, has_sasl=listener.has_sasl, stores=settings)
    check_replacement(
        listener.context,
        new,
        dn_may_change=bool(at_start.value_for_listener(name, "ssl.allow.dn.changes")),
        san_may_change=bool(at_start.value_for_listener(name, "ssl.allow.san.changes")),
    )
    return new


def _text(error: Exception) -> str:
    """Return what Kafka says to a change that it refuses."""
    if isinstance(error, Incompatible):
        reason = f"{_ERRORS}config.ConfigException: {error}"
    elif isinstance(error, Mismatched):
        reason = f"{_ERRORS}errors.InvalidConfigurationException: {error}"
    elif isinstance(error, UnreadableFile) and error.store.is_pem:
        what = f"Failed to load PEM SSL keystore {error.store.location}"
        reason = f"{_ERRORS}errors.InvalidConfigurationException: {what}"
    elif isinstance(error, UnreadableFile):
        what = f"Failed to load SSL keystore {error.store.location} of type {error.store.kind}"
        reason = f"{_ERRORS}KafkaException: {what}"
    else:
        reason = f"{_ERRORS}KafkaException: {error}"
    return str(refused(f"Validation of dynamic config update of SSLFactory failed: {reason}"))
