"""Finds the FileIO of a path or URI.

A path without a scheme, or with `file://`, is local. For any other URI, pyarrow is tried
first, which supports s3, gs, abfs and hdfs; then fsspec.
"""

import os
import re
from importlib.util import find_spec
from typing import Final
from urllib.parse import unquote, urlsplit

from broker_lite.pipeline.files.file_io import FileIO, LocalFileIO, UnknownFileSystem

_SCHEME: Final = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*)://.*", re.DOTALL)


def open_file_io(path_or_uri: str) -> tuple[FileIO, str]:
    """Return the FileIO of a path or URI, and the path inside it; a local path is made absolute.

    Raises:
        UnknownFileSystem: neither pyarrow nor fsspec, if installed, supports the scheme.
        OSError: the storage cannot be reached.
    """
    match = _SCHEME.fullmatch(path_or_uri)
    if match is None:
        return LocalFileIO(), os.path.abspath(path_or_uri)
    if match[1].lower() == "file":
        return LocalFileIO(), _local_path(path_or_uri)
    # Imported only here, because local files need neither.
    if find_spec("pyarrow") is not None:
        from broker_lite.pipeline.files.arrow_files import open_arrow

        found = open_arrow(path_or_uri)
        if found is not None:
            return found
    if find_spec("fsspec") is not None:
        from broker_lite.pipeline.files.fsspec_files import open_fsspec

        found = open_fsspec(path_or_uri)
        if found is not None:
            return found
    raise UnknownFileSystem(
        f"path {path_or_uri!r}: no file system for {match[1]}://; pyarrow and fsspec are asked"
    )


def _local_path(uri: str) -> str:
    parts = urlsplit(uri)
    if parts.netloc not in ("", "localhost"):
        raise UnknownFileSystem(f"path {uri!r}: file:// takes an absolute path, file:///data")
    return os.path.abspath(unquote(parts.path))
