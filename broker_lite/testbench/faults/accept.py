"""Faults of clients that connect: refused, reset, or left without a word."""

import asyncio
import logging
import socket
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple, cast

from broker_lite.handler.context import ListenerInfo
from broker_lite.server.limits.descriptors import ClientDescriptors
from broker_lite.testbench.facts import Facts
from broker_lite.testbench.faults.fault import HELD_MAX, Fault

logger = logging.getLogger("broker_lite.testbench")

_RESET: Final = struct.pack("ii", 1, 0)
_SWEEP_S: Final = 1


class _Arrival:
    """What is known of a client that connects; the part of Facts that its rules look at."""

    def __init__(self, node_id: int, client_address: str, listener: str) -> None:
        self.node_id = node_id
        self.client_address = client_address
        self.listener = listener

    def __str__(self) -> str:  # type: ignore[explicit-override]
        return f"a client from {self.client_address}"


class _Hanging(NamedTuple):
    """A client that is connected, and that nobody serves."""

    fault: Fault
    sock: socket.socket
    descriptors: ClientDescriptors


class Gate:
    """Keeps clients out, as rules say.

    Attributes:
        faults: those with `accept`, in their order.
    """

    def __init__(self, took: Callable[[Fault], None]) -> None:
        """Begin without a rule.

        Args:
            took: called with each fault that has acted.
        """
        self.faults: Sequence[Fault] = ()
        self._took = took
        self._hanging: list[_Hanging] = []
        self._sweep: asyncio.TimerHandle | None = None

    @property
    def hanging(self) -> int:
        """How many clients are connected that nobody serves."""
        self._let_go()
        return len(self._hanging)

    def admits(
        self,
        node_id: int,
        sock: socket.socket,
        address: tuple[str, int],
        info: ListenerInfo,
        descriptors: ClientDescriptors,
    ) -> bool:
        """True if a node is to serve a client; otherwise the socket is closed or kept."""
        facts = cast(Facts, _Arrival(node_id, address[0], info.name))
        for fault in self.faults:
            if fault.is_armed and not fault.is_over and fault.takes(facts):
                self._keep_out(fault, sock, address, descriptors)
                self._took(fault)
                return False
        return True

    def _keep_out(
        self,
        fault: Fault,
        sock: socket.socket,
        address: tuple[str, int],
        descriptors: ClientDescriptors,
    ) -> None:
        how = fault.rule.accept
        logger.info("fault %s keeps %s out: %s", fault.id, address, how)
        if how == "hang" and len(self._hanging) < HELD_MAX:
            sock.setblocking(False)
            descriptors.take()
            fault.hanging += 1
            self._hanging.append(_Hanging(fault, sock, descriptors))
            if self._sweep is None:
                self._sweep_later()
            return
        if how == "reset":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        sock.close()

    def _let_go(self) -> None:
        """Close the sockets of clients that have gone, and of rules that are removed."""
        kept = []
        for each in self._hanging:
            if each.fault.is_removed or _has_gone(each.sock):
                each.sock.close()
                each.descriptors.give_back()
                each.fault.hanging -= 1
            else:
                kept.append(each)
        self._hanging = kept

    def _sweep_later(self) -> None:
        """Look for clients that have gone, as long as there are any."""
        self._sweep = None
        self._let_go()
        if self._hanging:
            self._sweep = asyncio.get_running_loop().call_later(_SWEEP_S, self._sweep_later)

    def removed(self) -> None:
        """Note that rules were removed."""
        self._let_go()


def _has_gone(sock: socket.socket) -> bool:
    """True if the client has closed; what it has sent is thrown away."""
    with suppress(BlockingIOError):
        try:
            while sock.recv(65536):
                pass
        except BlockingIOError:
            raise
        except OSError:
            return True
        return True
    return False
