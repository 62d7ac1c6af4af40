"""The door of the test bench: it waits for the first request, and imports the rest only then.

Requests come over HTTP, or as lines of JSON from the process that started this one:
`{"id": 1, "method": "POST", "path": "/v1/faults", "body": {...}}`, which is answered by
`{"id": 1, "status": 200, "body": {...}}`. Octets go as `"base64": "..."` in the place of the body.
"""

import asyncio
import base64
import json
import logging
import socket
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Final

import anyio
from anyio import to_thread

from broker_lite.errors import SettingsError
from broker_lite.handler.context import ListenerInfo
from broker_lite.server.life import Life
from broker_lite.server.listener import ListenerAddress, bind
from broker_lite.server.seams import Seams
from broker_lite.settings import join_address
from broker_lite.testbench.refusals import Refusals

if TYPE_CHECKING:
    from broker_lite.testbench.bench import Bench
    from broker_lite.testbench.control.control import Control
    from broker_lite.testbench.scripts.prepare import Prepared

logger = logging.getLogger("broker_lite.control_api")

_BACKLOG: Final = 128
_DIGITS_MAX: Final = 5
_PORT_MAX: Final = 65535
_BAD_REQUEST: Final = 400
_FAILED: Final = 500
_JSON: Final = "application/json"
_OCTETS: Final = "application/octet-stream"


def address_of(text: str) -> tuple[str, int] | None:
    """Return host and port of `broker.lite.control`; None if it is empty.

    Raises:
        SettingsError: it is no address.
    """
    if not text:
        return None
    host, _, port = text.rpartition(":")
    if not (
        port.isascii() and port.isdigit() and len(port) <= _DIGITS_MAX and int(port) <= _PORT_MAX
    ):
        raise SettingsError(f"broker.lite.control: {text!r} is not HOST:PORT")
    return host.strip("[]") or "127.0.0.1", int(port)


class Door:
    """The test bench of a process that nobody may ever use.

    Attributes:
        seams: where it takes part in requests and connections.
        url: where HTTP is spoken, once opened; empty if it is not.
    """

    def __init__(
        self,
        address: tuple[str, int] | None = None,
        *,
        is_needed: bool = True,
        script: str = "",
    ) -> None:
        """Open nothing yet.

        Args:
            address: host and port for HTTP; None for none.
            is_needed: False if an address that cannot be used is only worth a warning.
            script: the file of a script that runs from the first life on; empty for none.
        """
        self.seams = Seams()
        self._refusals = Refusals()
        self.seams.hooks.keep_refused = self._refusals.keep
        self.url = ""
        self._is_told = False
        self._loading = asyncio.Lock()
        self._address = address
        self._is_needed = is_needed
        self._sock: socket.socket | None = None
        self._life: Life | None = None
        self._bench: Bench | None = None
        self._control: Control | None = None
        self._script = script
        self._prepared: Prepared | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def open(self) -> None:
        """Read the script, if there is one, and open the listener for HTTP, if it has an address.

        Raises:
            SettingsError: the script is wrong, or the address cannot be used.
        """
        if self._script and self._bench is None:
            start = import_module("broker_lite.testbench.scripts.at_start")
            self._prepared = start.read(self._script, self._made_control())
        if self._address is None or self._sock is not None:
            return
        host, port = self._address
        where = ListenerAddress(ListenerInfo("CONTROL"), host, port)
        try:
            self._sock = bind(where, backlog=_BACKLOG)
        except SettingsError as error:
            if self._is_needed:
                raise
            logger.warning("no control API: %s", error)
            return
        self.url = f"http://{join_address(host, self._sock.getsockname()[1])}"

    async def run(self) -> None:
        """Serve HTTP from the first connection on, until cancelled."""
        if self._sock is None:
            return
        await anyio.wait_readable(self._sock)
        try:
            control = await self.control()
            http = await to_thread.run_sync(import_module, "broker_lite.testbench.http.server")
        except ImportError as error:
            logger.error("no control API: it cannot be loaded: %s", error)
            self._sock.close()
            return
        await http.serve(self._sock, control)

    def begin(self, life: Life) -> None:
        """Take part in a life, whose clients are accepted now."""
        if self.url and not self._is_told:
            self._is_told = True
            logger.info("control API at %s", self.url)
        self._life = life
        if self._bench is not None:
            self._bench.begin(life, is_ready=self._prepared is None)

    async def start_script(self) -> None:
        """Start the script in the first life, which is ready only when this returns.

        Raises:
            SettingsError: it cannot run here.
        """
        prepared, self._prepared = self._prepared, None
        if prepared is not None and self._bench is not None:
            start = import_module("broker_lite.testbench.scripts.at_start")
            self._keep(await start.run(prepared, self._bench, self._made_control()))
            self._bench.mark_ready()

    def release_disk(self) -> None:
        """Let the disk work, as a life is about to end: nothing waits for a slow fsync then."""
        if self._bench is not None:
            self._bench.release_disk()

    def end(self) -> None:
        """Let go of a life that ends."""
        self._life = None
        if self._bench is not None:
            self._bench.end()

    def carry_out(self, line: bytes, reply: Callable[[str], None]) -> None:
        """Carry out a request that came as a line of JSON, and reply with one line, later."""
        self._keep(asyncio.get_running_loop().create_task(self._carry_out(line, reply)))

    def close(self) -> None:
        """Close the listener, and forget requests in progress."""
        for task in self._tasks:
            task.cancel()
        if self._sock is not None:
            self._sock.close()

    async def control(self) -> "Control":
        """Return the control function; the first call imports it.

        Raises:
            ImportError: a package is missing.
        """
        async with self._loading:
            if self._control is None:
                # in a thread: other clients must not wait for a tenth of a second
                await to_thread.run_sync(import_module, "broker_lite.testbench.control.table")
            return self._made_control()

    def _keep(self, task: "asyncio.Task[None]") -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _made_control(self) -> "Control":
        if self._control is not None:
            return self._control
        from broker_lite.testbench.bench import Bench
        from broker_lite.testbench.control.control import Control
        from broker_lite.testbench.control.table import RESOURCES

        self._bench = Bench(self.seams, self._refusals)
        if self._life is not None:
            self._bench.begin(self._life)
        self._control = Control(self._bench, RESOURCES)
        return self._control

    async def _carry_out(self, line: bytes, reply: Callable[[str], None]) -> None:
        number: object = None
        try:
            asked = json.loads(line)
            number = asked.get("id")
            method, path = asked["method"], asked["path"]
            if not isinstance(method, str) or not isinstance(path, str):
                raise TypeError("method and path have to be texts")
            body = _body(asked)
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
            text = f"not a request of the control API: {type(error).__name__}: {error}"
            reply(json.dumps({"id": number, "status": _BAD_REQUEST, "body": {"error": text}}))
            return
        path, _, query = path.partition("?")
        try:
            control = await self.control()
        except ImportError as error:  # nobody may wait for an answer that never comes
            text = f"the control API cannot be loaded: {error}"
            reply(json.dumps({"id": number, "status": _FAILED, "body": {"error": text}}))
            return
        answer = await control.request(method, path, query, body, is_json="base64" not in asked)
        shell = json.dumps({"id": number, "status": answer.status})[:-1]
        if not isinstance(answer.body, bytes):
            text = '"body": {"error": "this resource is a stream; ask for it over HTTP"}'
            shell = json.dumps({"id": number, "status": _BAD_REQUEST})[:-1]
        elif answer.media_type == _JSON:
            text = f'"body": {answer.body.decode()}'
        elif answer.media_type != _OCTETS:
            text = f'"body": {json.dumps(answer.body.decode())}'
        else:
            text = f'"base64": "{base64.b64encode(answer.body).decode()}"'
        reply(f"{shell}, {text}}}")


def _body(asked: dict[str, object]) -> bytes:
    """Return the body of a request that came as a line.

    Raises:
        TypeError: the octets are no text.
        ValueError: the octets are no base64.
    """
    if "base64" in asked:
        return base64.b64decode(str(asked["base64"]), validate=True)
    return json.dumps(asked["body"]).encode() if "body" in asked else b""
