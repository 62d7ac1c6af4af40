"""A group of programs that share the partitions of a topic, and what the broker knows of it."""

import time
from collections.abc import Mapping

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient

from broker_lite.wire import messages
from tests.conformance.clients import Builds, Client, Mode
from tests.conformance.feeder import PARTITIONS, TIMEOUT_S, Feeder
from tests.conformance.program import Event, Program, Programs
from tests.support.broker_process import KEEP
from tests.support.raw_client import RawClient

SESSION_MS = 1500
STATIC_SESSION_MS = 20_000
HEARTBEAT_MS = 250
REST_MS = 4 * HEARTBEAT_MS
GROUP_RESOURCE = 32
SHORT_TIMES = (
    KEEP,
    "group.min.session.timeout.ms=1000",
    "group.consumer.min.session.timeout.ms=1000",
    "group.consumer.session.timeout.ms=1500",
    "group.consumer.min.heartbeat.interval.ms=100",
    "group.consumer.heartbeat.interval.ms=300",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms=200",
)
"""Settings of a broker, so that a test does not wait long for what is gone, and records stay."""


def committed_offsets(bootstrap: str, group: str) -> dict[int, int]:
    """The committed offsets of a group that reads one topic."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    asked = [ConsumerGroupTopicPartitions(group)]
    found = admin.list_consumer_group_offsets(asked)[group].result(TIMEOUT_S)
    return {each.partition: each.offset for each in found.topic_partitions}


def visible_values(bootstrap: str, topic: str, partitions: int = PARTITIONS) -> list[str]:
    """The values of a topic that a reader of committed records gets now, partition by partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    values: dict[int, list[str]] = {partition: [] for partition in range(partitions)}
    consumer.assign([TopicPartition(topic, partition, 0) for partition in values])
    ended: set[int] = set()
    while len(ended) < partitions:
        record = consumer.poll(TIMEOUT_S)
        assert record is not None, f"only {ended} of {topic} came to their ends"
        if (error := record.error()) is None:
            values[record.partition()].append((record.value() or b"").decode())
        else:
            assert error.code() == KafkaError._PARTITION_EOF, error
            ended.add(record.partition())
    consumer.close()
    return [value for partition in values.values() for value in partition]


def set_session(bootstrap: str, group: str, session_ms: int) -> None:
    """Give a group a session timeout of its own; the members of this protocol have none."""
    kind = messages.IncrementalAlterConfigsRequest
    config = kind.AlterableConfig(
        name="consumer.session.timeout.ms", config_operation=0, value=str(session_ms)
    )
    resource = kind.AlterConfigsResource(
        resource_type=GROUP_RESOURCE, resource_name=group, configs=[config]
    )
    host, port = bootstrap.split(":")
    with RawClient(host, int(port)) as client:
        answer = client.request(kind, kind(resources=[resource]), 1)
    assert answer.responses[0].error_code == 0, answer


class Group:
    """One group of one client's programs."""

    def __init__(
        self,
        programs: Programs,
        builds: Builds,
        client: Client,
        mode: Mode,
        where: Mapping[str, str],
    ) -> None:
        self._programs = programs
        self._builds = builds
        self._client = client
        self._mode = mode
        self._options = {
            **where,
            "group": f"group-{where['topic']}",
            "protocol": mode.protocol,
            "assignor": mode.assignor,
            "session_ms": STATIC_SESSION_MS if mode.is_static else SESSION_MS,
            "heartbeat_ms": HEARTBEAT_MS,
        }
        self._observed: list[Event] = []
        if mode.is_static and mode.protocol == "consumer":
            set_session(str(where["bootstrap"]), self.name, STATIC_SESSION_MS)

    @property
    def name(self) -> str:
        """The group id."""
        return str(self._options["group"])

    def join(self, name: str, role: str = "member", **options: object) -> Program:
        """Start one more."""
        given = {**self._options, **options}
        if self._mode.is_static:
            given["instance"] = name
        return self._programs.start(self._builds.command(self._client, role), given, name)

    def settle(self, *members: Program) -> None:
        """Wait until these share all partitions evenly."""

        def settled() -> bool:
            shares = [member.partitions for member in members]
            every = frozenset[int]().union(*shares)
            share = PARTITIONS // len(members)
            return len(every) == PARTITIONS and all(len(each) == share for each in shares)

        names = ", ".join(member.name for member in members)
        self._programs.wait_until(settled, f"{names} share all partitions")
        self.committed()

    def committed(self) -> dict[int, int]:
        """What is committed now, by the broker's word; it becomes part of the journals."""
        offsets = committed_offsets(str(self._options["bootstrap"]), self.name)
        now_ms = time.time_ns() // 1_000_000
        for partition, offset in offsets.items():
            self._observed.append(Event(now_ms, "committed", (str(partition), str(offset))))
        return offsets

    def journals(self) -> list[list[Event]]:
        """What the members printed, and what was committed by the broker's word."""
        return [*(program.events for program in self._programs.all), self._observed]

    def reads(self, *members: Program) -> None:
        """Wait until each of these has read something."""
        self._programs.wait_until(
            lambda: all(member.of_kind("read") for member in members), "each member reads"
        )

    def rest(self, *members: Program) -> None:
        """Wait until these have kept their partitions for some heartbeats.

        A leader of the Java client whose metadata came late joins again right after a rebalance.
        """

        def rested() -> bool:
            now_ms = time.time_ns() // 1_000_000
            latest_ms = max(member.of_kind("assigned")[-1].time_ms for member in members)
            return now_ms - latest_ms >= REST_MS

        self._programs.wait_until(rested, "no member gets other partitions")

    def finish(self, feeder: Feeder) -> dict[int, int]:
        """End a feeder, wait until all of it is committed, and let all members that run leave.

        The feeder goes on until each partition was committed once more: a commit that is refused
        while members rebalance is made up for by the next one only.

        Returns:
            The end offsets.
        """
        before = self.committed()

        def goes_on() -> bool:
            now = self.committed()
            return all(now.get(each, 0) > before.get(each, 0) for each in range(PARTITIONS))

        self._programs.wait_until(goes_on, "each partition is committed once more")
        ends = feeder.stop()
        self._programs.wait_until(lambda: self.committed() == ends, f"all is committed: {ends}")
        self._programs.leave()
        return ends
