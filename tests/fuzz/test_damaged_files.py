"""A data directory in which one file is damaged, after a clean stop and after a kill.

The broker starts or says in one line why it does not, and a log is read or its error is a
documented one: S-12, S-18, S-43, S-44, S-60, S-70, S-75, S-76.
"""

import random
import shutil
from pathlib import Path

import pytest

from broker_lite.control.clock import Clock
from broker_lite.control.cluster import Cluster
from broker_lite.errors import BrokerError, SettingsError
from broker_lite.log.log import Log
from broker_lite.record.builder import BatchBuilder
from broker_lite.settings import Given, Settings
from tests.fuzz.edits import damage

TOPIC = "t"
CLEAN_MARK = ".kafka_cleanshutdown"
ROUNDS = 8
SETTINGS = Settings(
    {
        "log.index.interval.bytes": Given("0", "test"),
        "log.segment.bytes": Given("1048576", "test"),
    }
)


def open_cluster(folder: Path) -> Cluster:
    return Cluster.open(SETTINGS, folder, Clock.standing_still())


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with two segments, all indexes and a producer, stopped cleanly."""
    folder = tmp_path_factory.mktemp("template") / "data"
    cluster = open_cluster(folder)
    cluster.create_topic(TOPIC)
    log = cluster.log(TOPIC, 0)
    for number in range(30):
        builder = BatchBuilder(producer_id=7, producer_epoch=0, base_sequence=number)
        builder.append(1_700_000_000_000 + number, None, bytes(50_000))
        log.append_batch(builder.build(), now_ms=0)
    assert len(log.segments) > 1
    cluster.close()
    return folder


def files_of(template: Path) -> list[Path]:
    paths = [path for path in template.rglob("*") if path.is_file() and path.name != ".lock"]
    return sorted(path.relative_to(template) for path in paths)


def use(log: Log) -> None:
    """Read in every way."""
    for offset in (0, 1, 15, 29):
        log.read(offset, max_bytes=100_000)
    log.offset_for_timestamp(1_700_000_000_015)
    log.max_timestamp_offset()
    log.append_batch(_batch(), now_ms=0)


def _batch() -> bytes:
    builder = BatchBuilder()
    builder.append(1_700_000_000_000, None, b"more")
    return bytes(builder.build())


def start_and_use(folder: Path) -> None:
    try:
        cluster = open_cluster(folder)
    except (SettingsError, BrokerError):
        return
    try:
        if TOPIC in cluster.topics:
            for _ in range(2):
                try:
                    use(cluster.log(TOPIC, 0))
                except BrokerError:
                    continue
    finally:
        cluster.close(sync=False)


def test_what_is_not_damaged_is_read(template: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    shutil.copytree(template, folder)
    cluster = open_cluster(folder)
    use(cluster.log(TOPIC, 0))
    assert cluster.log(TOPIC, 0).log_end_offset == 31
    cluster.close(sync=False)


@pytest.mark.slow
@pytest.mark.parametrize("is_clean", [True, False], ids=["S-47", "S-43"])
def test_a_damaged_file_is_survived(template: Path, tmp_path: Path, is_clean: bool) -> None:
    source = random.Random(20261121)
    for name in files_of(template):
        for number in range(ROUNDS):
            folder = tmp_path / "data"
            shutil.copytree(template, folder)
            if not is_clean:
                (folder / CLEAN_MARK).unlink(missing_ok=True)
            _damage_file(folder / name, number, source)
            start_and_use(folder)
            shutil.rmtree(folder)


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
