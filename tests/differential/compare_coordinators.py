"""Send the same seeded sequences of group and transaction requests to broker-lite and to Kafka.

    python -m tests.differential.compare_coordinators --seed 1 --sequences 2000

Compared are the answers of every step but for times, texts and made-up ids, when parked requests
are answered in relation to the others, and what both isolation levels see of the records. What
differs and is not listed in coordinator_differences.toml is printed with the shortest sequence
that shows it, and makes the exit code 1. Ctrl-C ends the run with the figures so far.

Rule: G-20 to G-111, T-12 to T-63 (probed against Apache Kafka).
"""

import argparse
import asyncio
import contextlib
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence as Many
from dataclasses import replace
from pathlib import Path
from typing import Final

from broker_lite.wire import DecodeError, EncodeError
from tests.differential.classic_steps import ClassicSteps
from tests.differential.consumer_steps import ConsumerSteps, MixedSteps
from tests.differential.coordinator_connection import Closed
from tests.differential.coordinator_differences import DIFFERENCES, explained
from tests.differential.coordinator_scene import Entry
from tests.differential.coordinator_sequence import Sequence
from tests.differential.coordinator_side import Side
from tests.differential.coordinator_views import differing
from tests.differential.exactly_once_steps import ExactlyOnceSteps
from tests.differential.known_differences import Comparison, Difference, Listed
from tests.differential.step_maker import Versions
from tests.differential.transaction_steps import TransactionSteps
from tests.support.broker_process import BrokerProcess
from tests.support.reference_kafka import ReferenceKafka

# what differs for no other reason than the time it took, or because Kafka chose by a random id,
# shows up once, but not each time
PATIENCE_S: Final = (0.08, 0.3, 0.8, 0.3, 0.3, 0.3, 0.3)
CONCURRENT: Final = 24
SHRINK_RUNS_MAX: Final = 80
SHRINK_S_MAX: Final = 60.0
SHRUNK_MAX: Final = 12
SHOWN_MAX: Final = 12
PROGRESS_S: Final = 5.0
SETTINGS: Final = {
    "group.min.session.timeout.ms": "1",
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.min.session.timeout.ms": "100",
    "group.consumer.min.heartbeat.interval.ms": "50",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "50",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "auto.create.topics.enable": "false",
}
# the assignment is there when the heartbeat is answered, as it is here
KAFKA_SETTINGS: Final = {**SETTINGS, "group.consumer.assignor.offload.enable": "false"}
_KINDS: Final = (
    (7, "classic", ClassicSteps),
    (5, "consumer", ConsumerSteps),
    (3, "mixed", MixedSteps),
    (7, "transaction", TransactionSteps),
    (3, "exactly once", ExactlyOnceSteps),
)
WAITING_SHARE: Final = 0.08


def make_sequence(seed: int, versions: Versions) -> Sequence:
    """The sequence of a seed."""
    source = random.Random(seed)
    weights = [weight for weight, _, _ in _KINDS]
    _, kind, maker = source.choices(_KINDS, weights)[0]
    waits = source.random() < WAITING_SHARE
    steps = maker(source, versions, waits=waits).make(source.randint(6, 34))
    return Sequence(
        seed=seed,
        kind=kind,
        steps=tuple(steps),
        has_topic=kind in ("transaction", "exactly once"),
        is_timed=waits,
        has_group_configs=waits and kind in ("consumer", "mixed", "exactly once"),
    )


class Comparer:
    """Runs sequences on two sides."""

    def __init__(self, kafka: Side, ours: Side) -> None:
        self._sides = kafka, ours
        self._known = Listed.read(DIFFERENCES)
        self._attempts: Counter[int] = Counter()
        self._shrunk_count = 0
        self.found = Comparison("sequences")

    async def check(self, sequence: Sequence) -> None:
        """Compare one sequence; what breaks off is a difference, too."""
        try:
            await self._compare(sequence)
        except (AssertionError, Closed, TimeoutError, EncodeError, DecodeError) as error:
            text = f"seed {sequence.seed}, {sequence.kind}: broken off by {error!r}"
            self.found.unlisted.append(text + "\n" + _text_of(sequence))

    async def _compare(self, sequence: Sequence) -> None:
        """Compare one sequence, with more patience each time that it differs."""
        theirs: list[Entry] = []
        listed: list[Listed] = []
        difference: Difference | None = None
        for tries, patience_s in enumerate(PATIENCE_S):
            theirs, mine = await self._run(sequence, patience_s)
            difference, listed = self._first_difference(sequence, theirs, mine)
            if difference is None and all(row.follow for row in listed):
                self.found.late[sequence.kind] += tries > 0
                break
        self.found.count += 1
        self.found.steps += len(sequence.steps)
        self.found.listed.update(row.reason for row in listed)
        self._count(sequence, theirs)
        if difference is not None:
            short = replace(sequence, steps=sequence.steps[: difference.step_index + 1])
            self._shrunk_count += 1
            if self._shrunk_count <= SHRUNK_MAX:
                short, difference = await self._shrunk(short, difference)
            self.found.unlisted.append(_report(short, difference))

    async def _run(self, sequence: Sequence, patience_s: float) -> tuple[list[Entry], list[Entry]]:
        self._attempts[sequence.seed] += 1
        attempt = self._attempts[sequence.seed]
        theirs, mine = await asyncio.gather(
            *(side.run(sequence, attempt, patience_s) for side in self._sides)
        )
        return theirs, mine

    def _first_difference(
        self, sequence: Sequence, theirs: Many[Entry], mine: Many[Entry]
    ) -> tuple[Difference | None, list[Listed]]:
        """The first difference that is not listed, and the listed ones before it."""
        passed: list[Listed] = []
        has_settled = False
        for index, (one, other) in enumerate(zip(theirs, mine, strict=True)):
            step = sequence.steps[index]
            is_settling = "settling" in step.args
            has_settled = has_settled or is_settling
            lines = differing(one._asdict(), other._asdict())
            if has_settled:
                lines = [line for line in lines if _is_settled(line, is_settling=is_settling)]
            if not lines:
                continue
            rows = explained(self._known, sequence, step, lines)
            if rows is None:
                return Difference(index, lines), passed
            passed += rows
            if not all(row.follow for row in rows):
                break
        return None, passed

    async def _shrunk(
        self, sequence: Sequence, difference: Difference
    ) -> tuple[Sequence, Difference]:
        """Take out steps for as long as something unlisted still differs."""
        short = sequence
        runs = 0
        position = len(short.steps) - 2
        end = time.monotonic() + SHRINK_S_MAX
        while position >= 0 and runs < SHRINK_RUNS_MAX and time.monotonic() < end:
            fewer = short.steps[:position] + short.steps[position + 1 :]
            position -= 1
            runs += 1
            shorter = replace(short, steps=fewer)
            theirs, mine = await self._run(shorter, PATIENCE_S[1])
            again, _ = self._first_difference(shorter, theirs, mine)
            if again is not None:
                difference = again
                short = replace(shorter, steps=fewer[: again.step_index + 1])
                position = min(position, len(short.steps) - 2)
        return short, difference

    def _count(self, sequence: Sequence, theirs: Many[Entry]) -> None:
        for step, entry in zip(sequence.steps, theirs, strict=False):
            codes = sorted(set(_codes_of(entry.answer)))
            words = " ".join(map(str, codes)) if codes else str(entry.answer or "")[:8]
            self.found.codes[f"{step.api} {words if step.api != 'Look' else ''}"] += 1


def _is_settled(line: str, *, is_settling: bool) -> bool:
    """Whether a difference counts where Kafka does in the background what is done at once here.

    While it does so, only errors count; after it, group and member epochs are not the same, nor who
    has to follow them.
    """
    path = line.partition(": ")[0]
    if is_settling:
        return path.endswith("error_code")
    return not path.endswith(("_epoch", "group_state"))


def _codes_of(value: object, name: str = "") -> list[int]:
    if isinstance(value, dict):
        return [code for key, item in value.items() for code in _codes_of(item, key)]
    if isinstance(value, list):
        return [code for item in value for code in _codes_of(item)]
    return [value] if name.endswith("error_code") and isinstance(value, int) else []


def _text_of(sequence: Sequence) -> str:
    steps = enumerate(sequence.steps)
    return "\n".join(f"  {index:2} {step.text()}" for index, step in steps)


def _report(sequence: Sequence, difference: Difference) -> str:
    lines = [f"seed {sequence.seed}, {sequence.kind}", _text_of(sequence)]
    lines += ["  kafka | ours:", *(f"     {line[:600]}" for line in difference.lines[:SHOWN_MAX])]
    return "\n".join(lines)


async def compare_seeds(
    kafka: Side, ours: Side, seeds: Many[int], *, progress: bool = False
) -> Comparison:
    """Compare the sequences of many seeds, some at a time; SIGINT ends it early."""
    run_name = f"{int(time.time()) % 0xFFFFF:05x}n"
    for side in (kafka, ours):
        await side.prepare(run_name)
    versions = Versions(await kafka.versions(), await ours.versions())
    comparer = Comparer(kafka, ours)
    waiting = list(reversed(seeds))

    async def work() -> None:
        while waiting:
            await comparer.check(make_sequence(waiting.pop(), versions))

    started = time.monotonic()
    reporter = asyncio.create_task(_report_progress(comparer.found, len(seeds), progress=progress))
    working = asyncio.gather(*(work() for _ in range(CONCURRENT)))
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, working.cancel)
    try:
        await working
    except asyncio.CancelledError:
        print("interrupted", file=sys.stderr)
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        reporter.cancel()
        await asyncio.wait({reporter})
        for side in (kafka, ours):
            side.connections.close()
    comparer.found.seconds = time.monotonic() - started
    return comparer.found


async def _report_progress(found: Comparison, total: int, *, progress: bool) -> None:
    """Say how far a run is, and what was found, as long as it goes on."""
    shown = 0
    started = time.monotonic()
    is_over = not progress
    while not is_over:
        try:
            await asyncio.sleep(PROGRESS_S)
        except asyncio.CancelledError:
            is_over = True
        for difference in found.unlisted[shown:]:
            print(difference, flush=True)
        shown = len(found.unlisted)
        rate = found.count / (time.monotonic() - started)
        line = f"{found.count}/{total} sequences, {rate:.0f}/s, {shown} unlisted"
        print(line, file=sys.stderr)


def run(seeds: Many[int], folder: Path, *, progress: bool = False) -> Comparison:
    """Start both brokers in a folder and compare them on the sequences of seeds."""
    settings = [f"{name}={value}" for name, value in SETTINGS.items()]
    with (
        ReferenceKafka(folder / "kafka", settings=KAFKA_SETTINGS) as real,
        BrokerProcess(folder / "ours", settings=settings) as lite,
    ):
        kafka, ours = Side("127.0.0.1", real.port, "k"), Side("127.0.0.1", lite.port, "k")
        return asyncio.run(compare_seeds(kafka, ours, seeds, progress=progress))


def _address(text: str) -> Side:
    host, _, rest = text.partition(":")
    port, _, tag = rest.partition(":")
    return Side(host, int(port), tag or "k")


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="the first sequence's seed")
    parser.add_argument("--sequences", type=int, default=2000)
    parser.add_argument(
        "--kafka", type=_address, help="HOST:PORT[:TAG] of a Kafka that runs already"
    )
    parser.add_argument("--ours", type=_address, help="the same of the other broker")
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.sequences)
    with contextlib.ExitStack() as stack:
        if options.kafka and options.ours:
            comparing = compare_seeds(options.kafka, options.ours, seeds, progress=True)
            found = asyncio.run(comparing)
        else:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="differential-"))
            found = run(seeds, Path(folder), progress=True)
    print(found.summary())
    return 1 if found.unlisted else 0


if __name__ == "__main__":
    sys.exit(main())
