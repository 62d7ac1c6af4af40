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


def run(seed: int, kills: int, folder: Path) -> Findings:
    """Kill processes so often; show how far it is."""
    found, chance = Findings(), random.Random(seed)
    settings: dict[str, object] = dict(line.split("=", 1) for line in SETTINGS)
    settings["broker.lite.processes"] = str(PROCESSES)
    with Broker(settings, data_dir=folder / "data") as broker:
        ports = [int(each.rpartition(":")[2]) for each in broker.bootstrap.split(",")]
        with RawClient("127.0.0.1", ports[0]) as client:
            _create(client)
            configure(client)
        ledger, writer = Ledger(), Writer(ports[0])
        users = _users(ports, ledger, chance)
        for thread in (writer, *users):
            thread.start()
        while found.kills < kills and not ledger.faults:
            time.sleep(chance.uniform(*LOAD_S))
            running = further_processes(broker)
            count = 2 if chance.random() < TWO else 1
            for process in chance.sample(running, min(count, len(running))):
                process.kill()
                found.kills += 1
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
