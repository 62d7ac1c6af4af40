"""Groups and transactions under a broker that is killed again and again.

    python -m tests.fuzz.kill_coordinators --seed 1 --kills 20

Committers, members of both protocols and transactional producers of both flows work until SIGKILL
ends the broker. After each restart no acknowledged commit is lost, members are members still, and
every transaction that was left open is ended: by its producer that comes back, or by its timeout.
What a read_committed consumer then reads is exactly what was committed, in every partition, and the
offsets that the transactions committed agree with it.
"""

import random
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.fuzz.group_users import Classic, Committer, Consumer, Member
from tests.fuzz.kill import create, load_and_kill
from tests.fuzz.read_committed import read_committed
from tests.fuzz.transactor import PARTITIONS, TOPIC, Transactor
from tests.support.broker_process import KEEP, BrokerProcess
from tests.support.command import seeded_main
from tests.support.raw_client import RawClient

LOAD_S: Final = (0.05, 0.6)
END_S: Final = 15.0
SETTINGS: Final = (
    KEEP,
    "log.segment.bytes=1048576",
    "offsets.topic.segment.bytes=1048576",
    "transaction.state.log.segment.bytes=1048576",
    "log.flush.offset.checkpoint.interval.ms=20",
)
_OPEN: Final = ("Ongoing", "PrepareCommit", "PrepareAbort")


@dataclass(slots=True)
class Findings:
    """What a run saw."""

    kills: int = 0
    commits: int = 0
    changes: int = 0
    committed: int = 0
    aborted: int = 0
    ready_ms_max: int = 0
    end_s_max: float = 0.0
    faults: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """The figures of the run."""
        return (
            f"{self.kills} kills, {self.commits} commits of offsets, {self.changes} joins and "
            f"leaves, {self.committed} transactions committed, {self.aborted} aborted, slowest "
            f"restart {self.ready_ms_max} ms, longest wait for the end of a transaction "
            f"{self.end_s_max:.1f} s, {len(self.faults)} faults"
        )


class _Run:
    """Everybody who works with the broker, and what was found out."""

    def __init__(self) -> None:
        self.found = Findings()
        self.committers = [Committer(f"committed-{index}") for index in range(2)]
        self.members = [
            Member("classic member", Classic("classic")),
            Member("consumer member", Consumer("consumer")),
        ]
        self.transactors = [
            Transactor("first-flow", second_flow=False, returns=True),
            Transactor("second-flow", second_flow=True, returns=True),
            Transactor("gone-first-flow", second_flow=False, returns=False),
            Transactor("gone-second-flow", second_flow=True, returns=False),
        ]
        self.loaders = [*self.committers, *self.members, *self.transactors]

    def check(self, client: RawClient) -> None:
        """Look what is there after a restart."""
        self.found.faults += filter(None, (loader.fault for loader in self.loaders))
        for user in (*self.committers, *self.members):
            self._add(user.check(client))
        for transactor in self.transactors[:2]:
            transactor.begin(client)
        began = time.monotonic()
        while (fault := _open_transactions(client)) and time.monotonic() - began < END_S:
            time.sleep(0.02)
        self.found.end_s_max = max(self.found.end_s_max, time.monotonic() - began)
        self._add(fault)
        for transactor in self.transactors:
            self._add(transactor.check(client))

    def _add(self, fault: str | None) -> None:
        if fault is not None:
            self.found.faults.append(f"after {self.found.kills} kills: {fault}")

    def close(self) -> None:
        """Count what was done."""
        found = self.found
        found.commits = sum(max(each.acknowledged) + 1 for each in self.committers)
        found.changes = sum(each.changes for each in self.members)
        found.committed = sum(len(each.committed) for each in self.transactors)
        found.aborted = sum(each.aborted for each in self.transactors)


def _open_transactions(client: RawClient) -> str | None:
    listed = client.call("ListTransactions", 0, state_filters=list(_OPEN)).transaction_states
    if listed:
        return f"open transactions: {listed}"
    for index in PARTITIONS:
        read = read_committed(client, TOPIC, index)
        if read.last_stable_offset != read.high_watermark:
            return f"partition {index} is stable to {read.last_stable_offset} only, of {read[2]}"
    return None


def run(seed: int, kills: int, folder: Path) -> Findings:
    """Kill a broker this often, at random moments."""
    source, everybody = random.Random(seed), _Run()
    found = everybody.found
    while found.kills < kills and not found.faults:
        broker = BrokerProcess(folder / "data", settings=SETTINGS).start()
        found.ready_ms_max = max(found.ready_ms_max, broker.ready_ms)
        with RawClient("127.0.0.1", broker.port) as client:
            if found.kills == 0:
                create(client, TOPIC, 4)
            else:
                everybody.check(client)
        load_and_kill(broker, everybody.loaders, source.uniform(*LOAD_S))
        found.kills += 1
    with BrokerProcess(folder / "data", settings=SETTINGS) as broker:
        found.ready_ms_max = max(found.ready_ms_max, broker.ready_ms)
        with RawClient("127.0.0.1", broker.port) as client:
            everybody.check(client)
        if "Traceback" in broker.log:
            found.faults.append(broker.log[broker.log.index("Traceback") :][:3000])
    everybody.close()
    return found


def main() -> int:
    """Run from the command line."""
    return seeded_main(run, __doc__, count="kills", default=20)


if __name__ == "__main__":
    sys.exit(main())
