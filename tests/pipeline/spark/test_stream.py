import json
import pickle
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, ReadMinRows
from pyspark.sql.streaming.query import StreamingQuery

from broker_lite.pipeline.read.option_values import OptionError
from broker_lite.pipeline.read.ranges import DataLossError
from broker_lite.pipeline.spark.source import KafkaSegmentsSource
from broker_lite.pipeline.spark.stream import SegmentsStreamReader
from tests.pipeline.stream_support import delete_segments_below, stream_options
from tests.pipeline.support import NewRecord, Partition, numbered

TIMEOUT_S = 60
EARLIEST = {"startingOffsets": "earliest"}


class Clock:
    """Seconds that go on when they are told to."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Partitions with 100 and 50 records."""
    root = tmp_path / "logs"
    append(root, 0, 100)
    append(root, 1, 50)
    return root


def append(root: Path, number: int, count: int, topic: str = "topic") -> None:
    with Partition(root, topic, number, segment_bytes=1000) as partition:
        for _ in range(count // 10):
            partition.append(numbered(10))


def offsets(*given: int) -> dict[str, dict[str, int]]:
    return {"topic": {str(number): offset for number, offset in enumerate(given)}}


def reader(root: Path, clock: Clock | None = None, **options: str) -> SegmentsStreamReader:
    return SegmentsStreamReader(stream_options(root, **options), clock or Clock())


def read_offsets(reader: SegmentsStreamReader, start: dict, end: dict) -> list[tuple[int, int]]:
    return sorted(
        (row["partition"], row["offset"])
        for partition in reader.partitions(start, end)
        for arrow_batch in pickle.loads(pickle.dumps(reader)).read(partition)
        for row in arrow_batch.to_pylist()
    )


# Without Spark.


def test_the_source_gives_a_reader_with_the_options_of_a_stream(root: Path) -> None:
    source = KafkaSegmentsSource({"path": str(root), "maxOffsetsPerTrigger": "7"})
    made = source.streamReader(source.schema())
    assert isinstance(made, SegmentsStreamReader)
    assert made.initialOffset() == offsets(100, 50)  # a stream begins at the latest
    assert made.getDefaultReadLimit() == ReadMaxRows(7)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"endingOffsets": "latest"}, "a stream has no end"),
        ({"view": "batches"}, "a stream has records only"),
        ({"maxOffsetsPerTrigger": "1", "minOffsetsPerTrigger": "2"}, "above maxOffsetsPerTrigger"),
    ],
)
def test_options_that_no_stream_has(root: Path, options: dict[str, str], text: str) -> None:
    source = KafkaSegmentsSource({"path": str(root), **options})
    with pytest.raises(OptionError, match=text):
        source.streamReader(source.schema())


def test_a_trigger_reads_what_is_between_its_offsets(root: Path) -> None:
    following = reader(root, **EARLIEST, maxSplitBytes="1000")
    start = following.initialOffset()
    assert start == offsets(0, 0)
    end = following.latestOffset(start, ReadAllAvailable())
    assert end == offsets(100, 50)
    assert following.reportLatestOffset() == end
    assert len(following.partitions(start, end)) > 2
    expected = [(0, offset) for offset in range(100)] + [(1, offset) for offset in range(50)]
    assert read_offsets(following, start, end) == expected
    assert read_offsets(following, offsets(95, 50), offsets(97, 50)) == [(0, 95), (0, 96)]
    following.commit(end)
    assert following.partitions(end, end) == []
    assert following.latestOffset(end, ReadAllAvailable()) == end
    append(root, 1, 10)
    append(root, 2, 10)
    assert following.latestOffset(end, ReadAllAvailable()) == offsets(100, 60, 10)
    assert len(read_offsets(following, end, offsets(100, 60, 10))) == 20


@pytest.mark.parametrize(
    ("options", "limit"),
    [
        ({}, ReadAllAvailable()),
        ({"maxOffsetsPerTrigger": "30"}, ReadMaxRows(30)),
        ({"minOffsetsPerTrigger": "20"}, ReadMinRows(20)),
        ({"minOffsetsPerTrigger": "20", "maxOffsetsPerTrigger": "30"}, ReadMaxRows(30)),
    ],
)
def test_the_limit_that_spark_is_told(
    root: Path, options: dict[str, str], limit: ReadLimit
) -> None:
    assert reader(root, **options).getDefaultReadLimit() == limit


def test_the_most_of_a_trigger(root: Path) -> None:
    following = reader(root, maxOffsetsPerTrigger="30")
    limit = following.getDefaultReadLimit()
    assert following.latestOffset(offsets(0, 0), limit) == offsets(20, 10)
    assert following.reportLatestOffset() == offsets(100, 50)
    assert following.latestOffset(offsets(0, 0), ReadAllAvailable()) == offsets(100, 50)


def test_the_least_of_a_trigger_and_how_long_it_is_waited_for(root: Path) -> None:
    clock = Clock()
    least = {"minOffsetsPerTrigger": "40", "maxTriggerDelay": "10s"}
    following = reader(root, clock, **least, maxOffsetsPerTrigger="60")
    limit = following.getDefaultReadLimit()
    assert following.latestOffset(offsets(90, 50), limit) == offsets(100, 50)  # the first one
    append(root, 0, 30)
    clock.now_s += 9.9
    assert following.latestOffset(offsets(100, 50), limit) == offsets(100, 50)
    clock.now_s += 0.1
    assert following.latestOffset(offsets(100, 50), limit) == offsets(130, 50)
    append(root, 0, 80)
    assert following.latestOffset(offsets(130, 50), limit) == offsets(190, 50)
    assert following.latestOffset(offsets(190, 50), limit) == offsets(190, 50)


def test_what_is_available_now_is_read_and_no_more(root: Path) -> None:
    following = reader(root, minOffsetsPerTrigger="40", maxOffsetsPerTrigger="60")
    limit = following.getDefaultReadLimit()
    following.prepareForTriggerAvailableNow()
    append(root, 0, 100)
    append(root, 2, 100)
    assert following.latestOffset(offsets(0, 0), limit) == offsets(40, 20)
    assert following.latestOffset(offsets(90, 50), limit) == offsets(100, 50)  # less than 40
    assert following.latestOffset(offsets(100, 50), limit) == offsets(100, 50)


def test_open_transactions_end_what_is_read_of_committed_records(root: Path) -> None:
    with Partition(root, partition=0) as partition:
        partition.append(numbered(5), producer_id=7, is_transactional=True)
        following = reader(root, isolationLevel="read_committed")
        limit = ReadAllAvailable()
        assert following.latestOffset(offsets(90, 50), limit) == offsets(100, 50)
        partition.end_transaction(7, commit=False)
        assert following.latestOffset(offsets(90, 50), limit) == offsets(106, 50)
    assert read_offsets(following, offsets(98, 50), offsets(106, 50)) == [(0, 98), (0, 99)]


def test_what_is_lost_is_told(root: Path) -> None:
    following = reader(root)
    with pytest.raises(DataLossError, match="topic-1: the stream came to offset 70"):
        following.latestOffset(offsets(0, 70), ReadAllAvailable())
    delete_segments_below(root / "topic-0", 100)
    with pytest.raises(DataLossError, match="failOnDataLoss=false continues with what is there"):
        read_offsets(following, offsets(0, 0), offsets(100, 50))
    tolerant = reader(root, failOnDataLoss="false")
    found = read_offsets(tolerant, offsets(0, 0), offsets(100, 50))
    assert {number for number, _ in found} == {0, 1}
    assert 50 < len(found) < 100


# Through Spark.


class Queries:
    """Starts queries, with a folder for their checkpoint, that write into a folder."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark, self._folder = spark, folder
        self.running: list[StreamingQuery] = []

    def start(self, path: Path | str, *, now: bool = True, **options: str) -> StreamingQuery:
        """Start the query that was started before, once more or for the first time."""
        rows = self._spark.readStream.format("kafka_segments").options(**EARLIEST | options)
        writer = rows.load(str(path)).writeStream.format("parquet")
        writer = writer.option("checkpointLocation", str(self._folder / "checkpoint"))
        if now:
            writer = writer.trigger(availableNow=True)
        query = writer.start(str(self._folder / "rows"))
        self.running.append(query)
        return query

    def run(self, path: Path | str, **options: str) -> StreamingQuery:
        """Let a query read what is available now."""
        query = self.start(path, **options)
        assert query.awaitTermination(TIMEOUT_S)
        return query

    def rows(self) -> DataFrame:
        """What all of them wrote."""
        return self._spark.read.parquet(str(self._folder / "rows"))

    def places(self) -> list[tuple[str, int, int]]:
        """Topic, partition and offset of what all of them wrote."""
        return sorted(map(tuple, self.rows().select("topic", "partition", "offset").collect()))


@pytest.fixture
def queries(spark: SparkSession, tmp_path: Path) -> Iterator[Queries]:
    queries = Queries(spark, tmp_path)
    yield queries
    for query in queries.running:
        query.stop()


def wait_until(is_true: Callable[[], bool], query: StreamingQuery) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not is_true():
        assert query.isActive, query.exception()
        assert time.monotonic() < deadline, query.lastProgress
        time.sleep(0.05)


def all_of(counts: dict[tuple[str, int], int]) -> list[tuple[str, int, int]]:
    return [(*key, offset) for key in sorted(counts) for offset in range(counts[key])]


def test_available_now_in_several_triggers_and_again(queries: Queries, root: Path) -> None:
    query = queries.run(root, maxOffsetsPerTrigger="60")
    progress = [one for one in query.recentProgress if one.numInputRows]
    assert [one.numInputRows for one in progress] == [60, 60, 30]
    last = progress[-1].sources[0]
    assert json.loads(last.endOffset) == json.loads(last.latestOffset) == offsets(100, 50)
    append(root, 0, 10)
    append(root, 0, 10, "another")
    queries.run(root)
    counts = {("topic", 0): 110, ("topic", 1): 50, ("another", 0): 10}
    assert queries.places() == all_of(counts)


def test_records_are_followed_while_they_come(queries: Queries, root: Path) -> None:
    query = queries.start(root, now=False, subscribePattern="top.*")
    for count in (110, 120):
        append(root, 0, 10)
        append(root, 0, 10, "not-wanted")

        def is_there(end: str = json.dumps(offsets(count, 50))) -> bool:
            progress = query.lastProgress
            return progress is not None and progress.sources[0].endOffset == end

        wait_until(is_there, query)
    assert queries.places() == all_of({("topic", 0): 120, ("topic", 1): 50})


def test_all_columns_and_some(queries: Queries, tmp_path: Path) -> None:
    with Partition(tmp_path / "logs") as partition:
        partition.append([NewRecord(b"k", b"v", ((b"name", None),)), NewRecord(None, None)])
    queries.run(tmp_path / "logs", includeHeaders="true")
    first, second = queries.rows().orderBy("offset").collect()
    assert (first.key, first.value, first.headers) == (b"k", b"v", [("name", None)])
    assert (second.key, second.value, second.headers) == (None, None, None)


def test_columns_of_a_stream(spark: SparkSession, root: Path) -> None:
    rows = spark.readStream.format("kafka_segments").option("columns", "offset,topic")
    assert rows.load(str(root)).columns == ["offset", "topic"]


def test_lost_offsets_end_a_query_with_a_line_that_says_so(queries: Queries, root: Path) -> None:
    queries.run(root)
    append(root, 0, 100)
    delete_segments_below(root / "topic-0", 150)
    query = queries.start(root)
    with pytest.raises(StreamingQueryException, match="topic-0: offsets 100 to 200 are expected"):
        query.awaitTermination(TIMEOUT_S)
    queries.run(root, failOnDataLoss="false")
    found = queries.places()
    assert len(found) == len(set(found))
    assert set(all_of({("topic", 0): 200})) - set(found) == {
        ("topic", 0, offset) for offset in range(100, int(first_base(root)))
    }


def first_base(root: Path) -> int:
    """Where the log begins that is left."""
    return min(int(path.stem) for path in (root / "topic-0").glob("*.log"))
