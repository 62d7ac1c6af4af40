"""A broker that crashes again and again under real clients keeps all that it has promised.

    python -m tests.crash.kills --seed 1 --kills 100
    python -m tests.crash.kills --seed 1 --kills 100 --power-loss
    python -m tests.crash.kills --seed 1 --kills 100 --power-loss --file-system ext4
    python -m tests.crash.kills --seed 1 --kills 20 --power-loss --no-flush

Idempotent and transactional producers, the members of a group and somebody who makes and deletes
topics work all the while. Segments are short, and what has keys is compacted all the time. The
broker is ended by SIGKILL at a random moment, sometimes on its way to a clean stop, or ends itself
at one of the places that tests.crash.points names, there also in the middle of a write. With
--power-loss each answer waits for the disk (flush.messages=1), and after each crash the directory
is what tests.crash.disk leaves of it: a recording of all calls that change files, replayed as far
as each was synced, and a random part of the rest. With --file-system the directory is on a file
system of its own on a loop device (only root may do that); at a power loss the broker stands still
while the file system is shut down without its journal, and is then mounted again. With --no-flush
answers do not wait for the disk, so that losses have to be found. After each restart, and in the
end: no acknowledged record is lost, none is there twice, the order is kept, offsets are contiguous,
aborted records are invisible, compaction keeps the last record of each key, no committed position
goes back, topics are as they were told to be. A directory is used for a few
crashes, then the next one is begun.
"""

import argparse
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Final, Self

from broker_lite.wire import messages
from tests.crash.crowd import Crowd
from tests.crash.points import listed
from tests.crash.real_disk import KINDS, NotPossible
from tests.crash.storage import Storage, make_storage
from tests.crash.users import (
    KEYED,
    KEYED_TRANSACTIONS,
    PARTITIONS,
    PLAIN,
    TRANSACTIONS,
)
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient
from tests.support.reference_kafka import free_port

KILLS_A_DIRECTORY: Final = 10
IDLE_S_MAX: Final = 4.0
LOAD_S: Final = (0.0, 0.4)
AT_A_POINT_S_MAX: Final = 2.0
NTH_MAX: Final = 20
ACTIONS: Final = ("kill", "kill-after", "torn")
AT_A_POINT: Final = 0.9
STARTS_MAX: Final = 20
STOPPED: Final = 0.15
STOP_S_MAX: Final = 10.0
# It flushes whatever the run has written, on a machine that may have other work.
LAST_STOP_S_MAX: Final = 120.0
SETTINGS: Final = (
    "log.segment.bytes=1048576",
    "log.index.interval.bytes=3000",
    "log.flush.offset.checkpoint.interval.ms=50",
    "offsets.topic.num.partitions=3",
    "transaction.state.log.num.partitions=3",
    "group.initial.rebalance.delay.ms=0",
    "log.retention.check.interval.ms=100",
    "log.cleaner.backoff.ms=100",
    "log.cleaner.min.cleanable.ratio=0.01",
    "offsets.topic.segment.bytes=1048576",
    "transaction.state.log.segment.bytes=1048576",
)
_POINTS: Final = {
    operation: sorted(names)
    for operation, names in groupby(sorted(listed()), key=lambda name: name.partition(".")[0])
}
SHORT: Final = {"internal.segment.bytes": "262144"}
COMPACTED: Final = {
    "internal.segment.bytes": "131072",
    "cleanup.policy": "compact",
    "file.delete.delay.ms": "200",
}
TOPICS: Final = {
    PLAIN: SHORT,
    TRANSACTIONS: SHORT,
    KEYED: COMPACTED,
    KEYED_TRANSACTIONS: COMPACTED,
}
CANNOT: Final = 2
"""The exit code where this machine cannot make the file system."""
DURABLE: Final = ("log.flush.interval.messages=1",)


@dataclass(slots=True)
class Findings:
    """What a run saw."""

    kills: int = 0
    records: int = 0
    keyed: int = 0
    transactions: int = 0
    read: int = 0
    hung: int = 0
    ready_ms_max: int = 0
    at: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """The figures of the run."""
        return (
            f"{self.kills} crashes ({sum(self.at.values())} at {len(self.at)} named places), "
            f"{self.records} acknowledged records, {self.keyed} more with keys, "
            f"{self.transactions} transactions, "
            f"{self.read} records read, {self.hung} clients hung, "
            f"slowest restart {self.ready_ms_max} ms, {len(self.faults)} faults"
        )


class Machine:
    """A broker on a disk, whose crashes may be power losses."""

    def __init__(
        self, storage: Storage, log_path: Path, source: random.Random, settings: Sequence[str]
    ) -> None:
        self._storage = storage
        self._log_path = log_path
        self._settings = settings
        self._source = source
        self.port = free_port()
        self._named = ""
        self._broker: BrokerProcess | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._broker is not None and self._broker.running():
            self._broker.kill()

    def start(self, found: Findings) -> BrokerProcess:
        """Start a broker; it may crash in its first moments, even several times."""
        for _ in range(STARTS_MAX):
            point = self._point()
            self._broker = self._new_broker(point)
            try:
                self._broker.start()
            except RuntimeError:
                if not point:
                    raise
                found.at[point.partition(":")[0]] += 1
                found.kills += 1
                self._storage.cut()
                self._storage.restore()
            else:
                found.ready_ms_max = max(found.ready_ms_max, self._broker.ready_ms)
                return self._broker
        raise AssertionError("the broker never starts")

    def start_for_good(self, found: Findings) -> BrokerProcess:
        """Start a broker that does not crash by itself."""
        self._named = ""
        self._broker = self._new_broker("").start()
        found.ready_ms_max = max(found.ready_ms_max, self._broker.ready_ms)
        return self._broker

    def crash(self, found: Findings, crowd: Crowd) -> None:
        """Let it work for a while, from when it has work, or until it ends itself; kill it."""
        assert self._broker is not None
        before = crowd.progress()
        self._wait(IDLE_S_MAX, lambda: crowd.progress() > before)
        seconds = self._source.uniform(*LOAD_S)
        self._wait(max(seconds, AT_A_POINT_S_MAX) if self._named else seconds, lambda: False)
        if self._source.random() < STOPPED or self._named.startswith("stop."):
            self._broker.terminate()
            self._wait(STOP_S_MAX, lambda: False)
        if self._broker.killed():
            found.at[self._named.partition(":")[0]] += 1
        if self._storage.is_cut:
            self._broker.freeze()  # what it answers has left it before the power goes
            self._storage.cut()
        self._broker.kill()
        found.kills += 1
        self._storage.restore()

    def _wait(self, seconds: float, is_enough: Callable[[], bool]) -> None:
        assert self._broker is not None
        deadline = time.monotonic() + seconds
        while self._broker.running() and time.monotonic() < deadline and not is_enough():
            time.sleep(0.005)

    def _point(self) -> str:
        self._named = ""
        if self._source.random() < AT_A_POINT:
            # an operation first: a swap passes 28 places, an append two
            name = self._source.choice(_POINTS[self._source.choice(list(_POINTS))])
            nth = min(int(self._source.expovariate(0.5)) + 1, NTH_MAX)
            self._named = f"{name}:{nth}:{self._source.choice(ACTIONS)}"
        return self._named

    def _new_broker(self, point: str) -> BrokerProcess:
        words = [sys.executable, "-m", "tests.crash.serve"]
        words += ["--crash", point] if point else []
        return BrokerProcess(
            self._storage.data_dir,
            settings=(*SETTINGS, *self._settings),
            port=self.port,
            log_path=self._log_path,
            program=(*words, *self._storage.words, "--"),
        )


def run(
    seed: int,
    kills: int,
    folder: Path,
    *,
    loses_power: bool = False,
    file_system: str | None = None,
    settings: Sequence[str] = DURABLE,
    tell: Callable[[Findings], None] = lambda _: None,
) -> Findings:
    """Let a broker crash this often.

    Args:
        seed: of all that is random.
        kills: how often at least.
        folder: an empty one.
        loses_power: each crash is a power loss.
        file_system: the kind of a file system made for it, see storage.make_storage.
        settings: of the broker where crashes are power losses.
        tell: is told what was found so far.
    """
    source, found = random.Random(seed), Findings()
    number = 0
    while found.kills < kills and not found.faults:
        asked = settings if loses_power else ()
        folder_of_it = folder / str(number)
        storage = make_storage(
            folder_of_it, source, loses_power=loses_power, file_system=file_system
        )
        log_path = folder / f"{number}.log"
        with storage, Machine(storage, log_path, source, asked) as machine:
            _use(machine, min(kills, found.kills + KILLS_A_DIRECTORY), source, found, tell)
        shutil.rmtree(folder_of_it)
        number += 1
    return found


def _use(
    machine: Machine,
    kills: int,
    source: random.Random,
    found: Findings,
    tell: Callable[[Findings], None],
) -> None:
    broker = machine.start_for_good(found)
    with RawClient("127.0.0.1", machine.port) as client:
        _create_topics(client)
    crowd = Crowd((broker.host, broker.port), source)
    crowd.start()
    try:
        while found.kills < kills and not found.faults:
            machine.crash(found, crowd)
            machine.start(found)
            machine.crash(found, crowd)
            broker = machine.start_for_good(found)
            found.faults += crowd.faults(machine.port)
            tell(found)
    except BaseException:
        crowd.stop()  # and do not wait for them: there is no broker that could answer
        raise
    if found.faults:
        crowd.stop()  # a client may never come to its end if the broker has forgotten its records
    else:
        crowd.finish()
    found.records += crowd.records()
    found.keyed += crowd.keyed()
    found.transactions += crowd.transactions()
    found.read += crowd.read()
    found.hung += crowd.hung()
    if not found.faults:
        found.faults += crowd.faults(machine.port, is_over=True)
        if broker.stop(LAST_STOP_S_MAX) != 0:
            found.faults.append(f"the broker does not stop cleanly: {broker.log[-2000:]}")
    if "Traceback" in broker.log:
        found.faults.append(broker.log[broker.log.index("Traceback") :][:3000])


def _create_topics(client: RawClient) -> None:
    kind = messages.CreateTopicsRequest
    topics = [
        kind.CreatableTopic(
            name=name,
            num_partitions=PARTITIONS,
            replication_factor=1,
            configs=[
                kind.CreatableTopicConfig(name=each, value=value) for each, value in configs.items()
            ],
        )
        for name, configs in TOPICS.items()
    ]
    answer = client.call("CreateTopics", 5, topics=topics, timeout_ms=1000)
    assert not any(each.error_code for each in answer.topics), answer


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--power-loss", action="store_true")
    parser.add_argument("--no-flush", action="store_true", help="which a power loss shows")
    parser.add_argument("--file-system", choices=KINDS)
    options = parser.parse_args()

    def tell(found: Findings) -> None:
        print(f"\r{found.kills}/{options.kills} crashes", end="", file=sys.stderr, flush=True)

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # nothing stays mounted
    try:
        with tempfile.TemporaryDirectory(prefix="kills-") as folder:
            found = run(
                *(options.seed, options.kills, Path(folder)),
                loses_power=options.power_loss,
                file_system=options.file_system,
                settings=() if options.no_flush else DURABLE,
                tell=tell,
            )
    except NotPossible as error:
        print(f"kills: {options.file_system}: {error}", file=sys.stderr)
        return CANNOT
    print(file=sys.stderr)
    for fault in found.faults[:20]:
        print(fault)
    print(found.summary())
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(main())
