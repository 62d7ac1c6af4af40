"""A record of every call that changes a file, written by the broker's process as it makes them.

An entry is written when its call has returned, so what a broker has acknowledged is in the journal
before its answer is sent. Of a sync there are two: what was written before the first of them is
durable when there is the second one.
"""

import os
import pickle
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tests.crash.calls import Call

PATH_VARIABLE: Final = "BROKER_LITE_TEST_JOURNAL"
ROOT_VARIABLE: Final = "BROKER_LITE_TEST_JOURNAL_ROOT"
SYNC_BEGINS: Final = "sync-begins"
_SYNCS: Final = frozenset({"sync", "sync-all"})


class Entry(NamedTuple):
    """A call that was made.

    Attributes:
        kind: that of calls.Call, or SYNC_BEGINS.
        path: relative to the directory that is watched.
        target: of a rename the new path; where a sync begins, its kind.
        data: what a write has written.
        number: that of calls.Call; of a sync, which one it is.
    """

    kind: str
    path: str
    target: str
    data: bytes
    number: int


class Recorder:
    """Writes down what it sees."""

    def __init__(self, path: Path, root: Path) -> None:
        """Begin, or go on with, a journal.

        Args:
            path: of the journal, outside of what is watched.
            root: the directory that is watched.
        """
        self._file = path.open("ab", buffering=0)
        self._root = root
        self._lock = threading.Lock()
        self._sync = threading.local()
        self._syncs = 0

    def close(self) -> None:
        """Write nothing more."""
        self._file.close()

    def before(self, call: Call) -> None:
        """See a sync that begins."""
        if call.kind in _SYNCS:
            with self._lock:
                self._syncs += 1
                self._sync.number = self._syncs
                self._write(call._replace(target=call.kind), SYNC_BEGINS, b"", self._syncs)

    def after(self, call: Call, count: int) -> None:
        """See a call that was made."""
        number = self._sync.number if call.kind in _SYNCS else call.number
        with self._lock:
            self._write(call, call.kind, bytes(memoryview(call.data)[:count]), number)

    def _write(self, call: Call, kind: str, data: bytes, number: int) -> None:
        target = self._relative(call.target) if call.kind == "rename" else call.target
        entry = Entry(kind, self._relative(call.path), target, data, number)
        self._file.write(pickle.dumps(tuple(entry)))

    def _relative(self, path: str) -> str:
        return os.path.relpath(path, self._root)


def recorder() -> Recorder:
    """Make the recorder that the environment asks for."""
    return Recorder(Path(os.environ[PATH_VARIABLE]), Path(os.environ[ROOT_VARIABLE]))


def entries_of(path: Path) -> Iterator[Entry]:
    """Give what was written down; not an entry that was being written at the kill."""
    with path.open("rb") as file:
        while True:
            try:
                yield Entry(*pickle.load(file))
            except (EOFError, pickle.UnpicklingError):
                return
