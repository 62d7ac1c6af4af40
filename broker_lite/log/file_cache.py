"""A bounded cache of open files: descriptors are few, partitions are many."""

import errno
import resource
from collections import OrderedDict
from typing import Final

from broker_lite.log.files import CREATE, OPEN, OpenFile

OPEN_FILES_MIN: Final = 16
OPEN_FILES_MAX: Final = 16384


class FileCache:
    """The most recently used files, at most open_max of them; one cache serves all partitions.

    Of one thread only: a file that another one opened while its topic was deleted could get into
    the cache of the topic that is made next under its name.
    """

    __slots__ = ("_files", "open_max")

    def __init__(self, open_max: int | None = None) -> None:
        """Begin empty; by default a quarter of the process's descriptors may be used."""
        self.open_max = open_max if open_max is not None else _default_open_max()
        if self.open_max < 1:
            raise ValueError(f"at least one file must be open, not {open_max}")
        self._files: OrderedDict[str, OpenFile] = OrderedDict()

    def __len__(self) -> int:
        return len(self._files)

    def get(self, path: str) -> OpenFile:
        """Give the open file, opening it when it is not in the cache.

        Raises:
            OSError: it does not exist or cannot be opened.
        """
        files = self._files
        file = files.get(path)
        if file is None:
            return self._keep(path, self._open(path, OPEN))
        files.move_to_end(path)
        return file

    def create(self, path: str) -> OpenFile:
        """Open a new, empty file; what was there under this name is gone.

        Raises:
            OSError: the file cannot be created.
        """
        return self._keep(path, self._open(path, CREATE))

    def discard(self, path: str) -> None:
        """Forget a file that is renamed or removed."""
        self._files.pop(path, None)

    def discard_directory(self, directory: str) -> None:
        """Forget all files below a directory."""
        prefix = directory + "/"
        for path in [path for path in list(self._files) if path.startswith(prefix)]:
            self.discard(path)

    def _open(self, path: str, flags: int) -> OpenFile:
        try:
            return OpenFile(path, flags)
        except OSError as error:
            if error.errno not in {errno.EMFILE, errno.ENFILE}:
                raise
        # Connections took the descriptors: make do with fewer files.
        self._files.clear()
        return OpenFile(path, flags)

    def _keep(self, path: str, file: OpenFile) -> OpenFile:
        files = self._files
        files[path] = file
        while len(files) > self.open_max:
            files.popitem(last=False)
        return file


def _default_open_max() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    # No limit is a negative number.
    return min(max(soft // 4, OPEN_FILES_MIN), OPEN_FILES_MAX) if soft >= 0 else OPEN_FILES_MAX
