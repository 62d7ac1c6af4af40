"""A replay that is killed, or whose broker is, again and again.

    python -m tests.commands.replay.kills --seed 1 --kills 10

The seed chooses who dies and when. Then one replay comes to its end: a consumer of committed
records has to read every record once, in the order of the log.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Final

from tests.commands.replay.reading import Read, read, written
from tests.pipeline.support import Partition, numbered
from tests.support.broker_process import KEEP, BrokerProcess
from tests.support.command_line import environment, process_of

TOPICS: Final = ("clicks", "orders")
PARTITIONS: Final = 2
BATCHES: Final = 40
BATCH_RECORDS: Final = 250
RATE: Final = "4000/s"
TIMEOUT_S: Final = 240
DELAY_S: Final = (0.2, 4.0)
"""From the start of a replay to the kill, at least and at most."""
BROKER_SHARE: Final = 0.3


def make_log(root: Path) -> list[Read]:
    """Write a log; return what a consumer has to read in the end, by topic and partition."""
    expected: list[Read] = []
    for topic in TOPICS:
        for number in range(PARTITIONS):
            with Partition(root, topic, number) as partition:
                for turn in range(BATCHES):
                    partition.append(
                        numbered(BATCH_RECORDS, first=turn * BATCH_RECORDS), codec=turn % 5
                    )
                expected += written(partition, topic)
    return expected


class Replay:
    """A replay as a process; its errors go to a file."""

    def __init__(self, log: Path, bootstrap: str, *flags: str) -> None:
        arguments = ("log", "replay", str(log), "--to", bootstrap, "--id", "copy", *flags)
        self._errors = log.with_name("replay.err")
        with self._errors.open("a") as errors:
            self.process = subprocess.Popen(
                process_of(arguments), stderr=errors, env=environment(), stdout=errors
            )

    def kill(self) -> None:
        """End it with SIGKILL."""
        self.process.kill()
        self.process.wait()

    def finish(self) -> None:
        """Let it come to its end."""
        try:
            code = self.process.wait(TIMEOUT_S)
        finally:
            self.kill()
        assert code == 0, self._errors.read_text()[-3000:]


def run(
    folder: Path, seed: int, kills: int, tell: Callable[[str], None], rate: str = RATE
) -> tuple[list[Read], list[Read]]:
    """Kill so often, then let a replay finish; return what was read, and what was to be read.

    Args:
        folder: an empty folder.
        seed: of chance.
        kills: of the replay or its broker.
        tell: takes a line after each kill.
        rate: of the replay, which has to be slow enough for the kills.
    """
    chance = Random(seed)
    log = folder / "log"
    expected = make_log(log)
    broker = BrokerProcess(folder / "data", settings=(KEEP,))
    with ExitStack() as stack:
        broker.start()
        stack.callback(lambda: broker.kill() if broker.running() else None)
        for number in range(kills):
            replay = Replay(log, broker.bootstrap, "--rate", rate)
            time.sleep(chance.uniform(*DELAY_S))
            is_broker = chance.random() < BROKER_SHARE
            if is_broker:
                broker.kill()
                broker.start()
            ended = replay.process.poll() is not None
            replay.kill()
            who = "broker" if is_broker else "replay, which had ended" if ended else "replay"
            tell(f"kill {number + 1}: the {who}")
        Replay(log, broker.bootstrap, "--rate", "max").finish()
        found = read(broker.bootstrap, *TOPICS)
        assert broker.stop() == 0
    return found, expected


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="replay-kills-") as folder:
        found, expected = run(Path(folder), options.seed, options.kills, print)
    is_right = found == expected
    told = "each once and in order" if is_right else "WRONG"
    print(f"seed {options.seed}: {len(found):,} of {len(expected):,} records, {told}")
    return int(not is_right)


if __name__ == "__main__":
    sys.exit(main())
