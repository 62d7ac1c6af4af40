"""The docker command: an engine, the image under test, and containers that are removed again."""

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.support.raw_client import Closed, RawClient
from tests.support.toolchain import lacking

PROJECT = Path(__file__).parents[2]
IMAGE = "broker-lite:dev"
BASE = "debian:trixie-slim"
TIMEOUT_S = 60
BUILD_TIMEOUT_S = 280
POLL_S = 0.005
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
    if shutil.which("docker") and try_docker("info").returncode == 0:
        yield
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        lacking("a Docker engine (or root on Debian, to make one)")
    script = str(PROJECT / "docker/engine.sh")
    before = dict(os.environ)
    try:
        subprocess.run([script, "up", str(folder)], check=True, timeout=BUILD_TIMEOUT_S)
        text = subprocess.check_output(["bash", "-c", '. "$1/env"; env -0', "-", folder], text=True)
        os.environ.update(entry.split("=", 1) for entry in text.split("\0") if entry)
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        subprocess.run([script, "down", str(folder)], check=True, timeout=TIMEOUT_S)


def build() -> str:
    """Build the image of the checkout, after its base if no registry has that; return its name."""
    ways = (("image", "inspect"), ("pull", "--quiet"))
    if all(try_docker(*way, BASE).returncode != 0 for way in ways):
        subprocess.run([PROJECT / "docker/base.sh"], check=True, timeout=BUILD_TIMEOUT_S)
    return build_image(IMAGE, PROJECT, PROJECT / "docker/Dockerfile")


def build_image(name: str, context: Path, dockerfile: Path) -> str:
    """Build one image, with what pip on this machine is configured to use; return its name."""
    secrets = [
        f"--secret=id={secret},src={path}"
        for secret, path in (("ca", _CERTIFICATES), ("pip_conf", _PIP_CONFIGURATION))
        if os.path.exists(path)
    ]
    docker(
        *("build", "--quiet", "--tag", name, "--file", str(dockerfile), *secrets, str(context)),
        timeout_s=BUILD_TIMEOUT_S,
    )
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
        deadline = time.monotonic() + TIMEOUT_S
        while not _answers(self._host_port):
            assert time.monotonic() < deadline, "no answer"
            assert self.state["Running"], "it ended"
            time.sleep(POLL_S)

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


def _answers(port: int) -> bool:
    try:
        with RawClient("127.0.0.1", port, timeout_s=1) as client:
            client.call("ApiVersions", 0)
    except (OSError, Closed):
        return False
    return True
