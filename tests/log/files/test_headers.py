import pytest

from broker_lite.log.files.headers import BatchHeader, read_batch, walk_headers
from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.record.batch import RecordBatch
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.legacy.messages import LegacyMessage
from tests.pipeline.support import T0, legacy_message, legacy_wrapper


def batch(base_offset: int, count: int, value_bytes: int = 10) -> bytes:
    builder = BatchBuilder()
    for index in range(count):
        builder.append(T0 + base_offset + index, None, b"v" * value_bytes)
    data = bytearray(builder.build())
    RecordBatch(memoryview(data), 0, len(data)).set_last_offset(base_offset + count - 1)
    return bytes(data)


def walk(tmp_path, data: bytes, position: int = 0, next_offset: int = 0) -> list[BatchHeader]:
    (tmp_path / "log").write_bytes(data)
    with LocalFileIO().open(str(tmp_path / "log")) as file:
        return list(walk_headers(file, position, len(data), next_offset))


def test_r04_batches_are_walked_whatever_their_size(tmp_path):
    parts = [batch(0, 3), batch(3, 2, 70_000), batch(9, 1), batch(10, 1, 64 << 10), batch(11, 5)]
    found = walk(tmp_path, b"".join(parts))
    assert [header.size_bytes for header in found] == [len(part) for part in parts]
    assert [header.base_offset for header in found] == [0, 3, 9, 10, 11]
    assert [header.last_offset for header in found] == [2, 4, 9, 10, 15]
    assert [header.max_timestamp_ms - T0 for header in found] == [2, 4, 9, 10, 15]
    assert found[1].position == found[0].end_position == len(parts[0])
    assert walk(tmp_path, b"".join(parts), found[2].position) == found[2:]


def test_r02_messages_of_old_formats(tmp_path):
    inner = [legacy_message(offset, b"k", b"v") for offset in range(3)]
    data = b"".join(
        (
            legacy_message(4, None, None, magic=0),
            legacy_message(5, b"k", b"v", timestamp_ms=T0 + 5),
            legacy_wrapper(8, inner),
            batch(9, 1),
        )
    )
    found = walk(tmp_path, data)
    assert [(header.magic, header.base_offset, header.last_offset) for header in found] == [
        (0, 4, 4),
        (1, 5, 5),
        (1, 6, 8),
        (2, 9, 9),
    ]
    assert [header.max_timestamp_ms for header in found] == [-1, T0 + 5, T0, T0 + 9]
    assert walk(tmp_path, data, found[2].position, 99)[0].base_offset == 8
    with LocalFileIO().open(str(tmp_path / "log")) as file:
        kinds = [type(read_batch(file, header)) for header in found]
    assert kinds == [LegacyMessage, LegacyMessage, LegacyMessage, RecordBatch]


@pytest.mark.parametrize(
    "tail",
    [
        b"",
        b"\0" * 5_000,
        batch(1, 1)[:-1],
        batch(1, 1)[:16],
        legacy_message(1, None, None, magic=0)[:-1],
        batch(1, 1)[:16] + b"\3" + batch(1, 1)[17:],
        batch(1, 1)[:8] + b"\0\0\0\x30" + batch(1, 1)[12:],
    ],
    ids=["nothing", "zeros", "cut", "cut header", "cut message", "magic 3", "length 48"],
)
def test_r04_s05_a_walk_ends_where_no_whole_batch_begins(tmp_path, tail):
    first = batch(0, 1)
    assert [header.size_bytes for header in walk(tmp_path, first + tail)] == [len(first)]


def test_r06_a_damaged_batch_is_none(tmp_path):
    data = bytearray(batch(0, 1) + batch(1, 1))
    data[len(data) // 2 - 1] ^= 1
    found = walk(tmp_path, bytes(data))
    with LocalFileIO().open(str(tmp_path / "log")) as file:
        assert read_batch(file, found[0]) is None
        assert read_batch(file, found[1]) is not None
        assert read_batch(file, found[1]._replace(size_bytes=found[1].size_bytes + 1)) is None
