"""`produce`, with the flags of kafka-console-producer.sh, as a process that reads lines."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from broker_lite.client import Client
from broker_lite.client.topic_partitions import find_topics
from tests.support.broker_process import BrokerProcess
from tests.support.command_line import (
    TIMEOUT_S,
    CommandLine,
    Done,
    environment,
    process_of,
    run_process,
)

Read = tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]] | None]


def produce(bootstrap: str, topic: str, *flags: str, stdin: str) -> Done:
    return run_process(
        "produce", "--bootstrap-server", bootstrap, "--topic", topic, *flags, stdin=stdin
    )


def read(bootstrap: str, topic: str, count: int) -> list[Read]:
    """Records as librdkafka reads them: partition, key, value, headers."""
    with Client(bootstrap) as client:
        partitions = find_topics(client, [topic])[topic].partition_count
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "reader", "enable.auto.commit": False}
    )
    try:
        consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
        found: list[Read] = []
        while len(found) < count:
            records = consumer.consume(count - len(found), TIMEOUT_S)
            assert records, f"only {len(found)} of {count} records"
            found += [
                (each.partition(), each.key(), each.value(), each.headers()) for each in records
            ]
        return found
    finally:
        consumer.close()


def has_unread_request(port: int) -> bool:
    """Whether something was sent to a broker that it has not read."""
    established = "01"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return any(
        row[1].endswith(f":{port:04X}")
        and row[3] == established
        and not row[4].endswith(":00000000")
        for row in rows
    )


def test_lines_are_records(bootstrap: str, topic: str) -> None:
    assert produce(bootstrap, topic, stdin="one\r\ntwo\n\nlast") == Done(0, "", "")
    assert [value for _, _, value, _ in read(bootstrap, topic, 4)] == [b"one", b"two", b"", b"last"]


def test_keys_and_headers(bootstrap: str, topic: str) -> None:
    properties = ("parse.key=true", "parse.headers=true", "null.marker=NULL")
    flags = [word for each in properties for word in ("--property", each)]
    lines = "h1:v1,h2:NULL\tk\tv\nNULL\tNULL\tNULL\n"
    assert produce(bootstrap, topic, *flags, stdin=lines) == Done(0, "", "")
    assert read(bootstrap, topic, 2) == [
        (0, b"k", b"v", [("h1", b"v1"), ("h2", None)]),
        (0, None, None, None),
    ]


def test_keys_go_where_kafka_s_go(command: CommandLine, bootstrap: str, topic: str) -> None:
    topics = command.of("topics", "--bootstrap-server", bootstrap)
    topics.ok("--create", "--topic", topic, "--partitions", "7")
    keys = ("a", "ab", "abc", "abcd", "kafka")
    lines = "".join(f"{key}\t{key}\n" for key in keys)
    assert produce(bootstrap, topic, "--property", "parse.key=true", stdin=lines).code == 0
    found = {key: partition for partition, key, _, _ in read(bootstrap, topic, len(keys))}
    assert found == {b"a": 5, b"ab": 0, b"abc": 4, b"abcd": 5, b"kafka": 3}


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_codecs(bootstrap: str, topic: str, codec: str) -> None:
    lines = "".join(f"line {number}\n" for number in range(2000))
    assert produce(bootstrap, topic, "--compression-codec", codec, stdin=lines) == Done(0, "", "")
    values = [value for _, _, value, _ in read(bootstrap, topic, 2000)]
    assert values == lines.encode().splitlines()


@pytest.mark.parametrize(
    "flags",
    [
        ("--request-required-acks", "0"),
        ("--request-required-acks", "1", "--sync"),
        ("--compression-codec",),
        ("--producer-property", "linger.ms=0", "--batch-size", "100"),
        ("--timeout", "3", "--max-memory-bytes", "9"),
    ],
)
def test_flags(bootstrap: str, topic: str, flags: tuple[str, ...]) -> None:
    lines = "".join(f"{number}\n" for number in range(50))
    assert produce(bootstrap, topic, *flags, stdin=lines) == Done(0, "", "")
    values = [value for _, _, value, _ in read(bootstrap, topic, 50)]
    assert values == lines.encode().split()


def test_an_older_broker(old_bootstrap: str, topic: str) -> None:
    assert produce(old_bootstrap, topic, stdin="a\nb\n") == Done(0, "", "")
    assert [value for _, _, value, _ in read(old_bootstrap, topic, 2)] == [b"a", b"b"]


def test_a_pause_sends_what_there_is_and_ctrl_c_ends(bootstrap: str, topic: str) -> None:
    arguments = process_of(("produce", "--bootstrap-server", bootstrap, "--topic", topic))
    with subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(b"one\n")
        process.stdin.flush()
        with Client(bootstrap) as client:
            while topic not in find_topics(client):
                assert process.poll() is None
        assert read(bootstrap, topic, 1) == [(0, None, b"one", None)]
        process.send_signal(signal.SIGINT)
        # where Ctrl-C comes in an exec(), Python ends by the signal itself: 130 for a shell, too
        assert process.wait(TIMEOUT_S) in (130, -signal.SIGINT)
        assert process.stderr.read() == b""


@pytest.mark.slow
def test_ctrl_c_tells_what_a_broker_without_an_answer_was_given(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", arguments=("--topic", "t")) as broker:
        arguments = ("produce", "--bootstrap-server", broker.bootstrap, "--topic", "t")
        with subprocess.Popen(
            process_of(arguments), stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
        ) as process:
            assert process.stdin is not None
            assert process.stderr is not None
            process.stdin.write(b"one\n")
            process.stdin.flush()
            assert read(broker.bootstrap, "t", 1) == [(0, None, b"one", None)]
            os.kill(broker.pid, signal.SIGSTOP)
            process.stdin.write(b"two\nthree\n")
            process.stdin.flush()
            while not has_unread_request(broker.port):
                assert process.poll() is None
            process.send_signal(signal.SIGINT)
            assert process.wait(TIMEOUT_S) in (130, -signal.SIGINT)
            text = b"broker-lite: records that may or may not be delivered: 2\n"
            assert process.stderr.read() == text
            os.kill(broker.pid, signal.SIGCONT)


def test_lines_before_a_bad_one_are_sent(bootstrap: str, topic: str) -> None:
    done = produce(bootstrap, topic, "--property", "parse.key=true", stdin="k\tv\nabc\nl\tw\n")
    assert done == Done(2, "", "broker-lite: No key separator found on line number 2: 'abc'\n")
    assert read(bootstrap, topic, 1) == [(0, b"k", b"v", None)]


def test_a_record_that_is_too_large_is_told_and_the_others_are_sent(
    bootstrap: str, topic: str
) -> None:
    lines = f"a\n{'x' * 2_000_000}\nb\n"
    done = produce(bootstrap, topic, stdin=lines)
    assert done.code == 1
    assert done.err == (
        "broker-lite: records not delivered: 1: record: MESSAGE_TOO_LARGE: a record of 2000021"
        " bytes, max.request.size is 1048576\n"
    )
    assert [value for _, _, value, _ in read(bootstrap, topic, 2)] == [b"a", b"b"]


def test_batches_that_the_topic_does_not_take_are_split(
    command: CommandLine, bootstrap: str, topic: str
) -> None:
    topics = command.of("topics", "--bootstrap-server", bootstrap)
    topics.ok("--create", "--topic", topic, "--config", "max.message.bytes=300")
    lines = [f"{number} {'x' * 60}" for number in range(40)] + ["y" * 500, "z"]
    done = produce(bootstrap, topic, stdin="\n".join(lines))
    assert done.code == 1
    assert done.err.startswith(f"broker-lite: records not delivered: 1: partition {topic}-0: MESS")
    assert done.err.count("\n") == 1
    values = [value for _, _, value, _ in read(bootstrap, topic, 41)]
    assert values == [line.encode() for line in lines if line[0] != "y"]


@pytest.mark.parametrize(
    ("flags", "code", "text"),
    [
        ((), 2, "the following arguments are required: --topic"),
        (("--topic", "bad topic!"), 1, "topic bad topic!: INVALID_TOPIC_EXCEPTION"),
        (("--topic", "t", "--compression-codec", "rar"), 2, "compression.type=rar"),
        (("--topic", "t", "--property", "headers.separator=:"), 2, "may not be equal"),
        (("--topic", "t", "--producer-property", "security.protocol=TLS"), 2, "be one of PLAIN"),
        (("--topic", "t", "--nonsense"), 2, "--nonsense"),
    ],
)
def test_bad_input(
    command: CommandLine, bootstrap: str, flags: tuple[str, ...], code: int, text: str
) -> None:
    line = command.of("produce", "--bootstrap-server", bootstrap).fails(*flags)
    assert line.startswith(f"{code}: ")
    assert text in line


def test_no_broker(command: CommandLine) -> None:
    line = command.of("produce", "--topic", "t").fails("--broker-list", "localhost:1")
    assert line == "1: localhost:1: connection refused"
