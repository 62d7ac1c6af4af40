"""Many at once: connections that fetch, partitions, consumers in groups.

    python -m tests.bench.many [--cases waiting] [--scale 1.0] [--folder /dev/shm]

10,000 connections fetch at a rising rate, up to 10 times a second each, and go at the same moment.
As many wait for the same record, which comes, and for the next one, which does not. A broker has
50,000 partitions. 10,000 consumers in 1,000 groups join at once, heartbeat, commit, and rebalance
all together. For each: CPU of the broker, its memory, and the longest that another client waited
for an answer (`stall`; behind it the processor time of the event loop in between, which a busy
machine does not make longer). `bound` is what must not be passed.
"""

import argparse
import contextlib
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import psutil

from tests.bench.bytecode import write_bytecode
from tests.bench.coordinators import report
from tests.bench.group_crowd import ClassicMember, ConsumerMember, Crowd, Member
from tests.bench.growth import resident_bytes, started, stop_s
from tests.bench.load_client import (
    LoadClient,
    batch_of,
    cpu_s,
    create_topic,
    fetch_frame,
    produce_frame,
)
from tests.bench.many_fetches import PacedFetches, WaitingFetches
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient
from tests.support.stall_watch import STALL_MS_MAX, StallWatch

CONNECTIONS: Final = 10_000
RATES: Final = (1, 2, 5, 10)
PARTITIONS: Final = 50_000
TOPICS: Final = 50
GROUPS: Final = 1_000
MEMBERS: Final = 10
SECONDS: Final = 10
HEARTBEAT_S: Final = 3.0
LOOK_EVERY_S: Final = 0.2
STOP_S: Final = 120
WAIT_MS: Final = 120_000
IN_VAIN_MS: Final = 10_000
SETTINGS: Final = (
    f"group.consumer.heartbeat.interval.ms={HEARTBEAT_S * 1000:.0f}",
    "group.consumer.session.timeout.ms=60000",
)
TOPIC: Final = "many"
# the descriptors that the bench itself needs beside those of its connections
SPARE_DESCRIPTORS: Final = 100


class Spent:
    """What a broker spends on something: CPU, memory, and how long others wait meanwhile."""

    def __init__(self, pid: int, watch: StallWatch) -> None:
        self._pid = pid
        self._watch = watch
        watch.lap()
        self._cpu_s, self._bytes, self._began = cpu_s(pid), resident_bytes(pid), time.perf_counter()

    def report(self, what: str, per: int = 0, *, in_line: bool = False) -> None:
        """Print it, the memory also for each of `per` things.

        With `in_line`, thousands of requests come at the same time. Who comes last waits for those
        before it, however short each is, so there is no bound.
        """
        seconds = time.perf_counter() - self._began
        used_s = cpu_s(self._pid) - self._cpu_s
        grown = resident_bytes(self._pid) - self._bytes
        stall = self._watch.lap()
        each = f", {grown / per:.0f} bytes each" if per else ""
        note = f"{used_s:.2f} s of CPU, {grown / 1e6:.1f} MB{each}"
        report(what, seconds, "s", note=note)
        note = f"{stall.wall_ms:.0f} ms by the clock"
        at_most = None if in_line else STALL_MS_MAX
        report("  stall meanwhile", stall.cpu_ms, "ms", at_most=at_most, note=note)


@contextlib.contextmanager
def watched(folder: Path, *settings: str) -> Iterator[tuple[BrokerProcess, StallWatch]]:
    """A broker, and another client of it that measures how long it waits."""
    with BrokerProcess(folder, settings=settings) as broker:
        with StallWatch(broker.port, broker.pid) as watch:
            yield broker, watch
        report("stop", stop_s(broker, STOP_S), "s")


# -- connections


def connections(folder: Path, scale: float) -> None:
    """Each fetches one record of 100 bytes, at a rising rate."""
    count = allowed(int(CONNECTIONS * scale))
    with watched(folder / "data") as (broker, watch):
        create_topic("127.0.0.1", broker.port, TOPIC)
        client = LoadClient("127.0.0.1", broker.port)
        frame = produce_frame(TOPIC, batch_of(1, 88))
        client.run(lambda _: frame, 1, 1)
        client.close()
        spent = Spent(broker.pid, watch)
        fetches = PacedFetches(broker.port, count, fetch_frame(TOPIC, 0, 200))
        spent.report(f"{count} connections", count)
        for rate in RATES:
            spent = Spent(broker.pid, watch)
            pace = fetches.run(rate, SECONDS)
            what = f"each fetches {rate} times a second, {pace.due_per_s:.0f}/s in all"
            spent.report(what, count, in_line=True)
            note = f"median {pace.median_ms:.1f} ms, slowest {pace.slowest_ms:.0f} ms"
            report("  answered", pace.answered_per_s, "/s", note=note)
        spent = Spent(broker.pid, watch)
        with stopped(broker):
            fetches.close()
        time.sleep(1)
        spent.report("they all go at the same moment", count)


@contextlib.contextmanager
def stopped(broker: BrokerProcess) -> Iterator[None]:
    """Let the broker do nothing, so that it meets all at once what comes meanwhile."""
    process = psutil.Process(broker.pid)
    process.suspend()
    try:
        yield
    finally:
        process.resume()


def allowed(wanted: int) -> int:
    """Raise the bench's own limit of open files; return how many connections it allows."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    room = wanted if hard == resource.RLIM_INFINITY else hard - SPARE_DESCRIPTORS
    if room < wanted:
        print(f"only {room} connections: the system allows {hard} open files (ulimit -H -n)")
    return min(wanted, room)


def waiting(folder: Path, scale: float) -> None:
    """All wait for the next record of a partition, and it comes; for the one after it in vain."""
    count = allowed(int(CONNECTIONS * scale))
    with watched(folder / "data") as (broker, watch):
        create_topic("127.0.0.1", broker.port, TOPIC)
        frame = fetch_frame(TOPIC, 0, 200, max_wait_ms=WAIT_MS)
        fetches = WaitingFetches(broker.port, count, frame)
        time.sleep(1)  # the broker takes the last ones
        spent = Spent(broker.pid, watch)
        client = LoadClient("127.0.0.1", broker.port)
        frame = produce_frame(TOPIC, batch_of(1, 88))
        client.run(lambda _: frame, 1, 1)
        client.close()
        found = fetches.answered_ms()
        spent.report(f"a record comes that {count} connections wait for", count)
        note = f"slowest {found[-1]:.0f} ms"
        report("  answered, median", found[len(found) // 2], "ms", note=note)
        spent = Spent(broker.pid, watch)
        fetches.ask(fetch_frame(TOPIC, 1, 200, max_wait_ms=IN_VAIN_MS))
        time.sleep(1)  # the broker takes the last ones
        spent.report(f"{count} connections ask for the next record", in_line=True)
        spent = Spent(broker.pid, watch)
        found = fetches.answered_ms()
        spent.report("none comes, and their time ends", count)
        fetches.close()


# -- partitions


def partitions(folder: Path, scale: float) -> None:
    """Create, describe, write to, and start with very many partitions."""
    count = int(PARTITIONS * scale) // TOPICS * TOPICS
    names = [f"{TOPIC}-{number}" for number in range(TOPICS)]
    with watched(folder / "data") as (broker, watch):
        spent = Spent(broker.pid, watch)
        for name in names:
            create_topic("127.0.0.1", broker.port, name, count // TOPICS)
        spent.report(f"{count} partitions in {TOPICS} topics are created", count)
        _describe(broker, watch, f"Metadata of all {count}")
        batch = batch_of(1, 88)
        spent = Spent(broker.pid, watch)
        client = LoadClient("127.0.0.1", broker.port)
        wanted = [
            produce_frame(names[i % TOPICS], batch, partition=i // TOPICS) for i in range(count)
        ]
        client.run(lambda index: wanted[index], count, 5)
        client.close()
        spent.report("the first record of each is written", count)
    broker, ready_ms = started(folder / "data")
    with StallWatch(broker.port, broker.pid) as watch:
        note = f"{resident_bytes(broker.pid) / 1e6:.0f} MB of memory"
        report("start with them", ready_ms / 1000, "s", note=note)
        _describe(broker, watch, "Metadata of all after the start")
    report("stop without a change", stop_s(broker, STOP_S), "s")


def _describe(broker: BrokerProcess, watch: StallWatch, what: str) -> None:
    spent = Spent(broker.pid, watch)
    with RawClient("127.0.0.1", broker.port, timeout_s=60) as client:
        answer = client.call("Metadata", 12, topics=None)
    assert len(answer.topics) >= TOPICS
    spent.report(what)


# -- groups


def groups(folder: Path, scale: float) -> None:
    """Members of both protocols, ten in a group, each with a connection of its own."""
    count = allowed(int(GROUPS * scale) * (MEMBERS + 1)) // (MEMBERS + 1)
    makers: dict[str, Callable[[int], Member]] = {
        "classic": lambda index: ClassicMember(f"group-{index % count}", TOPIC, MEMBERS),
        "consumer": lambda index: ConsumerMember(
            f"group-{index % count}", f"member-{index:05}", TOPIC
        ),
    }
    for name, make in makers.items():
        with watched(folder / name, *SETTINGS) as (broker, watch):
            create_topic("127.0.0.1", broker.port, TOPIC, MEMBERS)
            with RawClient("127.0.0.1", broker.port) as client:
                client.call("FindCoordinator", 1, key="group-0")
            crowd = Crowd(broker.port, HEARTBEAT_S)
            first = [make(index) for index in range(count * MEMBERS)]
            spent = Spent(broker.pid, watch)
            crowd.connect(first)
            spent.report(f"{name}: {len(first)} consumers connect", len(first))
            _join(f"{name}: they join {count} groups at once", crowd, broker, watch, first)
            spent = Spent(broker.pid, watch)
            crowd.run(_after(SECONDS))
            what = f"{name}: {SECONDS} s in which each heartbeats every {HEARTBEAT_S:g} s"
            spent.report(what, in_line=True)
            more = [make(count * MEMBERS + index) for index in range(count)]
            crowd.connect(more)
            _join(f"{name}: one more joins each group", crowd, broker, watch, more)
            crowd.close()


def _join(
    what: str, crowd: Crowd, broker: BrokerProcess, watch: StallWatch, members: Sequence[Member]
) -> None:
    spent = Spent(broker.pid, watch)
    crowd.join(len(crowd.members) - len(members))
    crowd.run(_settled())
    spent.report(what, len(members), in_line=True)


def _settled() -> Callable[[Sequence[Member]], bool]:
    """Whether each group has one epoch, and each partition one owner; looked at now and then."""
    next_s = 0.0

    def is_done(members: Sequence[Member]) -> bool:
        nonlocal next_s
        if time.perf_counter() < next_s or not all(member.is_settled for member in members):
            return False
        next_s = time.perf_counter() + LOOK_EVERY_S
        owned: dict[str, list[int]] = {}
        epochs: dict[str, set[int]] = {}
        for member in members:
            owned.setdefault(member.group_id, []).extend(member.owned)
            epochs.setdefault(member.group_id, set()).add(member.epoch)
        return all(len(found) == 1 for found in epochs.values()) and all(
            sorted(found) == list(range(MEMBERS)) for found in owned.values()
        )

    return is_done


def _after(seconds: float) -> Callable[[Sequence[Member]], bool]:
    end_s = time.perf_counter() + seconds
    return lambda _: time.perf_counter() > end_s


CASES: Final = {
    "connections": connections,
    "waiting": waiting,
    "partitions": partitions,
    "groups": groups,
}


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0, help="how many there are, relative")
    parser.add_argument("--cases", default="", help="only those whose names contain this")
    parser.add_argument("--folder", help="where the data is, as /dev/shm for memory")
    options = parser.parse_args()
    write_bytecode()
    for name, run in CASES.items():
        if options.cases in name:
            with tempfile.TemporaryDirectory(prefix="many-", dir=options.folder) as folder:
                run(Path(folder), options.scale)
    return 0


if __name__ == "__main__":
    sys.exit(main())
