"""A bounded cache of open files: descriptors are few, partitions are many."""

import errno
import os
import resource
from collections import OrderedDict
from typing import Final

from broker_lite.log.files.open_file import CREATE, OPEN, OpenFile

OPEN_FILES_MIN: Final = 16
OPEN_FILES_MAX: Final = 16384


class FileCache:
    """The most recently used files, at most open_max of them; one cache serves all partitions.

    A file that leaves the cache while an answer to a Fetch refers to it stays open until the answer
    is sent. It counts, so that clients who do not take their answers cannot use up descriptors.

    Of one thread only: a file that another one opened while its topic was deleted could get into
    the cache of the topic that is made next under its name.
    """

    __slots__ = ("_files", "lent_count", "open_max")

    def __init__(self, open_max: int | None = None) -> None:
        """Begin empty; by default a quarter of the process's descriptors may be used."""
        self.open_max = open_max if open_max is not None else default_open_max()
        if self.open_max < 1:
            raise ValueError(f"at least one file must be open, not {open_max}")
        self._files: OrderedDict[str, OpenFile] = OrderedDict()
        # How many files are open that are not in the cache any more.
        self.lent_count = 0

    def __len__(self) -> int:
        return len(self._files)

    @property
    def lendable_count(self) -> int:
        """How many files the next answer may refer to: together they get half of what is open."""
        return max(max(self.open_max // 2, 1) - self.lent_count, 0)

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

    def named(self, path: str) -> OpenFile:
        """Open a file by its name, by the side of the cache; any thread may.

        Raises:
            FileNotFoundError: the name is gone, or it is another file's than the one in the cache:
                what was written to that one will not be found again.
            OSError: it cannot be opened.
        """
        file = OpenFile(path)
        known = self._files.get(path)
        if known is not None and not os.path.sameopenfile(known.fd, file.fd):
            raise FileNotFoundError(errno.ENOENT, "It was replaced by another file", path)
        return file

    def look_at(self, path: str, size_bytes: int) -> None:
        """Find out whether a file that is not written any more is there as it was; any thread may.

        Raises:
            FileNotFoundError: the name is gone, it is another file's than the one in the cache, or
                the file is shorter than it was.
            OSError: it cannot be looked at.
        """
        found = os.stat(path)
        known = self._files.get(path)
        if known is not None and not os.path.samestat(os.fstat(known.fd), found):
            raise FileNotFoundError(errno.ENOENT, "It was replaced by another file", path)
        if found.st_size < size_bytes:
            reason = f"It was cut to {found.st_size} of {size_bytes} bytes"
            raise FileNotFoundError(errno.ENOENT, reason, path)

    def discard(self, path: str) -> None:
        """Forget a file that is renamed or removed."""
        file = self._files.pop(path, None)
        if file is not None:
            self.lent_count += 1
            file.on_close = self._take_back

    def discard_directory(self, directory: str) -> None:
        """Forget all files below a directory."""
        prefix = directory + "/"
        for path in [path for path in list(self._files) if path.startswith(prefix)]:
            self.discard(path)

    def _take_back(self) -> None:
        self.lent_count -= 1

    def _open(self, path: str, flags: int) -> OpenFile:
        try:
            return OpenFile(path, flags)
        except OSError as error:
            if error.errno not in {errno.EMFILE, errno.ENFILE}:
                raise
        # Connections took the descriptors: make do with fewer files.
        for cached in list(self._files):
            self.discard(cached)
        return OpenFile(path, flags)

    def _keep(self, path: str, file: OpenFile) -> OpenFile:
        files = self._files
        files[path] = file
        kept_min = max(self.open_max // 4, 1)
        while len(files) > kept_min and len(files) + self.lent_count > self.open_max:
            self.discard(next(iter(files)))
        return file


def default_open_max() -> int:
    """A quarter of the descriptors that the process may have now."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    # No limit is a negative number.
    return min(max(soft // 4, OPEN_FILES_MIN), OPEN_FILES_MAX) if soft >= 0 else OPEN_FILES_MAX
