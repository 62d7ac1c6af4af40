"""A data directory that goes back and forth between broker-lite and a real Kafka, under load.

S-95, S-96, S-97: topics, ids and configs, offsets of both kinds of groups, producers with their
sequences, and transactions, one of them open, are there for whoever comes next; also when the one
before was killed. In between, Kafka's dump tool and `log verify` look at every file.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interchange.scene import Scene
from tests.support.broker_process import BrokerProcess
from tests.support.command_line import CommandLine
from tests.support.reference_kafka import ReferenceKafka, run_tool
from tests.support.toolchain import require

pytestmark = [pytest.mark.kafka, pytest.mark.client, pytest.mark.slow]

DUMP = "org.apache.kafka.tools.DumpLogSegments"
NODE_ID = "1"
FEW_PARTITIONS = ("offsets.topic.num.partitions=4", "transaction.state.log.num.partitions=4")
SHORT_SESSIONS = {
    # who was killed is waited for
    "broker.session.timeout.ms": "1000",
    "broker.heartbeat.interval.ms": "200",
}
SNAPSHOTS = {
    "metadata.log.max.record.bytes.between.snapshots": "1",
    "metadata.log.max.snapshot.interval.ms": "100",
}
FAULTS = ("isvalid: false", "Mismatches in", "not found", "invalid bytes", "Could not", "Exception")


@pytest.fixture(autouse=True)
def _java() -> None:
    require("java", "mvn")


@pytest.fixture
def kafka(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[ReferenceKafka]:
    """A Kafka that is ended after the test, however that ends; made with dynamic voters or not."""
    has_dynamic_voters = request.param == "dynamic voters"
    settings = {**SHORT_SESSIONS, **(SNAPSHOTS if has_dynamic_voters else {})}
    kafka = ReferenceKafka(
        tmp_path / "kafka",
        settings=settings,
        has_dynamic_voters=has_dynamic_voters,
        is_short_lived=True,
    )
    kafka.folder.mkdir()
    yield kafka
    kafka.stop()


@pytest.fixture
def ours(kafka: ReferenceKafka) -> Iterator[BrokerProcess]:
    """A broker-lite of the same directory, port and node."""
    broker = BrokerProcess(
        kafka.log_dir,
        settings=FEW_PARTITIONS,
        arguments=["--node-id", NODE_ID],
        port=kafka.port,
    )
    yield broker
    if broker.running():
        broker.kill()


def inspect(data_dir: Path, command: CommandLine) -> None:
    """See that neither Kafka's tool nor ours finds a fault in any file."""
    assert command.ok("log", "verify", "--deep", str(data_dir)).startswith("sound: ")
    for flags, topic in (
        ("--cluster-metadata-decoder", "__cluster_metadata"),
        ("--offsets-decoder", "__consumer_offsets"),
        ("--transaction-log-decoder", "__transaction_state"),
        ("--print-data-log", "orders"),
    ):
        files = sorted(
            str(path)
            for path in data_dir.glob(f"{topic}-*/*")
            if path.suffix in (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
        )
        printed = run_tool(DUMP, flags, "--files", ",".join(files))
        for fault in FAULTS:
            assert fault not in printed, printed[-2000:]
        # and ours prints the same
        assert command.ok("log", "dump", flags, "--files", ",".join(files)) == printed


@pytest.mark.parametrize("kafka", ["dynamic voters"], indirect=True)
def test_s97_what_kafka_began_goes_on_here_and_there(
    kafka: ReferenceKafka, ours: BrokerProcess
) -> None:
    """Made by a Kafka with all of its features, with snapshots of its metadata; that is killed."""
    kafka.start()
    scene = Scene(kafka.bootstrap)
    scene.begin()
    kafka.kill()
    ours.start()
    scene.go_on("ours")
    assert ours.stop() == 0
    kafka.start()
    scene.go_on("kafka again")
    kafka.stop()
    ours.start()
    scene.end()
    assert ours.stop() == 0


@pytest.mark.parametrize("kafka", ["static voters"], indirect=True)
def test_s96_what_began_here_goes_on_in_kafka(
    kafka: ReferenceKafka, ours: BrokerProcess, command: CommandLine
) -> None:
    """Each is killed, and nothing is left behind that a tool complains of."""
    ours.start()
    scene = Scene(ours.bootstrap)
    scene.begin()
    ours.kill()
    kafka.start()
    scene.go_on("kafka")
    kafka.kill()
    ours.start()
    scene.end()
    assert ours.stop() == 0
    inspect(kafka.log_dir, command)
