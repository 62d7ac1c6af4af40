"""One client at a cluster of three brokers: its programs, its topic, and what must come true."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import pytest
from confluent_kafka.admin import AdminClient

from broker_lite.testing import Broker, Record
from tests.conformance.clients import Builds, Client
from tests.conformance.program import Program, Programs

PARTITIONS: Final = 3
REQUEST_MS: Final = 1500
DELIVERY_MS: Final = 20_000
LONG_MS: Final = 60_000
ENOUGH: Final = 10
OFFSETS: Final = "__consumer_offsets"
TRANSACTIONS: Final = "__transaction_state"


def clients(*names: str) -> pytest.MarkDecorator:
    """Run a test with these clients."""
    return pytest.mark.parametrize("client", names, indirect=True)


def load_faults(records: Sequence[Record], writer: Program, partitions: int) -> list[str]:
    """What is wrong with the records of an idempotent producer that wrote 0, 1, 2, ...

    Each partition has each number once and in order, and each where its acknowledgement said.
    """
    faults = [f"lost: {event.words}" for event in writer.of_kind("lost")]
    acked = {
        (int(event.words[0]), int(event.words[2])): int(event.words[1])
        for event in writer.of_kind("acked")
    }
    for partition in range(partitions):
        values = [int(each.value or b"-1") for each in records if each.partition == partition]
        if values != [*range(len(values))]:
            twice = [value for value, count in Counter(values).items() if count > 1]
            faults.append(f"{partition}: not in order, or twice: {twice}: {values}")
        count = sum(each == partition for each, _ in acked)
        if count != len(values):
            faults.append(f"{partition}: {count} were acknowledged, {len(values)} are there")
    faults += [
        f"{partition}: {value} is not at {offset}"
        for (partition, value), offset in acked.items()
        # a producer that learned of a success by a duplicate's answer knows no offset
        if offset not in {-1, value}
    ]
    return faults


class Scene:
    """What a test does with one client at a cluster."""

    def __init__(
        self, client: Client, cluster: Broker, topic: str, programs: Programs, builds: Builds
    ) -> None:
        """Start nothing yet."""
        self.client = client
        self.cluster = cluster
        self.topic = topic
        self.programs = programs
        self.builds = builds
        self._partitions = 0

    def create(self, partitions: int = PARTITIONS, **configs: object) -> None:
        """Create the topic; underscores of names of configs are dots."""
        named = {name.replace("_", "."): value for name, value in configs.items()}
        self.cluster.create_topic(self.topic, partitions, named)
        self._partitions = partitions

    def delete(self) -> None:
        """Delete the topic."""
        admin = AdminClient({"bootstrap.servers": self.cluster.bootstrap})
        admin.delete_topics([self.topic])[self.topic].result(LONG_MS / 1000)

    # -- programs

    def start(self, role: str, **options: object) -> Program:
        """Start a program of the client."""
        given = {"bootstrap": self.cluster.bootstrap, "topic": self.topic, **options}
        return self.programs.start(self.builds.command(self.client, role), given, role)

    def writer(self, **options: object) -> Program:
        """Start a producer: idempotent, with acks=all."""
        given = {
            "acks": "all",
            "idempotent": "true",
            "request_ms": REQUEST_MS,
            "delivery_ms": DELIVERY_MS,
        }
        return self.start("writer", **{**given, **options})

    def loaded(self, **options: object) -> Program:
        """Start a producer that writes to all partitions, and wait until it does."""
        writer = self.writer(**options)
        writer.do("load", self._partitions)
        self.progress(writer)
        return writer

    def transactor(self) -> Program:
        """Start a transactional producer."""
        writer = self.start("transactor", transactional_id=self.topic, timeout_ms=LONG_MS)
        writer.do("init")
        return writer

    def member(self, **options: object) -> Program:
        """Start a consumer that is alone in its group."""
        given = {
            "group": self.group,
            "protocol": "classic",
            "assignor": self.client.modes[0].assignor,
            "session_ms": 6000,
            "heartbeat_ms": 250,
        }
        return self.start("member", **{**given, **options})

    @property
    def group(self) -> str:
        """The group of `member`."""
        return f"group-{self.topic}"

    # -- what must come true

    def progress(self, writer: Program) -> None:
        """Wait until each partition has got some more records, by their acknowledgements."""

        def counts() -> Counter[str]:
            return Counter(event.words[0] for event in writer.of_kind("acked"))

        before = counts()
        partitions = [str(each) for each in range(self._partitions)]

        def goes_on() -> bool:
            now = counts()
            return all(now[each] >= before[each] + ENOUGH for each in partitions)

        self.programs.wait_until(goes_on, "each partition is written to")

    def finish(self, writer: Program) -> None:
        """End a load; everything must be there once and in order."""
        writer.do("stop")
        faults = load_faults(self.cluster.records(self.topic), writer, self._partitions)
        assert not faults, faults[:20]
        writer.leave()

    def reads(self, member: Program, *values: str) -> None:
        """Wait until the last values that a member read are these."""
        self.programs.wait_until(
            lambda: self.values(member)[-len(values) :] == list(values), f"it reads {values}"
        )

    @staticmethod
    def values(member: Program) -> list[str]:
        """What a member has read so far."""
        return [event.words[2] for event in member.of_kind("read")]

    # -- brokers

    def leader(self, partition: int = 0, topic: str | None = None) -> int:
        """The broker that leads a partition."""
        leader = self.cluster.partition(topic or self.topic, partition)["leader"]
        assert isinstance(leader, int)
        return leader

    def move(self, partition: int = 0, topic: str | None = None) -> None:
        """Let another broker lead a partition."""
        name = topic or self.topic
        to = self.leader(partition, name) % len(self.cluster.brokers) + 1
        self.cluster.move_leader(name, partition, to=to)
