"""A data directory in which one file is damaged, after a clean stop and after a kill.

The broker starts or says in one line why it does not, and a log is read or its error is a
documented one: S-12, S-18, S-43, S-44, S-60, S-70, S-75, S-76. What may be served is in judge().
"""

import contextlib
import random
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from crc32c import crc32c

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.errors import BrokerError, OffsetOutOfRange, SettingsError
from broker_lite.log import timestamps
from broker_lite.log.log import Log
from broker_lite.log.read import read_log
from broker_lite.record.batch import RecordBatch
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.records import keys_and_values
from broker_lite.settings import Given, Settings
from tests.fuzz.edits import damage
from tests.fuzz.log_reference import HEADER
from tests.log.logs import content

TOPIC = "t"
CLEAN_MARK = ".kafka_cleanshutdown"
ROUNDS = 8
COUNT: Final = 30
T0: Final = 1_700_000_000_000
LENGTH_COVERS_FROM: Final = 12
CRC_COVERS_FROM: Final = 21
SETTINGS = Settings(
    {
        "log.index.interval.bytes": Given("0", "test"),
        "log.segment.bytes": Given("1048576", "test"),
    }
)


def open_cluster(folder: Path) -> Cluster:
    return Cluster.open(SETTINGS, folder, Clock.standing_still())


def value_of(offset: int) -> bytes:
    return b"%08d" % offset + bytes(50_000)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with two segments, all indexes and a producer, stopped cleanly."""
    folder = tmp_path_factory.mktemp("template") / "data"
    cluster = open_cluster(folder)
    cluster.create_topic(TOPIC)
    log = cluster.log(TOPIC, 0)
    for number in range(COUNT):
        builder = BatchBuilder(producer_id=7, producer_epoch=0, base_sequence=number)
        builder.append(T0 + number, None, value_of(number))
        log.append_batch(builder.build(), now_ms=0)
    assert len(log.segments.all) > 1
    cluster.close()
    return folder


def files_of(template: Path) -> list[Path]:
    paths = [path for path in template.rglob("*") if path.is_file() and path.name != ".lock"]
    return sorted(path.relative_to(template) for path in paths)


class Fault(Exception):
    """Something was served that must not be."""


def judge(log: Log, has_same_segments: bool, found: Counter[str]) -> None:
    """Read in every way, as a consumer does, append, and read again.

    - What a consumer takes are records that were written, with their offsets, in order, each once.
    - It stops at a batch that is damaged itself. Only its checksum tells that, and a broker reads
      headers only (R-06), so this is the consumer's part.
    - None is missing between two, but for the rest of a damaged segment: of one below the recovery
      point nobody looks whether it reaches the next one, and a reader goes on with that, as in
      Kafka. The offsets tell the consumer.
    - The beginning may be refused, where the log start offset is wrong, and the end, which a
      recovery cuts off in front of damage.
    - What is acknowledged after the start is served with the offset that was told.

    Args:
        log: opened from a damaged directory.
        has_same_segments: the files of the records are as they were written, so that every batch
            served is sound.
        found: counts what is served.

    Raises:
        Fault: anything else is served.
        BrokerError: refused.
    """
    bases = [segment.base_offset for segment in log.segments.all]
    first = log.log_start_offset
    served = list(consumed(log, first, must_be_sound=has_same_segments))
    if not are_as_written(served, first, set() if has_same_segments else set(bases)):
        raise Fault(f"from {first}: {[(offset, value[:8]) for offset, value in served]}")
    found["all records" if len(served) == COUNT else "a part" if served else "none"] += 1
    for offset in (0, 1, 15, 29):
        with contextlib.suppress(OffsetOutOfRange):
            read_log(log, offset, max_bytes=100_000)
    timestamps.offset_for_timestamp(log, T0 + 15)
    timestamps.max_timestamp_offset(log)
    offset = log.append_batch(_batch(), now_ms=0).base_offset
    if list(consumed(log, offset, must_be_sound=True)) != [(offset, b"more")]:
        raise Fault(f"what was appended at {offset} is not served")


def are_as_written(served: list[tuple[int, bytes]], first: int, may_follow_a_gap: set[int]) -> bool:
    expected = first
    for offset, value in served:
        if value != value_of(offset) or offset < expected:
            return False
        if offset > expected and offset not in may_follow_a_gap:
            return False
        expected = offset + 1
    return True


def consumed(log: Log, position: int, *, must_be_sound: bool) -> Iterator[tuple[int, bytes]]:
    """What a consumer gets that checks batches; it stops in front of one that is damaged."""
    while position < log.high_watermark:
        data = content(read_log(log, position, max_bytes=100_000))
        before = position
        for offset, value in sound_records(data):
            if offset >= position:
                yield offset, value
                position = offset + 1
        if position == before:
            if must_be_sound:
                raise Fault(f"no sound batch at {position}, {len(data)} bytes")
            return


def sound_records(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Offset and value of the one record of each batch, up to the first batch that is not sound."""
    at = 0
    while at + HEADER.size <= len(data):
        offset, length, _, magic, crc, *_ = HEADER.unpack_from(data, at)
        end = at + LENGTH_COVERS_FROM + length
        if magic != 2 or end > len(data) or crc32c(data[at + CRC_COVERS_FROM : end]) != crc:
            return
        [(_, value)] = keys_and_values(RecordBatch(memoryview(data), at, end - at))
        yield offset, value
        at = end


def _batch() -> bytes:
    builder = BatchBuilder()
    builder.append(T0, None, b"more")
    return bytes(builder.build())


def start_and_judge(folder: Path, found: Counter[str], *, has_same_segments: bool) -> None:
    try:
        cluster = open_cluster(folder)
    except (SettingsError, BrokerError):
        found["refused to start"] += 1
        return
    try:
        if TOPIC not in cluster.topics:
            found["no such topic"] += 1
            return
        judge(cluster.log(TOPIC, 0), has_same_segments, found)
    except BrokerError as error:
        found[f"refused: {error.code.name}"] += 1
    finally:
        cluster.close(sync=False)


def test_what_is_not_damaged_is_read(template: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    shutil.copytree(template, folder)
    found = Counter[str]()
    start_and_judge(folder, found, has_same_segments=True)
    assert found == {"all records": 1}


@pytest.mark.slow
@pytest.mark.parametrize("is_clean", [True, False], ids=["S-47", "S-43"])
def test_of_damaged_files_nothing_wrong_is_served(
    template: Path, tmp_path: Path, is_clean: bool
) -> None:
    source = random.Random(20261121)
    found, faults = Counter[str](), []
    for name in files_of(template):
        for number in range(ROUNDS):
            folder = tmp_path / "data"
            shutil.copytree(template, folder)
            if not is_clean:
                (folder / CLEAN_MARK).unlink(missing_ok=True)
            _damage_file(folder / name, number, source)
            is_segment = name.suffix == ".log" and name.parent.name == f"{TOPIC}-0"
            try:
                start_and_judge(folder, found, has_same_segments=not is_segment)
            except Fault as fault:
                faults.append(f"{name}, {number}: {fault}")
            shutil.rmtree(folder)
    assert faults == []
    assert found["all records"] > found.total() // 2


def _damage_file(path: Path, number: int, source: random.Random) -> None:
    if not path.exists():  # the mark of a clean stop
        return
    content = bytearray(path.read_bytes())
    match number:
        case 0:
            path.unlink()
            return
        case 1:
            content.clear()
        case 2:
            del content[len(content) // 2 :]
        case 3:
            content += bytes(100)
        case 4:
            content[:] = source.randbytes(len(content))
        case _:
            for _ in range(source.choice((1, 2, 4))):
                damage(source, content)
    path.write_bytes(content)
