"""A load of several processes: they open their connections, begin together, and are added up.

Each process is a crew_member. It gets its flags and its part by its standard input, and tells what
happens in lines of JSON. At the end of its input it stops, so none outlives this process.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final, NamedTuple

import broker_lite
from broker_lite.errors import ClientError
from broker_lite.load.part import Part
from broker_lite.load.recorder import NS_PER_S, Recorder
from broker_lite.load.tally import Tally
from broker_lite.load.worker import MAIN, Hooks

_MODULE: Final = "broker_lite.commands.bench.crew_member"
_ROOT: Final = Path(broker_lite.__file__).parent.parent
_START_AFTER_NS: Final = NS_PER_S // 5  # time for all to hear of it
_POLL_S: Final = 0.05
_STOP_S: Final = 10.0
START: Final = "start"
STOP: Final = "stop"


class _Message(NamedTuple):
    """What a process has told; None when it has ended."""

    member: int
    body: dict[str, Any] | None


class Crew:
    """The processes of one load.

    Attributes:
        recorders: by name, with the counts of all processes, once they have ended.
        totals: further counts.
        client_s: the CPU time of all processes while they were measured.
        client_so_far_s: the same since they began, as of their last seconds.
        connections: of all processes.
        partitions: of all processes.
    """

    def __init__(self, options: argparse.Namespace, hooks: Hooks) -> None:
        """Start the processes, which open their connections.

        Args:
            options: the flags of the load.
            hooks: are told of the sums.
        """
        count: int = options.processes
        self.recorders: dict[str, Recorder] = {MAIN: hooks.recorder(options.warmup)}
        self.totals: dict[str, int] = {}
        self.client_s = 0.0
        self.connections = self.partitions = 0
        self._hooks = hooks
        self._options = options
        self._messages: SimpleQueue[_Message] = SimpleQueue()
        self._seconds: list[dict[int, dict[str, Any]]] = []  # by process, those not yet added
        self._told = [0] * count  # seconds that each process has told
        self._added = 0
        self._cpu_s = [0.0] * count
        self._is_stopped = False
        self._members: list[subprocess.Popen[bytes]] = []
        self._listeners: list[threading.Thread] = []
        try:
            for index in range(count):
                self._start(options, Part(index, count))
        except BaseException:
            self.close()
            raise

    def stop(self) -> None:
        """End the load as soon as possible; a handler of a signal may call it."""
        self._is_stopped = True

    def open(self) -> None:
        """Wait until all processes have their connections.

        Raises:
            ClientError: a process has failed; the text is its reason.
        """
        left = len(self._members)
        while left and not self._is_stopped:
            for message in self._read():
                self.partitions += message["opened"][0]
                self.connections += message["opened"][1]
                left -= 1

    def run(self, seconds: float) -> None:
        """Let all begin at the same moment, and add up what they count.

        Raises:
            ClientError: a process has ended before its time.
        """
        start_ns = time.monotonic_ns() + _START_AFTER_NS
        marks = [
            (start_ns + int(self._options.warmup * NS_PER_S), self._hooks.on_measured),
            (start_ns + int(seconds * NS_PER_S), self._hooks.on_finished),
        ]
        self._say(f"{START} {start_ns}")
        left, has_said = len(self._members), False
        while left:
            for message in self._read():
                if "second" in message:
                    self._add_seconds()
                elif "ended" in message:
                    self._add_end(message["ended"])
                    left -= 1
            if self._is_stopped and not has_said:
                self._say(STOP)
                has_said = True
            while marks and (has_said or time.monotonic_ns() >= marks[0][0]):
                marks.pop(0)[1]()
        self._add_seconds(is_last=True)
        for _, mark in marks:
            mark()

    @property
    def client_so_far_s(self) -> float:
        """The CPU time of all processes, as of their last seconds."""
        return sum(self._cpu_s)

    def close(self) -> None:
        """End all processes."""
        for member in self._members:
            assert member.stdin is not None
            with suppress(OSError):  # it has ended already
                member.stdin.close()
        for member in self._members:
            try:
                member.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                member.kill()
                member.wait()
        for listener in self._listeners:
            listener.join()

    def _start(self, options: argparse.Namespace, part: Part) -> None:
        member = subprocess.Popen(  # noqa: S603 - this program, in another process
            [sys.executable, "-m", _MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0,  # Ctrl-C is for this process, which tells the others
            env=_environment(),
        )
        self._members.append(member)
        assert member.stdin is not None
        assert member.stdout is not None
        member.stdin.write(pickle.dumps((options, part)).hex().encode() + b"\n")
        member.stdin.flush()
        listener = threading.Thread(target=self._listen, args=(part.index, member), daemon=True)
        listener.start()
        self._listeners.append(listener)

    def _listen(self, index: int, member: subprocess.Popen[bytes]) -> None:
        """Hand over what a process tells, in a thread of its own."""
        assert member.stdout is not None
        with member.stdout:
            for line in member.stdout:
                if line.endswith(b"\n"):  # else it died meanwhile
                    self._messages.put(_Message(index, json.loads(line)))
        self._messages.put(_Message(index, None))

    def _read(self) -> Sequence[dict[str, Any]]:
        """Wait a moment for a message of any process."""
        try:
            index, body = self._messages.get(timeout=_POLL_S)
        except Empty:
            return ()
        if body is None:
            if self._members[index].wait() or self._told[index] >= 0:
                raise ClientError(self._death_of(index))
            return ()
        if "failed" in body:
            raise ClientError(body["failed"])
        if "ended" in body:
            self._told[index] = -1  # it may end now
        if "second" in body:
            self._note_second(index, body["second"])
        return (body,)

    def _death_of(self, index: int) -> str:
        code = self._members[index].returncode
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        return f"process {index + 1} of {len(self._members)} of the load ended {how}"

    def _say(self, text: str) -> None:
        for member in self._members:
            assert member.stdin is not None
            with suppress(OSError):  # it has ended; _read() says so
                member.stdin.write(f"{text}\n".encode())
                member.stdin.flush()

    # -- sums

    def _note_second(self, index: int, second: dict[str, Any]) -> None:
        number = self._told[index] - self._added
        self._told[index] += 1
        while len(self._seconds) <= number:
            self._seconds.append({})
        self._seconds[number][index] = second
        self._cpu_s[index] = second["cpu_s"]

    def _add_seconds(self, *, is_last: bool = False) -> None:
        """Add up the seconds that all processes have told."""
        while self._seconds and (is_last or len(self._seconds[0]) == len(self._members)):
            seconds = list(self._seconds.pop(0).values())
            self._added += 1
            tally = Tally()
            for second in seconds:
                tally.add(Tally.from_data(second["tally"]))
            self.recorders[MAIN].add_second(
                tally,
                end_s=max(second["end_s"] for second in seconds),
                length_s=max(second["length_s"] for second in seconds),
                is_warmup=seconds[0]["is_warmup"],
            )

    def _add_end(self, ended: Mapping[str, Any]) -> None:
        self.client_s += ended["client_s"]
        for name, data in ended["recorders"].items():
            recorder = self.recorders.setdefault(name, Recorder(warmup_s=self._options.warmup))
            recorder.add_data(data)
        for name, count in ended["totals"].items():
            self.totals[name] = self.totals.get(name, 0) + count


def _environment() -> dict[str, str]:
    """Return the environment with this package on the path, wherever it was found."""
    path = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": f"{_ROOT}{os.pathsep}{path}" if path else str(_ROOT)}
