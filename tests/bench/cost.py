"""What a request costs: broker-lite and Apache Kafka side by side, with one raw load client.

    python -m tests.bench.cost [--scale 1.0] [--rounds 3] [--cases fetch]

A warm-up, then the best of three rounds for each case and broker, the brokers taking turns. CPU is
the broker process's user and system time. A ratio is broker-lite's figure over Kafka's; for CPU a
small one is good, for throughput a large one. `bound` is the CPU ratio that must not be passed.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.bench.load_client import (
    LoadClient,
    Round,
    batch_of,
    create_topic,
    delete_topic,
    fetch_frame,
    measure,
    produce_frame,
    touch_memory,
)
from tests.bench.options import begin
from tests.bench.sendfile_loop import bare_sendfile_rounds
from tests.support.broker_process import BrokerProcess
from tests.support.reference_kafka import ReferenceKafka

MIB = 1 << 20
SMALL = (1, 88)  # records and value bytes of one batch: 100 bytes of record
MIDDLE = (150, 99)  # 16 KB
LARGE = (1000, 1036)  # 1 MB


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One row of the table; `max_bytes` 0 is a produce.

    With `bare_loop` a process that does nothing but send the same file takes its turns, too.
    """

    name: str
    batch: tuple[int, int]
    requests: int
    in_flight: int
    bound: float
    max_bytes: int = 0
    bare_loop: bool = False

    @property
    def per_gb(self) -> bool:
        """Whether CPU is counted per GB instead of per request."""
        return (self.max_bytes or self.batch[0] * self.batch[1]) >= 1_000_000


CASES = (
    Case(name="produce 100 B", batch=SMALL, requests=60_000, in_flight=5, bound=0.25),
    # How this one ends, the machine decides: one wake-up from idle on each side is most of it.
    Case(name="the same, 1 by 1", batch=SMALL, requests=25_000, in_flight=1, bound=0.60),
    Case(name="produce 16 KB", batch=MIDDLE, requests=40_000, in_flight=5, bound=0.30),
    Case(name="produce 1 MB", batch=LARGE, requests=600, in_flight=3, bound=0.40),
    Case(
        name="fetch 16 KB", batch=MIDDLE, requests=25_000, in_flight=5, bound=0.45, max_bytes=17_000
    ),
    Case(
        name="fetch 1 MB",
        batch=MIDDLE,
        requests=4_000,
        in_flight=3,
        bound=0.75,
        max_bytes=MIB,
        bare_loop=True,
    ),
    Case(name="fetch 8 MB", batch=MIDDLE, requests=600, in_flight=3, bound=0.70, max_bytes=8 * MIB),
)
STORED_BYTES = 1_000_000_000
BARE_LOOP_BOUND = 0.90


class Target:
    """One running broker under load."""

    def __init__(
        self,
        name: str,
        port: int,
        pid: int,
        data_dir: Path,
        connect: Callable[[], LoadClient] | None = None,
    ) -> None:
        self.name = name
        self._connect = connect or partial(LoadClient, "127.0.0.1", port)
        self.port = port
        self.pid = pid
        self._data_dir = data_dir
        self._topics = 0
        self._stored: dict[tuple[int, int], str] = {}

    def rounds(self, case: Case, requests: int, count: int, folder: Path) -> Iterator[Round]:
        """A warm-up, then `count` rounds, one at each step; each produces to a topic of its own."""
        frame_at, payload_bytes = self._frames(case)
        client = self._connect()
        client.run(frame_at, requests, case.in_flight)
        for _ in range(count):
            if payload_bytes is not None:
                frame_at, _ = self._frames(case)
                touch_memory(folder, 2 * payload_bytes * requests)
                os.sync()  # or this round pays for what the last one left to be written
            yield measure(
                client,
                self.pid,
                frame_at,
                requests=requests,
                in_flight=case.in_flight,
                payload_bytes=payload_bytes,
            )
        client.close()

    def bare_rounds(self, case: Case, requests: int, count: int) -> Iterator[Round]:
        """What rounds() fetches, sent by a loop that does nothing else."""
        return bare_sendfile_rounds(
            self.stored_file(case),
            case.max_bytes,
            requests=requests,
            in_flight=case.in_flight,
            rounds=count,
        )

    def stored_file(self, case: Case) -> Path:
        """The file that rounds() of a fetch reads, which is written first if need be."""
        name = self._stored_topic(case.batch, batch_of(*case.batch))
        return self._data_dir / f"{name}-0" / f"{0:020}.log"

    def _frames(self, case: Case) -> tuple[Callable[[int], bytes], int | None]:
        batch = batch_of(*case.batch)
        if not case.max_bytes:
            frame = produce_frame(self._new_topic(), batch)
            return lambda _: frame, len(batch)
        topic = self._stored_topic(case.batch, batch)
        step = case.max_bytes // len(batch)
        last = STORED_BYTES // len(batch) // step - 1
        frames = [
            fetch_frame(topic, index * step * case.batch[0], case.max_bytes)
            for index in range(last)
        ]
        return lambda index: frames[index % last], None

    def _new_topic(self) -> str:
        if self._topics:
            delete_topic("127.0.0.1", self.port, f"load-{self._topics}")
        self._topics += 1
        create_topic("127.0.0.1", self.port, f"load-{self._topics}")
        return f"load-{self._topics}"

    def _stored_topic(self, shape: tuple[int, int], batch: bytes) -> str:
        if shape not in self._stored:
            name = self._stored[shape] = f"stored-{len(self._stored)}"
            create_topic("127.0.0.1", self.port, name)
            client = LoadClient("127.0.0.1", self.port)
            frame = produce_frame(name, batch)
            client.run(lambda _: frame, STORED_BYTES // len(batch), 5)
            client.close()
        return self._stored[shape]


@contextmanager
def targets(folder: Path, names: set[str]) -> Iterator[list[Target]]:
    """Start the brokers that are asked for."""
    found: list[Target] = []
    with BrokerProcess(folder / "ours") as ours:
        found.append(Target("broker-lite", ours.port, ours.pid, ours.data_dir))
        if "kafka" not in names:
            yield found
            return
        # deleted files give their memory back at once, to whoever writes next
        settings = {"log.segment.delete.delay.ms": "0"}
        with ReferenceKafka(folder / "kafka", settings=settings, heap="1500m") as kafka:
            found.append(Target("kafka", kafka.port, kafka.pid, kafka.log_dir))
            yield found


def best(rounds: list[Round], *, per_gb: bool) -> tuple[float, float]:
    """The least CPU and the highest throughput of the rounds."""
    cpu = min(r.cpu_s_per_gb if per_gb else r.cpu_us_per_request for r in rounds)
    return cpu, max(r.mb_per_s if per_gb else r.requests_per_s for r in rounds)


def run_case(
    case: Case, brokers: list[Target], scale: float, rounds: int, folder: Path
) -> list[list[Round]]:
    """All brokers in turns, round by round; the bare loop, if any, comes last."""
    requests = max(int(case.requests * scale), 10)
    running = [broker.rounds(case, requests, rounds, folder) for broker in brokers]
    if case.bare_loop:
        running.append(brokers[0].bare_rounds(case, requests, rounds))
    return alternate(running, rounds)


def alternate(running: list[Iterator[Round]], rounds: int) -> list[list[Round]]:
    """Let several sources of rounds take turns; return the rounds of each."""
    found: list[list[Round]] = [[] for _ in running]
    for _ in range(rounds):
        for results, source in zip(found, running, strict=True):
            results.append(next(source))
    for source in running:
        for _ in source:  # closes its connection
            pass
    return found


def row(case: Case, found: list[list[Round]]) -> str:
    """One line of the table."""
    unit, speed = ("s/GB", "MB/s") if case.per_gb else ("us/req", "req/s")
    figures = [best(rounds, per_gb=case.per_gb) for rounds in found]
    cells = [f"{cpu:8.3g} {unit:6} {rate:9.0f} {speed:5}" for cpu, rate in figures]
    if len(figures) == 2:
        ratio = figures[0][0] / figures[1][0]
        mark = "ok" if ratio <= case.bound else "MISSED"
        cells.append(f"cpu x {ratio:.2f} (bound {case.bound:.2f} {mark})")
        cells.append(f"throughput x {figures[0][1] / figures[1][1]:.2f}")
    return f"{case.name:16} | " + " | ".join(cells)


def beside_bare_loop(found: list[Round], bare: list[Round]) -> str:
    """One line: broker-lite beside a loop that only sends the same file, in turns with it."""
    cpu, rate = best(found, per_gb=True)
    bare_cpu, bare_rate = best(bare, per_gb=True)
    ratio = rate / bare_rate
    mark = "ok" if ratio >= BARE_LOOP_BOUND else "MISSED"
    return (
        f"  bare sendfile  | {bare_cpu:8.3g} s/GB   {bare_rate:9.0f} MB/s  | cpu x "
        f"{cpu / bare_cpu:.2f} | throughput x {ratio:.2f} (bound {BARE_LOOP_BOUND:.2f} {mark})"
    )


def main() -> int:
    """Run from the command line."""
    options = begin(__doc__)
    names = {"broker-lite"} if options.alone else {"broker-lite", "kafka"}
    with tempfile.TemporaryDirectory(prefix="cost-") as name:
        folder = Path(name)
        with targets(folder, names) as brokers:
            print("                 | " + " | ".join(f"{broker.name:31}" for broker in brokers))
            for case in CASES:
                if options.cases in case.name:
                    found = run_case(case, brokers, options.scale, options.rounds, folder)
                    print(row(case, found[: len(brokers)]), flush=True)
                    if case.bare_loop:
                        print(beside_bare_loop(found[0], found[-1]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
