"""A broker under attack by heavy batches: what others notice, what it takes, how it stops.

    python -m tests.fuzz.heavy_broker --seed 1 --size 1 [--kafka]

Each attack of tests.fuzz.heavy_batches is sent to a broker, in an order and with sizes that the
seed gives, while another client pings without a pause. Then each is sent to a broker of its own,
which is stopped while it works. With --kafka the same batches go to an Apache Kafka 4.3.1 in turns.
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from socket import SHUT_RDWR
from typing import Any, Final, NamedTuple

from broker_lite.wire import messages
from tests.bench.growth import resident_bytes
from tests.fuzz.heavy_batches import ACCEPTED, ATTACKS, Heavy
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import Closed, RawClient
from tests.support.reference_kafka import ReferenceKafka
from tests.support.stall_watch import STALL_MS_MAX, Stall, StallWatch, until_calm

SETTINGS: Final = ("message.max.bytes=100000000", "auto.create.topics.enable=false")
TIMEOUT_S: Final = 120
_KAFKA_TIMEOUT_S: Final = 30
STOP_S_MAX: Final = 1.0
PEAK_BYTES_MAX: Final = 1_000_000_000
WORK_BEGUN_S: Final = 0.2
"""More processor time than threads take for what a new broker has to do, which is 0.05 s."""
_SETTLING: Final = frozenset({3, 6})
"""UNKNOWN_TOPIC_OR_PARTITION and NOT_LEADER_OR_FOLLOWER."""


class Outcome(NamedTuple):
    """Of one attack.

    Attributes:
        codes: answered.
        answer_s: until the answer came.
        stall: as another client saw it.
        peak_bytes: of the broker's memory.
    """

    codes: set[int]
    answer_s: float
    stall: Stall
    peak_bytes: int


def create(client: RawClient, topic: str, heavy: Heavy) -> None:
    """Make the topic that an attack is sent to."""
    request = messages.CreateTopicsRequest
    configs = [
        request.CreatableTopicConfig(name=name, value=value)
        for name, value in heavy.configs.items()
    ]
    wanted = request.CreatableTopic(
        name=topic, num_partitions=heavy.partitions, replication_factor=1, configs=configs
    )
    value = request(topics=[wanted], timeout_ms=60_000)
    (answer,) = client.request(request, value, 5).topics
    assert answer.error_code == 0, answer


def send(client: RawClient, topic: str, heavy: Heavy) -> set[int]:
    """Send an attack, and give the codes of its partitions."""
    request = messages.ProduceRequest
    partitions = [
        request.PartitionProduceData(index=index, records=heavy.records)
        for index in range(heavy.partitions)
    ]
    data = request.TopicProduceData(name=topic, partition_data=partitions)
    value = request(acks=1, timeout_ms=60_000, topic_data=[data])
    (answer,) = client.request(request, value, 9).responses
    return {each.error_code for each in answer.partition_responses}


def look_up(client: RawClient, topic: str) -> int:
    """Ask for the record with the largest timestamp, the last one of a batch; give the code."""
    return int(_list_offset(client, topic, -3).error_code)


def end_offset(client: RawClient, topic: str) -> int:
    """Give the log end offset of partition 0."""
    return int(_list_offset(client, topic, -1).offset)


def _list_offset(client: RawClient, topic: str, timestamp: int) -> Any:
    request = messages.ListOffsetsRequest
    partition = request.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    asked = request.ListOffsetsTopic(name=topic, partitions=[partition])
    (answer,) = client.request(request, request(topics=[asked]), 7).topics[0].partitions
    return answer


def attack(broker: BrokerProcess, watch: StallWatch, topic: str, heavy: Heavy) -> Outcome:
    """Send one attack to a broker that serves others, too."""
    peak_bytes = 0
    with (
        RawClient("127.0.0.1", broker.port, timeout_s=TIMEOUT_S) as client,
        ThreadPoolExecutor(1) as threads,
    ):
        create(client, topic, heavy)
        watch.lap()
        began = time.monotonic()
        answer: Future[set[int]] = threads.submit(send, client, topic, heavy)
        while not answer.done():
            peak_bytes = max(peak_bytes, resident_bytes(broker.pid))
            time.sleep(0.01)
        answer_s = time.monotonic() - began
        assert look_up(client, topic) == 0
        return Outcome(answer.result(), answer_s, watch.lap(), peak_bytes)


def attack_until_calm(
    broker: BrokerProcess, watch: StallWatch, topic: str, heavy: Heavy
) -> Outcome:
    """Send one attack, again if another client waits for too long: the worst, but for the stall."""
    tries = until_calm(
        lambda number: attack(broker, watch, f"{topic}-{number}", heavy),
        lambda tries: min(each.stall.cpu_ms for each in tries),
    )
    return Outcome(
        codes=set[int]().union(*(each.codes for each in tries)),
        answer_s=max(each.answer_s for each in tries),
        peak_bytes=max(each.peak_bytes for each in tries),
        stall=min((each.stall for each in tries), key=lambda stall: stall.cpu_ms),
    )


def stop_during(folder: Path, heavy: Heavy) -> tuple[float, bool]:
    """Stop a broker while it works on an attack.

    Returns:
        How long it took from SIGTERM to the end, and whether the work was not over before.
    """
    with (
        BrokerProcess(folder, settings=SETTINGS) as broker,
        RawClient("127.0.0.1", broker.port, timeout_s=TIMEOUT_S) as client,
        ThreadPoolExecutor(1) as threads,
    ):
        answer = begin(broker, client, heavy, threads)
        began = time.monotonic()
        assert broker.stop() == 0
        stop_s = time.monotonic() - began
        return stop_s, isinstance(answer.exception(), Closed)


def begin(
    broker: BrokerProcess, client: RawClient, heavy: Heavy, threads: ThreadPoolExecutor
) -> "Future[set[int]]":
    """Send an attack to a new topic, and return when a thread of the broker works on it."""
    create(client, "heavy", heavy)
    before_s = threads_cpu_s(broker.pid)
    answer = threads.submit(send, client, "heavy", heavy)
    while threads_cpu_s(broker.pid) - before_s < WORK_BEGUN_S and not answer.done():
        time.sleep(0.005)
    return answer


def leave_during(folder: Path, heavy: Heavy) -> tuple[float, int]:
    """Leave while the only thread for heavy batches is at work, and wait until it is free.

    Returns:
        The processor time of all threads from the leaving on, and how many records were appended.
    """
    settings = (*SETTINGS, "broker.lite.decompression.threads=1")
    other = ATTACKS["plain records"](0.7)
    with (
        BrokerProcess(folder, settings=settings) as broker,
        RawClient("127.0.0.1", broker.port, timeout_s=TIMEOUT_S) as staying,
        ThreadPoolExecutor(1) as threads,
    ):
        create(staying, "other", other)
        with RawClient("127.0.0.1", broker.port, timeout_s=TIMEOUT_S) as leaving:
            answer = begin(broker, leaving, heavy, threads)
            assert not answer.done()
            before_s = threads_cpu_s(broker.pid)
            leaving.socket.shutdown(SHUT_RDWR)
        assert send(staying, "other", other) == ACCEPTED
        return threads_cpu_s(broker.pid) - before_s, end_offset(staying, "heavy")


def threads_cpu_s(pid: int) -> float:
    """Processor time of all threads of a process but the first, which runs the event loop.

    A request is received in the event loop, and a heavy batch is worked on in another thread: when
    this time rises, the work has begun.
    """
    tasks = [task for task in Path(f"/proc/{pid}/task").iterdir() if task.name != str(pid)]
    return sum(int((task / "schedstat").read_text("ascii").split()[0]) for task in tasks) / 1e9


@contextmanager
def other_broker(folder: Path | None) -> Iterator[int | None]:
    """The port of a Kafka in a folder, or none."""
    if folder is None:
        yield None
        return
    settings = dict(setting.split("=") for setting in SETTINGS)
    settings["socket.request.max.bytes"] = "110000000"
    with ReferenceKafka(folder, settings=settings, heap="1500m") as kafka:
        yield kafka.port


def run(folder: Path, seed: int, size: float, *, kafka: bool = False) -> list[str]:
    """Make every attack once, print a line for each, and give what is above its bound."""
    chance = random.Random(seed)
    order = chance.sample(sorted(ATTACKS), len(ATTACKS))
    faults = []
    with (
        BrokerProcess(folder / "attacked", settings=SETTINGS) as broker,
        StallWatch(broker.port, broker.pid) as watch,
        other_broker(folder / "kafka" if kafka else None) as other,
    ):
        for number, name in enumerate(order):
            heavy = ATTACKS[name](size * chance.uniform(0.5, 1))
            outcome = attack_until_calm(broker, watch, f"t{number}", heavy)
            line = (
                f"{name:18} {len(heavy.records):>11,} bytes  {outcome.answer_s:6.2f} s"
                f"  {outcome.peak_bytes / 1e6:4.0f} MB  stall {outcome.stall}"
            )
            if other is not None:
                answered = _answer_s(other, f"t{number}", heavy)
                line += f"  Kafka {answered or f'not in {_KAFKA_TIMEOUT_S} s; it is asked no more'}"
                other = other if answered else None
            show(line)
            faults += [f"{name}: {fault}" for fault in _faults(heavy, outcome)]
        if "Traceback" in broker.log:
            faults.append("a traceback in the log")
    return faults


def _faults(heavy: Heavy, outcome: Outcome) -> list[str]:
    found = []
    if not outcome.codes <= heavy.codes:
        found.append(f"answered {sorted(outcome.codes)}, not {sorted(heavy.codes)}")
    if outcome.stall.cpu_ms > STALL_MS_MAX:
        found.append(f"stall {outcome.stall} each time")
    if outcome.peak_bytes > PEAK_BYTES_MAX:
        found.append(f"{outcome.peak_bytes:,} bytes of memory")
    return found


def _answer_s(port: int, topic: str, heavy: Heavy) -> str | None:
    """How long an Apache Kafka takes for an attack, and what it answers; None when it does not.

    It creates a topic before its partitions have a leader, and refuses what is sent until then.
    """
    with RawClient("127.0.0.1", port, timeout_s=_KAFKA_TIMEOUT_S) as client:
        deadline = time.monotonic() + _KAFKA_TIMEOUT_S
        try:
            create(client, topic, heavy)
            while time.monotonic() < deadline:
                began = time.monotonic()
                codes = send(client, topic, heavy)
                if not codes & _SETTLING:
                    break
        except (TimeoutError, Closed):
            return None
    return f"{time.monotonic() - began:.2f} s, codes {sorted(codes)}"


def show(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    """Make the attacks, and then the stops; 1 when something is above its bound."""
    parser = argparse.ArgumentParser(description="Heavy batches against a broker.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", type=float, default=1.0, help="millions of records each")
    parser.add_argument("--kafka", action="store_true", help="beside a Kafka, in turns")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        faults = run(folder, given.seed, given.size, kafka=given.kafka)
        for number, name in enumerate(ATTACKS):
            stop_s, is_early = stop_during(folder / f"stopped-{number}", ATTACKS[name](given.size))
            show(f"{name:18} SIGTERM {stop_s:.2f} s{'' if is_early else '  (the work was over)'}")
            if stop_s > STOP_S_MAX:
                faults.append(f"{name}: {stop_s:.2f} s from SIGTERM to the end")
    for fault in faults:
        show(f"FAULT {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
