"""S-42: a segment whose offsets pass 31 bits above its base becomes as many as it takes."""

import os
import shutil
from pathlib import Path

import pytest

from broker_lite.errors import KafkaStorageError
from broker_lite.log.files.batch_reader import SegmentOverflow
from broker_lite.log.log import Log
from broker_lite.log.read import read_log
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.control import EndTransactionMarker, end_transaction_batch
from broker_lite.record.legacy.message_builder import LegacySetBuilder
from tests.crash.calls import Call, watch
from tests.log.logs import T0, content, open_log, segment_bases
from tests.support.disk import Disk

FAR = 1 << 31
READ_MAX = 1 << 20
COMMITTED = 1
MODIFIED_NS = 1_600_000_000_000_000_000


def batch_at(offset: int, count: int = 1) -> bytes:
    builder = BatchBuilder(base_offset=offset, leader_epoch=3)
    for number in range(count):
        builder.append(timestamp=T0 + offset % 1000 + number, key=b"k", value=b"v")
    return builder.build()


def of_producer(offset: int, sequence: int) -> bytes:
    builder = BatchBuilder(
        base_offset=offset,
        producer_id=7,
        producer_epoch=0,
        base_sequence=sequence,
        is_transactional=True,
    )
    builder.append(timestamp=T0, key=b"k", value=b"v")
    return builder.build()


def abort_at(offset: int) -> bytes:
    marker = EndTransactionMarker(is_commit=False, coordinator_epoch=1)
    return bytes(end_transaction_batch(7, 0, marker, timestamp=T0, base_offset=offset))


def wrapper(*offsets: int) -> bytes:
    builder = LegacySetBuilder(1, codec=1)
    for offset in offsets:
        builder.append(offset, T0, b"k", b"v")
    return builder.build()


def write_segment(directory: Path, *batches: bytes, base: int = 0) -> Path:
    path = directory / f"{base:020}.log"
    path.write_bytes(b"".join(batches))
    os.utime(path, ns=(MODIFIED_NS, MODIFIED_NS))
    return path


def everything(log: Log) -> bytes:
    """Read from the log start on, as a client does."""
    found = b""
    for segment in log.segments.all:
        if segment.size_bytes:
            start = max(segment.base_offset, log.log_start_offset)
            found += content(read_log(log, start, max_bytes=READ_MAX))
    return found


class Copying:
    """Keeps what a crash would leave of a directory before each call that changes something."""

    def __init__(self, directory: Path, copies: Path) -> None:
        self.directory = directory
        self.copies = copies
        self.count = 0

    def before(self, _call: Call) -> int | None:
        shutil.copytree(self.directory, self.copies / str(self.count))
        self.count += 1
        return None

    def after(self, _call: Call, _count: int) -> None:
        """Nothing to do."""


# The ranges of a segment with base 0, each as far as its base allows.
RANGES = (
    (batch_at(0), batch_at(5), batch_at(FAR - 1)),
    (batch_at(FAR), batch_at(2 * FAR - 3, 3)),
    (batch_at(2 * FAR),),
    (batch_at(3 * FAR + 7, 2), batch_at(4 * FAR)),
)
BASES = [0, FAR, 2 * FAR, 3 * FAR + 7]
BATCHES = [data for each in RANGES for data in each]


@pytest.mark.parametrize("clean", [True, False])
def test_s42_a_segment_is_split_where_its_offsets_do_not_fit(tmp_path: Path, clean: bool) -> None:
    """The indexes are there after a clean stop, and may not know of the batches at the end."""
    write_segment(tmp_path, *BATCHES)
    for suffix in ("index", "timeindex"):
        (tmp_path / f"{0:020}.{suffix}").touch()
    log = open_log(tmp_path, clean=clean)
    assert segment_bases(tmp_path) == BASES
    for base, batches in zip(BASES, RANGES, strict=True):
        path = tmp_path / f"{base:020}.log"
        assert path.read_bytes() == b"".join(batches)
        assert path.stat().st_mtime_ns == MODIFIED_NS
    assert everything(log) == b"".join(BATCHES)
    assert (log.log_start_offset, log.log_end_offset) == (0, 4 * FAR + 1)
    assert {path.suffix for path in tmp_path.iterdir()} <= {
        *(".log", ".index", ".timeindex", ".snapshot", ".metadata"),
        "",
    }


def test_s42_one_that_is_not_the_last(tmp_path: Path) -> None:
    """What is served has no such segment, whatever its place: it could not be compacted."""
    write_segment(tmp_path, batch_at(0), batch_at(FAR))
    write_segment(tmp_path, batch_at(3 * FAR), base=3 * FAR)
    write_segment(tmp_path, batch_at(5 * FAR), base=5 * FAR)
    for base in (0, 3 * FAR, 5 * FAR):
        (tmp_path / f"{base:020}.index").touch()
    log = open_log(tmp_path)
    assert segment_bases(tmp_path) == [0, FAR, 3 * FAR, 5 * FAR]
    assert everything(log) == b"".join(map(batch_at, (0, FAR, 3 * FAR, 5 * FAR)))


def test_s42_a_first_batch_that_does_not_fit_leaves_an_empty_segment(tmp_path: Path) -> None:
    write_segment(tmp_path, batch_at(FAR), batch_at(FAR + 1))
    log = open_log(tmp_path, clean=False)
    assert segment_bases(tmp_path) == [0, FAR]
    assert (tmp_path / f"{0:020}.log").read_bytes() == b""
    assert content(read_log(log, 0, max_bytes=READ_MAX)) == batch_at(FAR) + batch_at(FAR + 1)


def test_s42_what_cannot_be_read_is_cut_from_the_last_part(tmp_path: Path) -> None:
    write_segment(tmp_path, batch_at(0), batch_at(FAR), b"a torn tail, more than a header of one")
    assert open_log(tmp_path, clean=False).log_end_offset == FAR + 1
    assert (tmp_path / f"{FAR:020}.log").read_bytes() == batch_at(FAR)


def test_s42_a_damaged_offset_is_no_reason_to_split(tmp_path: Path) -> None:
    """S-44: what follows is below it."""
    write_segment(tmp_path, batch_at(0), batch_at(FAR + 1), batch_at(2))
    assert open_log(tmp_path, clean=False).log_end_offset == 1
    assert segment_bases(tmp_path) == [0]


def test_s42_nor_is_one_that_belongs_to_the_next_segment(tmp_path: Path) -> None:
    write_segment(tmp_path, batch_at(0), batch_at(3 * FAR))
    write_segment(tmp_path, batch_at(3 * FAR), base=3 * FAR)
    assert open_log(tmp_path, clean=False).log_end_offset == 1
    assert segment_bases(tmp_path) == [0]


def test_s16_s42_a_transaction_over_both_parts(tmp_path: Path) -> None:
    """The indexes of the parts are made by recovery, that of aborted transactions too."""
    batches = (of_producer(0, 0), of_producer(FAR, 1), abort_at(FAR + 1), batch_at(FAR + 2))
    write_segment(tmp_path, *batches)
    (tmp_path / f"{0:020}.index").touch()
    log = open_log(tmp_path)
    read = read_log(log, 0, max_bytes=READ_MAX, isolation_level=COMMITTED)
    assert read.aborted_transactions is not None
    assert [(each.producer_id, each.first_offset) for each in read.aborted_transactions] == [(7, 0)]
    assert log.last_stable_offset == FAR + 3
    assert not (tmp_path / f"{0:020}.txnindex").exists()
    assert (tmp_path / f"{FAR:020}.txnindex").stat().st_size > 0


def test_r65_s42_a_wrapper_that_begins_below_its_segment(tmp_path: Path) -> None:
    """Its own offset is that of its last message, and the first is not looked for."""
    old = wrapper(FAR - 2, FAR - 1, FAR, FAR + 1)
    write_segment(tmp_path, wrapper(0, 1), old)
    log = open_log(tmp_path, clean=False)
    assert segment_bases(tmp_path) == [0, 2]
    for offset in (2, FAR - 2, FAR, FAR + 1):
        assert content(read_log(log, offset, max_bytes=READ_MAX)) == old


def test_s41_s42_a_crash_at_any_call_leaves_all_batches(tmp_path: Path) -> None:
    """The directory as it is before each call that changes something is loaded."""
    directory, copies = tmp_path / "log", tmp_path / "copies"
    directory.mkdir()
    write_segment(directory, *BATCHES)
    for suffix in ("index", "timeindex", "txnindex"):
        (directory / f"{0:020}.{suffix}").touch()

    copying = Copying(directory, copies)
    with watch(directory, [copying]):
        open_log(directory, clean=False)
    assert copying.count > 40
    for number in range(copying.count):
        log = open_log(copies / str(number), clean=False)
        assert everything(log) == b"".join(BATCHES)
        assert segment_bases(copies / str(number)) == BASES


def test_s42_a_disk_that_is_full_leaves_the_segment(tmp_path: Path, disk: Disk) -> None:
    """A crash while the parts are removed leaves the segment, too."""
    directory, copies = tmp_path / "log", tmp_path / "copies"
    directory.mkdir()
    path = write_segment(directory, *BATCHES)
    rename = os.rename

    def fail_once(source: str, target: str) -> None:
        if source.endswith(f"{0:020}.log.cleaned"):
            raise OSError(28, "No space left on device")
        rename(source, target)

    disk.answer("rename", fail_once)
    copying = Copying(directory, copies)
    with watch(directory, [copying]), pytest.raises(KafkaStorageError):
        open_log(directory, clean=False)
    assert path.read_bytes() == b"".join(BATCHES)
    assert [name for name in os.listdir(directory) if name.endswith((".cleaned", ".swap"))] == []
    disk.mend()
    for left in (directory, *copies.iterdir()):
        assert everything(open_log(left, clean=False)) == b"".join(BATCHES)


def test_s42_who_reads_without_loading_is_told_where() -> None:
    class Segment:
        path = "t-0/00000000000000000000.log"

    overflow = SegmentOverflow(Segment(), 70, FAR)  # type: ignore[arg-type]
    assert str(overflow) == f"an offset from {FAR} on does not fit {Segment.path}"
