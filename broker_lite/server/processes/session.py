"""Notices that a process hangs, as Kafka's controller notices a broker without heartbeats.

A broker that was not heard for broker.session.timeout.ms is fenced: its partitions have no leader.
When it goes on, it is let in again, and keeps what it had. A process that does not go on by itself
is ended after more such times, and started again, because nobody else would do that. One that was
suspended (SIGSTOP, a debugger) stays: somebody did that, and wants it to go on some time.

The time is the machine's. A test may step the broker's clock, and no process hangs by that.

See: C-26 (BrokerHeartbeatManager).
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import anyio

from broker_lite.control.cluster.membership import Membership
from broker_lite.errors import KafkaStorageError
from broker_lite.server.processes.spawning import Spawned
from broker_lite.settings import Settings

logger = logging.getLogger("broker_lite.server")

# A busy machine lets a process wait for some tenths of a second.
_TIMEOUT_S_MIN: Final = 0.5
# As Kafka's defaults: some heartbeats may be late or lost before the session ends.
_BEATS_A_SESSION: Final = 3
_SESSIONS_MAX: Final = 3
# If this process itself has slept for longer, it has heard nobody, and all sessions begin anew.
_LATE_S_MAX: Final = 0.3


def timeout_s(settings: Settings) -> float:
    """Return how long a process may be silent."""
    return max(settings.broker_session_timeout_ms / 1000, _TIMEOUT_S_MIN)


def heartbeat_s(settings: Settings) -> float:
    """Return how long a process waits between two heartbeats."""
    longest_s = timeout_s(settings) / _BEATS_A_SESSION
    interval_ms = settings.broker_heartbeat_interval_ms
    return min(interval_ms / 1000, longest_s) if interval_ms > 0 else longest_s


class Session:
    """Whether one process is heard; used by the event loop."""

    def __init__(
        self,
        node_id: int,
        membership: Membership,
        timeout_s: float,
        now_s: Callable[[], float] = anyio.current_time,
    ) -> None:
        """Begin when the broker of the process is in the cluster.

        Args:
            node_id: of the broker.
            membership: fences it, and lets it in again.
            timeout_s: how long the process may be silent.
            now_s: the machine's time.
        """
        self._node_id = node_id
        self._membership = membership
        self._timeout_s = timeout_s
        self._now_s = now_s
        self._heard_s = now_s()
        self.is_over = False

    def heard(self) -> None:
        """Note a heartbeat; a broker that was fenced for its silence is let in."""
        self._heard_s = self._now_s()
        if self.is_over:
            self.is_over = False
            logger.info("process goes on node=%d", self._node_id)
            with suppress(KafkaStorageError):  # it is logged where the metadata log is written
                self._membership.speak(self._node_id)

    def leave(self) -> None:
        """Fence the broker of a process that stops, because it serves nobody any more."""
        with suppress(KafkaStorageError):  # it is logged where the metadata log is written
            self._membership.fence(self._node_id)

    async def watch(self, spawned: Spawned, leaving: anyio.Event) -> None:
        """Fence the broker whenever it is silent; return when the process has to be ended.

        Args:
            spawned: the process.
            leaving: is set when it stops; then it is watched no more.
        """
        while not leaving.is_set():
            sessions = _SESSIONS_MAX if self.is_over else 1
            due_s = self._heard_s + sessions * self._timeout_s
            with anyio.move_on_after(due_s - self._now_s()):
                await leaving.wait()
            if leaving.is_set() or not self.look(due_s):
                continue
            if not spawned.is_suspended:
                logger.error("process hangs and is ended node=%d", self._node_id)
                return
            # It is asked again after as long.
            self._heard_s = self._now_s()

    def look(self, due_s: float) -> bool:
        """Look whether a time has passed in silence; return True if it was the last one."""
        now_s = self._now_s()
        if now_s - due_s > _LATE_S_MAX:
            self._heard_s = now_s
        sessions = _SESSIONS_MAX if self.is_over else 1
        if now_s < self._heard_s + sessions * self._timeout_s:
            return False
        if self.is_over:
            return True
        self.is_over = True
        logger.warning(
            "process is silent, its broker is fenced node=%d silent_s=%.1f",
            *(self._node_id, now_s - self._heard_s),
        )
        with suppress(KafkaStorageError):  # it is logged where the metadata log is written
            self._membership.fence(self._node_id)
        return False
