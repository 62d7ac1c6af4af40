"""Measures a load: what `bench produce` and `bench fetch` do alike."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Final

from broker_lite import __version__
from broker_lite.client import Client
from broker_lite.commands.bench.texts import loop_line, result_lines, second_line
from broker_lite.commands.shared.connecting import connect
from broker_lite.errors import ClientError, SettingsError
from broker_lite.load.cluster import Cluster
from broker_lite.load.cpu import BrokerCpu, CpuByMetrics, CpuMeter, CpuOfProcess
from broker_lite.load.jobs import Jobs
from broker_lite.load.lane import Work
from broker_lite.load.recorder import Recorder, Second
from broker_lite.load.report import result_of
from broker_lite.load.run import Run
from broker_lite.load.schedule import Schedule

_OFFSETS_WAIT_S: Final = 10.0
_OFFSETS_WAIT_S_INTERRUPTED: Final = 1.0
_NOTHING_ANSWERED: Final = 1
_BY_SIGNAL: Final = 128  # as a shell says it


class Measurement:
    """One load from its flags to its figures.

    Attributes:
        schedule: for the work; begins with the run.
        recorder: for the work.
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
        self._options = options
        self._started = datetime.now(UTC).isoformat(timespec="seconds")
        self._signal = 0  # the one that ended the run
        if options.json is not None:
            _check_writable(options.json)
        self._meter = CpuMeter(_broker_cpu(options))
        self.schedule = Schedule(requests_per_s)
        self.recorder = Recorder(
            warmup_s=options.warmup,
            on_second=_show if sys.stderr.isatty() else _keep_quiet,
            on_measured=self._meter.begin,
            on_finished=self._meter.end,
        )

    def run(self, cluster: Cluster, work: Work, *, in_flight: int) -> None:
        """Run the load, until its end or Ctrl-C.

        Raises:
            ClientError: no connection can be opened.
        """
        load = Run(
            cluster,
            work,
            schedule=self.schedule,
            recorder=self.recorder,
            connections=self._options.connections,
            in_flight=in_flight,
            clock=time.monotonic_ns,
        )
        with self._interruptible(load):
            load.open()
            print(
                f"{self._options.topic}: {load.partitions} partitions,"
                f" {load.connections} connections; {loop_line(is_open=self.schedule.is_open)}",
                flush=True,
            )
            load.run(self._options.warmup + self._options.duration)

    def ends(self, cluster: Cluster) -> dict[int, int] | ClientError:
        """Ask for the end offsets, without a long wait for a broker that has gone."""
        found: list[dict[int, int] | ClientError] = []
        jobs = Jobs()
        jobs.start(partial(cluster.offsets, earliest=False), found.append)
        jobs.collect(_OFFSETS_WAIT_S_INTERRUPTED if self._signal else _OFFSETS_WAIT_S)
        return found[0] if found else ClientError("no answer in time")

    def tell(
        self, kind: str, settings: Mapping[str, object], *, delivered: int | str | None = None
    ) -> int:
        """Print the figures, and write them into the file.

        Args:
            kind: produce or fetch.
            settings: what was asked for.
            delivered: a count of records, or why it is not known; None for nothing.

        Returns:
            The exit code: 1 if no request was answered, 130 after Ctrl-C.
        """
        is_known = isinstance(delivered, int)
        text = (
            f"delivered {delivered:,} (end offsets after minus before)" if is_known else delivered
        )
        lines = result_lines(
            self.recorder,
            self._meter,
            requests_per_s=self.schedule.per_second,
            delivered=None if text is None else str(text),
        )
        if self._signal:
            print("interrupted: these are the figures so far")
        print(*lines, sep="\n", flush=True)
        if self._options.json is not None:
            result = result_of(
                kind,
                {"version": __version__, "started": self._started, **settings},
                self.recorder,
                self._meter,
                is_open_loop=self.schedule.is_open,
                was_interrupted=bool(self._signal),
                delivered_records=delivered if isinstance(delivered, int) else None,
            )
            _write(self._options.json, json.dumps(result, indent=2) + "\n")
        if self._signal:
            return _BY_SIGNAL + self._signal
        phases = (self.recorder.warmup, self.recorder.measured)
        return 0 if any(phase.requests for phase in phases) else _NOTHING_ANSWERED

    @contextmanager
    def _interruptible(self, load: Run) -> Iterator[None]:
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


@contextmanager
def open_cluster(options: argparse.Namespace) -> Iterator[Cluster]:
    """Connect to the cluster of the flags.

    Raises:
        SettingsError: an address or a property is wrong.
        ClientError: no broker can be reached.
    """
    with connect(options) as client:
        cluster = Cluster(client, options.topic, partial(_connect_again, options))
        try:
            yield cluster
        finally:
            cluster.close()


def _connect_again(options: argparse.Namespace, bootstrap: str) -> Client:
    again = {"bootstrap_server": bootstrap or options.bootstrap_server, "wait": 0.0}
    return connect(argparse.Namespace(**{**vars(options), **again}))


def _broker_cpu(options: argparse.Namespace) -> BrokerCpu | None:
    found: BrokerCpu
    if options.control is not None:
        found = CpuByMetrics(options.control)
    elif options.broker_pid is not None:
        found = CpuOfProcess(options.broker_pid)
    else:
        return None
    found.read_s()  # a mistake shows now, not at the end
    return found


def _check_writable(path: Path) -> None:
    """Raise now, not after the run, if a file cannot be written; a new one is not left behind."""
    is_new = not path.exists()
    try:
        path.touch()
        if is_new:
            path.unlink()
    except OSError as error:
        raise SettingsError(f"--json {path}: {error.strerror}") from error


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError as error:
        raise ClientError(f"--json {path}: {error.strerror}") from error


def _show(second: Second) -> None:
    print(second_line(second), file=sys.stderr, flush=True)


def _keep_quiet(_second: Second) -> None:
    """Show nothing where nobody looks."""
