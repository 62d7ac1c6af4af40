"""Disks that are full: a small file system of its own, files that cannot grow."""

import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.toolchain import lacking


@contextmanager
def small_disk(folder: Path, size_bytes: int) -> Iterator[Path]:
    """Mount a tmpfs of this size on a new folder; the test is left out where that is forbidden."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "tmpfs", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
        reason = done.stderr.strip() if done.returncode else None
    except FileNotFoundError:
        reason = "no mount program"
    if reason is not None:
        lacking(f"permission to mount a tmpfs ({reason})")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@contextmanager
def files_end_at(size_bytes: int) -> Iterator[None]:
    """No file of this process gets larger than this, as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
