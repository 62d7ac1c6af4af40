"""Who may read the files that commands make in data directories."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_lite.commands.shared.umask import masked
from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.errors import SettingsError
from broker_lite.settings import Settings
from tests.commands.test_served_files import modes
from tests.log.logs import NOW_MS, append
from tests.support.command_line import CommandLine

OWNER = ({0o700}, {0o600})
ALL = ({0o755}, {0o644})
FLAGS = pytest.mark.parametrize(
    ("flags", "expected"), [((), OWNER), (("--umask", "022"), ALL)], ids=["owner", "all"]
)


@pytest.fixture(autouse=True)
def _usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    assert os.umask(before) == 0o022


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A directory that all may read."""
    directory = tmp_path / "source"
    cluster = Cluster.open(Settings(), directory, Clock.standing_still(NOW_MS))
    cluster.create_topic("orders")
    append(cluster.log("orders", 0))
    cluster.close()
    assert modes(directory) == ALL
    return directory


@FLAGS
@pytest.mark.parametrize(
    ("action", "words"), [("import", ("--data-dir", "new/data")), ("export", ("new/data",))]
)
def test_copies(
    command: CommandLine,
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    action: str,
    words: tuple[str, ...],
    flags: tuple[str, ...],
    expected: tuple[set[int], set[int]],
) -> None:
    monkeypatch.chdir(tmp_path)
    command.ok("log", action, str(source), *words, *flags)
    assert modes(tmp_path / "new") == expected


@FLAGS
def test_repair_makes_indexes_anew(
    command: CommandLine,
    source: Path,
    flags: tuple[str, ...],
    expected: tuple[set[int], set[int]],
) -> None:
    index = source / "orders-0" / f"{0:020}.index"
    index.unlink()
    command.ok("log", "repair", str(source), *flags)
    assert {index.stat().st_mode & 0o777} == expected[1]


def test_what_storage_formats(command: CommandLine, tmp_path: Path) -> None:
    config = tmp_path / "server.properties"
    for name, line, expected in (("a", "", OWNER), ("b", "broker.lite.umask=022\n", ALL)):
        config.write_text(f"node.id=3\nlog.dirs={tmp_path / name}\n{line}")
        command.ok("storage", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", str(config))
        assert modes(tmp_path / name) == expected


def test_a_umask_that_is_none(command: CommandLine, source: Path, tmp_path: Path) -> None:
    for text in ("0777", "eight", ""):
        told = command.fails(
            "log", "import", str(source), "--data-dir", str(tmp_path / "new"), "--umask", text
        )
        assert told.startswith("2: ")
        assert "--umask" in told


def test_the_one_from_before_is_put_back_after_an_error() -> None:
    def fail() -> None:
        with masked("077"):
            raise SettingsError("something else")

    with pytest.raises(SettingsError, match="something else"):
        fail()
    with masked(None):
        assert os.umask(0o022) == 0o022
