"""The same random steps of share groups to broker-lite and to a real Kafka.

python -m tests.differential.compare_shares --seed 1 --count 20
python -m tests.differential.compare_shares --seed 1 --count 100 --wide --jobs 8
"""

import argparse
import random
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from tests.differential.seeds import compare_seeds
from tests.differential.share_differences import Step, known_difference
from tests.differential.share_side import ShareSide
from tests.differential.share_wide_side import SETTINGS, WideSide
from tests.differential.share_wide_steps import STEPS as WIDE_STEPS
from tests.differential.share_wide_steps import WideScenario
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import Closed
from tests.support.reference_kafka import ReferenceKafka

MEMBERS: Final = ("a", "b")
STEPS: Final = 45


class Scenario:
    """Random steps; later ones go by what Kafka answered to the ones before."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.configs = {
            "share.auto.offset.reset": "earliest",
            "share.delivery.count.limit": str(self.chance.choice([2, 3, 5, 10])),
            "share.partition.max.record.locks": str(self.chance.choice([100, 2000])),
        }
        self._held: dict[str, list[tuple[int, int]]] = {each: [] for each in MEMBERS}
        self._end = 1

    def next_step(self) -> Step:
        """Choose a step."""
        chance = self.chance
        member = chance.choice(MEMBERS)
        match chance.randrange(20):
            case 0 | 1 | 2:
                size = chance.choice([1, 2, 5, 10, 30])
                self._end += size
                return "append", (size,)
            case 3 | 4 | 5 | 6 | 7 | 8:
                count = chance.choice([1, 3, 10, 60, 500])
                return "fetch", (member, count, chance.choice([1, 4, 500]), chance.random() < 0.3)
            case 9:
                return chance.choice(["reopen", "disconnect"]), (member,)
            case 10:
                return "describe", ()
            case _:
                return self._acknowledge(member)

    def _acknowledge(self, member: str) -> Step:
        chance = self.chance
        held = self._held[member]
        if not held or chance.random() < 0.1:  # perhaps somebody else's, or nobody's
            first = chance.randint(0, self._end)
            return "say", (member, [(first, first + chance.randint(-1, 8), [1])], False)
        first, last = chance.choice(held)
        if chance.random() < 0.6:
            first = chance.randint(first, last)
            last = chance.randint(first, last)
        kinds = [chance.choice([0, 1, 1, 1, 2, 2, 3])]
        if chance.random() < 0.3:
            kinds = [chance.choice([0, 1, 1, 2, 2, 3]) for _ in range(last - first + 1)]
        renew = chance.random() < 0.15
        if renew:
            kinds = [4]
        if chance.random() < 0.05:
            kinds = [*kinds, 9]
        return "say", (member, [(first, last, kinds)], renew)

    def learn(self, step: Step, answer: Any) -> None:
        """Remember what a member has acquired; it may have acknowledged some of it by now."""
        name, arguments = step
        if name == "fetch" and isinstance(answer, list):
            self._held[arguments[0]] += [(first, last) for first, last, _ in answer]
        elif name in {"reopen", "disconnect"}:
            self._held[arguments[0]].clear()
        elif name == "say" and self.chance.random() < 0.7:
            held = self._held[arguments[0]]
            if held:
                held.pop(0)


def compare(seed: int, kafka_port: int, our_port: int) -> list[str]:
    """Send the steps of a seed to both; return the steps whose answers differ, in words."""
    scenario = Scenario(seed)
    sides = [ShareSide(port, f"s{seed}", scenario.configs) for port in (kafka_port, our_port)]
    return _compare(seed, scenario, STEPS, sides)


def compare_wide(seed: int, kafka_port: int, our_port: int) -> list[str]:
    """Do as compare() with several topics, transactions, lapsed locks and moved starts."""
    scenario = WideScenario(seed)
    sides = [
        WideSide(port, f"w{seed}", scenario.configs, scenario.topics)
        for port in (kafka_port, our_port)
    ]
    return _compare(seed, scenario, WIDE_STEPS, sides)


def _compare(
    seed: int, scenario: Scenario | WideScenario, steps: int, sides: Sequence[ShareSide]
) -> list[str]:
    told: list[str] = []
    sent: list[Step] = []
    isolation_level = scenario.configs.get("share.isolation.level")
    name, arguments = "join", ()
    try:
        for member in MEMBERS:
            for side in sides:
                side.join(member)
        for number in range(steps):
            step = scenario.next_step()
            name, arguments = step
            for side in sides:
                side.keep()
            kafka, ours = (getattr(side, name)(*arguments) for side in sides)
            told.append(f"{number} {name}{arguments}: {kafka}")
            if name != "describe" and _has_failed(kafka):
                break
            sent.append(step)
            if kafka != ours and known_difference(sent, isolation_level, kafka, ours) is None:
                return [f"seed {seed} {scenario.configs}", *told, f"broker-lite: {ours}"]
            scenario.learn(step, kafka)
    except (AssertionError, Closed, OSError) as error:  # the other seeds are compared all the same
        return [f"seed {seed} {scenario.configs}", *told, f"failed at {name}{arguments}: {error!r}"]
    finally:
        for side in sides:
            side.close()
    return []


def _has_failed(answer: Any) -> bool:
    """Return whether an answer of Kafka has UNKNOWN_SERVER_ERROR anywhere.

    It fails where the start offset is in a range that is acknowledged, and nothing in flight; and
    where the start was moved into a record batch that was aborted, or behind it.
    """
    if isinstance(answer, dict):
        return any(_has_failed(each) for each in answer.values())
    if isinstance(answer, list | tuple):
        return any(_has_failed(each) for each in answer)
    return bool(answer == -1)


def run(
    seeds: Sequence[int], folder: Path, *, is_wide: bool = False, jobs: int = 1
) -> Mapping[int, list[str]]:
    """Compare seeds on two brokers that are started for them; return what differs, by seed.

    Args:
        seeds: of the steps.
        folder: for the data of both brokers.
        is_wide: whether all that can happen to a group happens.
        jobs: how many seeds are compared at a time; most of the time is spent waiting.
    """
    settings = [f"{name}={value}" for name, value in SETTINGS.items()]
    kafka = ReferenceKafka(folder / "kafka", settings=SETTINGS)
    with kafka, BrokerProcess(folder / "data", settings=settings) as broker:
        compare_one = partial(
            compare_wide if is_wide else compare, kafka_port=kafka.port, our_port=broker.port
        )
        return compare_seeds(compare_one, seeds, jobs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--wide", action="store_true", help="with all that can happen to a group")
    parser.add_argument("--jobs", type=int, default=1, help="seeds at a time")
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.count)
    with tempfile.TemporaryDirectory() as folder:
        different = run(seeds, Path(folder), is_wide=options.wide, jobs=options.jobs)
    print(f"{options.count} seeds, {len(different)} differ")


if __name__ == "__main__":
    main()
