"""The CPU time of both ends while a load is measured, and the broker's memory."""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from broker_lite.errors import ClientError
from broker_lite.load.jobs import Jobs
from broker_lite.testbench.http.client import ControlClient

_METRIC: Final = "process_cpu_seconds_total"
_MEMORY: Final = "process_resident_memory_bytes"
_NUMBER_MAX: Final = 2**63
_SHOWN: Final = 40
_PATH: Final = "/metrics"
_TIMEOUT_S: Final = 2.0
_OK: Final = 200
_USER_TIME: Final = 11  # in /proc/PID/stat, counted behind the name
_SYSTEM_TIME: Final = 12


class Usage(NamedTuple):
    """What a broker's process has used.

    Attributes:
        cpu_s: user and system time so far.
        memory_bytes: in memory now; None if it is not told.
    """

    cpu_s: float
    memory_bytes: int | None


class BrokerUsage(Protocol):
    """Where CPU time and memory of a broker are read."""

    def read(self) -> Usage:
        """Return what it has used so far, or raise ClientError."""


class UsageOfProcess:
    """A process of this machine, by its id; Linux only."""

    def __init__(self, pid: int) -> None:
        self._path = Path(f"/proc/{pid}")
        self._pid = pid

    def read(self) -> Usage:
        """Return what it has used so far; the time in steps of 10 ms.

        Raises:
            ClientError: there is no such process, or the system has no /proc.
        """
        try:
            fields = (self._path / "stat").read_text().rpartition(")")[2].split()
            pages = int((self._path / "statm").read_text().split()[1])
        except OSError as error:
            raise ClientError(f"no CPU time of process {self._pid}: {error.strerror}") from error
        ticks = int(fields[_USER_TIME]) + int(fields[_SYSTEM_TIME])
        return Usage(ticks / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE"))


class UsageByMetrics:
    """A broker that serves its metrics by the control API."""

    def __init__(self, url: str) -> None:
        """Ask nothing yet.

        Raises:
            SettingsError: it is no URL of a control API.
        """
        self._client = ControlClient(url)

    def read(self) -> Usage:
        """Return what it has used so far.

        Raises:
            ClientError: the broker does not answer, or does not tell.
        """
        answer = self._client.request("GET", _PATH, timeout_s=_TIMEOUT_S)
        found: dict[str, float] = {}
        if answer.status == _OK and isinstance(answer.body, str):
            for line in answer.body.splitlines():
                name, _, value = line.partition(" ")
                if name in {_METRIC, _MEMORY}:
                    found[name] = _number(value)
        if _METRIC not in found:
            raise ClientError(f"{self._client.url}{_PATH} does not tell {_METRIC}")
        memory = found.get(_MEMORY)
        return Usage(found[_METRIC], None if memory is None else int(memory))


def _number(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found < _NUMBER_MAX:
        raise ClientError(f"{_PATH} tells {text[:_SHOWN]!r} instead of a number")
    return found


class CpuSample(NamedTuple):
    """The CPU time so far at a moment.

    Attributes:
        end_s: since the start of the run.
        client_s: of all processes of the load.
        broker_s: as last read; None if it is not known.
        broker_memory_bytes: the same.
    """

    end_s: float
    client_s: float
    broker_s: float | None
    broker_memory_bytes: int | None


class CpuMeter:
    """Reads the CPU time at the beginning and at the end of what is measured, and each second.

    Attributes:
        client_s: of the load, while it was measured; 0 before the end.
        problem: why the broker's is not known; empty if it is, or if nobody asked.
        samples: of each second.
        memory_bytes: of the broker, at the end of what is measured; None if it is not known.
    """

    def __init__(self, broker: BrokerUsage | None) -> None:
        """Read nothing yet.

        Args:
            broker: None if the broker's CPU time is not asked for.
        """
        self.client_s = 0.0
        self.problem = ""
        self.memory_bytes: int | None = None
        self.samples: list[CpuSample] = []
        self._broker = broker
        self._client_began_s = 0.0
        self._measured_s: list[float] = []
        self._last: Usage | None = None
        self._jobs = Jobs()

    def begin(self) -> None:
        """Note the beginning."""
        self._client_began_s = time.process_time()
        self._read_broker(is_measured=True)

    def end(self) -> None:
        """Note the end."""
        self.client_s = time.process_time() - self._client_began_s
        self._read_broker(is_measured=True)

    def sample(self, end_s: float, client_s: float) -> None:
        """Note the CPU time of a second; the broker is asked for that of the next one."""
        self._jobs.collect()
        broker_s, memory_bytes = self._last or (None, None)
        self.samples.append(CpuSample(end_s, client_s, broker_s, memory_bytes))
        if not self._jobs.running:
            self._read_broker(is_measured=False)

    def broker_s(self) -> float | None:
        """Return the broker's CPU time between both; None if it is not known."""
        while self._jobs.running:
            self._jobs.collect(_TIMEOUT_S)
        if len(self._measured_s) < 2:
            return None
        return self._measured_s[-1] - self._measured_s[0]

    def _read_broker(self, *, is_measured: bool) -> None:
        if self._broker is not None:
            self._jobs.collect()
            self._jobs.start(self._broker.read, partial(self._note, is_measured))

    def _note(self, is_measured: bool, result: Usage | ClientError) -> None:
        if isinstance(result, ClientError):
            self.problem = str(result)
            return
        self._last = result
        if is_measured:
            self._measured_s.append(result.cpu_s)
            self.memory_bytes = result.memory_bytes
