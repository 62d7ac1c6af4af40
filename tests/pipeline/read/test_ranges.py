import pytest

from broker_lite.pipeline.files.arrow_files import ArrowFileIO
from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.read.corruption import CorruptLog
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.ranges import (
    DataLossError,
    OffsetRange,
    PlanError,
    bounds_of,
    find_logs,
    resolve,
)
from tests.pipeline.support import T0, Partition, cut, damage, numbered

IO = LocalFileIO()
A0, A1, B0 = ("a", 0), ("a", 1), ("b", 0)
ALL = {A0: OffsetRange(0, 10), A1: OffsetRange(0, 0), B0: OffsetRange(0, 30)}


@pytest.fixture(scope="module")
def logs_root(tmp_path_factory):
    """Topic a with 10 records and none, topic b with 30; timestamps are T0 + offset."""
    root = tmp_path_factory.mktemp("logs")
    for topic, partition, count in (("a", 0, 10), ("a", 1, 0), ("b", 0, 30)):
        with Partition(root, topic, partition) as log:
            for first in range(0, count, 5):
                log.append(numbered(5, first=first))
    return root


def resolved(root, **options: str) -> dict[tuple[str, int], OffsetRange]:
    parsed = ReadOptions.parse({"path": str(root), **options})
    return resolve(IO, find_logs(IO, str(root), parsed), parsed)


def error_of(root, **options: str) -> str:
    with pytest.raises(PlanError) as caught:
        resolved(root, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ALL),
        ({"subscribe": "a"}, {A0: ALL[A0], A1: ALL[A1]}),
        ({"subscribePattern": "[b-z]"}, {B0: ALL[B0]}),
        ({"subscribePattern": "z"}, {}),
        ({"assign": '{"a": [0], "b": [0]}'}, {A0: ALL[A0], B0: ALL[B0]}),
        (
            {
                "subscribe": "a",
                "startingOffsets": '{"a": {"0": 3, "1": -2}}',
                "endingOffsets": '{"a": {"0": 7, "1": -1}}',
            },
            {A0: OffsetRange(3, 7), A1: OffsetRange(0, 0)},
        ),
        (
            {"assign": '{"a": [0], "b": [0]}', "startingTimestamp": str(T0 + 7)},
            {A0: OffsetRange(7, 10), B0: OffsetRange(7, 30)},
        ),
        (
            {"startingTimestamp": str(T0 + 10), "startingOffsetsByTimestampStrategy": "latest"},
            {A0: OffsetRange(10, 10), A1: OffsetRange(0, 0), B0: OffsetRange(10, 30)},
        ),
        (
            {"endingTimestamp": str(T0 + 15)},
            {A0: OffsetRange(0, 10), A1: OffsetRange(0, 0), B0: OffsetRange(0, 15)},
        ),
        (
            {
                "subscribe": "b",
                "startingOffsetsByTimestamp": f'{{"b": {{"0": {T0 + 4}}}}}',
                "endingOffsetsByTimestamp": f'{{"b": {{"0": {T0 + 9}}}}}',
            },
            {B0: OffsetRange(4, 9)},
        ),
    ],
)
def test_limits_become_offsets(logs_root, options, expected):
    assert resolved(logs_root, **options) == expected


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"subscribe": "a,c,d"}, "{root}: there is no c, d"),
        ({"assign": '{"a": [0, 2]}'}, "{root}: there is no a-2"),
        (
            {"startingOffsets": '{"a": {"0": 0}}'},
            "a-1 is read, but has no limit: offsets and timestamps are for all partitions",
        ),
        (
            {"subscribe": "b", "endingOffsetsByTimestamp": '{"b": {"0": 0, "1": 0}}'},
            "b-1 has a limit, but is not read: offsets and timestamps are for all partitions",
        ),
        (
            {"subscribe": "b", "startingTimestamp": str(T0 + 30)},
            f"b-0: no readable record is as young as {T0 + 30};"
            " startingOffsetsByTimestampStrategy=latest begins at the end then",
        ),
        (
            {"subscribe": "b", "startingTimestamp": str(T0 + 9), "endingTimestamp": str(T0 + 4)},
            "b-0: begins at 9, behind its end 4",
        ),
        (
            {"subscribe": "b", "endingOffsets": '{"b": {"0": 31}}'},
            "b-0: offsets 0 to 31 were asked for, the log has 0 to 30;"
            " failOnDataLoss=false reads what is there",
        ),
    ],
)
def test_what_cannot_be_read(logs_root, options, text):
    assert error_of(logs_root, **options) == text.format(root=logs_root)


@pytest.mark.parametrize(
    ("start", "end", "found"),
    [
        (2, 20, OffsetRange(12, 20)),
        (2, 40, OffsetRange(12, 30)),
        (2, 5, OffsetRange(12, 12)),
        (35, 40, OffsetRange(30, 30)),
    ],
)
def test_data_loss_is_an_error_or_a_warning(tmp_path, caplog, start, end, found):
    with Partition(tmp_path, "b") as log:
        log.append(numbered(30))
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\nb 0 12\n")
    options = {
        "startingOffsets": f'{{"b": {{"0": {start}}}}}',
        "endingOffsets": f'{{"b": {{"0": {end}}}}}',
    }
    with pytest.raises(DataLossError, match=rf"b-0: offsets {start} to {end} were asked for"):
        resolved(tmp_path, **options)
    assert resolved(tmp_path, **options, failOnDataLoss="false") == {B0: found}
    assert "data may be lost: b-0" in caplog.text


def test_nothing_is_lost_where_nothing_was_asked_for(tmp_path):
    with Partition(tmp_path, "b") as log:
        log.append(numbered(30))
    offsets = '{"b": {"0": 40}}'
    found = resolved(tmp_path, startingOffsets=offsets, endingOffsets=offsets)
    assert found[B0].first_offset == found[B0].end_offset


def test_a_partition_directory_is_read_whatever_its_topic(tmp_path):
    with Partition(tmp_path, "__consumer_offsets", 3) as log:
        log.append(numbered(4))
    root = tmp_path / "__consumer_offsets-3"
    assert resolved(root) == {("__consumer_offsets", 3): OffsetRange(0, 4)}
    assert resolved(tmp_path) == {}
    assert resolved(tmp_path, subscribe="__consumer_offsets") == resolved(root)


def test_s22_a_log_of_committed_records_ends_where_a_transaction_is_open(tmp_path):
    with Partition(tmp_path, "b") as log:
        log.append(numbered(5))
        log.append(numbered(3), producer_id=7, is_transactional=True)
        log.append(numbered(2))
    assert resolved(tmp_path) == {B0: OffsetRange(0, 10)}
    assert resolved(tmp_path, isolationLevel="read_committed") == {B0: OffsetRange(0, 5)}


def test_f72_a_time_within_an_open_transaction_has_no_match(tmp_path):
    """As ListOffsets with read_committed, which the connector asks."""
    with Partition(tmp_path, "b") as log:
        log.append(numbered(5))
        log.append(numbered(3, first=5), producer_id=7, is_transactional=True)
    read_committed = {"isolationLevel": "read_committed"}
    times = [T0 + 4, T0 + 6]
    ends = [{"endingTimestamp": str(time)} for time in times]
    assert [resolved(tmp_path, **end)[B0].end_offset for end in ends] == [4, 6]
    found = [resolved(tmp_path, **read_committed, **end)[B0].end_offset for end in ends]
    assert found == [4, 5]
    starts = {"startingTimestamp": str(times[1]), "startingOffsetsByTimestampStrategy": "latest"}
    assert resolved(tmp_path, **read_committed, **starts)[B0] == OffsetRange(5, 5)
    assert f"no readable record is as young as {times[1]}" in error_of(
        tmp_path, **read_committed, startingTimestamp=str(times[1])
    )


def test_elsewhere_reads_wait_at_once_and_come_in_order(logs_root):
    from pyarrow import fs

    remote = ArrowFileIO(fs.LocalFileSystem())
    options = ReadOptions.parse({"path": str(logs_root)})
    assert bounds_of(remote, find_logs(remote, str(logs_root), options)) == ALL


@pytest.mark.parametrize("kind", ["cut between batches", "cut in a batch", "a length"])
def test_s_70_an_end_below_what_was_on_disk_is_damage(tmp_path, caplog, kind):
    with Partition(tmp_path, "a", 0) as log:
        log.append(numbered(2))
        log.append(numbered(2))
    log.crash()
    (path,) = log.directory.glob("*.log")
    half = path.stat().st_size // 2
    if kind == "a length":
        damage(path, half + 8)
    else:
        cut(path, half + (0 if kind == "cut between batches" else 9))
    end = 3 if kind == "a length" else 2
    assert resolved(tmp_path) == {A0: OffsetRange(0, end)}
    (tmp_path / "recovery-point-offset-checkpoint").write_text("0\n1\na 0 4\n")
    with pytest.raises(CorruptLog, match=f"S-70: the log ends at offset {end}, .* up to 4"):
        resolved(tmp_path)
    assert resolved(tmp_path, view="index") == {A0: OffsetRange(0, end)}
    assert "corrupt" not in caplog.text
    assert resolved(tmp_path, onCorrupt="skip") == {A0: OffsetRange(0, end)}
    assert f"corrupt bytes left out file={path} position=" in caplog.text
    assert "rule=S-70" in caplog.text
