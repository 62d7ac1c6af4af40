"""What a fetch of synthetic records costs beside one of stored records in the page cache.

    python -m tests.bench.synthetic [--scale 1] [--rounds 3] [--cases "1 MB"] [--memory-gb 20]

Both topics are on one broker, and take turns round by round. CPU is the broker's user and system
time. Values and batches have the same sizes, the content of the stored ones is always the same.
At the end the broker's memory is shown before and after many more bytes.
"""

import argparse
import platform
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from broker_lite.record import implementations
from tests.bench.growth import resident_bytes
from tests.bench.load_client import (
    LoadClient,
    Round,
    batch_of,
    create_topic,
    fetch_frame,
    measure,
    produce_frame,
)
from tests.support.broker_process import BrokerProcess

MIB = 1 << 20
STORED_BYTES = 1_000_000_000
MIDDLE = (150, 99)  # 16 KB
LARGE = (1000, 1024)  # 1 MB
FRAMES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One row: batches of one size, fetched by requests of one size."""

    name: str
    batch: tuple[int, int]
    max_bytes: int
    requests: int
    in_flight: int = 3


CASES = (
    Case(name="16 KB of 16 KB", batch=MIDDLE, max_bytes=17_000, requests=20_000, in_flight=5),
    Case(name="1 MB of 16 KB", batch=MIDDLE, max_bytes=MIB, requests=2_000),
    Case(name="8 MB of 16 KB", batch=MIDDLE, max_bytes=8 * MIB, requests=300),
    Case(name="1 MB of 1 MB", batch=LARGE, max_bytes=MIB, requests=2_000),
    Case(name="8 MB of 1 MB", batch=LARGE, max_bytes=8 * MIB, requests=300),
)


def frames(topic: str, case: Case) -> Callable[[int], bytes]:
    """Fetch requests that read the topic from its begin on, and then again."""
    batch_records, batch_bytes = case.batch[0], len(batch_of(*case.batch))
    step = max(case.max_bytes // batch_bytes, 1) * batch_records
    last = min(FRAMES, STORED_BYTES // batch_bytes * batch_records // step - 1)
    made = [fetch_frame(topic, index * step, case.max_bytes) for index in range(last)]
    return lambda index: made[index % last]


def fill(port: int, batch: tuple[int, int]) -> str:
    """Make a stored topic; gives its name."""
    name, data = f"stored-{batch[0]}", batch_of(*batch)
    create_topic("127.0.0.1", port, name)
    client, frame = LoadClient("127.0.0.1", port), produce_frame(name, data)
    client.run(lambda _: frame, STORED_BYTES // len(data), 5)
    client.close()
    return name


def synthetic(port: int, batch: tuple[int, int]) -> str:
    """Make a synthetic topic; gives its name."""
    name = f"synthetic-{batch[0]}"
    parameters = {
        "broker_lite_load_mode": "synthetic",
        "broker_lite_load_batch_records": str(batch[0]),
        "broker_lite_load_record_bytes": str(batch[1]),
    }
    create_topic("127.0.0.1", port, name, **parameters)
    return name


def shown(name: str, found: list[Round]) -> str:
    """The best of some rounds."""
    cpu = min(each.cpu_s_per_gb for each in found)
    answered = found[0].payload_bytes / found[0].requests / 1000
    rate = max(each.mb_per_s for each in found)
    return f"{name} {cpu:5.3f} s/GB {rate:6.0f} MB/s, {answered:6.0f} KB an answer"


def run_case(
    case: Case, broker: BrokerProcess, topics: dict[str, str], options: argparse.Namespace
) -> str:
    """Both topics in turns; one row."""
    requests = max(int(case.requests * options.scale), 10)
    clients = {name: LoadClient("127.0.0.1", broker.port) for name in topics}
    asked = {name: frames(topic, case) for name, topic in topics.items()}
    found: dict[str, list[Round]] = {name: [] for name in topics}
    for name, client in clients.items():
        client.run(asked[name], requests // 4 + 1, case.in_flight)
    for _ in range(options.rounds):
        for name, client in clients.items():
            found[name].append(
                measure(
                    client,
                    broker.pid,
                    asked[name],
                    requests=requests,
                    in_flight=case.in_flight,
                )
            )
    for client in clients.values():
        client.close()
    return f"{case.name:15} | " + " | ".join(shown(name, rounds) for name, rounds in found.items())


def memory_row(broker: BrokerProcess, topic: str, case: Case, size_gb: float) -> str:
    """How much memory the broker has before and after so many gigabytes."""
    client, frame_at = LoadClient("127.0.0.1", broker.port), frames(topic, case)
    before = resident_bytes(broker.pid)
    sent = 0
    while sent < size_gb * 1e9:
        sent += client.run(frame_at, 100, case.in_flight)
    client.close()
    after = resident_bytes(broker.pid)
    return f"{case.name:15} | {before / 1e6:.0f} MB, after {sent / 1e9:.0f} GB {after / 1e6:.0f} MB"


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0, help="requests per round, relative")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cases", default="", help="only cases whose name holds this")
    parser.add_argument("--memory-gb", type=float, default=20.0)
    options = parser.parse_args()
    print(platform.machine(), platform.python_version(), implementations())
    with (
        tempfile.TemporaryDirectory(prefix="synthetic-") as folder,
        BrokerProcess(Path(folder) / "data") as broker,
    ):
        made = {
            batch: {"stored": fill(broker.port, batch), "synthetic": synthetic(broker.port, batch)}
            for batch in (MIDDLE, LARGE)
        }
        for case in CASES:
            if options.cases in case.name:
                print(run_case(case, broker, made[case.batch], options), flush=True)
        for case in (CASES[1], CASES[4]):
            topic = made[case.batch]["synthetic"]
            print(memory_row(broker, topic, case, options.memory_gb), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
