"""What the test bench costs: the same broker without it, with faults, and with a journal, in turns.

    python -m tests.bench.testbench [--scale 0.3] [--rounds 4] [--cases produce]

The cases are those of the cost bench. Each mode has a broker of its own, and they take turns round
by round. CPU is the broker process's user and system time; the ratio is to the broker that has no
control API. The data is in memory (/dev/shm) unless --folder says otherwise.

A first request of the control API and the memory after it are measured at the end.
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
import urllib.request
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from tests.bench.bytecode import write_bytecode
from tests.bench.cost import CASES, Case, Target, best, run_case
from tests.bench.growth import resident_bytes
from tests.support.broker_process import BrokerProcess

_MEMORY: Final = Path("/dev/shm")
_ABSENT: Final = "without"
_MODES: Final[Mapping[str, tuple[str, str, object] | None]] = {
    _ABSENT: None,
    "control, unused": None,
    "rule on EndTxn": ("POST", "/v1/faults", {"keys": ["EndTxn"], "hold": True, "count": -1}),
    "rule not met": (
        "POST",
        "/v1/faults",
        {"keys": ["Produce", "Fetch"], "client_id": "nobody", "hold": True, "count": -1},
    ),
    "journal, headers": ("PUT", "/v1/requests/recording", {"recording": "headers"}),
    "journal, bodies": ("PUT", "/v1/requests/recording", {"recording": "bodies"}),
}


def _ask(url: str, method: str, path: str, body: object) -> None:
    data = json.dumps(body).encode()
    request = urllib.request.Request(url + path, data, method=method)
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=20) as answer:
        answer.read()


def _run(case: Case, scale: float, rounds: int, folder: Path) -> None:
    with ExitStack() as brokers:
        targets = []
        for number, (name, asked) in enumerate(_MODES.items()):
            arguments = () if name == _ABSENT else ("--control", "127.0.0.1:0")
            data_dir = folder / f"{CASES.index(case)}-{number}"
            broker = brokers.enter_context(BrokerProcess(data_dir, arguments=arguments))
            if asked is not None:
                _ask(broker.control_url, *asked)
            targets.append(Target(name, broker.port, broker.pid, broker.data_dir))
        found = run_case(case, targets, scale, rounds, folder)
    base = 0.0
    unit = "s/GB" if case.per_gb else "us/req"
    for target, its_rounds in zip(targets, found, strict=False):  # the bare loop is left out
        cost, _ = best(its_rounds, per_gb=case.per_gb)
        base = base or cost
        print(f"{case.name:16} | {target.name:16} | {cost:8.4g} {unit:6} | {cost / base:.3f}")
    for number in range(len(_MODES)):
        shutil.rmtree(folder / f"{CASES.index(case)}-{number}")


def _first_request(folder: Path) -> None:
    """Measure what the first request takes, and what memory it leaves."""
    with BrokerProcess(folder / "first", arguments=("--control", "127.0.0.1:0")) as broker:
        time.sleep(1)  # what a start puts off is over
        before = resident_bytes(broker.pid)
        took_ms = []
        for _ in range(5):
            began = time.perf_counter()
            _ask(broker.control_url, "PUT", "/v1/requests/recording", {"recording": "off"})
            took_ms.append((time.perf_counter() - began) * 1000)
        grown = resident_bytes(broker.pid) - before
    print(f"first request {took_ms[0]:.0f} ms, the next ones {min(took_ms[1:]):.1f} ms")
    print(f"memory {before / 1e6:.1f} MB before, {grown / 1e6:.1f} MB more after")


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--scale", type=float, default=0.3, help="requests per round, relative")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--cases", default="", help="only those whose names contain this")
    parser.add_argument("--folder", type=Path, default=_MEMORY, help="where the data is")
    options = parser.parse_args()
    write_bytecode()
    with tempfile.TemporaryDirectory(prefix="bench-", dir=options.folder) as name:
        for case in CASES:
            if options.cases in case.name:
                _run(case, options.scale, options.rounds, Path(name))
        _first_request(Path(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
