"""How long a command takes from the start of its process to its end, against a running broker.

    python -m tests.bench.commands [--rounds 20]

The bound is what Kafka's health checks and init containers are promised: 150 ms. Kafka's own tools
take a second.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.support.broker_process import BrokerProcess
from tests.support.command_line import environment, process_of

BOUND_MS = 150
TOPIC = "bench"
COMMANDS: dict[str, Sequence[str]] = {
    "topics --list": ("topics", "--list"),
    "topics --describe": ("topics", "--describe", "--topic", TOPIC),
    "configs --describe": ("configs", "--describe", "--topic", TOPIC),
    "offsets": ("offsets", "--topic", TOPIC),
    "api-versions": ("api-versions",),
    "cluster cluster-id": ("cluster", "cluster-id"),
    "groups --list": ("groups", "--list"),
    "consume": ("consume", "--topic", TOPIC, "--from-beginning", "--max-messages", "1"),
}


class Took(NamedTuple):
    """What one process took."""

    wall_ms: float
    cpu_ms: float


def run(arguments: Sequence[str], *, stdin: str = "") -> Took:
    """Run a command as a process."""
    start_s, start_cpu_s = time.perf_counter(), _children_cpu_s()
    subprocess.run(
        process_of(arguments),
        input=stdin,
        text=True,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(),
    )
    wall_s, cpu_s = time.perf_counter() - start_s, _children_cpu_s() - start_cpu_s
    return Took(wall_s * 1000, cpu_s * 1000)


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> int:
    """Print a row for each command; 1 when the best of one is above the bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    slow = 0
    with (
        tempfile.TemporaryDirectory() as folder,
        BrokerProcess(Path(folder) / "data") as broker,
    ):
        at = ("--bootstrap-server", broker.bootstrap)
        run(("topics", *at, "--create", "--topic", TOPIC))
        run(("produce", *at, "--topic", TOPIC), stdin="value\n")
        print(f"| command | best, ms | median, ms | CPU, ms | bound, ms |\n{'| --- ' * 5}|")
        for name, (command, *arguments) in COMMANDS.items():
            took = [run((command, *arguments, *at)) for _ in range(rounds)]
            best = min(each.wall_ms for each in took)
            median = statistics.median(each.wall_ms for each in took)
            cpu = statistics.median(each.cpu_ms for each in took)
            slow += best > BOUND_MS
            print(f"| {name} | {best:.0f} | {median:.0f} | {cpu:.0f} | {BOUND_MS} |")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
