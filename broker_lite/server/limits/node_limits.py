"""The limits of a node for its clients."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from broker_lite.errors import SettingsError
from broker_lite.settings import Settings

logger = logging.getLogger("broker_lite.server")

NO_LIMIT: Final = 2**31 - 1
CREATION_RATE: Final = "max.connection.creation.rate"


class Pace(NamedTuple):
    """How slow the network is that clients seem to have.

    Attributes:
        rtt_ms: round trip time.
        in_bytes_per_s: from each client; 0 for no limit.
        out_bytes_per_s: to each client; 0 for no limit.
        client_ids: with * and ?, the clients that have it.
    """

    rtt_ms: int
    in_bytes_per_s: int
    out_bytes_per_s: int
    client_ids: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a node for its clients; most are read when a connection is accepted.

    Args:
        request_bytes_max: the largest size that a frame may announce.
        control_bytes_max: the same for any request but a Produce.
        connections_max: at one time, over all listeners.
        connections_per_ip_max: at one time, from one address.
        connections_per_ip_overrides: the same for some addresses.
        connections_max_idle_ms: idle connections are closed after it; if below 1, never.
        send_buffer_bytes: below 1 it is the system's choice, which grows with large fetches.
        receive_buffer_bytes: below 1 it is the system's choice, which grows with need.
        request_memory_bytes: for the requests of all connections, below 1 without limit; read once,
            when the node starts.
        unsent_bytes_max: for the answers that clients do not read, below 0 without limit; also
            read once.
        pace: of the network of new connections; None for the one that there is.

    Rule: P-12.
    See: P-02, P-11.
    """

    request_bytes_max: int = 104_857_600
    control_bytes_max: int = 2_097_152
    connections_max: int = NO_LIMIT
    connections_per_ip_max: int = NO_LIMIT
    connections_per_ip_overrides: Mapping[str, int] = field(default_factory=dict)
    connections_max_idle_ms: int = 600_000
    send_buffer_bytes: int = -1
    receive_buffer_bytes: int = 0
    request_memory_bytes: int = -1
    unsent_bytes_max: int = -1
    pace: Pace | None = None

    def connections_max_of(self, ip: str) -> int:
        """Return how many connections one address may have at one time."""
        return self.connections_per_ip_overrides.get(ip, self.connections_per_ip_max)


def time_limit_s(settings: Settings, limit_s: float) -> float:
    """Return how long a client may take until it is served: as long as it may be idle.

    Args:
        settings: of the broker.
        limit_s: but no longer than so many seconds.
    """
    idle_ms = settings.connections_max_idle_ms
    return min(limit_s, idle_ms / 1000) if idle_ms > 0 else limit_s


def limits_of(settings: Settings) -> Limits:
    """Return the limits in the settings.

    Raises:
        SettingsError: max.connections.per.ip.overrides is not a list of ADDRESS:COUNT.
    """
    return Limits(
        request_bytes_max=settings.socket_request_max_bytes,
        control_bytes_max=settings.broker_lite_control_request_max_bytes,
        connections_max=settings.max_connections,
        connections_per_ip_max=settings.max_connections_per_ip,
        connections_per_ip_overrides=_overrides(settings.max_connections_per_ip_overrides),
        connections_max_idle_ms=settings.connections_max_idle_ms,
        send_buffer_bytes=settings.socket_send_buffer_bytes,
        receive_buffer_bytes=settings.socket_receive_buffer_bytes,
        request_memory_bytes=settings.queued_max_request_bytes,
        unsent_bytes_max=settings.broker_lite_unsent_max_bytes,
        pace=pace_of(settings),
    )


def pace_of(settings: Settings) -> Pace | None:
    """Return the pace of the network in the settings; None if it is not slowed down.

    See: P-17.
    """
    pace = Pace(
        settings.broker_lite_pace_rtt_ms,
        settings.broker_lite_pace_in_byte_rate,
        settings.broker_lite_pace_out_byte_rate,
        settings.broker_lite_pace_client_ids,
    )
    return pace if any(pace[:3]) else None


def has_rate(settings: Settings) -> bool:
    """Whether there is a limit of connections per second, of the node or one of its listeners.

    See: X-90.
    """
    return settings.max_connection_creation_rate != NO_LIMIT or any(
        name.endswith(CREATION_RATE) for name in (*settings.dynamic, *settings.given)
    )


class CurrentLimits:
    """The limits in the current dynamic settings; they are only made again if settings changed."""

    __slots__ = ("_get_settings", "_limits", "_settings")

    def __init__(self, get_settings: Callable[[], Settings]) -> None:
        """Read the settings for the first time.

        Raises:
            SettingsError: see limits_of().
        """
        self._get_settings = get_settings
        self._settings = get_settings()
        self._limits = limits_of(self._settings)

    def __call__(self) -> Limits:
        """Return the limits; if a dynamic setting is invalid, the last valid limits."""
        settings = self._get_settings()
        if settings is not self._settings:
            self._settings = settings
            try:
                self._limits = limits_of(settings)
            except SettingsError as error:
                logger.warning("keeping the limits as they are: %s", error)
        return self._limits


def _overrides(text: str) -> dict[str, int]:
    overrides = {}
    for pair in filter(None, (item.strip() for item in text.split(","))):
        ip, _, count = pair.rpartition(":")
        if not ip or not (count.isascii() and count.isdigit()):
            raise SettingsError(f"max.connections.per.ip.overrides: {pair!r} is not ADDRESS:COUNT")
        overrides[ip] = int(count)
    return overrides
