"""F-16: any range of an endless repetition has the bytes that a file would have."""

import errno
import os
from pathlib import Path

import pytest

from broker_lite.log.canned.run import AnonymousFile, CannedRun, CannedSlice, RunBytes, make_run
from broker_lite.log.files.open_file import FileSlice
from broker_lite.record.canned import CannedShape, canned_batches

SMALL = CannedShape(100, 100, tail_records=3)
SENT = CannedShape(1000, 1000, tail_records=1)
WITHOUT_TAIL = CannedShape(1000, 1000)
EPOCH = 7


def expected(shape: CannedShape, batch: int, batch_end: int, count: int) -> bytes:
    """Some batches as a segment file would have them."""
    batches = [*canned_batches(shape)]
    found = []
    for number in range(batch, batch + count):
        index = shape.batch_count if number == batch_end else number % shape.batch_count
        data = bytearray(batches[index])
        data[:8] = (number * shape.batch_records).to_bytes(8, "big")
        data[12:16] = EPOCH.to_bytes(4, "big")
        found.append(bytes(data))
    return b"".join(found)


def joined(parts: list[bytes | FileSlice]) -> bytes:
    return b"".join(
        part if isinstance(part, bytes) else os.pread(part.fd, part.size_bytes, part.position)
        for part in parts
    )


@pytest.mark.parametrize("shape", [SMALL, SENT], ids=["from memory", "from a file"])
def test_f16_ranges_across_the_seam_and_to_the_tail(shape: CannedShape) -> None:
    run = make_run(shape)
    count = shape.batch_count
    batch_end = 5 * count + 2
    for batch, some in ((0, 1), (count - 1, 3), (3 * count, count + 1), (batch_end - 1, 2)):
        data = expected(shape, batch, batch_end, some)
        parts = CannedSlice(run, batch, batch_end, EPOCH, len(data)).parts()
        assert joined(parts) == data
        assert len(parts) == 2 * some
        assert isinstance(parts[1], RunBytes if shape is SMALL else FileSlice)


@pytest.mark.parametrize("shape", [SMALL, SENT], ids=["from memory", "from a file"])
@pytest.mark.parametrize("kept_bytes", [1, 15, 16, 17, 1000, -1])
def test_f16_a_range_may_end_inside_of_a_batch(shape: CannedShape, kept_bytes: int) -> None:
    run = make_run(shape)
    data = expected(shape, 4, 10**9, 2)
    first_bytes = run.size_of(4, 10**9)
    size_bytes = first_bytes + kept_bytes if kept_bytes > 0 else len(data) - 1
    parts = CannedSlice(run, 4, 10**9, EPOCH, size_bytes).parts()
    assert joined(parts) == data[:size_bytes]


@pytest.mark.parametrize("shape", [SMALL, SENT, WITHOUT_TAIL])
def test_f16_positions_are_sums_of_sizes(shape: CannedShape) -> None:
    run = make_run(shape)
    batch_end = 3 * shape.batch_count + 1
    sizes = [run.size_of(batch, batch_end) for batch in range(batch_end)]
    for batch in range(batch_end + 1):
        assert run.position_of(batch) == sum(sizes[:batch])
    tail_bytes = run.size_of(batch_end, batch_end) if shape.tail_records else 0
    assert run.size_to_end(2, batch_end) == sum(sizes[2:]) + tail_bytes
    assert run.size_to_end(batch_end, batch_end) == tail_bytes


def test_f16_far_out_the_offsets_have_62_bits() -> None:
    run = make_run(WITHOUT_TAIL)
    batch = (1 << 62) // 1000 - 1
    (stamp, _) = CannedSlice(run, batch, batch + 1, 0, run.size_of(batch, batch + 1)).parts()
    assert isinstance(stamp, bytes)
    assert int.from_bytes(stamp[:8], "big") == batch * 1000


def test_the_file_stays_until_the_last_range_of_it_has_gone() -> None:
    run = make_run(WITHOUT_TAIL)
    parts = CannedSlice(run, 0, 10, EPOCH, run.size_of(0, 10)).parts()
    del run
    assert joined(parts) == expected(WITHOUT_TAIL, 0, 10, 1)
    assert isinstance(parts[1], FileSlice)
    fd = parts[1].fd
    parts.clear()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


def test_sizes() -> None:
    batches = [*canned_batches(SMALL)]
    run = CannedRun(SMALL, batches)
    assert run.size_bytes == sum(map(len, batches)) < 9_000_000
    assert run.answer_bytes_max == make_run(SENT).answer_bytes_max == 16 << 20
    tiny = make_run(CannedShape(1, 10))
    assert tiny.answer_bytes_max == 2048 * tiny.size_of(0, 10) < 200_000


def test_without_a_descriptor_there_is_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str, flags: int) -> int:
        raise OSError(errno.EMFILE, "too many open files")

    monkeypatch.setattr(os, "memfd_create", fail)
    with pytest.raises(OSError, match="too many open files"):
        make_run(WITHOUT_TAIL)


def test_the_file_of_large_batches_has_no_name(tmp_path: Path) -> None:
    (_, rest) = CannedSlice(make_run(WITHOUT_TAIL, tmp_path), 0, 10, EPOCH, 1_000_000).parts()
    assert isinstance(rest, FileSlice)
    assert os.fstat(rest.fd).st_dev == os.stat(tmp_path).st_dev
    assert os.fstat(rest.fd).st_nlink == 0
    assert os.listdir(tmp_path) == []


def test_where_a_directory_takes_no_file_it_is_in_memory(tmp_path: Path) -> None:
    file = AnonymousFile(tmp_path / "not there")
    file.write(memoryview(b"data"))
    assert os.pread(file.fd, 10, 0) == b"data"
    assert "canned-run" in os.readlink(f"/proc/self/fd/{file.fd}")


def test_an_anonymous_file_takes_all_data() -> None:
    file = AnonymousFile(None)
    file.write(memoryview(b"one"))
    file.write(memoryview(b"two"))
    assert os.pread(file.fd, 10, 0) == b"onetwo"
