"""`consume`, with the flags of kafka-console-consumer.sh."""

import re
import signal
import subprocess
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from tests.support.command_line import TIMEOUT_S, CommandLine, environment, process_of

TIMED_OUT = "Error processing message, terminating consumer process: TimeoutException: none for "


@pytest.fixture
def consume(command: CommandLine, bootstrap: str) -> CommandLine:
    """The command with a broker's address."""
    return command.of("consume", "--bootstrap-server", bootstrap)


@pytest.fixture
def three(bootstrap: str, topic: str) -> str:
    """A topic with three records."""
    write(bootstrap, topic, 3)
    return topic


def write(bootstrap: str, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(count):
        headers = {"h": str(number)} if number else None
        producer.produce(topic, f"v{number}", f"k{number}" if number else None, headers=headers)
    assert producer.flush(TIMEOUT_S) == 0


def consuming(bootstrap: str, *arguments: str) -> "subprocess.Popen[bytes]":
    """A process of the command."""
    return subprocess.Popen(
        process_of(("consume", "--bootstrap-server", bootstrap, *arguments)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )


def total(count: int) -> str:
    return f"Processed a total of {count} messages\n"


def test_from_the_beginning(consume: CommandLine, three: str) -> None:
    done = consume("--topic", three, "--from-beginning", "--max-messages", "3")
    assert done == (0, "v0\nv1\nv2\n", total(3))


def test_timeout(consume: CommandLine, three: str) -> None:
    done = consume("--topic", three, "--from-beginning", "--timeout-ms", "300")
    assert done == (0, "v0\nv1\nv2\n", f"{TIMED_OUT}300 ms\n{total(3)}")


def test_every_column(consume: CommandLine, three: str) -> None:
    columns = ("timestamp", "partition", "offset", "headers", "key")
    flags = [word for each in columns for word in ("--property", f"print.{each}=true")]
    done = consume("--topic", three, "--from-beginning", "--max-messages", "2", *flags)
    assert re.fullmatch(
        r"CreateTime:\d{13}\tPartition:0\tOffset:0\tNO_HEADERS\tnull\tv0\n"
        r"CreateTime:\d{13}\tPartition:0\tOffset:1\th:1\tk1\tv1\n",
        done.out,
    )


def test_deserializers(consume: CommandLine, bootstrap: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce(topic, (-7).to_bytes(8, signed=True), "all")
    producer.produce(topic, None, "gone")
    assert producer.flush(TIMEOUT_S) == 0
    package = "org.apache.kafka.common.serialization"
    flags = ("--topic", topic, "--from-beginning", "--max-messages", "2")
    flags += ("--formatter", "org.apache.kafka.tools.consumer.DefaultMessageFormatter")
    flags += ("--property", "print.key=true", "--key-deserializer", f"{package}.StringDeserializer")
    done = consume(*flags, "--property", f"value.deserializer={package}.LongDeserializer")
    assert done == (0, "all\t-7\ngone\tnull\n", total(2))
    done = consume(*flags, "--value-deserializer", f"{package}.IntegerDeserializer")
    text = f"broker-lite: partition {topic}-0 at offset 0: the records cannot be read: "
    reason = "IntegerDeserializer: 8 bytes instead of 4\n"
    assert done == (1, "", total(0) + text + reason)


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (("--offset", "1"), "v1\nv2\n"),
        (("--offset", "Earliest"), "v0\nv1\nv2\n"),
        (("--from-beginning",), "v0\nv1\nv2\n"),
        (("--offset", "latest"), ""),
        ((), ""),
        (("--offset", "99", "--command-property", "auto.offset.reset=earliest"), "v0\nv1\nv2\n"),
    ],
)
def test_one_partition(consume: CommandLine, three: str, flags: tuple[str, ...], text: str) -> None:
    done = consume("--topic", three, "--partition", "0", "--timeout-ms", "300", *flags)
    assert done == (0, text, f"{TIMED_OUT}300 ms\n{total(text.count('v'))}")


def test_an_offset_that_is_not_there_and_no_reset(consume: CommandLine, three: str) -> None:
    where = ("--partition", "0", "--offset", "99")
    done = consume("--topic", three, *where, "--command-property", "auto.offset.reset=none")
    assert done.code == 1
    assert done.err == f"{total(0)}broker-lite: partition {three}-0: OFFSET_OUT_OF_RANGE\n"


def test_a_partition_that_is_not_there(consume: CommandLine, three: str) -> None:
    done = consume("--topic", three, "--partition", "7", "--timeout-ms", "300")
    assert done == (0, "", f"{TIMED_OUT}300 ms\n{total(0)}")


def test_topics_that_match(consume: CommandLine, bootstrap: str, topic: str) -> None:
    for suffix in ("-a", "-b", "-cc"):
        write(bootstrap, topic + suffix, 1)
    done = consume("--include", f"{topic}-.", "--from-beginning", "--max-messages", "2")
    assert done == (0, "v0\nv0\n", total(2))


def test_a_topic_is_made(consume: CommandLine, command: CommandLine, topic: str) -> None:
    quiet = ("--timeout-ms", "300")
    never = ("--command-property", "allow.auto.create.topics=false")
    assert consume("--topic", topic, *quiet, *never).code == 0
    topics = command.of("topics", *consume.beginning[1:])
    assert topic not in topics.ok("--list").splitlines()
    assert consume("--topic", topic, *quiet).code == 0
    assert topic in topics.ok("--list").splitlines()


@pytest.mark.parametrize("protocol", [(), ("--command-property", "group.protocol=classic")])
def test_a_group_goes_on_where_it_was(
    consume: CommandLine, command: CommandLine, three: str, protocol: tuple[str, ...]
) -> None:
    flags = ("--topic", three, "--group", three, "--from-beginning", *protocol)
    assert consume(*flags, "--max-messages", "2") == (0, "v0\nv1\n", total(2))
    assert consume(*flags, "--timeout-ms", "500").out == "v2\n"
    groups = command.of("groups", *consume.beginning[1:])
    kind = "Classic" if protocol else "Consumer"
    assert re.search(
        rf"^{three} +{kind} +Empty +$", groups.ok("--list", "--state", "--type"), re.MULTILINE
    )
    rows = groups("--describe", "--group", three).out.splitlines()
    assert rows[2].split() == [three, three, "0", "3", "3", "0", "-", "-", "-"]


def test_a_group_that_does_not_commit(consume: CommandLine, three: str) -> None:
    flags = ("--topic", three, "--group", three, "--from-beginning", "--max-messages", "1")
    never = ("--consumer-property", "enable.auto.commit=false")
    for _ in range(2):
        assert consume(*flags, *never) == (0, "v0\n", total(1))


def test_an_older_broker(command: CommandLine, old_bootstrap: str, topic: str) -> None:
    write(old_bootstrap, topic, 3)
    consume = command.of("consume", "--bootstrap-server", old_bootstrap, "--topic", topic)
    assert consume("--from-beginning", "--max-messages", "3").out == "v0\nv1\nv2\n"
    grouped = ("--group", topic, "--from-beginning", "--max-messages", "2")
    assert [consume(*grouped).out, consume(*grouped, "--timeout-ms", "500").out] == [
        "v0\nv1\n",
        "v2\n",
    ]


def test_committed_transactions_only(consume: CommandLine, bootstrap: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": topic})
    producer.init_transactions(TIMEOUT_S)
    for value, commits in (("aborted", False), ("committed", True)):
        producer.begin_transaction()
        producer.produce(topic, value)
        assert producer.flush(TIMEOUT_S) == 0
        (producer.commit_transaction if commits else producer.abort_transaction)(TIMEOUT_S)
    flags = ("--topic", topic, "--from-beginning", "--timeout-ms", "300")
    assert consume(*flags).out == "aborted\ncommitted\n"
    assert consume(*flags, "--isolation-level", "read_committed").out == "committed\n"


@pytest.fixture
def running(bootstrap: str, three: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that waits for more than the three records, in a group."""
    arguments = ("--topic", three, "--from-beginning", "--group", three)
    with consuming(bootstrap, *arguments) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(3)] == [b"v0\n", b"v1\n", b"v2\n"]
        yield process


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_it_with_the_total(
    running: "subprocess.Popen[bytes]",
    command: CommandLine,
    bootstrap: str,
    three: str,
    number: int,
    code: int,
) -> None:
    running.send_signal(number)
    assert running.stderr is not None
    # where Ctrl-C comes in an exec(), Python ends by the signal itself: 130 for a shell, too
    assert running.wait(TIMEOUT_S) in (code, -signal.SIGINT)
    assert running.stderr.read() == total(3).encode()
    described = command("groups", "--bootstrap-server", bootstrap, "--describe", "--group", three)
    assert described.out.splitlines()[2].split()[3] == "3"
    assert described.err == f"\nConsumer group '{three}' has no active members.\n"


@pytest.mark.slow
def test_a_signal_ends_it_when_nobody_reads(bootstrap: str, topic: str) -> None:
    write(bootstrap, topic, 20_000)
    arguments = ("--topic", topic, "--from-beginning")
    with consuming(bootstrap, *arguments) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"v0\n"
        process.terminate()
        assert process.wait(TIMEOUT_S) == 143
        assert re.fullmatch(rb"Processed a total of \d+ messages\n", process.stderr.read())


def test_who_reads_has_enough(bootstrap: str, topic: str) -> None:
    write(bootstrap, topic, 20_000)
    arguments = ("--topic", topic, "--from-beginning", "--max-messages", "20000")
    with consuming(bootstrap, *arguments) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"v0\n"
        process.stdout.close()
        assert process.wait(TIMEOUT_S) == 0
        assert re.fullmatch(rb"Processed a total of \d+ messages\n", process.stderr.read())


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        ((), "Exactly one of the following arguments is required: --topic, --include"),
        (("--topic", "t", "--include", "t"), "Exactly one of the following arguments"),
        (
            ("--topic", "t", "--formatter", "kafka.GroupMetadataManager$OffsetsMessageFormatter"),
            "--formatter kafka.GroupMetadataManager$OffsetsMessageFormatter: must be one of"
            " DefaultMessageFormatter, GroupMetadataMessageFormatter, NoOpMessageFormatter,"
            " OffsetsMessageFormatter, TransactionLogMessageFormatter of"
            " org.apache.kafka.tools.consumer",
        ),
        (
            ("--topic", "t", "--key-deserializer", "a.AvroDeserializer"),
            "key.deserializer=a.AvroDeserializer: not supported; use one of StringDeserializer,",
        ),
        (("--topic", "t", "--offset", "3"), "The partition is required when offset is specified."),
        (("--include", "t", "--partition", "3"), "The topic is required when partition is"),
        (("--topic", "t", "--partition", "0", "--offset", "abc"), "'abc' is incorrect"),
        (("--topic", "t", "--partition", "0", "--offset", "-1"), "'-1' is incorrect"),
        (
            ("--topic", "t", "--partition", "0", "--offset", "1", "--from-beginning"),
            "cannot be specified together",
        ),
        (("--topic", "t", "--partition", "0", "--group", "g"), "Options group and partition"),
        (("--topic", "t", "--group", "a", "--consumer-property", "group.id=b"), "do not match"),
        (
            ("--topic", "t", "--from-beginning", "--command-property", "auto.offset.reset=latest"),
            "Can't simultaneously specify --from-beginning",
        ),
        (("--include", "("), "--include (: missing )"),
        (("--topic", "t", "--isolation-level", "x"), "isolation.level=x"),
        (("--topic", "t", "--nonsense"), "--nonsense"),
    ],
)
def test_bad_input(consume: CommandLine, flags: tuple[str, ...], text: str) -> None:
    line = consume.fails(*flags)
    assert line.startswith("2: ")
    assert text in line


def test_a_name_that_no_topic_has(consume: CommandLine) -> None:
    done = consume("--topic", "bad topic!")
    assert (done.code, done.out) == (1, "")
    assert done.err == f"{total(0)}broker-lite: topic bad topic!: INVALID_TOPIC_EXCEPTION\n"


def test_no_broker(command: CommandLine) -> None:
    done = command("consume", "--bootstrap-server", "localhost:1", "--topic", "t")
    assert done == (1, "", f"{total(0)}broker-lite: localhost:1: connection refused\n")
