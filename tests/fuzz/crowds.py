"""Very many members at one group.

    python -m tests.fuzz.crowds --members 100000

In the older protocol they are promised an id each and never come back; in the newer one the group
takes as many as group.consumer.max.size says. Meanwhile well-behaved members go on, and the broker
keeps no more memory than the ids need. How long it answered nobody is in the figures.
"""

import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from broker_lite.errors import ErrorCode
from broker_lite.wire import messages
from tests.bench.growth import resident_bytes
from tests.fuzz.calm_coordinators import CalmCoordinators
from tests.support.broker_process import BrokerProcess
from tests.support.command import seeded_main
from tests.support.raw_client import RawClient
from tests.support.stall_watch import NO_STALL, Stall, StallWatch

SIZE_MAX: Final = 200
# an id, who asked for it, and a timer
PROMISE_BYTES_MAX: Final = 1_500
SETTINGS: Final = (f"group.max.size={SIZE_MAX}", f"group.consumer.max.size={SIZE_MAX}")
_SESSION_MS: Final = 45_000
_REFUSED: Final = ErrorCode.GROUP_MAX_SIZE_REACHED


@dataclass(slots=True)
class Findings:
    """What a run saw."""

    members: int = 0
    accepted: int = 0
    promise_bytes: float = 0.0
    checks: int = 0
    stall: Stall = NO_STALL
    faults: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """The figures of the run."""
        return (
            f"{self.members} members, {self.promise_bytes:.0f} bytes for a promised id, "
            f"{self.accepted} accepted by the other group, {self.checks} checks of the "
            f"well-behaved members, the longest stall {self.stall}, {len(self.faults)} faults"
        )


def _promised(client: RawClient, number: int) -> int:
    """Ask for an id in the older protocol; give the error code."""
    kind = messages.JoinGroupRequest.JoinGroupRequestProtocol
    answer = client.call(
        "JoinGroup",
        9,
        group_id="crowd",
        session_timeout_ms=_SESSION_MS,
        rebalance_timeout_ms=_SESSION_MS,
        member_id="",
        protocol_type="consumer",
        protocols=[kind(name=f"{number}", metadata=b"")],
    )
    return int(answer.error_code)


def _joined(client: RawClient, number: int) -> int:
    """Join in the newer protocol; give the error code."""
    answer = client.call(
        "ConsumerGroupHeartbeat",
        1,
        group_id="newer crowd",
        member_id=f"member-{number}",
        member_epoch=0,
        rebalance_timeout_ms=_SESSION_MS,
        subscribed_topic_names=["calm-groups"],
        topic_partitions=[],
    )
    return int(answer.error_code)


def _stay_calm(calm: CalmCoordinators, found: Findings, ended: threading.Event) -> None:
    while not ended.wait(0.05) and not found.faults:
        found.checks += 1
        found.faults += filter(None, [calm.check()])


def _crowd(found: Findings, broker: BrokerProcess) -> None:
    before = resident_bytes(broker.pid)
    with RawClient("127.0.0.1", broker.port) as client:
        codes = {_promised(client, number) for number in range(found.members)}
        if codes != {ErrorCode.MEMBER_ID_REQUIRED}:
            found.faults.append(f"JoinGroup answered {codes}")
        found.promise_bytes = (resident_bytes(broker.pid) - before) / found.members
        if found.promise_bytes > PROMISE_BYTES_MAX:
            found.faults.append(f"a promised id takes {found.promise_bytes:.0f} bytes")
        answers = [_joined(client, number) for number in range(found.members)]
    found.accepted = answers.count(0)
    if answers != [0] * SIZE_MAX + [_REFUSED] * (found.members - SIZE_MAX):
        found.faults.append(f"{found.accepted} members were accepted, codes {set(answers)}")


def run(seed: int, members: int, folder: Path) -> Findings:
    """Let this many try; the seed changes nothing, for all are alike."""
    del seed
    found = Findings(members)
    with BrokerProcess(folder / "data", settings=SETTINGS) as broker:
        calm, ended = CalmCoordinators(broker.port), threading.Event()
        thread = threading.Thread(target=_stay_calm, args=(calm, found, ended))
        thread.start()
        try:
            with StallWatch(broker.port, broker.pid) as watch:
                _crowd(found, broker)
                found.stall = watch.lap()
        finally:
            ended.set()
            thread.join()
        calm.close()
    return found


def main() -> int:
    """Run from the command line."""
    return seeded_main(run, __doc__, count="members", default=100_000)


if __name__ == "__main__":
    sys.exit(main())
