"""What is consumed, transformed and produced in transactions comes out once, whoever is killed.

    python -m tests.fuzz.exactly_once --seed 1 --kills 50 --client java

Two programs of a client move the records of one topic to another, as members of one group, each
batch in a transaction with its positions, while a producer goes on writing. Again and again the
broker, a program, or both are ended by SIGKILL and started anew. In the end a reader of committed
records finds every record of the input in the output, once, in order.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.conformance.clients import RANGE, TRANSACTIONAL, Builds, Client
from tests.conformance.feeder import PARTITIONS, Feeder, create_topic
from tests.conformance.group import SHORT_TIMES, Group, visible_values
from tests.conformance.program import Program, Programs
from tests.support.broker_process import BrokerProcess
from tests.support.reference_kafka import free_port

INPUT: Final = "input"
OUTPUT: Final = "output"
WORKERS: Final = 2
VICTIMS: Final = ("broker", "program", "broker and program")
TIMEOUT_MS: Final = 10_000
PAUSE_S: Final = (0.0, 0.8)
BUSY_S: Final = 0.003  # so much input that a program is in a transaction nearly always


@dataclass(slots=True)
class Findings:
    """What a run saw."""

    kills: int = 0
    moved: int = 0
    gave_up: int = 0
    ended: int = 0
    ready_ms_max: int = 0
    faults: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """The figures of the run."""
        return (
            f"{self.kills} kills, {self.moved} records moved, "
            f"{self.gave_up} transactions given up, {self.ended} programs ended by themselves, "
            f"slowest restart {self.ready_ms_max} ms, {len(self.faults)} faults"
        )


class Workers:
    """The programs that move records; each slot has a transactional id of its own."""

    def __init__(self, group: Group, programs: Programs, found: Findings) -> None:
        self._group = group
        self._programs = programs
        self._found = found
        self._slots = [self._start(slot) for slot in range(WORKERS)]

    def _start(self, slot: int) -> Program:
        options = {"transactional_id": f"worker-{slot}", "timeout_ms": TIMEOUT_MS}
        return self._group.join(f"worker-{slot}", "transform", **options)

    def kill(self, slot: int) -> None:
        """End one and start it anew."""
        self._slots[slot].kill()
        self._slots[slot] = self._start(slot)

    def moved(self) -> int:
        """How many records were moved, by what the programs say."""
        moves = (event for each in self._programs.all for event in each.of_kind("moved"))
        return sum(int(event.words[0]) for event in moves)

    def wait_for_more(self) -> None:
        """Wait until a batch more is moved; whoever ended itself, being fenced, is started anew."""
        before = self.moved()

        def more() -> bool:
            for slot, program in enumerate(self._slots):
                if not program.running:
                    self._found.ended += 1
                    self._slots[slot] = self._start(slot)
            return self.moved() > before

        self._programs.wait_until(more, "more records are moved")


def _compare(values: list[str], ends: dict[int, int]) -> list[str]:
    wanted = [f"{p}:{offset}" for p in range(PARTITIONS) for offset in range(ends[p])]
    if values == wanted:
        return []
    counts, known = Counter(values), set(wanted)
    twice = [value for value, count in counts.items() if count > 1]
    lost = [value for value in wanted if value not in counts]
    foreign = [value for value in counts if value not in known]
    return [
        f"{len(twice)} twice: {twice[:5]}; {len(lost)} lost: {lost[:5]}; "
        f"{len(foreign)} not of the input: {foreign[:5]}; else the order differs"
    ]


def run(
    seed: int, kills: int, folder: Path, client: Client, tell: Callable[[str], object]
) -> Findings:
    """Kill this often, at random moments.

    Args:
        seed: of the choice of victims and moments.
        kills: how often.
        folder: of data and builds; has to be empty.
        client: whose programs move the records.
        tell: takes a line of progress.
    """
    source, found = random.Random(seed), Findings()
    broker = BrokerProcess(folder / "data", settings=SHORT_TIMES, port=free_port())
    with broker, Programs(folder, may_fail=True) as programs:
        for topic in (INPUT, OUTPUT):
            create_topic(broker.bootstrap, topic)
        where = {"bootstrap": broker.bootstrap, "topic": INPUT, "output": OUTPUT}
        group = Group(programs, Builds(folder), client, RANGE, where)
        workers = Workers(group, programs, found)
        with Feeder(broker.bootstrap, INPUT, pause_s=BUSY_S) as feeder:
            while found.kills < kills:
                workers.wait_for_more()
                time.sleep(source.uniform(*PAUSE_S))
                victim = source.choice(VICTIMS)
                if "broker" in victim:
                    broker.kill()
                if "program" in victim:
                    workers.kill(source.randrange(WORKERS))
                if "broker" in victim:
                    broker.start()
                    found.ready_ms_max = max(found.ready_ms_max, broker.ready_ms)
                found.kills += 1
                tell(f"kill {found.kills} of {kills}: {victim}; {workers.moved()} records moved")
            workers.wait_for_more()
            ends = group.finish(feeder)
        found.moved = workers.moved()
        found.gave_up = sum(len(each.of_kind("gave_up")) for each in programs.all)
        found.faults = _compare(visible_values(broker.bootstrap, OUTPUT), ends)
        if "Traceback" in broker.log:
            found.faults.append(broker.log[broker.log.index("Traceback") :][:3000])
    return found


def main() -> int:
    """Run from the command line."""
    clients = {client.name: client for client in TRANSACTIONAL}
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--client", choices=sorted(clients), default="confluent")
    options = parser.parse_args()

    def tell(line: str) -> None:
        print(line, flush=True)

    with tempfile.TemporaryDirectory(prefix="exactly-once-") as name:
        try:
            found = run(options.seed, options.kills, Path(name), clients[options.client], tell)
        except KeyboardInterrupt:
            print("interrupted: nothing was compared")
            return 130
    for fault in found.faults[:20]:
        print(fault)
    print(found.summary())
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(main())
