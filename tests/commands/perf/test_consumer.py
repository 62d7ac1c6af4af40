"""`kafka consumer-perf-test`, with the flags and the lines of kafka-consumer-perf-test.sh."""

import re

import pytest

from broker_lite.client.consuming.fetcher import FetchedBatch
from broker_lite.commands.perf import consumer
from broker_lite.errors import ClientError
from broker_lite.record.batch import RecordBatch
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.codecs.compression import Codec
from tests.support.command_line import CommandLine

HEADER = (
    "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec,"
    " rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
)
MOMENT = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3}"
RATE = r"-?\d+\.\d{4}"
FIGURES = rf"{RATE}, {RATE}, (\d+), {RATE}, \d+, -?\d+, {RATE}, {RATE}"


@pytest.fixture
def perf(command: CommandLine, bootstrap: str, topic: str) -> CommandLine:
    """The tool with a topic of two partitions, in which there are 1,000 records of 100 bytes."""
    at = ("--bootstrap-server", bootstrap, "--topic", topic)
    command.ok("topics", *at, "--create", "--partitions", "2")
    flags = ("--num-records", "1000", "--record-size", "100", "--throughput", "-1")
    command.ok("kafka", "producer-perf-test", *at, *flags)
    return command.of("kafka", "consumer-perf-test", "--bootstrap-server", bootstrap)


def test_a_topic(perf: CommandLine, topic: str) -> None:
    header, row = perf.ok("--topic", topic, "--num-records", "1000").splitlines()
    assert header == HEADER
    match = re.fullmatch(rf"{MOMENT}, {MOMENT}, {FIGURES}", row)
    assert match is not None, row
    assert match[1] == "1000"
    assert row.split(", ")[2] == "0.0954", "100,000 bytes in MiB"


def test_by_a_pattern_and_with_another_date(perf: CommandLine, topic: str) -> None:
    flags = ("--hide-header", "--date-format", "yyyy", "--fetch-size", "1000")
    row = perf.ok("--include", f"{topic}.*", "--messages", "1000", *flags)
    assert re.fullmatch(rf"\d{{4}}, \d{{4}}, {FIGURES}\n", row)


def test_intervals_and_metrics(perf: CommandLine, topic: str) -> None:
    flags = ("--show-detailed-stats", "--reporting-interval", "0", "--print-metrics")
    header, *rows, _, _, size, records = perf.ok(
        "--topic", topic, "--num-records", "1000", *flags
    ).splitlines()
    assert header == HEADER.replace("start.time, end.time", "time, threadId")
    matches = [re.fullmatch(rf"{MOMENT}, 0, {FIGURES}", row) for row in rows]
    assert [match and match[1] for match in matches][-1] == "1000"
    assert (size.split()[-1], records.split()[-1]) == ("100000.000", "1000.000")


def test_a_group_goes_on_where_it_was(perf: CommandLine, topic: str) -> None:
    flags = ("--topic", topic, "--group", f"group-{topic}", "--hide-header")
    perf.ok(*flags, "--num-records", "1000")
    warning, row = perf.ok(*flags, "--num-records", "5", "--timeout", "10").splitlines()
    assert warning == (
        "WARNING: Exiting before consuming the expected number of records: timeout (10 ms)"
        " exceeded. You can use the --timeout option to increase the timeout."
    )
    assert row.split(", ")[4] == "0"


def test_only_what_comes(perf: CommandLine, topic: str) -> None:
    flags = ("--topic", topic, "--from-latest", "--timeout", "10", "--hide-header")
    assert perf.ok(*flags, "--num-records", "5").splitlines()[1].split(", ")[4] == "0"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--num-records", "1"),
            "Exactly one of the following arguments is required: --topic, --include",
        ),
        (("--topic", "t"), "the following arguments are required: --num-records/--messages"),
        (
            ("--include", "(", "--num-records", "1"),
            "--include (: missing ), unterminated subpattern at position 0",
        ),
    ],
)
def test_wrong_use(
    command: CommandLine, bootstrap: str, arguments: tuple[str, ...], message: str
) -> None:
    at = ("--bootstrap-server", bootstrap, "--hide-header")
    assert command.fails("kafka", "consumer-perf-test", *at, *arguments) == f"2: {message}"


def test_records_that_cannot_be_read() -> None:
    builder = BatchBuilder(codec=Codec.GZIP)
    builder.append(1, None, b"value", ())
    data = memoryview(bytearray(builder.build()))
    batch = RecordBatch(data, 0, len(data))
    assert consumer.measure(FetchedBatch("t", 0, 0, batch)) == (1, 5)
    assert consumer.measure(FetchedBatch("t", 0, 1, batch)) == (0, 0)
    batch.records_data[:] = bytes(len(batch.records_data))
    with pytest.raises(ClientError, match="partition t-0 at offset 0: the records cannot be read"):
        consumer.measure(FetchedBatch("t", 0, 0, batch))
