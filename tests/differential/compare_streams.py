"""The same random steps of streams groups to broker-lite and to a real Kafka.

python -m tests.differential.compare_streams --seed 1 --count 20
python -m tests.differential.compare_streams --seed 1 --count 100 --jobs 8
"""

import argparse
import random
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from broker_lite.wire import messages
from tests.differential.coordinator_views import differing
from tests.differential.seeds import compare_seeds
from tests.differential.streams_side import StreamsSide
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import Closed
from tests.support.reference_kafka import ReferenceKafka

MEMBERS: Final = ("a", "b", "c", "d")
STEPS: Final = 40
DELAYS: Final = {
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.assignment.interval.ms": "0",
}
Step = tuple[str, tuple[Any, ...]]
_UNKNOWN_MEMBER: Final = 25
_OF_GROUPS: Final = (17, 20, 23)
"""The types of the records that a group has, and not its members."""
_Request: Final = messages.StreamsGroupHeartbeatRequest


class Scenario:
    """Random steps; later ones go by what Kafka answered to the ones before.

    Attributes:
        name: of the group; all topics begin with it.
        has_endpoints: whether some members tell where they can be asked.
    """

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.name = f"s{seed}"
        self.counts = {self._topic(each): self.chance.randint(1, 5) for each in range(3)}
        self.topology = self._make_topology()
        self.epochs: dict[str, int] = {}
        self.has_endpoints = self.chance.random() < 0.3

    def _topic(self, index: int) -> str:
        return f"{self.name}-t{index}"

    # -- the topology

    def _make_topology(self) -> Any:
        chance = self.chance
        count = chance.randint(1, 3)
        sinks: list[str] = []
        subtopologies = []
        for index in range(count):
            sources = [self._topic(one) for one in range(3) if chance.random() < 0.5]
            repartitions = [self._info(name, chance.choice([0, 0, 0, 2, 3])) for name in sinks]
            sinks = []
            if not sources and not repartitions:
                sources = [self._topic(0)]
            if index + 1 < count and chance.random() < 0.7:
                sinks = [f"{self.name}-r{index}"]
            changelogs = [
                self._info(f"{self.name}-c{index}{each}", 0)
                for each in range(chance.choice([0, 1, 1, 2]))
            ]
            subtopologies.append(
                _Request.Subtopology(
                    subtopology_id=str(index),
                    source_topics=sources,
                    repartition_sink_topics=list(sinks),
                    repartition_source_topics=repartitions,
                    state_changelog_topics=changelogs,
                    copartition_groups=self._copartition_groups(sources, repartitions),
                )
            )
        return _Request.Topology(epoch=chance.choice([0, 0, 3]), subtopologies=subtopologies)

    def _info(self, name: str, count: int) -> Any:
        configs = [_Request.KeyValue(key="cleanup.policy", value="compact")]
        return _Request.TopicInfo(
            name=name, partitions=count, replication_factor=0, topic_configs=configs
        )

    def _copartition_groups(self, sources: list[str], repartitions: list[Any]) -> list[Any]:
        if self.chance.random() < 0.5:
            return []
        some = [each for each in range(len(sources)) if self.chance.random() < 0.7]
        others = [each for each in range(len(repartitions)) if self.chance.random() < 0.7]
        return [_Request.CopartitionGroup(source_topics=some, repartition_source_topics=others)]

    # -- steps

    def next_step(self) -> Step:
        """Choose a step."""
        chance = self.chance
        member = chance.choice(MEMBERS)
        match chance.randrange(24):
            case 0:
                return "configure", ("streams.num.standby.replicas", chance.choice("0122"))
            case 1:
                return self._change_topics()
            case 2:
                return "describe", ()
            case 3:
                states = chance.choice([[], ["Stable"], ["notready"], ["not_ready"], ["Empty"]])
                return "list_groups", (states,)
            case 4:
                return self._odd_heartbeat(member)
            case 5 | 6 | 8:
                return self._about_offsets(member)
            case 7:
                names = ["delete_group", "describe_classic", "join_classic", "join_consumer"]
                return chance.choice(names), ()
            case _:
                return self._heartbeat(member)

    def _heartbeat(self, member: str) -> Step:
        chance = self.chance
        if member in self.epochs and chance.random() < 0.1:
            fields = {"member_epoch": -1, "shutdown_application": chance.random() < 0.1}
            return "beat", (member, fields)
        fields = {} if member in self.epochs else self._join(member)
        fields["endpoint_information_epoch"] = chance.choice([0, 0, 1, 2])
        return "beat", (member, fields)

    def _about_offsets(self, member: str) -> Step:
        chance = self.chance
        match chance.randrange(3):
            case 0:
                return self._commit(member)
            case 1:
                return "delete_offset", (self._topic(chance.randrange(3)),)
            case _:
                asked = [(member, self._near_epoch(member)), (None, -1), ("nobody", 0)]
                return "fetch_offsets", chance.choice(asked)

    def _join(self, member: str) -> dict[str, Any]:
        chance = self.chance
        fields: dict[str, Any] = {
            "member_epoch": 0,
            "rebalance_timeout_ms": 60_000,
            "topology": self.topology,
            "process_id": chance.choice([member, "p", "q"]),
            "active_tasks": [],
            "standby_tasks": [],
            "warmup_tasks": [],
        }
        if chance.random() < 0.3:
            fields["client_tags"] = [_Request.KeyValue(key="zone", value=chance.choice("xy"))]
        if chance.random() < 0.2:
            fields["rack_id"] = "r"
        if self.has_endpoints and chance.random() < 0.6:
            fields["user_endpoint"] = _Request.Endpoint(host=member, port=chance.randint(1, 2))
        return fields

    def _near_epoch(self, member: str) -> int:
        return self.epochs.get(member, 0) + self.chance.choice([-2, -1, -1, 0, 0, 1])

    def _odd_heartbeat(self, member: str) -> Step:
        """A heartbeat that is late, wrong, or repeats another."""
        chance = self.chance
        join = self._join(member)
        other = _Request.Topology(epoch=chance.choice([-1, 0, 1, 9]), subtopologies=[])
        tasks = [_Request.TaskIds(subtopology_id=chance.choice("019"), partitions=[0, 7])]
        source = _Request.Subtopology(subtopology_id="0", source_topics=["__consumer_offsets"])
        illegal = _Request.Subtopology(subtopology_id="0", source_topics=["?"])
        counted = _Request.Subtopology(
            subtopology_id="0", state_changelog_topics=[self._info("c", 3)]
        )
        regex = _Request.Subtopology(subtopology_id="0", source_topic_regex=["a.*"])

        def topology(subtopology: Any) -> dict[str, Any]:
            return {**join, "topology": _Request.Topology(epoch=0, subtopologies=[subtopology])}

        fields: dict[str, Any] = chance.choice(
            [
                {"member_epoch": self._near_epoch(member)},
                {"member_epoch": self._near_epoch(member), "active_tasks": tasks},
                {"active_tasks": tasks, "standby_tasks": [], "warmup_tasks": []},
                {"active_tasks": [], "standby_tasks": None, "warmup_tasks": None},
                {"member_epoch": -2},
                {"member_epoch": -3},
                {"member_epoch": 1, "topology": other},
                {"instance_id": "i"},
                {"task_offsets": []},
                {"task_end_offsets": []},
                {"warmup_tasks": tasks},
                {"rack_id": " "},
                {"shutdown_application": chance.random() < 0.2},
                {**join, "topology": None},
                {**join, "topology": other},
                {**join, "rebalance_timeout_ms": -1},
                {**join, "active_tasks": None},
                {**join, "standby_tasks": tasks},
                join,
                topology(source),
                topology(illegal),
                topology(counted),
                topology(regex),
            ]
        )
        return "beat", (chance.choice([member] * 9 + [""]), fields)

    def _commit(self, member: str) -> Step:
        chance = self.chance
        who = chance.choice([member] * 4 + [""])
        topic = chance.choice([*self.counts, f"{self.name}-r0"])
        epoch = chance.choice([self._near_epoch(member)] * 4 + [-1])
        return "commit", (who, epoch, topic, chance.randrange(3), chance.choice([8, 9, 9, 9]))

    def _change_topics(self) -> Step:
        chance = self.chance
        name = chance.choice([*self.counts, f"{self.name}-c00", f"{self.name}-r0"])
        count = self.counts.get(name)
        if count is None:
            self.counts[name] = chance.choice([1, 2, 3])
            return "create", (name, self.counts[name])
        if chance.random() < 0.5:
            del self.counts[name]
            return "delete", (name,)
        self.counts[name] += 1
        return "grow", (name, self.counts[name])

    def learn(self, step: Step, answer: Any) -> None:
        """Remember the epochs of members, and who has left."""
        name, arguments = step
        if name != "beat" or not isinstance(answer, dict):
            return
        member = arguments[0]
        if answer["error_code"] in (25, 69, 110) or answer["member_epoch"] == -1:
            self.epochs.pop(member, None)
        elif answer["error_code"] == 0:
            self.epochs[member] = answer["member_epoch"]


def compare(seed: int, kafka_port: int, our_port: int) -> list[str]:
    """Send the steps of a seed to both; return the steps whose answers differ, in words."""
    scenario = Scenario(seed)
    sides = [StreamsSide(port, scenario.name) for port in (kafka_port, our_port)]
    told = [f"seed {seed} topology {scenario.topology}"]
    is_dropped = False
    first = [("create", each) for each in list(scenario.counts.items()) if seed % 5]
    try:
        for number in range(STEPS + len(first)):
            step = first[number] if number < len(first) else scenario.next_step()
            name, arguments = step
            kafka, ours = (getattr(side, name)(*arguments) for side in sides)
            told.append(f"{number} {name}{arguments}: {kafka}")
            if name == "beat" and kafka["error_code"] == -1 and scenario.has_endpoints:
                return []  # Kafka fails where a member has an endpoint, and topics are missing
            if kafka != ours:
                return [*told, f"broker-lite: {ours}", *differing(kafka, ours)]
            scenario.learn(step, kafka)
            is_dropped = is_dropped or (name == "join_classic" and kafka == _UNKNOWN_MEMBER)
            if name == "beat" and any(each["status_code"] == 3 for each in kafka["status"]):
                sides[0].await_topics(sides[1].topics())
            for side in sides:
                if name == "beat" and arguments[0] not in scenario.epochs:
                    side.forget(arguments[0])
        different = _differing_ends(sides, is_dropped=is_dropped)
    except (AssertionError, Closed, OSError) as error:  # the other seeds are compared all the same
        return [*told, f"failed: {error!r}"]
    finally:
        for side in sides:
            side.close()
    return [*told, *different] if different else []


def _differing_ends(sides: list[StreamsSide], *, is_dropped: bool) -> list[str]:
    """Compare what is left at the end: topics, and the records of the group.

    A JoinGroup with a member id drops a group without members, and is refused. Kafka writes no
    tombstones then (U-22), so if that has happened, tombstones of whole groups are left out.
    """
    kafka, ours = (side.topics() for side in sides)
    if kafka != ours:
        return [f"topics: {kafka}", f"broker-lite: {ours}"]
    wanted, found = (side.records() for side in sides)
    if is_dropped:
        wanted, found = (
            [each for each in some if each[2] is not None or each[0] not in _OF_GROUPS]
            for some in (wanted, found)
        )
    for number, (one, other) in enumerate(zip(wanted, found, strict=False)):
        if one != other:
            return [f"record {number}: {one}", f"broker-lite: {other}"]
    return [] if len(wanted) == len(found) else [f"{len(wanted)} records, not {len(found)}"]


def run(seeds: Sequence[int], folder: Path, *, jobs: int = 1) -> Mapping[int, list[str]]:
    """Compare seeds on two brokers that are started for them; return what differs, by seed.

    Args:
        seeds: of the steps.
        folder: for the data of both brokers.
        jobs: how many seeds are compared at a time; most of the time is spent waiting.
    """
    ours = ["offsets.topic.num.partitions=4", *(f"{key}={text}" for key, text in DELAYS.items())]
    with (
        ReferenceKafka(folder / "kafka", settings=DELAYS) as kafka,
        BrokerProcess(folder / "data", settings=ours) as broker,
    ):
        compare_one = partial(compare, kafka_port=kafka.port, our_port=broker.port)
        return compare_seeds(compare_one, seeds, jobs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1, help="seeds at a time")
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.count)
    with tempfile.TemporaryDirectory() as folder:
        different = run(seeds, Path(folder), jobs=options.jobs)
    print(f"{options.count} seeds, {len(different)} differ")


if __name__ == "__main__":
    main()
