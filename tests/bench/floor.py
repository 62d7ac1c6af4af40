"""How many times the floor a request costs: broker-lite beside a server in C that does the least.

    python -m tests.bench.floor [--scale 1.0] [--rounds 3] [--cases fetch] [--folder /dev/shm]

floor.c only makes the system calls of a request, and checks the checksum of a batch. The C compiler
that setup.py uses compiles it first. The cases and the load client are those of the cost bench; the
two servers take turns, round by round, after a warm-up. CPU is the process's user and system time,
the least of the rounds; behind it stands which part of it is spent in system calls. `x` is how many
times the floor broker-lite costs.
"""

import os
import shlex
import socket
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from broker_lite.server.pacing import accept_unpaced
from tests.bench.cost import CASES, Case, Target, alternate, best
from tests.bench.load_client import (
    LoadClient,
    Round,
    batch_of,
    fetch_frame,
    measure,
    produce_frame,
    touch_memory,
)
from tests.bench.options import begin
from tests.support.broker_process import BrokerProcess

_SOURCE: Final = Path(__file__).with_suffix(".c")
_TOPIC: Final = "load-1"  # as long as the names that the broker gets


def compile_floor(folder: Path) -> Path:
    """Compile floor.c; return the program."""
    command = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    program = folder / "floor"
    words = [*shlex.split(command)[:1], "-O2", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([*words, "-o", str(program), str(_SOURCE)], check=True)
    return program


def floor_rounds(
    program: Path, case: Case, stored: Path | None, *, requests: int, rounds: int, folder: Path
) -> Iterator[Round]:
    """A warm-up, then the rounds, one at each step; the floor's process ends with the last.

    Args:
        program: the floor.
        case: what is asked.
        stored: what a fetch is answered from; None for a produce.
        requests: in each round.
        rounds: how many.
        folder: where a produce writes.
    """
    batch = batch_of(*case.batch)
    if stored is not None:
        frame = fetch_frame(_TOPIC, 0, case.max_bytes)
        words = ["fetch", str(stored), str(case.max_bytes)]
    else:
        frame = produce_frame(_TOPIC, batch)
        behind_bytes = len(frame) - frame.index(batch) - len(batch)
        words = ["produce", str(folder / "floor.log"), str(len(batch)), str(behind_bytes)]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        accept_unpaced(listener)  # as the broker's own
        address = listener.getsockname()
        floor = subprocess.Popen([str(program), *words], stdin=listener)
    try:
        for number in range(rounds + 1):
            if stored is None:
                touch_memory(folder, 2 * len(batch) * requests)
                os.sync()
            client = LoadClient(*address)
            found = measure(
                client,
                floor.pid,
                lambda _: frame,
                requests=requests,
                in_flight=case.in_flight,
                payload_bytes=len(batch) if stored is None else None,
            )
            client.close()
            if number:
                yield found
    finally:
        floor.kill()
        floor.wait()


def row(case: Case, ours: list[Round], floor: list[Round]) -> str:
    """One line of the table."""
    unit = "s/GB" if case.per_gb else "us/req"
    figures = [best(rounds, per_gb=case.per_gb)[0] for rounds in (ours, floor)]
    system = [
        min(rounds, key=lambda each: each.broker_cpu_s).system_share for rounds in (ours, floor)
    ]
    cells = [
        f"{cpu:8.3g} {unit:6} {share:4.0%} system"
        for cpu, share in zip(figures, system, strict=True)
    ]
    return f"{case.name:16} | {' | '.join(cells)} | x {figures[0] / figures[1]:.2f}"


def main() -> int:
    """Run from the command line."""
    options = begin(__doc__, beside_kafka=False)
    with tempfile.TemporaryDirectory(prefix="floor-", dir=options.folder) as name:
        folder = Path(name)
        program = compile_floor(folder)
        print(f"{'':16} | {'broker-lite':27} | {'floor':27} |")
        with BrokerProcess(folder / "ours") as broker:
            target = Target("broker-lite", broker.port, broker.pid, broker.data_dir)
            for case in CASES:
                if options.cases not in case.name:
                    continue
                requests = max(int(case.requests * options.scale), 10)
                floor = floor_rounds(
                    program,
                    case,
                    target.stored_file(case) if case.max_bytes else None,
                    requests=requests,
                    rounds=options.rounds,
                    folder=folder,
                )
                ours = target.rounds(case, requests, options.rounds, folder)
                print(row(case, *alternate([ours, floor], options.rounds)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
