"""Who may read the files of a broker, and what becomes of one whose files somebody removes."""

import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.fuzz.full_disk import TOPIC, DiskClient
from tests.support.broker_process import BrokerProcess

QUICK = "log.flush.offset.checkpoint.interval.ms=50"
STORAGE_ERROR = 56


@contextmanager
def connected(broker: BrokerProcess) -> Iterator[DiskClient]:
    client = DiskClient(broker.port)
    with closing(client.raw):
        yield client


def modes(directory: Path) -> tuple[set[int], set[int]]:
    """The permissions of the directories, and those of the files."""
    paths = [directory, *directory.rglob("*")]
    found = [(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in paths]
    return {mode for is_dir, mode in found if is_dir}, {
        mode for is_dir, mode in found if not is_dir
    }


@pytest.mark.parametrize(
    ("settings", "expected"),
    [((), ({0o700}, {0o600})), (("broker.lite.umask=022",), ({0o755}, {0o644}))],
)
def test_nobody_else_reads_the_data_unless_it_is_asked_for(
    tmp_path: Path, settings: tuple[str, ...], expected: tuple[set[int], set[int]]
) -> None:
    data_dir = tmp_path / "new" / "data"
    log_path = tmp_path / "log"
    broker = BrokerProcess(data_dir, settings=(QUICK, *settings), log_path=log_path)
    with broker, connected(broker) as client:
        assert client.create_topic(TOPIC) == 0
        assert client.produce(0) == (0, 0)
        assert modes(data_dir) == expected
    assert modes(data_dir) == expected


@pytest.mark.parametrize("is_rolled", [False, True])
def test_s32_a_partition_whose_file_is_deleted_goes_offline(
    tmp_path: Path, is_rolled: bool
) -> None:
    """It was served until the stop, and empty after the next start."""
    data_dir = tmp_path / "data"
    settings = (QUICK, "log.roll.ms=1") if is_rolled else (QUICK,)
    broker = BrokerProcess(data_dir, settings=settings)
    with broker, connected(broker) as client:
        assert client.create_topic(TOPIC) == 0
        assert client.produce(0) == (0, 0)
        number = 1
        segments = data_dir / f"{TOPIC}-0"
        while is_rolled and len(list(segments.glob("*.log"))) < 2:
            assert client.produce(number)[0] == 0
            number += 1
        (segments / f"{0:020}.log").unlink()
        while (code := client.produce(number)[0]) == 0:
            number += 1
        assert code == STORAGE_ERROR
        (line,) = [each for each in broker.log.splitlines() if "partition offline" in each]
        assert f"{TOPIC}-0" in line
        assert "Traceback" not in broker.log
