import pickle

import pytest

from broker_lite.pipeline.read.offset_limits import AtOffsets, AtTimestamp, AtTimestamps, Bound
from broker_lite.pipeline.read.options import (
    Compacted,
    IsolationLevel,
    OnCorrupt,
    OnNoMatch,
    OptionError,
    ReadOptions,
    View,
)
from broker_lite.pipeline.read.selection import ALL_TOPICS, Assigned, TopicPattern, Topics


def parse(is_stream: bool = False, **options: str) -> ReadOptions:
    return ReadOptions.parse({"path": "/logs", **options}, is_stream=is_stream)


def error_of(is_stream: bool = False, **options: str) -> str:
    with pytest.raises(OptionError) as caught:
        parse(is_stream, **options)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_the_defaults_of_a_batch_query():
    options = parse()
    assert options == ReadOptions(
        path="/logs",
        selection=ALL_TOPICS,
        starting=Bound.EARLIEST,
        ending=Bound.LATEST,
        on_no_match=OnNoMatch.ERROR,
        include_headers=False,
        min_partitions=None,
        max_records_per_partition=None,
        fail_on_data_loss=True,
        max_offsets_per_trigger=None,
        min_offsets_per_trigger=None,
        max_trigger_delay_ms=900_000,
        view=View.RECORDS,
        columns=None,
        max_split_bytes=None,
        pushdown=False,
        check_crc=True,
        isolation_level=IsolationLevel.READ_UNCOMMITTED,
        on_corrupt=OnCorrupt.FAIL,
        compacted=Compacted.AUTO,
    )


def test_every_option_has_its_field():
    options = ReadOptions.parse(
        {
            "PATH": " /logs ",
            "Subscribe": "a, b",
            "startingoffsets": "EARLIEST",
            "endingOffsets": '{"a": {"0": 5}}',
            "startingOffsetsByTimestampStrategy": "Latest",
            "includeHeaders": "true",
            "minPartitions": "8",
            "maxRecordsPerPartition": "1000",
            "failOnDataLoss": "false",
            "view": "batches",
            "columns": "offset, crc",
            "maxSplitBytes": "1m",
            "pushdown": "true",
            "checkCrc": "false",
            "isolationLevel": "read_committed",
            "onCorrupt": "report",
        }
    )
    assert options.path == "/logs"
    assert options.selection == Topics(frozenset(("a", "b")))
    assert options.ending == AtOffsets({("a", 0): 5})
    assert options.on_no_match is OnNoMatch.LATEST
    assert options.include_headers
    assert (options.min_partitions, options.max_records_per_partition) == (8, 1000)
    assert not options.fail_on_data_loss
    assert options.view is View.BATCHES
    assert options.columns == ("offset", "crc")
    assert options.max_split_bytes == 1 << 20
    assert options.pushdown
    assert not options.check_crc
    assert options.isolation_level is IsolationLevel.READ_COMMITTED
    assert options.on_corrupt is OnCorrupt.REPORT
    assert pickle.loads(pickle.dumps(options)) == options


def test_a_stream_begins_at_latest_and_has_limits_of_its_own():
    options = parse(
        True, maxOffsetsPerTrigger="100", minOffsetsPerTrigger="10", maxTriggerDelay="30s"
    )
    assert options.starting is Bound.LATEST
    assert options.max_offsets_per_trigger == 100
    assert options.min_offsets_per_trigger == 10
    assert options.max_trigger_delay_ms == 30_000
    assert parse(True, startingOffsets='{"a": {"0": -1}}').starting == AtOffsets({("a", 0): -1})


def test_a_pattern_and_an_assignment():
    pattern = parse(subscribePattern=" a.* ").selection
    assert isinstance(pattern, TopicPattern)
    assert pattern.pattern.pattern == "a.*"
    assert parse(assign='{"a": [1]}').selection == Assigned(frozenset([("a", 1)]))


@pytest.mark.parametrize("side", ["starting", "ending"])
def test_timestamps_go_before_offsets(side):
    offsets, by_timestamp = {f"{side}Offsets": '{"a": {"0": 5}}'}, {}
    by_timestamp[f"{side}OffsetsByTimestamp"] = '{"a": {"0": 1000}}'
    one = {f"{side}Timestamp": "2000"}
    assert getattr(parse(**offsets), side) == AtOffsets({("a", 0): 5})
    assert getattr(parse(**offsets, **by_timestamp), side) == AtTimestamps({("a", 0): 1000})
    assert getattr(parse(**offsets, **by_timestamp, **one), side) == AtTimestamp(2000)


def test_what_only_a_client_uses_is_passed_over():
    options = parse(
        **{
            "kafka.bootstrap.servers": "127.0.0.1:9092",
            "kafkaConsumer.pollTimeoutMs": "1",
            "fetchOffset.numRetries": "3",
            "groupIdPrefix": "x",
            "kafka.isolation.level": "read_committed",
        }
    )
    assert options.isolation_level is IsolationLevel.READ_COMMITTED
    own = parse(**{"kafka.isolation.level": "read_committed", "isolationLevel": "read_uncommitted"})
    assert own.isolation_level is IsolationLevel.READ_UNCOMMITTED


def test_what_only_a_stream_uses_is_told(caplog):
    parse(maxOffsetsPerTrigger="5")
    assert "option without meaning for a batch query name=maxOffsetsPerTrigger" in caplog.text


def test_a_path_is_needed():
    for options in ({}, {"path": " "}, {"path": None}):
        with pytest.raises(OptionError, match=r"^option path: the log directory is needed"):
            ReadOptions.parse(options)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"subscribe": "a", "assign": '{"a": [0]}'},
            "options subscribe, assign: only one of them can be given",
        ),
        (
            {"subscribe": ","},
            "option subscribe=',': at least one name is needed, with commas between several",
        ),
        ({"subscribePattern": ""}, "option subscribePattern='': a regular expression is needed"),
        (
            {"subscribePattern": "("},
            "option subscribePattern='(': no regular expression:"
            " missing ), unterminated subpattern at position 0",
        ),
        (
            {"assign": "a"},
            """option assign='a': expected JSON such as {"topic": [0, 1]}""",
        ),
        (
            {"startingOffsets": "first"},
            "option startingOffsets='first': earliest or latest are allowed, or JSON:"
            ' expected JSON such as {"topic": {"0": 23, "1": -1}},'
            " -2 for earliest, -1 for latest",
        ),
        (
            {"startingOffsets": "latest"},
            "option startingOffsets='latest': a batch query cannot begin at latest",
        ),
        (
            {"startingOffsets": '{"a": {"0": -1}}'},
            """option startingOffsets='{"a": {"0": -1}}': a batch query cannot begin at latest""",
        ),
        (
            {"endingOffsets": "earliest"},
            "option endingOffsets='earliest': a batch query cannot end at earliest",
        ),
        (
            {"endingOffsets": '{"a": {"0": -2}}'},
            """option endingOffsets='{"a": {"0": -2}}': a batch query cannot end at earliest""",
        ),
        (
            {"startingOffsets": '{"a": {"0": 5}}', "endingOffsets": '{"b": {"0": 5}}'},
            "options startingOffsets, endingOffsets: only one of them has a-0",
        ),
        (
            {"startingOffsets": '{"a": {"0": 6}}', "endingOffsets": '{"a": {"0": 5}}'},
            "options startingOffsets, endingOffsets: a-0 would begin at 6, behind its end 5",
        ),
        (
            {
                "startingOffsetsByTimestamp": '{"a": {"0": 6}}',
                "endingOffsetsByTimestamp": '{"a": {"0": 5}}',
            },
            "options startingOffsetsByTimestamp, endingOffsetsByTimestamp:"
            " a-0 would begin at 6, behind its end 5",
        ),
        (
            {"startingTimestamp": "yesterday"},
            "option startingTimestamp='yesterday':"
            " milliseconds since 1970 are allowed, a whole number",
        ),
        ({"minPartitions": "0"}, "option minPartitions='0': a whole number above 0 is allowed"),
        (
            {"onCorrupt": "cry"},
            "option onCorrupt='cry': one of fail, skip, report is allowed",
        ),
        ({"columms": "a"}, "option columms: there is none of this name, only columns"),
    ],
)
def test_errors_of_a_batch_query(options, text):
    assert error_of(**options) == text


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"endingOffsets": "latest"}, "option endingOffsets='latest': a stream has no end"),
        ({"endingTimestamp": "5"}, "option endingTimestamp='5': a stream has no end"),
        (
            {"minOffsetsPerTrigger": "6", "maxOffsetsPerTrigger": "5"},
            "option minOffsetsPerTrigger='6': is above maxOffsetsPerTrigger=5",
        ),
    ],
)
def test_errors_of_a_stream(options, text):
    assert error_of(True, **options) == text


def test_a_range_may_be_open_on_one_side():
    parse(startingOffsets='{"a": {"0": 6}}', endingOffsets='{"a": {"0": -1}}')
    parse(startingOffsets='{"a": {"0": -2}}', endingOffsets='{"a": {"0": 5}}')
    parse(startingOffsets='{"a": {"0": 5}}', endingOffsets='{"a": {"0": 5}}')


@pytest.mark.parametrize(
    ("given", "read_bytes", "split_bytes"),
    [
        ({}, 0, 64 << 20),
        ({}, (64 << 20) * 100_000, 64 << 20),
        ({}, 10**14, 10**9),
        ({"maxSplitBytes": "16m"}, 10**14, 16 << 20),
    ],
    ids=str,
)
def test_a_read_of_many_terabytes_has_larger_splits(given, read_bytes, split_bytes):
    assert parse(**given).split_bytes(read_bytes) == split_bytes
