"""Where a broker that crashes has its data, and what a crash leaves of it."""

import os
import random
import shutil
from pathlib import Path
from typing import Final, Protocol, Self

from tests.crash.disk import Disk
from tests.crash.journal import PATH_VARIABLE, ROOT_VARIABLE, entries_of
from tests.crash.real_disk import RealDisk

_SYNCED: Final = 0.3
_MOUNT_OPTIONS: Final = {"ext4": ("data=ordered", "data=writeback", "nodelalloc"), "xfs": ("",)}


class Storage(Protocol):
    """A place for a data directory; a context manager.

    Attributes:
        data_dir: a directory that is there, and stays at this path.
        is_cut: whether a crash has to happen to it while the broker is there, and stands still.
        words: what the program of the broker is told besides, see tests.crash.serve.
    """

    data_dir: Path
    is_cut: bool
    words: tuple[str, ...]

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def cut(self) -> None:
        """Crash; a broker that is still there stands still."""

    def restore(self) -> None:
        """Go on after a crash, when no broker is running."""


class PlainStorage:
    """A directory of this machine, from which no crash takes anything."""

    is_cut = False
    words: tuple[str, ...] = ()

    def __init__(self, folder: Path) -> None:
        self.data_dir = folder / "data"
        self.data_dir.mkdir(parents=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def cut(self) -> None:
        """Leave everything as it is."""

    def restore(self) -> None:
        """Leave everything as it is."""


class ModelStorage(PlainStorage):
    """A directory that after each crash is what tests.crash.disk leaves of it."""

    words = ("--observe", "tests.crash.journal:recorder")

    def __init__(self, folder: Path, source: random.Random) -> None:
        super().__init__(folder)
        self._source = source
        self._journal, self._lost = folder / "journal", folder / "lost"
        self._disk = Disk(self.data_dir)
        os.environ[PATH_VARIABLE] = str(self._journal)
        os.environ[ROOT_VARIABLE] = str(self.data_dir)

    def restore(self) -> None:
        """Replay the journal as far as each file was synced, and a random part of the rest."""
        self._disk.replay(entries_of(self._journal))
        self._journal.unlink()
        self._disk.power_off(self._source, self._lost)
        shutil.rmtree(self.data_dir)
        self._lost.rename(self.data_dir)
        self._disk = Disk(self.data_dir)


class RealStorage:
    """A directory on a file system of its own, which a crash may shut down."""

    words: tuple[str, ...] = ()

    def __init__(
        self, folder: Path, source: random.Random, kind: str, *, loses_power: bool
    ) -> None:
        self._source = source
        self.is_cut = loses_power
        self._disk = RealDisk(folder / "disk", kind, source.choice(_MOUNT_OPTIONS[kind]))
        self.data_dir = self._disk.root / "data"

    def __enter__(self) -> Self:
        self._disk.__enter__()
        self.data_dir.mkdir()
        self._disk.sync()
        return self

    def __exit__(self, *_: object) -> None:
        self._disk.__exit__()

    def cut(self) -> None:
        """Lose the power; sometimes the kernel has just written everything by itself."""
        if self.is_cut:
            if self._source.random() < _SYNCED:
                self._disk.sync()
            self._disk.shut_down()

    def restore(self) -> None:
        """Mount it again, which replays its journal."""
        if self.is_cut:
            self._disk.turn_on()


def make_storage(
    folder: Path, source: random.Random, *, loses_power: bool, file_system: str | None
) -> Storage:
    """Make the storage that a run asks for.

    Args:
        folder: a new one for it.
        source: of what is random.
        loses_power: each crash is a power loss.
        file_system: one of real_disk.KINDS; None is this machine's own, and a model of a disk
            where power is lost.
    """
    if file_system is not None:
        return RealStorage(folder, source, file_system, loses_power=loses_power)
    return ModelStorage(folder, source) if loses_power else PlainStorage(folder)
