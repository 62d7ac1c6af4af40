"""A bounded cache of open files, because there are more partitions than file descriptors."""

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

    A file that leaves the cache stays open as long as a Fetch answer refers to it, until the answer
    is sent. Such files count towards open_max, so that clients that do not read their answers
    cannot use up the descriptors.

    Only one thread may use the cache. Otherwise, a thread could open a file while its topic is
    deleted, and the next topic of the same name would find the old file in the cache.
    """

    __slots__ = ("_files", "lent_count", "open_max")

    def __init__(self, open_max: int | None = None) -> None:
        """Begin empty. By default, the cache may use a quarter of the process's descriptors."""
        self.open_max = open_max if open_max is not None else default_open_max()
        if self.open_max < 1:
            raise ValueError(f"at least one file must be open, not {open_max}")
        self._files: OrderedDict[str, OpenFile] = OrderedDict()
        # Number of files that left the cache and are still open.
        self.lent_count = 0

    def __len__(self) -> int:
        return len(self._files)

    @property
    def lendable_count(self) -> int:
        """How many files the next answer may refer to; all answers together get half of them."""
        return max(max(self.open_max // 2, 1) - self.lent_count, 0)

    def get(self, path: str) -> OpenFile:
        """Return the open file; open it if it is not in the cache.

        Raises:
            OSError: the file does not exist or cannot be opened.
        """
        files = self._files
        file = files.get(path)
        if file is None:
            return self._keep(path, self._open(path, OPEN))
        files.move_to_end(path)
        return file

    def create(self, path: str) -> OpenFile:
        """Create an empty file and return it; an existing file of this name is emptied.

        Raises:
            OSError: the file cannot be created.
        """
        return self._keep(path, self._open(path, CREATE))

    def named(self, path: str) -> OpenFile:
        """Open a file by its name without putting it into the cache; any thread may call this.

        Raises:
            FileNotFoundError: no file has this name, or a file other than the cached one has it.
                Then the data written to the cached file cannot be found under the name any more.
            OSError: the file cannot be opened.
        """
        file = OpenFile(path)
        known = self._files.get(path)
        if known is not None and not os.path.sameopenfile(known.fd, file.fd):
            raise FileNotFoundError(errno.ENOENT, "It was replaced by another file", path)
        return file

    def look_at(self, path: str, size_bytes: int) -> None:
        """Check that a file that is not written any more is still there; any thread may call this.

        Raises:
            FileNotFoundError: no file has this name, a file other than the cached one has it, or
                the file is shorter than `size_bytes`.
            OSError: the file cannot be examined.
        """
        found = os.stat(path)
        known = self._files.get(path)
        if known is not None and not os.path.samestat(os.fstat(known.fd), found):
            raise FileNotFoundError(errno.ENOENT, "It was replaced by another file", path)
        if found.st_size < size_bytes:
            reason = f"It was cut to {found.st_size} of {size_bytes} bytes"
            raise FileNotFoundError(errno.ENOENT, reason, path)

    def discard(self, path: str) -> None:
        """Drop a file from the cache, because it is renamed or removed."""
        file = self._files.pop(path, None)
        if file is not None:
            self.lent_count += 1
            file.on_close = self._take_back

    def discard_directory(self, directory: str) -> None:
        """Drop all files below a directory from the cache."""
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
        # Connections have used up the descriptors: close the cached files and try again.
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
    """Return a quarter of the descriptors that the process may have now."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    # A negative number means no limit.
    return min(max(soft // 4, OPEN_FILES_MIN), OPEN_FILES_MAX) if soft >= 0 else OPEN_FILES_MAX
