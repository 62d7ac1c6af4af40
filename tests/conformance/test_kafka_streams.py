"""Kafka Streams with `group.protocol=streams`: exactly once, also when an instance is killed."""

import re
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.broker_process import BrokerProcess
from tests.support.reference_kafka import KAFKA_VERSION, fetch_jars, run_tool
from tests.support.toolchain import user_cache

pytestmark = [pytest.mark.client, pytest.mark.slow, pytest.mark.usefixtures("java")]

FOLDER: Final = Path(__file__).parent / "java_streams"
SETTINGS: Final = [
    "group.streams.session.timeout.ms=4000",
    "group.streams.heartbeat.interval.ms=500",
]
APPLICATION: Final = "counter"
VALUES: Final = 7
ROUND: Final = 350
TIMEOUT_S: Final = 90.0


def classpath() -> str:
    """The class path of the program, which is compiled if that was not done yet."""
    jars = fetch_jars(FOLDER / "pom.xml", f"kafka-streams-{KAFKA_VERSION}", KAFKA_VERSION)
    classes = user_cache("kafka-streams-classes")
    source, target = FOLDER / "Counter.java", classes / "Counter.class"
    if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
        options = ["-cp", f"{jars}/*", "-d", str(classes)]
        subprocess.run(["javac", *options, str(source)], check=True, timeout=120)
    return f"{classes}:{jars}/*"


class Instance:
    """One instance of the application, with a directory of its own."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        folder.mkdir()
        self._output = folder / "output"
        options = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        command = ["java", *options, "-cp", classpath(), "Counter"]
        with self._output.open("w") as sink, (folder / "errors").open("w") as errors:
            self.process = subprocess.Popen(
                [*command, bootstrap, APPLICATION, str(folder / "state")],
                stdin=subprocess.PIPE,
                stdout=sink,
                stderr=errors,
            )

    def wait_until_running(self) -> None:
        deadline = time.monotonic() + TIMEOUT_S
        while self._output.read_text().split()[-1:] != ["RUNNING"]:
            assert self.process.poll() is None, "the instance has ended"
            assert time.monotonic() < deadline, "the instance does not run"
            time.sleep(0.1)

    def close(self) -> int:
        """Let it end; return its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(60)

    def kill(self) -> None:
        """End it at once, without a word to the broker; it does no harm to do so twice."""
        self.process.kill()
        self.close()


@contextmanager
def instances(bootstrap: str, folder: Path) -> Iterator[list[Instance]]:
    """Two instances that both run; what is left of them is killed at the end."""
    found: list[Instance] = []
    try:
        found.extend(Instance(bootstrap, folder / name) for name in ("first", "second"))
        for each in found:
            each.wait_until_running()
        yield found
    finally:
        for each in found:
            each.kill()


def create_topics(bootstrap: str) -> None:
    topics = [NewTopic("in", 4, 1), NewTopic("out", 3, 1)]
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics(topics).values():
        future.result(TIMEOUT_S)


def produce(bootstrap: str, numbers: range) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in numbers:
        producer.produce("in", value=str(number % VALUES), key=str(number))
    assert producer.flush(TIMEOUT_S) == 0


def counts(consumer: Consumer, known: dict[str, list[int]], per_value: int) -> None:
    """Read what is committed of topic `out` until each value has so many counts."""
    deadline = time.monotonic() + TIMEOUT_S
    while len(known) < VALUES or min(map(len, known.values())) < per_value:
        assert time.monotonic() < deadline, f"not all was counted: {dict(known)}"
        for message in consumer.consume(500, 0.5):
            assert not message.error()
            known[message.key().decode()].append(int(message.value()))


def describe(bootstrap: str, *words: str) -> str:
    command = "org.apache.kafka.tools.streams.StreamsGroupCommand"
    return run_tool(command, "--bootstrap-server", bootstrap, *words)


@pytest.mark.parametrize("processes", ["1", "3"])
def test_each_record_is_counted_once_although_an_instance_is_killed(
    tmp_path: Path, processes: str
) -> None:
    """U-07, U-09, U-16 to U-20, U-24."""
    arguments = ["--processes", processes]
    with BrokerProcess(tmp_path / "data", settings=SETTINGS, arguments=arguments) as broker:
        bootstrap = broker.bootstrap
        create_topics(bootstrap)
        consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "reader",
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
            }
        )
        consumer.subscribe(["out"])
        known: dict[str, list[int]] = defaultdict(list)
        with instances(bootstrap, tmp_path) as (first, second):
            produce(bootstrap, range(ROUND))
            counts(consumer, known, ROUND // VALUES)
            produce(bootstrap, range(ROUND, 2 * ROUND))
            second.kill()
            counts(consumer, known, 2 * ROUND // VALUES)
            listed = describe(bootstrap, "--list", "--state")
            assert listed.split()[-2:] == [APPLICATION, "Stable"]
            described = describe(bootstrap, "--describe", "--group", APPLICATION, "--members")
            tasks = re.findall(r"(\d):\[([\d,]+)\]", described)
            run = [f"{key}_{index}" for key, some in tasks for index in some.split(",")]
            assert sorted(run) == [f"{key}_{index}" for key in range(2) for index in range(4)]
            produce(bootstrap, range(2 * ROUND, 3 * ROUND))
            counts(consumer, known, 3 * ROUND // VALUES)
            assert first.close() == 0
        consumer.close()
        admin = AdminClient({"bootstrap.servers": bootstrap})
        topics = {name for name in admin.list_topics(timeout=TIMEOUT_S).topics if "counter" in name}
    assert known == {str(value): list(range(1, 3 * ROUND // VALUES + 1)) for value in range(VALUES)}
    assert {name.rpartition("-")[2] for name in topics} == {"changelog", "repartition"}
