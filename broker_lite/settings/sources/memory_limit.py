"""Finds how much memory this process may use: its control group's limit, or all of the machine."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

_GROUPS_OF_PROCESS: Final = Path("/proc/self/cgroup")
_MOUNT: Final = Path("/sys/fs/cgroup")
_LIMIT_OF_VERSION_1: Final = "memory.limit_in_bytes"
_LIMIT_OF_VERSION_2: Final = "memory.max"


class MemoryLimit(NamedTuple):
    """A number of bytes; is_machine means that it is all the memory of the machine."""

    size_bytes: int
    is_machine: bool


def read_memory_limit(
    groups_of_process: Path = _GROUPS_OF_PROCESS, mount: Path = _MOUNT
) -> MemoryLimit:
    """Return the lowest limit of the process's control group and of the groups above it.

    Args:
        groups_of_process: a file with the process's groups, in the format of /proc/self/cgroup.
        mount: the directory of the control groups, of version 2, version 1 or both.
    """
    machine_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = [limit for file in _files(groups_of_process, mount) for limit in _limit(file)]
    limit_bytes = min(limits, default=machine_bytes)
    if limit_bytes >= machine_bytes:
        return MemoryLimit(machine_bytes, True)
    return MemoryLimit(limit_bytes, False)


def _files(groups_of_process: Path, mount: Path) -> Iterator[Path]:
    """Yield the files that may have a limit; inside a container, upper groups are not visible."""
    try:
        lines = groups_of_process.read_text().splitlines()
    except OSError:  # another system
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            root, name = mount, _LIMIT_OF_VERSION_2
        elif "memory" in controllers.split(","):
            root, name = mount / "memory", _LIMIT_OF_VERSION_1
        else:
            continue
        group = root / path.lstrip("/")
        for directory in (group, *group.parents):
            yield directory / name
            if directory == root:
                break


def _limit(file: Path) -> list[int]:
    try:
        text = file.read_text().strip()
    except OSError:  # the root group has no limit, so it has no such file
        return []
    return [int(text)] if text.isdecimal() else []
