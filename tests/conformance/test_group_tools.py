"""Kafka's own tools for groups and transactions, and for the internal topics that we wrote."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.conformance.clients import CLIENTS, CONSUMER, RANGE, Builds
from tests.conformance.feeder import PARTITIONS, TIMEOUT_S, Feeder, create_topic
from tests.conformance.group import SHORT_TIMES, Group, committed_offsets, visible_values
from tests.conformance.program import Programs
from tests.support.broker_process import BrokerProcess
from tests.support.reference_kafka import run_tool

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.client,
    pytest.mark.slow,
    pytest.mark.usefixtures("java"),
]
TOOLS = "org.apache.kafka.tools"
PROTOCOLS = ("classic", "consumer")


def rows(printed: str, first_column: str) -> list[dict[str, str]]:
    """A table that a tool printed, by its header."""
    lines = [line.split() for line in printed.splitlines() if line.strip()]
    header = next(line for line in lines if line[0] == first_column)
    return [dict(zip(header, line, strict=False)) for line in lines[lines.index(header) + 1 :]]


def groups_tool(bootstrap: str, *words: str) -> str:
    """Run kafka-consumer-groups."""
    command = f"{TOOLS}.consumer.group.ConsumerGroupCommand"
    return run_tool(command, "--bootstrap-server", bootstrap, *words)


def transactions_tool(bootstrap: str, *words: str) -> str:
    """Run kafka-transactions."""
    return run_tool(f"{TOOLS}.TransactionsCommand", "--bootstrap-server", bootstrap, *words)


def at_once(tool: Callable[..., str], bootstrap: str, *commands: tuple[str, ...]) -> list[str]:
    """What a tool prints for each of these commands, which do not depend on each other."""
    with ThreadPoolExecutor() as pool:
        started = [pool.submit(tool, bootstrap, *words) for words in commands]
        return [each.result() for each in started]


@pytest.fixture
def group(bootstrap: str, topic: str, programs: Programs, builds: Builds) -> Group:
    """A group that has not begun yet; its topic is there."""
    create_topic(bootstrap, topic)
    where = {"bootstrap": bootstrap, "topic": topic}
    return Group(programs, builds, CLIENTS[0], RANGE, where)


def test_consumer_groups_of_a_group_with_members(bootstrap: str, topic: str, group: Group) -> None:
    member = group.join("a")
    chosen = ("--group", group.name)
    with Feeder(bootstrap, topic) as feeder:
        group.settle(member)
        group.reads(member)
        listed, states, members = at_once(
            groups_tool,
            bootstrap,
            ("--list",),
            ("--describe", *chosen, "--state"),
            ("--describe", *chosen, "--members", "--verbose"),
        )
        group.finish(feeder)
    assert group.name in listed.split()
    (state,) = rows(states, "GROUP")
    assert (state["GROUP"], state["STATE"], state["#MEMBERS"]) == (group.name, "Stable", "1")
    (described,) = rows(members, "GROUP")
    assert described["#PARTITIONS"] == str(PARTITIONS)


def test_consumer_groups_of_a_group_without(bootstrap: str, topic: str, group: Group) -> None:
    member = group.join("a")
    with Feeder(bootstrap, topic) as feeder:
        group.reads(member)
        ends = group.finish(feeder)
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce(topic, b"later", partition=2)
    assert producer.flush(TIMEOUT_S) == 0
    chosen = ("--group", group.name)
    lags = rows(groups_tool(bootstrap, "--describe", *chosen), "GROUP")
    assert {(int(row["PARTITION"]), int(row["CURRENT-OFFSET"])) for row in lags} == {*ends.items()}
    assert {int(row["PARTITION"]): row["LAG"] for row in lags} == {
        partition: "1" if partition == 2 else "0" for partition in ends
    }
    reset = ("--reset-offsets", *chosen, "--execute", "--topic")
    at_once(
        groups_tool,
        bootstrap,
        (*reset, f"{topic}:0,1", "--to-earliest"),
        (*reset, f"{topic}:3", "--shift-by", "-2"),
    )
    ends |= {0: 0, 1: 0, 3: ends[3] - 2}
    assert committed_offsets(bootstrap, group.name) == ends
    deleted = groups_tool(bootstrap, "--delete-offsets", *chosen, "--topic", f"{topic}:1")
    assert "Successful" in deleted
    del ends[1]
    assert committed_offsets(bootstrap, group.name) == ends
    assert "successful" in groups_tool(bootstrap, "--delete", *chosen)
    assert group.name not in groups_tool(bootstrap, "--list", "--state").split()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_verifiable_producer_and_consumer(bootstrap: str, topic: str, protocol: str) -> None:
    create_topic(bootstrap, topic)
    at = ("--bootstrap-server", bootstrap, "--topic", topic, "--max-messages", "500")
    produced = run_tool(f"{TOOLS}.VerifiableProducer", *at, "--throughput", "-1", "--acks", "-1")
    summary = json.loads(produced.splitlines()[-1])
    assert summary["acked"] == 500
    options = ("--group-id", f"group-{topic}", "--reset-policy", "earliest")
    chosen = ("--group-protocol", protocol)
    consumed = run_tool(f"{TOOLS}.VerifiableConsumer", *at, *options, *chosen)
    events = [json.loads(line) for line in consumed.splitlines()]
    assert sum(each["count"] for each in events if each["name"] == "records_consumed") == 500
    commits = [each for each in events if each["name"] == "offsets_committed"]
    assert all(each["success"] for each in commits)
    assert sum(committed_offsets(bootstrap, f"group-{topic}").values()) == 500


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_console_consumer_in_a_group(bootstrap: str, topic: str, protocol: str) -> None:
    create_topic(bootstrap, topic)
    producer = Producer({"bootstrap.servers": bootstrap})
    wanted = [f"value-{number}" for number in range(300)]
    for number, value in enumerate(wanted):
        producer.produce(topic, value.encode(), partition=number % PARTITIONS)
    assert producer.flush(TIMEOUT_S) == 0
    read = run_tool(
        f"{TOOLS}.consumer.ConsoleConsumer",
        *("--bootstrap-server", bootstrap, "--topic", topic, "--group", f"group-{topic}"),
        *("--from-beginning", "--max-messages", "300", "--timeout-ms", "30000"),
        *("--command-property", f"group.protocol={protocol}"),
    )
    assert sorted(read.split()) == sorted(wanted)
    assert sum(committed_offsets(bootstrap, f"group-{topic}").values()) == 300


@pytest.fixture
def open_transaction(bootstrap: str, topic: str) -> Iterator[Producer]:
    """A producer in the middle of a transaction, with one record in partition 0."""
    create_topic(bootstrap, topic)
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"id-{topic}"})
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=0)
    assert producer.flush(TIMEOUT_S) == 0
    yield producer
    producer.abort_transaction(TIMEOUT_S)


@pytest.mark.usefixtures("open_transaction")
def test_transactions(bootstrap: str, topic: str) -> None:
    at = ("--topic", topic, "--partition", "0")
    listed, described_text, producers, hanging = at_once(
        transactions_tool,
        bootstrap,
        ("list",),
        ("describe", "--transactional-id", f"id-{topic}"),
        ("describe-producers", *at),
        ("find-hanging", "--topic", topic),
    )
    states = {row["TransactionalId"]: row for row in rows(listed, "TransactionalId")}
    assert states[f"id-{topic}"]["TransactionState"] == "Ongoing"
    (described,) = rows(described_text, "CoordinatorId")
    assert described["TransactionState"] == "Ongoing"
    assert described["TopicPartitions"] == f"{topic}-0"
    assert described["ProducerId"] == states[f"id-{topic}"]["ProducerId"]
    (producer,) = rows(producers, "ProducerId")
    assert producer["ProducerId"] == described["ProducerId"]
    assert producer["CurrentTransactionStartOffset"] == "0"
    assert topic not in hanging
    plain = Producer({"bootstrap.servers": bootstrap})
    plain.produce(topic, b"after", partition=0)
    assert plain.flush(TIMEOUT_S) == 0
    assert visible_values(bootstrap, topic) == []
    transactions_tool(bootstrap, "abort", *at, "--start-offset", "0")
    assert visible_values(bootstrap, topic) == ["after"]


def _fill(broker: BrokerProcess, programs: Programs, builds: Builds) -> dict[int, int]:
    """Let groups of both protocols commit, and a transaction; give what a group committed."""
    for mode in (RANGE, CONSUMER):
        topic = mode.protocol
        create_topic(broker.bootstrap, topic)
        where = {"bootstrap": broker.bootstrap, "topic": topic}
        group = Group(programs, builds, CLIENTS[0], mode, where)
        member = group.join("a")
        with Feeder(broker.bootstrap, topic) as feeder:
            group.reads(member)
            ends = group.finish(feeder)
    options = {**where, "transactional_id": "dumped-id", "timeout_ms": 60_000}
    producer = programs.start(builds.command(CLIENTS[0], "transactor"), options, "transactor")
    for command in ("init", "begin", "send 0 x", "offset dumped-group consumer 0 7", "commit"):
        producer.do(*command.split())
    producer.leave()
    return ends


def test_dump_tool_decodes_the_internal_topics(
    tmp_path: Path, programs: Programs, builds: Builds
) -> None:
    with BrokerProcess(tmp_path / "data", settings=SHORT_TIMES) as broker:
        ends = _fill(broker, programs, builds)

    def dump(topic: str, decoder: str) -> str:
        files = sorted((tmp_path / "data").glob(f"{topic}-*/*.log"))
        names = ",".join(str(path) for path in files if path.stat().st_size)
        return run_tool(f"{TOOLS}.DumpLogSegments", decoder, "--files", names)

    offsets = dump("__consumer_offsets", "--offsets-decoder")
    for partition, end in ends.items():
        assert f'"group":"group-consumer","topic":"consumer","partition":{partition}' in offsets
        assert f'"offset":{end}' in offsets
    assert '"group":"dumped-group"' in offsets
    assert '"protocolType":"consumer"' in offsets
    states = dump("__transaction_state", "--transaction-log-decoder")
    assert '"transactionalId":"dumped-id"' in states
    for printed in (offsets, states):
        for fault in ("Could not", "Exception", "unknown::", "isvalid: false"):
            assert fault not in printed, printed[:3000]
