"""What a Produce to a topic that discards its records costs beside one to a stored topic.

    python -m tests.bench.discard [--scale 1] [--rounds 4] [--cases "1 MB"] [--folder DIR]

Both topics are on one broker, and take turns round by round. CPU is the broker's user and system
time, and the best of the rounds. At the end comes a start after a kill, with as many headers as a
segment may have.
"""

import argparse
import platform
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from broker_lite.log.discarding import HEADERS_BYTES_MAX
from broker_lite.record import implementations
from tests.bench.growth import resident_bytes
from tests.bench.load_client import (
    LoadClient,
    Round,
    batch_of,
    create_topic,
    measure,
    produce_frame,
)
from tests.support.broker_process import BrokerProcess

HEADER_BYTES = 61
MODES = ("stored", "discard")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One row: requests of one batch."""

    name: str
    batch: tuple[int, int]
    requests: int
    in_flight: int


CASES = (
    Case(name="100 B", batch=(1, 100), requests=40_000, in_flight=5),
    Case(name="16 KB", batch=(150, 99), requests=20_000, in_flight=5),
    Case(name="1 MB", batch=(1000, 1024), requests=800, in_flight=3),
)


def shown(mode: str, rounds: list[Round]) -> str:
    """The best of some rounds."""
    cpu = min(each.cpu_us_per_request for each in rounds)
    rate = max(each.mb_per_s for each in rounds)
    return f"{mode} {cpu:6.1f} us a request, {rate:5.0f} MB/s"


def run_case(case: Case, broker: BrokerProcess, options: argparse.Namespace) -> str:
    """Both modes in turns; one row."""
    requests = max(int(case.requests * options.scale), 10)
    data = batch_of(*case.batch)
    frames, found = {}, {mode: list[Round]() for mode in MODES}
    for mode in MODES:
        topic = f"{mode}-{case.batch[0]}"
        create_topic("127.0.0.1", broker.port, topic, broker_lite_load_mode=mode)
        frames[mode] = produce_frame(topic, data)
    clients = {mode: LoadClient("127.0.0.1", broker.port) for mode in MODES}
    for _ in range(options.rounds + 1):
        for mode, client in clients.items():
            found[mode].append(
                measure(
                    client,
                    broker.pid,
                    lambda _, frame=frames[mode]: frame,  # type: ignore[misc]
                    requests=requests,
                    in_flight=case.in_flight,
                    payload_bytes=len(data),
                )
            )
    for client in clients.values():
        client.close()
    rows = (shown(mode, rounds[1:]) for mode, rounds in found.items())
    return f"{case.name:6} | " + " | ".join(rows)


def restart_row(folder: Path) -> str:
    """How long a start takes after a kill."""
    count = HEADERS_BYTES_MAX // HEADER_BYTES - 1000
    with BrokerProcess(folder / "killed") as broker:
        create_topic("127.0.0.1", broker.port, "t", broker_lite_load_mode="discard")
        client, frame = LoadClient("127.0.0.1", broker.port), produce_frame("t", batch_of(1, 100))
        before = resident_bytes(broker.pid)
        client.run(lambda _: frame, count, 5)
        after = resident_bytes(broker.pid)
        client.close()
        broker.kill()
    begin = time.monotonic()
    with BrokerProcess(folder / "killed"):
        took_s = time.monotonic() - begin
    memory = f"{before / 1e6:.0f} MB, after {after / 1e6:.0f} MB"
    return f"{count} batches: {memory}; a start after a kill {took_s:.1f} s"


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0, help="requests per round, relative")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--cases", default="", help="only cases whose name holds this")
    parser.add_argument("--folder", help="where the data is, for another disk")
    options = parser.parse_args()
    print(platform.machine(), platform.python_version(), implementations())
    with tempfile.TemporaryDirectory(prefix="discard-", dir=options.folder) as name:
        folder = Path(name)
        with BrokerProcess(folder / "data", settings=("log.retention.bytes=1000000000",)) as broker:
            for case in CASES:
                if options.cases in case.name:
                    print(run_case(case, broker, options), flush=True)
        print(restart_row(folder), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
