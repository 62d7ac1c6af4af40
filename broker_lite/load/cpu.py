"""The CPU time of both ends while a load is measured."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final, Protocol

from broker_lite.errors import ClientError
from broker_lite.load.jobs import Jobs
from broker_lite.testbench.http.client import ControlClient

_METRIC: Final = "process_cpu_seconds_total"
_PATH: Final = "/metrics"
_TIMEOUT_S: Final = 2.0
_OK: Final = 200
_USER_TIME: Final = 11  # in /proc/PID/stat, counted behind the name
_SYSTEM_TIME: Final = 12


class BrokerCpu(Protocol):
    """Where the CPU time of a broker is read."""

    def read_s(self) -> float:
        """Return user and system time so far, or raise ClientError."""


class CpuOfProcess:
    """A process of this machine, by its id; Linux only."""

    def __init__(self, pid: int) -> None:
        self._path = Path(f"/proc/{pid}/stat")
        self._pid = pid

    def read_s(self) -> float:
        """Return user and system time so far, in steps of 10 ms.

        Raises:
            ClientError: there is no such process, or the system has no /proc.
        """
        try:
            fields = self._path.read_text().rpartition(")")[2].split()
        except OSError as error:
            raise ClientError(f"no CPU time of process {self._pid}: {error.strerror}") from error
        ticks = int(fields[_USER_TIME]) + int(fields[_SYSTEM_TIME])
        return ticks / os.sysconf("SC_CLK_TCK")


class CpuByMetrics:
    """A broker that serves its metrics by the control API."""

    def __init__(self, url: str) -> None:
        """Ask nothing yet.

        Raises:
            SettingsError: it is no URL of a control API.
        """
        self._client = ControlClient(url)

    def read_s(self) -> float:
        """Return user and system time so far.

        Raises:
            ClientError: the broker does not answer, or does not tell.
        """
        answer = self._client.request("GET", _PATH, timeout_s=_TIMEOUT_S)
        if answer.status == _OK and isinstance(answer.body, str):
            for line in answer.body.splitlines():
                name, _, value = line.partition(" ")
                if name == _METRIC:
                    return float(value)
        raise ClientError(f"{self._client.url}{_PATH} does not tell {_METRIC}")


class CpuMeter:
    """Reads the CPU time at the beginning and at the end of what is measured.

    Attributes:
        client_s: of this process; 0 before the end.
        problem: why the broker's is not known; empty if it is, or if nobody asked.
    """

    def __init__(self, broker: BrokerCpu | None) -> None:
        """Read nothing yet.

        Args:
            broker: None if the broker's CPU time is not asked for.
        """
        self.client_s = 0.0
        self.problem = ""
        self._broker = broker
        self._client_began_s = 0.0
        self._readings_s: list[float] = []
        self._jobs = Jobs()

    def begin(self) -> None:
        """Note the beginning."""
        self._client_began_s = time.process_time()
        self._read_broker()

    def end(self) -> None:
        """Note the end."""
        self.client_s = time.process_time() - self._client_began_s
        self._read_broker()

    def broker_s(self) -> float | None:
        """Return the broker's CPU time between both; None if it is not known."""
        while self._jobs.running:
            self._jobs.collect(_TIMEOUT_S)
        if len(self._readings_s) < 2:
            return None
        return self._readings_s[-1] - self._readings_s[0]

    def _read_broker(self) -> None:
        if self._broker is not None:
            self._jobs.collect()
            self._jobs.start(self._broker.read_s, self._note)

    def _note(self, result: float | ClientError) -> None:
        if isinstance(result, ClientError):
            self.problem = str(result)
        else:
            self._readings_s.append(result)
