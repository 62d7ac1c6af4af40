"""A broker-lite process on a free port of the loopback, as a user starts it."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Self

READY_TIMEOUT_S = 20
STOP_TIMEOUT_S = 10
KEEP = "log.retention.ms=-1"
"""A setting for brokers whose records are years old, and shall not be deleted for that."""
READY = re.compile(r"broker-lite \S+ ready on (\S+):(\d+) in (\d+) ms")


class BrokerProcess:
    """`broker-lite serve` with its data in a folder; a context manager."""

    def __init__(
        self,
        data_dir: Path,
        *,
        settings: Sequence[str] = (),
        arguments: Sequence[str] = (),
        port: int = 0,
        log_path: Path | None = None,
        program: Sequence[str] = (sys.executable, "-m", "broker_lite"),
    ) -> None:
        self.data_dir = data_dir
        self.host = "127.0.0.1"
        self.port = port
        self.ready_ms = -1
        self._log_path = log_path or data_dir.with_name(data_dir.name + ".out")
        self._command = [
            *(*program, "serve", "--host", self.host),
            *("--port", str(port), "--data-dir", str(data_dir)),
            *(word for setting in settings for word in ("--set", setting)),
            *arguments,
        ]
        self._process: subprocess.Popen[str] | None = None

    @property
    def bootstrap(self) -> str:
        """HOST:PORT for clients."""
        return f"{self.host}:{self.port}"

    @property
    def pid(self) -> int:
        """The process id of the running broker."""
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        """What the broker wrote to standard error so far."""
        return self._log_path.read_text()

    @property
    def control_url(self) -> str:
        """The address of its control API, if it was started with `--control`."""
        (line,) = (each for each in self.log.splitlines() if "control API at " in each)
        return line.rpartition(" ")[2]

    def start(self) -> Self:
        """Start it and wait for the ready line."""
        with self._log_path.open("a") as sink:
            self._process = subprocess.Popen(
                self._command,
                stdout=subprocess.PIPE,
                stderr=sink,
                text=True,
                env={**os.environ, "PYTHONWARNINGS": "error"},
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        ready = READY.match(line)
        if ready is None:
            self.kill()
            raise RuntimeError(f"not ready, it printed {line!r}; its log:\n{self.log[-3000:]}")
        self.port, self.ready_ms = int(ready[2]), int(ready[3])
        return self

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> int:
        """End it with SIGTERM and return its exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(timeout_s)
        self._close()
        return code

    def terminate(self) -> None:
        """Send SIGTERM and do not wait."""
        assert self._process is not None
        self._process.terminate()

    def freeze(self) -> None:
        """Stop all its threads where they are, if it still runs; only kill() goes on from there."""
        if self.running():
            assert self._process is not None
            self._process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def killed(self) -> bool:
        """Whether it was ended by SIGKILL, also by one of its own."""
        return self._process is not None and self._process.poll() == -signal.SIGKILL

    def kill(self) -> None:
        """End it with SIGKILL."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._close()

    def running(self) -> bool:
        """Whether the process still lives."""
        return self._process is not None and self._process.poll() is None

    def _close(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self.running():
            code = self.stop()
            assert code == 0, f"exit code {code}:\n{self.log[-3000:]}"
