"""Runs uvicorn in the broker's own event loop, at a socket that is open already."""

import contextlib
import logging
import socket
from collections.abc import Generator
from typing import Final

import uvicorn

from broker_lite.testbench.control.control import Control
from broker_lite.testbench.http.app import App

_END_S: Final = 1


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:  # type: ignore[explicit-override]
        """Leave the signals to the broker."""
        yield


async def serve(sock: socket.socket, control: Control) -> None:
    """Serve the control API at a listening socket until cancelled."""
    logger = logging.getLogger("uvicorn.error")
    logger.setLevel(logging.WARNING)
    config = uvicorn.Config(
        App(control),
        lifespan="off",
        ws="none",
        http="h11",
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=_END_S,
    )
    server = _Server(config)
    try:
        await server.serve(sockets=[sock])
    finally:
        # Cancelled, it leaves all that it has open to the loop, which could not be closed.
        logger.setLevel(logging.CRITICAL)  # it would log each cancelled request
        for task in server.server_state.tasks:
            task.cancel()
        for listener in server.servers:
            listener.close()
        for connection in list(server.server_state.connections):
            connection.transport.close()
