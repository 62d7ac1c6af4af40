"""The small files of a data directory with a byte flipped, and cut: S-40, S-70 to S-77.

Only meta.properties may keep the broker from starting, with one line for a person, as in Kafka.
"""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_lite.errors import KafkaStorageError, SettingsError
from broker_lite.log.directory.manager import LogManager
from broker_lite.log.directory.partitions import stored_topic_id
from broker_lite.log.files.checkpoints import (
    CLEAN_SHUTDOWN_FILE,
    HIGH_WATERMARK_FILE,
    LOG_START_FILE,
    META_PROPERTIES_FILE,
    PARTITION_METADATA_FILE,
    RECOVERY_POINT_FILE,
)
from tests.log.logs import NOW_MS, T0, append

TOPIC_ID = bytes(range(1, 17))
END = 5
# With 1 it is every byte and every length.
STEP = 8
RECORDS = "t-0/00000000000000000000.log"


def open_manager(path: Path) -> LogManager:
    manager = LogManager(path, node_id=1, now_ms=lambda: NOW_MS)
    manager.open()
    manager.create("t", 0, TOPIC_ID)
    manager.create("t", 1, TOPIC_ID)
    return manager


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two partitions, one of which does not begin with its first record, stopped cleanly."""
    path = tmp_path_factory.mktemp("template") / "data"
    manager = open_manager(path)
    for partition in (0, 1):
        for _ in range(END):
            append(manager.get("t", partition), T0)
    manager.get("t", 1).delete_records_before(2)
    manager.close(sync=False)
    return path


def damaged(content: bytes, source: random.Random) -> Iterator[bytes]:
    yield content + content
    for position in range(source.randrange(STEP), len(content), STEP):
        flipped = bytearray(content)
        flipped[position] ^= source.choice((1 << source.randrange(8), 0xFF))
        yield bytes(flipped)
        yield content[:position]


def names_another_topic(path: Path) -> bool:
    """Whether this is a readable partition.metadata with an id that is not the topic's."""
    if path.name != PARTITION_METADATA_FILE:
        return False
    return stored_topic_id(str(path.parent)) not in {None, TOPIC_ID}


@pytest.mark.slow
@pytest.mark.parametrize("is_clean", [True, False], ids=["S-47", "S-44"])
@pytest.mark.parametrize(
    "name",
    [
        META_PROPERTIES_FILE,
        RECOVERY_POINT_FILE,
        LOG_START_FILE,
        HIGH_WATERMARK_FILE,
        CLEAN_SHUTDOWN_FILE,
        f"t-0/{PARTITION_METADATA_FILE}",
        "t-0/leader-epoch-checkpoint",
    ],
)
def test_s40_the_broker_starts(template: Path, tmp_path: Path, name: str, is_clean: bool) -> None:
    source = random.Random(20261121)
    refused: list[str] = []
    for content in damaged((template / name).read_bytes(), source):
        path = tmp_path / "data"
        shutil.copytree(template, path)
        (path / name).write_bytes(content)
        if not is_clean:
            (path / CLEAN_SHUTDOWN_FILE).unlink()
        try:
            manager = open_manager(path)
        except SettingsError as error:
            refused.append(str(error))
        else:
            manager.recover()
            assert manager.get("t", 1).log_end_offset == END
            if names_another_topic(path / name):
                # it may be the topic's all the same: nobody writes there until a person decides
                with pytest.raises(KafkaStorageError):
                    manager.get("t", 0)
                assert (path / RECORDS).read_bytes() == (template / RECORDS).read_bytes()
            else:
                log = manager.get("t", 0)
                # a start behind the end begins anew
                assert log.log_end_offset == END or name == LOG_START_FILE
                assert append(log, T0).base_offset == log.log_end_offset - 1
            manager.close(sync=False)
        shutil.rmtree(path)
    assert bool(refused) == (name == META_PROPERTIES_FILE)
    assert not any("\n" in line for line in refused)
