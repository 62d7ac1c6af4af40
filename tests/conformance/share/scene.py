"""A share group of one client: its members, what they get, and what they say of it."""

import itertools
import time
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from broker_lite.client import Client as KafkaClient
from broker_lite.client.admin.share_group_admin import share_offsets
from broker_lite.testing import Broker
from tests.conformance.clients import Builds, Client
from tests.conformance.program import Event, Program, Programs

LOCK_MS: Final = 1500
TURN_MS: Final = 100
TIMEOUT_S: Final = 60.0
PROCESSES: Final = "broker.lite.processes"


def clients(*names: str) -> pytest.MarkDecorator:
    """Run a test with these clients at one process, and with the first of them also at two."""
    pairs = [(name, "one_process") for name in names]
    pairs.append((names[0], "two_processes"))
    ids = [f"{name}-{place}" for name, place in pairs]
    return pytest.mark.parametrize("scene", pairs, ids=ids, indirect=True)


def configure_group(bootstrap: str, group: str, **configs: object) -> None:
    """Give a group configs of its own; underscores of their names are dots."""
    entries = [
        ConfigEntry(name.replace("_", "."), str(value), incremental_operation=AlterConfigOpType.SET)
        for name, value in configs.items()
    ]
    resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=entries)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(TIMEOUT_S)


class Got(NamedTuple):
    """A record as a member got it; it was delivered so often, this time included."""

    partition: int
    offset: int
    value: str
    deliveries: int


class ShareScene:
    """What a test does with a share group of one client.

    Attributes:
        cluster: the brokers.
        topic: of the records; the group is called like it.
        programs: of the client.
    """

    def __init__(
        self, client: Client, cluster: Broker, topic: str, programs: Programs, builds: Builds
    ) -> None:
        """Start nothing yet."""
        self.cluster = cluster
        self.topic = topic
        self.programs = programs
        self._client = client
        self._builds = builds
        self._partitions = 1

    def begin(self, values: Iterable[str], *, partitions: int = 1, **configs: object) -> None:
        """Create the topic with these records, each a batch of its own; configure the group.

        The last process leads the first partition, so that another one keeps what is acknowledged.
        """
        count = int(self.cluster.settings.get(PROCESSES, "1"))
        leaders = [[count - number % count] for number in range(partitions)]
        admin = AdminClient({"bootstrap.servers": self.cluster.bootstrap})
        wanted = NewTopic(self.topic, partitions, replica_assignment=leaders)
        created = admin.create_topics([wanted])
        created[self.topic].result(TIMEOUT_S)
        self._partitions = partitions
        self.produce(values)
        given = {"share_auto_offset_reset": "earliest", **configs}
        configure_group(self.cluster.bootstrap, self.topic, **given)

    def produce(self, values: Iterable[str]) -> None:
        """Write a batch for each value, to the partitions in turn."""
        producer = Producer(
            {"bootstrap.servers": self.cluster.bootstrap, "batch.num.messages": 1, "linger.ms": 0}
        )
        for number, value in enumerate(values):
            producer.produce(self.topic, value, partition=number % self._partitions)
        assert producer.flush(TIMEOUT_S) == 0

    def start(self, role: str, name: str, **options: object) -> Program:
        """Start a program of the client."""
        given = {"bootstrap": self.cluster.bootstrap, "topic": self.topic, **options}
        return self.programs.start(self._builds.command(self._client, role), given, name)

    def member(self, name: str = "member", **options: object) -> Program:
        """Start a member of the group, which takes all that there is and says what to do."""
        return self.start("sharer", name, group=self.topic, **{"mode": "explicit", **options})

    @staticmethod
    def poll(member: Program, wait_ms: int) -> list[Got]:
        """Let a member poll once; give what it got, which may be nothing."""
        before = len(member.of_kind("got"))
        member.do("take", wait_ms)
        words = [event.words for event in member.of_kind("got")[before:]]
        return [Got(int(p), int(offset), value, int(n)) for p, offset, value, n in words]

    def take(self, member: Program, count: int = 1) -> list[Got]:
        """Let a member poll until it gets something, which must be so many records."""
        got = next(got for _, got in self.turns(member) if got)
        assert len(got) == count, got
        return got

    def turns(self, *members: Program) -> Iterator[tuple[Program, list[Got]]]:
        """Let members poll in turns, for as long as the test goes on; give who got what."""
        deadline = time.monotonic() + TIMEOUT_S
        for member in itertools.cycle(members):
            assert time.monotonic() < deadline, f"not in time:\n{self.programs.report()}"
            yield member, self.poll(member, TURN_MS)

    @staticmethod
    def say(member: Program, kind: str, records: Iterable[Got]) -> Event:
        """Say the same of some records that a member has; give what the broker answers."""
        member.do("say", kind, *(each.value for each in records))
        return member.ask("commit")

    def told(self, member: Program, kind: str, records: Iterable[Got]) -> None:
        """Say the same of some records that a member has; the broker must take it."""
        answer = self.say(member, kind, records)
        assert answer.kind == "done", (member.name, kind, answer)

    def is_done(self) -> bool:
        """Whether the group has done all records of the topic, by the broker's word."""
        with KafkaClient(self.cluster.bootstrap) as client:
            lags = [each.lag for each in share_offsets(client, self.topic).values()]
        return lags == [0] * self._partitions

    def all_done(self) -> None:
        """Wait until the group has done all records of the topic."""
        self.programs.wait_until(self.is_done, "nothing is left")
