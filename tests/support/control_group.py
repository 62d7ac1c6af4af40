"""A control group of its own for a process: a limit of memory as a container's engine sets it."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.support.toolchain import lacking

_MOUNT: Final = Path("/sys/fs/cgroup")
_LIMITS: Final = (
    # version 1, then version 2
    (_MOUNT / "memory", "memory.limit_in_bytes"),
    (_MOUNT, "memory.max"),
)


@contextlib.contextmanager
def memory_limit(name: str, size_bytes: int) -> Iterator[Sequence[str]]:
    """Make a group with this limit; give the words before a command that is to run in it.

    The test is left out where that is forbidden.
    """
    group = _make(name, size_bytes)
    if group is None:
        lacking("permission to make a control group with a memory limit")
    try:
        yield ("sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$0" "$@"')
    finally:
        group.rmdir()


def _make(name: str, size_bytes: int) -> Path | None:
    for root, limit in _LIMITS:
        group = root / name
        with contextlib.suppress(OSError):
            group.mkdir()
            try:
                (group / limit).write_text(str(size_bytes))
            except OSError:
                group.rmdir()
                raise
            return group
    return None


def peak_bytes(pid: int) -> int:
    """The most memory that a process had."""
    (line,) = re.findall(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(line) * 1024
