"""Take the same seeded scripts on three real Kafka brokers and on three brokers of broker-lite.

    python -m tests.differential.compare_cluster --seed 1 --scripts 100
    python -m tests.differential.compare_cluster --seed 1 --scripts 100 --only nodes --only admin

Scripts create topics, produce, fetch, join groups and end transactions, at the broker that leads or
coordinates and at others, while brokers crash, stop, stand still and come back. Compared are all
answers but for times and what a cluster is free to choose, and what every broker says of leaders,
epochs, ISRs, offline replicas and offsets. After each change both clusters get the time to settle.
What differs and is not listed in cluster_differences.toml is printed with its script, and makes the
exit code 1. Ctrl-C ends the run with the figures so far.

Rule: C-01 to C-33 (probed against Apache Kafka).
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, Final

from broker_lite.wire import DecodeError, EncodeError
from tests.differential.cluster import KAFKA_SETTINGS, LiteCluster
from tests.differential.cluster_coordinator_steps import CoordinatorSteps
from tests.differential.cluster_data_steps import DataSteps, RackSteps
from tests.differential.cluster_differences import DIFFERENCES, explained
from tests.differential.cluster_node_steps import AdminSteps, MovingSteps, NodeSteps
from tests.differential.cluster_returns import RETURNS
from tests.differential.cluster_script import Script
from tests.differential.cluster_settling import NotSettled
from tests.differential.cluster_side import Side
from tests.differential.cluster_topic_steps import TopicSteps
from tests.differential.coordinator_sequence import Step
from tests.differential.coordinator_views import Plain, differing
from tests.differential.kafka_cluster import KafkaCluster
from tests.differential.known_differences import Comparison, Difference, Listed
from tests.differential.step_maker import Versions
from tests.support.raw_client import Closed

# a broker that got no time to send its heartbeats looks like one that is gone
TRIES: Final = 3
REPEAT_S: Final = 4.0
POLL_S: Final = 0.05
SHOWN_MAX: Final = 12
LETTERS_MAX: Final = 600
PROGRESS_S: Final = 5.0
_KINDS: Final[Mapping[str, tuple[int, Any, tuple[int, int]]]] = {
    "topics": (3, TopicSteps, (12, 30)),
    "data": (4, DataSteps, (25, 60)),
    "racks": (1, RackSteps, (20, 40)),
    "coordinators": (3, CoordinatorSteps, (25, 60)),
    "nodes": (5, NodeSteps, (40, 90)),
    "moving": (3, MovingSteps, (40, 90)),
    "admin": (2, AdminSteps, (40, 80)),
}
"""By name: how often, the maker, and how many steps."""
_READS: Final = frozenset(
    {
        *("Look", "Fetch", "ListOffsets", "OffsetForLeaderEpoch", "Metadata", "FindCoordinator"),
        *("DescribeTopicPartitions", "DescribeCluster", "DescribeProducers", "DescribeGroups"),
        *("ConsumerGroupDescribe", "ListGroups", "OffsetFetch", "DescribeTransactions"),
        *("ListTransactions", "ListPartitionReassignments", "DescribeConfigs", "DescribeLogDirs"),
    }
)
"""What changes nothing may be asked again: a broker may hear of a change a moment later."""
_BROKEN_OFF: Final = (Closed, OSError, EncodeError, DecodeError, AssertionError)


def make_script(seed: int, versions: Versions, kinds: Sequence[str] = ()) -> Script:
    """The script of a seed.

    Args:
        kinds: that it may be of; all if empty.
    """
    source = random.Random(seed)
    names = list(kinds or _KINDS)
    kind = source.choices(names, [_KINDS[name][0] for name in names])[0]
    _, maker, lengths = _KINDS[kind]
    steps = maker(source, versions, waits=False).make(source.randint(*lengths))
    return Script(seed, kind, tuple(steps))


class Comparer:
    """Takes scripts on two sides."""

    def __init__(self, kafka: Side, ours: Side) -> None:
        self._sides = kafka, ours
        self._known = Listed.read(DIFFERENCES)
        self.found = Comparison("scripts")
        self.versions = Versions(kafka.versions(), ours.versions())

    def check(self, script: Script) -> None:
        """Compare one script, again if it differs: three times the same is a difference."""
        difference: Difference | None = None
        for tries in range(TRIES):
            codes: Counter[str] = Counter()
            listed: Counter[str] = Counter()
            difference = self._compare(script, codes, listed)
            if difference is None:
                if tries:
                    self.found.late[script.kind] += 1
                break
        self.found.count += 1
        self.found.steps += sum(codes.values())
        self.found.codes.update(codes)
        self.found.listed.update(listed)
        if difference is not None:
            self.found.unlisted.append(_report(script, difference))

    def _compare(
        self, script: Script, codes: Counter[str], listed: Counter[str]
    ) -> Difference | None:
        scenes = [side.begin(script) for side in self._sides]
        difference: Difference | None = None
        index = -1
        try:
            for index, step in enumerate(script.steps):
                view, lines = self._differing(script, index, scenes)
                codes[f"{step.api} {_words(view)}"] += 1
                if not lines:
                    continue
                rows = explained(self._known, script.steps[: index + 1], lines)
                if rows is None:
                    difference = Difference(index, lines)
                    break
                listed.update(row.reason for row in rows)
                if not all(row.follow for row in rows):
                    break
        except NotSettled as error:
            difference = self._of_what_goes_on(script, index, [str(error)], listed)
        except _BROKEN_OFF as error:
            difference = Difference(index, [f"broken off by {error!r}"])
        missing = [text for scene in scenes if (text := scene.finish()) is not None]
        if difference is None and missing:
            difference = self._of_what_goes_on(script, index, missing, listed)
        return difference

    def _of_what_goes_on(
        self, script: Script, index: int, lines: list[str], listed: Counter[str]
    ) -> Difference | None:
        """A cluster that does not settle differs from the other one, if that is not listed."""
        rows = explained(self._known, script.steps[: index + 1], lines)
        if rows is None:
            return Difference(index, lines)
        listed.update(row.reason for row in rows)
        return None

    def _differing(
        self, script: Script, index: int, scenes: Sequence[Any]
    ) -> tuple[Plain, list[str]]:
        """Kafka's result of a step, and in what ours differs; what only reads may take its time."""
        step = script.steps[index]
        deadline = time.monotonic() + REPEAT_S
        while True:
            one, other = (_taken(scene, step) for scene in scenes)
            lines = differing(one, other)
            if not lines or step.api not in _READS or time.monotonic() > deadline:
                return one, lines
            if explained(self._known, script.steps[: index + 1], lines) is not None:
                return one, lines
            time.sleep(POLL_S)


def _words(view: Plain) -> str:
    """The error codes of a result, or the word that stands for it."""
    answer = view.get("answer") if isinstance(view, Mapping) else view
    if not isinstance(answer, Mapping):
        return answer or ""
    return " ".join(str(code) for code in sorted(_codes(answer)))


def _codes(view: Plain) -> set[int]:
    if isinstance(view, list):
        return {code for item in view for code in _codes(item)}
    if not isinstance(view, Mapping):
        return set()
    own = {value for name, value in view.items() if name == "error_code"}
    return own.union(*(_codes(value) for value in view.values()))


def _taken(scene: Any, step: Step) -> Plain:
    try:
        return scene.take(step)
    except NotSettled as error:
        raise NotSettled(f"{scene.name} does not settle: {error}") from error


def _report(script: Script, difference: Difference) -> str:
    steps = script.steps[: difference.step_index + 1]
    lines = [
        f"seed {script.seed}, {script.kind}",
        *(f"  {index:3} {step.text()}" for index, step in enumerate(steps)),
        "  kafka | ours:",
        *(f"     {line[:LETTERS_MAX]}" for line in difference.lines[:SHOWN_MAX]),
    ]
    return "\n".join(lines)


def compare_seeds(
    kafka: Side,
    ours: Side,
    seeds: Sequence[int],
    kinds: Sequence[str] = (),
    *,
    written: Sequence[Script] = (),
    progress: bool = False,
) -> Comparison:
    """Compare scripts that were written by hand and those of many seeds; SIGINT ends it early."""
    run_name = f"{int(time.time()) % 0xFFFFF:05x}n"
    for side in (kafka, ours):
        side.prepare(run_name)
    comparer = Comparer(kafka, ours)
    found = comparer.found
    started = shown_at = time.monotonic()
    shown = 0
    count = len(written) + len(seeds)
    made = (make_script(seed, comparer.versions, kinds) for seed in seeds)
    try:
        for script in chain(written, made):
            comparer.check(script)
            if progress:
                for difference in found.unlisted[shown:]:
                    print(difference, flush=True)
                shown = len(found.unlisted)
            if progress and time.monotonic() - shown_at > PROGRESS_S:
                shown_at = time.monotonic()
                line = f"{found.count}/{count} scripts, {found.steps} steps"
                print(f"{line}, {shown} unlisted", file=sys.stderr)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    except (NotSettled, OSError, RuntimeError) as error:
        # a cluster that cannot be brought back is of no use for what comes
        found.unlisted.append(f"given up after {found.count} scripts: {error}")
        if progress:
            print(found.unlisted[-1])
    found.seconds = time.monotonic() - started
    return found


def run(
    seeds: Sequence[int],
    folder: Path,
    kinds: Sequence[str] = (),
    *,
    written: Sequence[Script] = (),
    progress: bool = False,
) -> Comparison:
    """Start both clusters in a folder and compare them; see compare_seeds for the arguments."""
    with (
        KafkaCluster(folder / "kafka", KAFKA_SETTINGS) as real,
        LiteCluster(folder / "ours") as lite,
    ):
        now_ms = int(time.time() * 1000)
        kafka, ours = Side(real, now_ms), Side(lite, now_ms)
        with kafka, ours:
            return compare_seeds(kafka, ours, seeds, kinds, written=written, progress=progress)


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="the first script's seed")
    parser.add_argument("--scripts", type=int, default=100)
    parser.add_argument("--only", action="append", choices=_KINDS, help="a kind of scripts")
    parser.add_argument("--returns", action="store_true", help="begin with cluster_returns.py")
    options = parser.parse_args()
    written = RETURNS if options.returns else ()
    seeds = range(options.seed, options.seed + options.scripts)
    found = Comparison("scripts")
    with (
        tempfile.TemporaryDirectory(prefix="differential-") as folder,
        suppress(KeyboardInterrupt),
    ):
        kinds = options.only or ()
        found = run(seeds, Path(folder), kinds, written=written, progress=True)
    print(found.summary())
    return 1 if found.unlisted else 0


if __name__ == "__main__":
    sys.exit(main())
