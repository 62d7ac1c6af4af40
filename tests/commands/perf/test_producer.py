"""`kafka producer-perf-test`, with the flags and the lines of kafka-producer-perf-test.sh."""

import re
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.support.command_line import CommandLine

TIMEOUT_S = 30
NUMBER = r"\d+\.\d\d"
TOTAL = re.compile(
    rf"(\d+)( steady state)? records sent, \d+\.\d{{6}} records/sec \({NUMBER} MB/sec\),"
    rf" ({NUMBER}|NaN) ms avg latency, {NUMBER} ms max latency,"
    r" \d+ ms 50th, \d+ ms 95th, \d+ ms 99th, \d+ ms 99\.9th\."
)


@pytest.fixture
def perf(command: CommandLine, bootstrap: str, topic: str) -> CommandLine:
    """The tool with a topic of two partitions, as fast as can be."""
    at = ("--bootstrap-server", bootstrap, "--topic", topic)
    command.ok("topics", *at, "--create", "--partitions", "2")
    return command.of("kafka", "producer-perf-test", *at, "--throughput", "-1")


def values(bootstrap: str, topic: str, count: int) -> list[bytes | None]:
    """So many values of the topic."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "g",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(topic, number, 0) for number in range(2)])
    found = consumer.consume(count, TIMEOUT_S)
    consumer.close()
    return [message.value() for message in found]


def sent(line: str) -> int:
    """The count in the line about the total."""
    match = TOTAL.fullmatch(line)
    assert match is not None, line
    return int(match[1])


def test_random_letters(perf: CommandLine, bootstrap: str, topic: str) -> None:
    printed = perf.ok("--num-records", "3000", "--record-size", "100")
    assert sent(printed.rstrip("\n")) == 3000
    found = values(bootstrap, topic, 3000)
    assert len(set(found)) == 3000
    assert {len(value or b"") for value in found} == {100}


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_numbers(perf: CommandLine, bootstrap: str, topic: str, acks: str) -> None:
    properties = ("--producer-props", f"acks={acks}", "batch.size=200")
    printed = perf.ok("--num-records", "300", "--payload-monotonic", *properties)
    assert sent(printed.rstrip("\n")) == 300
    expected = sorted(b"%d" % number for number in range(300))
    assert sorted(value or b"" for value in values(bootstrap, topic, 300)) == expected


def test_values_of_a_file(perf: CommandLine, bootstrap: str, topic: str, tmp_path: Path) -> None:
    path = tmp_path / "values"
    path.write_text("one;two")
    payload = ("--payload-file", str(path), "--payload-delimiter", ";")
    first, second, total = perf.ok("--num-records", "50", *payload).splitlines()
    assert (first, second) == (f"Reading payloads from: {path}", "Number of records read: 2")
    assert sent(total) == 50
    assert set(values(bootstrap, topic, 50)) == {b"one", b"two"}


def test_a_rate_with_reports_and_a_warm_up(perf: CommandLine) -> None:
    printed = perf.ok(
        *("--num-records", "60", "--payload-monotonic", "--warmup-records", "20"),
        *("--throughput", "200", "--reporting-interval", "20", "--command-property", "linger.ms=0"),
    )
    first, *reports, total, steady = printed.splitlines()
    assert first == (
        "Warmup first 20 records. Steady state results will print after the complete test summary."
    )
    assert "In steady state." in reports
    assert (sent(total), sent(steady)) == (60, 40)
    assert "40 steady state records sent, " in steady


def test_transactions(perf: CommandLine, bootstrap: str, topic: str, tmp_path: Path) -> None:
    config = tmp_path / "producer.properties"
    config.write_text(f"bootstrap.servers=nosuch:1\ntransactional.id=id-{topic}\n")
    flags = ("--producer.config", str(config), "--transaction-duration-ms", "1", "--print-metrics")
    total, empty, header, *metrics = perf.ok(
        "--num-records", "500", "--payload-monotonic", *flags
    ).splitlines()
    assert (sent(total), empty) == (500, "")
    assert header.split() == ["Metric", "Name", "Value"]
    client = "{client-id=perf-producer-client}"
    assert [line.split() for line in metrics] == [
        [f"producer-metrics:record-error-total:{client}", ":", "0.000"],
        [f"producer-metrics:record-send-total:{client}", ":", "500.000"],
    ]
    assert len(values(bootstrap, topic, 500)) == 500, "all is committed"


def test_a_transactional_id_of_its_own(perf: CommandLine) -> None:
    flags = ("--transaction-duration-ms", "60000")
    printed = perf.ok("--num-records", "5", "--payload-monotonic", *flags)
    assert sent(printed.rstrip("\n")) == 5


def test_records_that_are_too_large(perf: CommandLine) -> None:
    done = perf("--num-records", "2", "--record-size", "2000000")
    assert done.code == 1
    assert sent(done.out.rstrip("\n")) == 0
    assert done.err.count("broker-lite: records not delivered: 1: record: MESSAGE_TOO_LARGE") == 2


def test_records_that_a_broker_refuses(
    perf: CommandLine, command: CommandLine, bootstrap: str, topic: str
) -> None:
    changed = ("--topic", topic, "--alter", "--add-config", "max.message.bytes=500")
    command.ok("configs", "--bootstrap-server", bootstrap, *changed)
    done = perf("--num-records", "4", "--record-size", "1000")
    assert done.code == 1
    assert sent(done.out.rstrip("\n")) == 0
    assert "MESSAGE_TOO_LARGE" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "one of the arguments --record-size --payload-file --payload-monotonic is required"),
        (("--record-size", "0"), "--record-size should be greater than zero."),
        (
            ("--num-records", "0", "--payload-monotonic"),
            "--num-records should be greater than zero.",
        ),
        (
            ("--warmup-records", "5", "--payload-monotonic"),
            "The value for --warmup-records must be strictly fewer than the number of records in"
            " the test, --num-records.",
        ),
        (
            ("--transaction-duration-ms", "0", "--payload-monotonic"),
            "--transaction-duration-ms should be greater than zero.",
        ),
        (
            ("--throughput", "0", "--payload-monotonic"),
            "--throughput 0 would never send a record; use -1 for no limit",
        ),
        (
            ("--payload-monotonic", "--transactional-id", "a", "--producer-props", "acks=1"),
            "a transactional.id needs enable.idempotence",
        ),
    ],
)
def test_wrong_use(perf: CommandLine, arguments: tuple[str, ...], message: str) -> None:
    assert perf.fails("--num-records", "5", *arguments) == f"2: {message}"
