"""Measures a load: what all kinds of it do alike."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from types import FrameType
from typing import Any, Final

from broker_lite import __version__
from broker_lite.client import Client
from broker_lite.commands.bench.crew import Crew
from broker_lite.commands.bench.files import check_writable, write
from broker_lite.commands.bench.texts import loop_line, result_lines, second_line
from broker_lite.commands.shared.connecting import connect
from broker_lite.errors import ClientError
from broker_lite.load.cluster import Cluster
from broker_lite.load.cpu import BrokerUsage, CpuMeter, UsageByMetrics, UsageOfProcess
from broker_lite.load.jobs import Jobs
from broker_lite.load.limits import LimitsMeter
from broker_lite.load.page.page import page
from broker_lite.load.page.readout import readout
from broker_lite.load.part import WHOLE, Part
from broker_lite.load.recorder import Recorder, Second
from broker_lite.load.report import result_of
from broker_lite.load.worker import MAIN, Hooks, Runnable, Worker

_OFFSETS_WAIT_S: Final = 10.0
_OFFSETS_WAIT_S_INTERRUPTED: Final = 1.0
_NOTHING_ANSWERED: Final = 1
_BY_SIGNAL: Final = 128  # as a shell says it
WorkerOf = Callable[[argparse.Namespace, Cluster, Part, Hooks], Worker]


class Measurement:
    """One load from its flags to its figures.

    Attributes:
        recorders: by name, with what was counted.
        totals: further counts.
        meter: of CPU time and memory.
        memory_before: of the broker; None if it is not known.
    """

    def __init__(self, options: argparse.Namespace, requests_per_s: float | None) -> None:
        """Check the flags; nothing is sent yet.

        Args:
            options: with the flags of add_load().
            requests_per_s: None for as many as possible.

        Raises:
            SettingsError: the file cannot be written, or the URL is none.
            ClientError: the broker's CPU time cannot be read.
        """
        self.recorders: Mapping[str, Recorder] = {}
        self.totals: Mapping[str, int] = {}
        self._options = options
        self._requests_per_s = requests_per_s
        self._started = datetime.now(UTC).isoformat(timespec="seconds")
        self._signal = 0  # the one that ended the run
        self._crew: Crew | None = None
        for name in ("json", "html"):
            if getattr(options, name) is not None:
                check_writable(f"--{name}", getattr(options, name))
        self._limits = LimitsMeter(options.control, options.duration)
        broker = _broker_usage(options)
        # a mistake shows now, not at the end
        self.memory_before = None if broker is None else broker.read().memory_bytes
        self.meter = CpuMeter(broker)
        self._show = _show if sys.stderr.isatty() else _keep_quiet

    @property
    def recorder(self) -> Recorder:
        """The main one."""
        return self.recorders[MAIN]

    def run(self, worker_of: WorkerOf, cluster: Cluster) -> None:
        """Run the load, until its end or Ctrl-C.

        Args:
            worker_of: makes what this process runs, if there is only one.
            cluster: for it.

        Raises:
            ClientError: no connection can be opened, or a process has ended.
        """
        hooks = Hooks(self._on_second, self._on_measured, self.meter.end)
        if self._options.processes == 1:
            worker = worker_of(self._options, cluster, WHOLE, hooks)
            self.recorders = worker.recorders
            with self._interruptible(worker.run):
                self._open_and_run(worker.run)
            self.totals = worker.totals()
            return
        self._crew = crew = Crew(self._options, hooks)
        try:
            with self._interruptible(crew):
                self._open_and_run(crew)
        finally:
            crew.close()
        self.recorders, self.totals = crew.recorders, crew.totals
        self.meter.client_s = crew.client_s

    def _open_and_run(self, run: Runnable | Crew) -> None:
        run.open()
        is_open = self._requests_per_s is not None
        print(
            f"{self._options.topic}: {run.partitions} partitions,"
            f" {run.connections} connections; {loop_line(is_open=is_open)}",
            flush=True,
        )
        run.run(self._options.warmup + self._options.duration)

    def _on_measured(self) -> None:
        self.meter.begin()
        self._limits.begin()

    def _on_second(self, second: Second) -> None:
        crew = self._crew
        client_s = time.process_time() if crew is None else crew.client_so_far_s
        self.meter.sample(second.end_s, client_s)
        self._show(second)

    def ends(self, cluster: Cluster) -> dict[int, int] | ClientError:
        """Ask for the end offsets, without a long wait for a broker that has gone."""
        found: list[dict[int, int] | ClientError] = []
        jobs = Jobs()
        jobs.start(partial(cluster.offsets, earliest=False), found.append)
        jobs.collect(_OFFSETS_WAIT_S_INTERRUPTED if self._signal else _OFFSETS_WAIT_S)
        return found[0] if found else ClientError("no answer in time")

    def tell(
        self,
        kind: str,
        settings: Mapping[str, object],
        lines: Sequence[str] = (),
        figures: Mapping[str, object] | None = None,
    ) -> int:
        """Print the figures, and write them into the file.

        Args:
            kind: of the load.
            settings: what was asked for.
            lines: what only this kind has to tell, behind the table.
            figures: the same for the file.

        Returns:
            The exit code: 1 if no request was answered, 130 after Ctrl-C.
        """
        self._limits.wait()
        if self._limits.found:
            figures = {**(figures or {}), "limits": self._limits.found}
        result = result_of(
            kind,
            {"version": __version__, "started": self._started, **settings},
            self.recorder,
            self.meter,
            requests_per_s=self._requests_per_s,
            was_interrupted=bool(self._signal),
            figures=figures or {},
        )
        if self._signal:
            print("interrupted: these are the figures so far")
        print(*result_lines(self.recorder, self.meter, more=lines), sep="\n")
        print(result["verdict"], flush=True)
        if self._options.json is not None:
            write("--json", self._options.json, json.dumps(result, indent=2) + "\n")
        if self._options.html is not None:
            write("--html", self._options.html, page([readout(result)]))
        if self._signal:
            return _BY_SIGNAL + self._signal
        phases = (self.recorder.warmup, self.recorder.measured)
        return 0 if any(phase.requests for phase in phases) else _NOTHING_ANSWERED

    @contextmanager
    def _interruptible(self, load: Runnable | Crew) -> Iterator[None]:
        """Let Ctrl-C and SIGTERM end the load, and a second one this process."""
        before: dict[signal.Signals, Any] = {}

        def stop(number: int, _frame: FrameType | None) -> None:
            self._signal = number
            load.stop()
            for each in before:
                signal.signal(each, signal.SIG_DFL)

        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, stop)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def common_settings(options: argparse.Namespace, partition_count: int) -> dict[str, object]:
    """Return what all kinds of load tell of their flags."""
    return {
        "bootstrap": options.bootstrap_server,
        "topic": options.topic,
        "partitions": partition_count,
        "connections": options.connections,
        "processes": options.processes,
        "warmup_s": options.warmup,
        "duration_s": options.duration,
    }


@contextmanager
def open_cluster(options: argparse.Namespace, part: Part = WHOLE) -> Iterator[Cluster]:
    """Connect to the cluster of the flags.

    Args:
        options: of the load.
        part: of the partitions, which this process has.

    Raises:
        SettingsError: an address or a property is wrong.
        ClientError: no broker can be reached.
    """
    with connect(options) as client:
        cluster = Cluster(client, options.topic, partial(_connect_again, options), part)
        try:
            yield cluster
        finally:
            cluster.close()


def _connect_again(options: argparse.Namespace, bootstrap: str) -> Client:
    again = {"bootstrap_server": bootstrap or options.bootstrap_server, "wait": 0.0}
    return connect(argparse.Namespace(**{**vars(options), **again}))


def _broker_usage(options: argparse.Namespace) -> BrokerUsage | None:
    if options.control is not None:
        return UsageByMetrics(options.control)
    return None if options.broker_pid is None else UsageOfProcess(options.broker_pid)


def _show(second: Second) -> None:
    print(second_line(second), file=sys.stderr, flush=True)


def _keep_quiet(_second: Second) -> None:
    """Show nothing where nobody looks."""
