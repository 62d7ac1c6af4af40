"""What groups and transactions cost: heartbeats, rebalances, commits, replay, memory.

    python -m tests.bench.coordinators [--scale 1.0] [--cases commit]

CPU is the broker process's user and system time; requests are encoded before the clock runs, and
sent from raw connections. Memory is the broker's resident set.
"""

import argparse
import contextlib
import os
import platform
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tests.bench import group_frames as frames
from tests.bench.group_crowd import ClassicMember, ConsumerMember, Crowd, Member, settled
from tests.bench.group_heartbeats import Beating, classic_groups, consumer_groups, paced
from tests.bench.growth import resident_bytes, started, stop_s
from tests.bench.load_client import LoadClient, cpu_s, create_topic, measure
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient

TOPIC: Final = "load"
INTERVAL_S: Final = 3.0
SETTLE_S_MAX: Final = 2.0
CORE_PERCENT_MAX: Final = 10.0
COMMITS_PER_S_MIN: Final = 10_000
REPLAY_MS_MAX: Final = 1_000
SMALL_INTERVAL: Final = (
    "group.consumer.min.heartbeat.interval.ms=1",
    "group.consumer.heartbeat.interval.ms=300",
)
PARTITIONS: Final = 100
OFFSET: Final = 7
STARTS: Final = 4


def report(
    what: str,
    value: float,
    unit: str,
    *,
    at_most: float | None = None,
    at_least: float | None = None,
    note: str = "",
) -> None:
    """Print a line of the table."""
    bound = ""
    if at_most is not None:
        bound = f"at most {at_most:<7g} {'ok' if value <= at_most else 'MISSED'}"
    elif at_least is not None:
        bound = f"at least {at_least:<6g} {'ok' if value >= at_least else 'MISSED'}"
    print(f"{what:58} | {value:9.4g} {unit:10} | {bound:22} | {note}", flush=True)


def _begin(port: int, name: str, partitions: int) -> None:
    """Make a topic, and ask for a coordinator, without which there are no groups."""
    create_topic("127.0.0.1", port, name, partitions)
    with RawClient("127.0.0.1", port) as client:
        client.call("FindCoordinator", 1, key=name)


# -- heartbeats


def heartbeats(folder: Path, scale: float) -> None:
    """1,000 groups of 3 members, each with a connection, heartbeat every 3 s."""
    count = max(int(1_000 * scale), 10)
    kinds: dict[str, Callable[[int, int, str], Beating]] = {
        "classic": classic_groups,
        "consumer": consumer_groups,
    }
    for name, make in kinds.items():
        settings = ("group.initial.rebalance.delay.ms=500",)
        with BrokerProcess(folder / name, settings=settings) as broker:
            _begin(broker.port, TOPIC, 3)
            before = resident_bytes(broker.pid)
            with contextlib.closing(make(broker.port, count, TOPIC)) as beating:
                each = (resident_bytes(broker.pid) - before) / (3 * count)
                paced(beating, INTERVAL_S, 1)
                used_s, began = cpu_s(broker.pid), time.perf_counter()
                answers = paced(beating, INTERVAL_S, 4)
                used_s, seconds = cpu_s(broker.pid) - used_s, time.perf_counter() - began
            note = f"{used_s / answers * 1e6:.0f} us each"
            what = f"{name}: heartbeats of {count} groups of 3"
            report(what, used_s / seconds * 100, "% of core", at_most=CORE_PERCENT_MAX, note=note)
            report(f"{name}: memory of a member and its connection", each, "bytes")


# -- rebalances


def rebalances(folder: Path, scale: float) -> None:
    """A group of 500 members over 1,000 partitions, in both protocols."""
    members = max(int(500 * scale), 4)
    makers: dict[str, Callable[[int], Member]] = {
        "classic": lambda _: ClassicMember("large", TOPIC, 2 * members),
        "consumer": lambda index: ConsumerMember("large", f"member-{index:04}", TOPIC),
    }
    for name, make in makers.items():
        with BrokerProcess(folder / name, settings=SMALL_INTERVAL) as broker:
            _begin(broker.port, TOPIC, 2 * members)
            crowd = Crowd(broker.port)
            crowd.connect([make(index) for index in range(members - 1)])
            what = f"{name}: {members - 1} members join at once"
            _settle(what, broker, crowd, 0, 2 * members)
            crowd.connect([make(members)])
            what = f"{name}: one more joins {members - 1} members"
            _settle(what, broker, crowd, members - 1, 2 * members)
            crowd.close()


def _settle(what: str, broker: BrokerProcess, crowd: Crowd, first: int, partitions: int) -> None:
    used_s, before = cpu_s(broker.pid), resident_bytes(broker.pid)
    joined = crowd.join(first)
    seconds = crowd.run(settled(partitions)) - joined
    used_s = cpu_s(broker.pid) - used_s
    grown = (resident_bytes(broker.pid) - before) / 1e6
    note = f"{used_s:.2f} s of CPU, {grown:.1f} MB"
    report(what, seconds, "s", at_most=SETTLE_S_MAX, note=note)


# -- commits


def commits(folder: Path, scale: float) -> None:
    """OffsetCommit requests, one connection, by who commits and for how much."""
    requests = max(int(20_000 * scale), 100)
    with BrokerProcess(folder / "data") as broker:
        _begin(broker.port, TOPIC, PARTITIONS)
        client = LoadClient("127.0.0.1", broker.port)
        for who, member in _committers(broker.port):
            for partitions, in_flight in ((1, 1), (1, 5), (10, 5), (100, 5)):
                made = _commits(who, partitions, member)
                client.run(lambda i, made=made: made[i % PARTITIONS], requests // 4, in_flight)  # type: ignore[misc]
                found = max(
                    (
                        measure(
                            client,
                            broker.pid,
                            lambda i, made=made: made[i % PARTITIONS],  # type: ignore[misc]
                            requests=requests // partitions + PARTITIONS,
                            in_flight=in_flight,
                            payload_bytes=1,
                        )
                        for _ in range(3)
                    ),
                    key=lambda each: each.requests_per_s,
                )
                report(
                    f"commits of a {who} member, {partitions} partitions, {in_flight} in flight",
                    1e6 / found.cpu_us_per_request,
                    "per core s",
                    at_least=COMMITS_PER_S_MIN if partitions == 1 else None,
                    note=f"{found.cpu_us_per_request:.0f} us each, {found.requests_per_s:.0f}/s",
                )
                _check_committed(broker.port, who)
        client.close()


def _commits(group_id: str, partitions: int, member: tuple[str, int]) -> list[bytes]:
    """Requests that together commit for each partition."""
    return [
        frames.commit(
            group_id,
            TOPIC,
            [(first + index) % PARTITIONS for index in range(partitions)],
            OFFSET,
            member,
        )
        for first in range(PARTITIONS)
    ]


def _committers(port: int) -> Iterator[tuple[str, tuple[str, int]]]:
    yield "simple", ("", -1)
    for name, kind in (("classic", ClassicMember), ("consumer", ConsumerMember)):
        member: Member
        if kind is ClassicMember:
            member = ClassicMember(name, TOPIC, PARTITIONS)
        else:
            member = ConsumerMember(name, "member", TOPIC)
        crowd = Crowd(port)
        crowd.connect([member])
        crowd.join()
        crowd.run(settled(PARTITIONS))
        yield name, (member.member_id, member.epoch)
        crowd.close()


def _check_committed(port: int, group_id: str) -> None:
    """The fast answers were good ones."""
    with RawClient("127.0.0.1", port) as client:
        value = client.call("OffsetFetch", 5, group_id=group_id, topics=None)
    found = [one.committed_offset for topic in value.topics for one in topic.partitions]
    assert found == [OFFSET] * PARTITIONS, value


# -- replay


def replay(folder: Path, scale: float) -> None:
    """How much longer a start takes with 100,000 committed offsets, few or many of them a batch."""
    count = max(int(100_000 * scale), 1_000)
    for each in (1, PARTITIONS):
        data = folder / f"{each}"
        broker, _ = started(data)
        _begin(broker.port, TOPIC, PARTITIONS)
        client = LoadClient("127.0.0.1", broker.port)
        client.run(lambda _: frames.commit("group-0", TOPIC, [0], 0), 1, 1)
        stop_s(broker)
        empty = _ready(data)
        broker, _ = started(data)
        before = resident_bytes(broker.pid)
        client = LoadClient("127.0.0.1", broker.port)
        client.run(lambda i, each=each: _nth_commit(i, each), count // each, 5)  # type: ignore[misc]
        grown = (resident_bytes(broker.pid) - before) / count
        stop_s(broker)
        full = _ready(data)
        _check_replayed(data, count // PARTITIONS)
        what = f"start with {count} offsets, {each} a batch: longer by"
        note = f"{empty.ms:.0f} -> {full.ms:.0f} ms, {full.cpu_ms - empty.cpu_ms:.0f} ms of CPU"
        report(what, full.ms - empty.ms, "ms", at_most=REPLAY_MS_MAX, note=note)
        what = f"memory of a committed offset, {each} a batch"
        note = f"{(full.bytes - empty.bytes) / count:.0f} bytes after the restart"
        report(what, grown, "bytes", note=note)


def _nth_commit(index: int, each: int) -> bytes:
    """One of the requests that commit an offset for all partitions in one group after the other."""
    first = index * each
    partitions = range(first % PARTITIONS, first % PARTITIONS + each)
    return frames.commit(f"group-{first // PARTITIONS}", TOPIC, partitions, OFFSET)


class Ready(NamedTuple):
    """The least of several starts."""

    ms: float
    cpu_ms: float
    bytes: int


def _ready(data: Path) -> Ready:
    """The time from exec to the ready line, the CPU until then, and the memory."""
    starts = []
    for _ in range(STARTS):
        broker, ready_ms = started(data)
        starts.append(Ready(ready_ms, cpu_s(broker.pid) * 1000, resident_bytes(broker.pid)))
        stop_s(broker)
    return Ready(*map(min, zip(*starts, strict=True)))


def _check_replayed(data: Path, groups: int) -> None:
    with BrokerProcess(data) as broker, RawClient("127.0.0.1", broker.port, timeout_s=60) as client:
        for index in range(groups):
            value = client.call("OffsetFetch", 5, group_id=f"group-{index}", topics=None)
            found = [one.committed_offset for topic in value.topics for one in topic.partitions]
            assert found == [OFFSET] * PARTITIONS, (index, len(found))


# -- memory


def memory(folder: Path, scale: float) -> None:
    """What a group, a member and an offset keep in memory; connections left out."""
    count = max(int(10_000 * scale), 500)
    metadata = frames.subscription([TOPIC])
    makers: dict[str, Callable[[int], bytes]] = {
        "a simple group with one offset": lambda i: frames.commit(f"simple-{i}", TOPIC, [0], i),
        "a classic group with one member": lambda i: frames.join(f"classic-{i}", "", metadata),
        "a consumer group with one member": lambda i: frames.consumer_join(
            f"consumer-{i}", f"member-{i}", [TOPIC]
        ),
        "one more member of a consumer group": lambda i: frames.consumer_join(
            "many", f"member-{i}", ["not-there"]
        ),
    }
    for index, (what, make) in enumerate(makers.items()):
        with BrokerProcess(folder / f"{index}") as broker:
            _begin(broker.port, TOPIC, 1)
            client = LoadClient("127.0.0.1", broker.port)
            client.run(lambda i, make=make: make(count + i), 100, 1)  # type: ignore[misc]
            total = count if "more" not in what else count // 10
            before, used_s = resident_bytes(broker.pid), cpu_s(broker.pid)
            client.run(make, total, 5)
            grown = (resident_bytes(broker.pid) - before) / total
            note = f"{(cpu_s(broker.pid) - used_s) / total * 1e6:.0f} us to make"
            report(f"memory of {what}", grown, "bytes", note=note)
            client.close()


CASES: Final[Sequence[Callable[[Path, float], None]]] = (
    heartbeats,
    rebalances,
    commits,
    replay,
    memory,
)


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0, help="sizes, relative")
    parser.add_argument("--cases", default="", help="only cases whose name holds this")
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # a connection a member, on both sides; the broker inherits the bound
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    with tempfile.TemporaryDirectory(prefix="coordinators-") as name:
        for case in CASES:
            if options.cases in case.__name__:
                folder = Path(name) / case.__name__
                folder.mkdir()
                case(folder, options.scale)
    return 0


if __name__ == "__main__":
    sys.exit(main())
