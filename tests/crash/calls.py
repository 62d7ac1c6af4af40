"""Every call that changes a file below a directory, seen before and after it happens.

The broker changes files by functions of the os module only, looked up there or in disk_calls at
each call. watch() replaces those functions in this process, so that the broker itself has nothing
of this in it, and pays nothing. tests/crash/test_disk.py compares what is seen with what is on
disk.
"""

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from broker_lite.log.files import disk_calls

_DELETED: Final = " (deleted)"


class Call(NamedTuple):
    """One call that changes a file or makes a change durable.

    Attributes:
        kind: create (an empty file, also in place of an old one), write, cut, sync, rename, remove,
            mkdir, rmdir, and sync-all of os.sync().
        path: absolute; of a rename the old one. A file that is open has the name it has now.
        target: of a rename the new path.
        data: of a write what is to be written, of which less may get written.
        number: of a write its position, of a cut the new size in bytes.
        is_directory: of a sync or a rename, what it is that is synced or renamed.
    """

    kind: str
    path: str
    target: str = ""
    data: bytes | bytearray | memoryview = b""
    number: int = 0
    is_directory: bool = False


class Observer(Protocol):
    """Who is told of the calls, in the thread that makes them; there may be several threads."""

    def before(self, call: Call) -> int | None:
        """See a call that is about to be made.

        Returns:
            Of a write, how many bytes at most may get written; None for all.

        Raises:
            OSError: instead of the call.
        """

    def after(self, call: Call, count: int) -> None:
        """See a call that was made without an error; of a write, how many bytes it wrote."""


class Calls:
    """The replacements of the functions of os."""

    def __init__(self, root: Path, observers: Sequence[Observer]) -> None:
        """Prepare for one directory.

        Args:
            root: calls outside of it are not seen.
            observers: asked in this order before a call, and told in the opposite order after it.
        """
        self._root = os.path.abspath(root)
        self._observers = observers
        self._creating = threading.Lock()
        self._real = {name: getattr(os, name) for name in _REPLACED}

    def replacements(self) -> dict[str, Callable[..., Any]]:
        """By name in os."""
        return {name: getattr(self, "_" + name) for name in _REPLACED}

    def _see(self, call: Call, make: Callable[[int | None], Any]) -> Any:
        if not self._is_inside(call.path):
            return make(None)
        limit: int | None = None
        for observer in self._observers:
            given = observer.before(call)
            limit = limit if given is None else given
        result = make(limit)
        count = result if call.kind == "write" else 0
        for observer in reversed(self._observers):
            observer.after(call, count)
        return result

    def _is_inside(self, path: str) -> bool:
        return path == self._root or path.startswith(self._root + "/")

    def _path(self, path: Any, dir_fd: int | None = None) -> str:
        if isinstance(path, int):
            return self._path_of(path)
        text = os.fspath(path)
        if dir_fd is not None:
            return f"{self._path_of(dir_fd)}/{text}"
        return os.path.abspath(text)

    def _path_of(self, fd: int) -> str:
        """The name of an open file; one that is removed changes nothing that could be missed."""
        path = os.readlink(f"/proc/self/fd/{fd}")
        return "" if path.endswith(_DELETED) else path

    # -- one method a function, named as there

    def _open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        def make(_: int | None) -> int:
            fd: int = self._real["open"](path, flags, mode, dir_fd=dir_fd)
            return fd

        if not flags & os.O_CREAT:
            return make(None)
        name = self._path(path, dir_fd)
        # Two threads that make the same file: the second one must not write before the observers
        # were told that there is one.
        with self._creating:
            if os.path.lexists(name) and not flags & os.O_TRUNC:
                return make(None)
            return int(self._see(Call("create", name), make))

    def _pwrite(self, fd: int, data: Any, offset: int) -> int:
        def make(limit: int | None) -> int:
            some = data if limit is None else memoryview(data)[:limit]
            count: int = self._real["pwrite"](fd, some, offset)
            return count

        return int(self._see(Call("write", self._path_of(fd), data=data, number=offset), make))

    def _write(self, fd: int, data: Any) -> int:
        def make(limit: int | None) -> int:
            count: int = self._real["write"](
                fd, data if limit is None else memoryview(data)[:limit]
            )
            return count

        path = self._path_of(fd)
        if not self._is_inside(path):  # a pipe has no position
            return make(None)
        position = os.lseek(fd, 0, os.SEEK_CUR)
        return int(self._see(Call("write", path, data=data, number=position), make))

    def _fsync(self, fd: int) -> None:
        self._sync_by("fsync", fd)

    def _fdatasync(self, fd: int) -> None:
        self._sync_by("fdatasync", fd)

    def _sync_by(self, name: str, fd: int) -> None:
        path = self._path_of(fd)
        call = Call("sync", path, is_directory=os.path.isdir(path))
        self._see(call, lambda _: self._real[name](fd))

    def _sync(self) -> None:
        self._see(Call("sync-all", self._root), lambda _: self._real["sync"]())

    def _ftruncate(self, fd: int, length: int) -> None:
        call = Call("cut", self._path_of(fd), number=length)
        self._see(call, lambda _: self._real["ftruncate"](fd, length))

    def _truncate(self, path: Any, length: int) -> None:
        call = Call("cut", self._path(path), number=length)
        self._see(call, lambda _: self._real["truncate"](path, length))

    def _rename(self, src: Any, dst: Any, **options: Any) -> None:
        self._rename_by("rename", src, dst, options)

    def _replace(self, src: Any, dst: Any, **options: Any) -> None:
        self._rename_by("replace", src, dst, options)

    def _rename_by(self, name: str, src: Any, dst: Any, options: dict[str, Any]) -> None:
        path = self._path(src, options.get("src_dir_fd"))
        target = self._path(dst, options.get("dst_dir_fd"))
        call = Call("rename", path, target, is_directory=os.path.isdir(path))
        self._see(call, lambda _: self._real[name](src, dst, **options))

    def _unlink(self, path: Any, *, dir_fd: int | None = None) -> None:
        self._remove_by("remove", "unlink", path, dir_fd)

    def _remove(self, path: Any, *, dir_fd: int | None = None) -> None:
        self._remove_by("remove", "unlink", path, dir_fd)

    def _rmdir(self, path: Any, *, dir_fd: int | None = None) -> None:
        self._remove_by("rmdir", "rmdir", path, dir_fd)

    def _remove_by(self, kind: str, name: str, path: Any, dir_fd: int | None) -> None:
        call = Call(kind, self._path(path, dir_fd))
        self._see(call, lambda _: self._real[name](path, dir_fd=dir_fd))

    def _mkdir(self, path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        call = Call("mkdir", self._path(path, dir_fd))
        self._see(call, lambda _: self._real["mkdir"](path, mode, dir_fd=dir_fd))


_REPLACED: Final = (
    *("open", "pwrite", "write", "ftruncate", "truncate"),
    *("fsync", "fdatasync", "sync"),
    *("rename", "replace", "unlink", "remove", "mkdir", "rmdir"),
)


@contextmanager
def watch(root: Path, observers: Sequence[Observer]) -> Iterator[None]:
    """Let observers see every call below a directory, in all threads of this process."""
    calls = Calls(root, observers)
    real = {name: getattr(os, name) for name in _REPLACED}
    try:
        _put(calls.replacements())
        yield
    finally:
        _put(real)


def _put(functions: Mapping[str, Callable[..., Any]]) -> None:
    for name, function in functions.items():
        setattr(os, name, function)
        if hasattr(disk_calls, name):
            setattr(disk_calls, name, function)
