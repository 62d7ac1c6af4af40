"""Processes that are killed under share consumers keep what they have promised.

    python -m tests.crash.share_process_kills --seed 1 --kills 100

A producer writes to partitions of two further processes all the while. Members of a share group
read, accept, release, reject, and let locks end: two at each of these processes that send their
requests themselves, and a share consumer of librdkafka. At random moments one of the processes is
ended by SIGKILL, or both. What holds then is said in share_kills.
"""

import random
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from broker_lite.testing import Broker
from broker_lite.wire import messages
from tests.crash.process_kills import TWO, further_processes
from tests.crash.share_kills import SETTINGS, Findings, Writer, check, configure, drain
from tests.crash.share_users import (
    PARTITIONS,
    TOPIC,
    Ledger,
    LibrdkafkaMember,
    RawMember,
    User,
)
from tests.support.command import seeded_main
from tests.support.raw_client import RawClient

PROCESSES: Final = 1 + PARTITIONS
MEMBERS_AT_EACH: Final = 2
LOAD_S: Final = (0.1, 2.0)
RECORDS_A_SECOND: Final = 100
TIMEOUT_S: Final = 60.0
PAUSE_S: Final = 0.01


@dataclass
class Gaps(Findings):
    """What a run saw, and how long the members had nothing to read after each kill."""

    gaps_s: list[float] = field(default_factory=list)

    def summary(self) -> str:
        """The figures of the run."""
        gaps = sorted(self.gaps_s) or [0.0]
        return (
            f"{super().summary()}; until all partitions were read from again: "
            f"median {gaps[len(gaps) // 2]:.2f} s, longest {gaps[-1]:.2f} s"
        )


def run(seed: int, kills: int, folder: Path) -> Gaps:
    """Kill processes so often; show how far it is."""
    found, chance = Gaps(), random.Random(seed)
    settings: dict[str, object] = dict(line.split("=", 1) for line in SETTINGS)
    settings["broker.lite.processes"] = str(PROCESSES)
    with Broker(settings, data_dir=folder / "data") as broker:
        ports = [int(each.rpartition(":")[2]) for each in broker.bootstrap.split(",")]
        with RawClient("127.0.0.1", ports[0]) as client:
            _create(client)
            configure(client)
        ledger, writer = Ledger(), Writer(ports[0], RECORDS_A_SECOND)
        users = _users(ports, ledger, chance)
        for thread in (writer, *users):
            thread.start()
        while found.kills < kills and not (ledger.faults or found.faults):
            _kill_some(broker, ledger, chance, found)
            print(f"\r{found.kills}/{kills} kills", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
        writer.stopped.set()
        writer.join()
        drain(ports[0], users, found)
        check(ledger, writer, users, found)
        broker.stop()
        if "Traceback" in broker.log:
            found.faults.append(broker.log[broker.log.index("Traceback") :][:3000])
    return found


def _kill_some(broker: Broker, ledger: Ledger, chance: random.Random, found: Gaps) -> None:
    """End one process or both, and wait until records of all partitions are delivered again."""
    time.sleep(chance.uniform(*LOAD_S))
    running = further_processes(broker)
    killed = chance.sample(running, 2 if chance.random() < TWO else 1)
    began_s = time.monotonic()
    for process in killed:
        process.kill()
    found.kills += len(killed)
    while min(ledger.last_s) <= began_s:
        if time.monotonic() > began_s + TIMEOUT_S:
            found.faults.append(f"a partition is not read from {TIMEOUT_S} s after a kill")
            return
        time.sleep(PAUSE_S)
    found.gaps_s.append(time.monotonic() - began_s)


def _create(client: RawClient) -> None:
    """Make the topic; each further process leads one partition."""
    kind = messages.CreateTopicsRequest
    topic = kind.CreatableTopic(
        name=TOPIC,
        num_partitions=-1,
        replication_factor=-1,
        assignments=[
            kind.CreatableReplicaAssignment(partition_index=index, broker_ids=[2 + index])
            for index in range(PARTITIONS)
        ],
    )
    (created,) = client.call("CreateTopics", 5, topics=[topic], timeout_ms=5000).topics
    assert created.error_code == 0, created.error_message


def _users(ports: list[int], ledger: Ledger, chance: random.Random) -> list[User]:
    users: list[User] = [
        RawMember(
            f"raw{partition}-{number}",
            ports[1 + partition],
            ledger,
            random.Random(chance.random()),
            partitions=[partition],
            coordinator_port=ports[0],
        )
        for partition in range(PARTITIONS)
        for number in range(MEMBERS_AT_EACH)
    ]
    users.append(LibrdkafkaMember("librdkafka", ports[0], ledger, random.Random(chance.random())))
    return users


if __name__ == "__main__":
    sys.exit(seeded_main(run, __doc__, count="kills", default=50))
