"""The docker command: an engine, the image under test, and containers that are removed again."""

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.support.raw_client import Closed, RawClient
from tests.support.toolchain import lacking, require

PROJECT = Path(__file__).parents[2]
IMAGE = "broker-lite:dev"
BASE = "debian:trixie-slim"
TIMEOUT_S = 60
BUILD_TIMEOUT_S = 1500  # on a busy machine; it takes 4 minutes on an idle one
ENGINE_TIMEOUT_S = 500
# Each call of the docker command takes 0.03 s of CPU from the container that is waited for.
POLL_S = 0.05
ANSWER_POLL_S = 0.005
LOOK_S = 1.0
BRIDGE = Path("/sys/class/net/docker0")
_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
_PIP_CONFIGURATION = "/etc/pip.conf"


def docker(*arguments: str, timeout_s: float = TIMEOUT_S) -> str:
    """Run the docker command, which has to end well, and return what it printed."""
    ended = try_docker(*arguments, timeout_s=timeout_s)
    assert ended.returncode == 0, f"docker {' '.join(arguments)}\n{ended.stdout}{ended.stderr}"
    return ended.stdout.strip()


def try_docker(
    *arguments: str, timeout_s: float = TIMEOUT_S, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the docker command and return how it ended."""
    return subprocess.run(
        ["docker", *arguments],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        env={**os.environ, **(env or {})},
    )


@contextmanager
def engine(folder: Path) -> Iterator[None]:
    """An engine that the docker command finds: the machine's own, else one made in a folder."""
    if shutil.which("docker") and _ends_well("info"):
        yield
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        lacking("a Docker engine (or root on Debian, to make one)")
    before = dict(os.environ)
    had_bridge = BRIDGE.exists()
    try:
        _run_script("engine.sh", "up", str(folder), timeout_s=ENGINE_TIMEOUT_S)
        text = subprocess.check_output(["bash", "-c", '. "$1/env"; env -0', "-", folder], text=True)
        os.environ.update(entry.split("=", 1) for entry in text.split("\0") if entry)
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        _run_script("engine.sh", "down", str(folder), timeout_s=TIMEOUT_S)
        assert BRIDGE.exists() == had_bridge, "the engine leaves the machine as it found it"


def build() -> str:
    """Build the image of the checkout, after its base if no registry has that; return its name."""
    if not (_ends_well("image", "inspect", BASE) or _ends_well("pull", "--quiet", BASE)):
        require("mmdebstrap")
        _run_script("base.sh", timeout_s=BUILD_TIMEOUT_S)
    return build_image(IMAGE, PROJECT, PROJECT / "docker/Dockerfile")


def _ends_well(*arguments: str) -> bool:
    """Whether the docker command ends well, and in time: a registry may be out of reach."""
    try:
        return try_docker(*arguments).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def _run_script(name: str, *arguments: str, timeout_s: float) -> None:
    """Run one of our scripts, and once more if it fails: mirrors have bad moments."""
    command = ["timeout", f"{timeout_s:g}", str(PROJECT / "docker" / name), *arguments]
    if subprocess.run(command).returncode != 0:
        subprocess.run(command, check=True)


def build_image(name: str, context: Path, dockerfile: Path) -> str:
    """Build one image, with what pip on this machine is configured to use; return its name."""
    secrets = [
        f"--secret=id={secret},src={path}"
        for secret, path in (("ca", _CERTIFICATES), ("pip_conf", _PIP_CONFIGURATION))
        if os.path.exists(path)
    ]
    command = ("build", "--quiet", "--tag", name, "--file", str(dockerfile), *secrets, str(context))
    # once more if it fails: mirrors and indexes have bad moments
    if try_docker(*command, timeout_s=BUILD_TIMEOUT_S).returncode != 0:
        docker(*command, timeout_s=BUILD_TIMEOUT_S)
    return name


class Container:
    """A container that runs in the background; a context manager."""

    def __init__(
        self,
        *arguments: str,
        options: Sequence[str] = (),
        image: str = IMAGE,
        host_port: int | None = None,
    ) -> None:
        self._command = ["run", "--detach", *options, image, *arguments]
        self._host_port = host_port
        self.id = ""

    def __enter__(self) -> Self:
        self.id = docker(*self._command)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            error.add_note(f"the container's log:\n{self.log[-3000:]}")
        docker("rm", "--force", "--volumes", self.id)

    @property
    def log(self) -> str:
        """What it wrote to standard output and standard error."""
        ended = try_docker("logs", self.id)
        return ended.stdout + ended.stderr

    def follow(self) -> Iterator[str]:
        """The lines of its log, until it ends or time is up."""
        command = ("timeout", str(TIMEOUT_S), "docker", "logs", "--follow", self.id)
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            assert process.stdout is not None
            try:
                yield from process.stdout
            finally:
                process.terminate()

    @property
    def state(self) -> dict[str, Any]:
        """The engine's own record of it: Status, ExitCode, Health and more."""
        found: dict[str, Any] = json.loads(docker("inspect", "--format={{json .State}}", self.id))
        return found

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command in it."""
        return try_docker("exec", self.id, *command)

    def wait_for_answer(self) -> None:
        """Wait for the first answer to ApiVersions through the published port."""
        assert self._host_port is not None
        began = looked = time.monotonic()
        while not _answers(self._host_port):
            now = time.monotonic()
            assert now < began + TIMEOUT_S, "no answer"
            if now > looked + LOOK_S:
                looked = now
                assert self.state["Running"], "it ended"
            time.sleep(ANSWER_POLL_S)

    def wait_until_healthy(self) -> None:
        """Wait for the engine to find it healthy."""
        deadline = time.monotonic() + TIMEOUT_S
        while (state := self.state)["Health"]["Status"] != "healthy":
            assert time.monotonic() < deadline, f"not healthy: {state['Health']['Log']}"
            assert state["Running"], "it ended"
            time.sleep(POLL_S)

    def wait_for_end(self) -> int:
        """Wait for its end and return its exit code."""
        return int(docker("wait", self.id))

    def stop(self) -> None:
        """Stop it as `docker stop` does."""
        docker("stop", self.id)

    @property
    def exit_code(self) -> int:
        """How it ended."""
        return int(self.state["ExitCode"])


def free_port() -> int:
    """A port of this machine that is free."""
    with socket.create_server(("", 0)) as listener:
        number: int = listener.getsockname()[1]
        return number


def free_ports(count: int) -> int:
    """The first of several ports in a row of this machine that are free."""
    while True:
        first = free_port()
        with suppress(OSError, OverflowError), ExitStack() as listeners:
            for port in range(first, first + count):
                listeners.enter_context(socket.create_server(("", port)))
            return first


def _answers(port: int) -> bool:
    try:
        with RawClient("127.0.0.1", port, timeout_s=1) as client:
            client.call("ApiVersions", 0)
    except (OSError, Closed):
        return False
    return True
