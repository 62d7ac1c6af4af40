"""One process of a load, which a crew has started; see broker_lite.commands.bench.crew."""

from __future__ import annotations

import argparse
import json
import os
import pickle
import signal
import sys
import threading
import time
from io import RawIOBase
from typing import Final, TextIO

from broker_lite.commands.bench.command import KINDS
from broker_lite.commands.bench.crew import START
from broker_lite.commands.bench.measuring import open_cluster
from broker_lite.errors import ClientError, SettingsError
from broker_lite.load.part import Part
from broker_lite.load.recorder import Second
from broker_lite.load.worker import MAIN, Hooks, Worker

_FAILED: Final = 1


class Member:
    """A process of a crew."""

    def __init__(self, orders: RawIOBase, reports: TextIO) -> None:
        """Use two pipes.

        Args:
            orders: lines; without a buffer, because a thread reads it when the process ends.
            reports: lines of JSON.
        """
        self._orders = orders
        self._reports = reports
        self._worker: Worker | None = None
        self._cpu_began_s = self._cpu_s = 0.0

    def work(self) -> int:
        """Do what the crew says; return the exit code."""
        told = bytes.fromhex(self._orders.readline().decode())
        options, part = pickle.loads(told)  # noqa: S301 - of the process that started this one
        try:
            self._work(options, part)
        except (ClientError, SettingsError) as error:
            self._tell("failed", str(error))
            return _FAILED
        return 0

    def _work(self, options: argparse.Namespace, part: Part) -> None:
        hooks = Hooks(self._on_second, self._on_measured, self._on_finished)
        with open_cluster(options, part) as cluster:
            worker = KINDS[options.kind].load().worker(options, cluster, part, hooks)
            self._worker = worker
            worker.run.open()
            self._tell("opened", [worker.run.partitions, worker.run.connections])
            order, _, moment = self._orders.readline().decode().strip().partition(" ")
            if order != START:
                return  # it is over already
            threading.Thread(target=self._listen, daemon=True).start()
            worker.run.run(options.warmup + options.duration, start_ns=int(moment))
        ended = {
            "client_s": self._cpu_s,
            "recorders": {name: each.as_data() for name, each in worker.recorders.items()},
            "totals": dict(worker.totals()),
        }
        self._tell("ended", ended)

    def _listen(self) -> None:
        """Stop at the next line, or when the crew has gone."""
        self._orders.readline()
        assert self._worker is not None
        self._worker.run.stop()

    def _on_measured(self) -> None:
        self._cpu_began_s = time.process_time()

    def _on_finished(self) -> None:
        self._cpu_s = time.process_time() - self._cpu_began_s

    def _on_second(self, second: Second) -> None:
        assert self._worker is not None
        told = {
            "tally": self._worker.recorders[MAIN].last.as_data(),
            "end_s": second.end_s,
            "length_s": second.length_s,
            "is_warmup": second.is_warmup,
            "cpu_s": time.process_time(),
        }
        self._tell("second", told)

    def _tell(self, name: str, value: object) -> None:
        self._reports.write(json.dumps({name: value}) + "\n")
        self._reports.flush()


def main() -> int:
    """Work for the crew at the other end of the standard streams."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the crew says when to stop
    try:
        with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as orders:
            return Member(orders, sys.stdout).work()
    except BrokenPipeError:  # the crew has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _FAILED


if __name__ == "__main__":
    sys.exit(main())
