"""Files in the user's cache, which all sessions of a user share.

A file is renamed when it is complete, so another process sees all of it or none; the last writer
wins.
"""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path


def user_cache(name: str, environment: Mapping[str, str] = os.environ) -> Path:
    """Return the path of a file or folder in the user's cache; it need not exist."""
    named = environment.get("XDG_CACHE_HOME")
    cache = Path(named) if named else Path.home() / ".cache"
    return cache / "broker-lite" / name


def publish(path: Path, data: bytes, *, mode: int) -> None:
    """Write a file with a permission mode, atomically.

    Raises:
        OSError: the cache cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), mode)
        os.replace(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise
