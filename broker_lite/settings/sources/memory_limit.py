"""Finds how much memory this process may use: its control group's limit, or all of the machine."""

import os
from pathlib import Path
from typing import Final, NamedTuple

from broker_lite.settings.sources.control_groups import GROUPS_OF_PROCESS, MOUNT, limit_files

_FILES: Final = ("memory.limit_in_bytes", "memory.max")


class MemoryLimit(NamedTuple):
    """A number of bytes; is_machine means that it is all the memory of the machine."""

    size_bytes: int
    is_machine: bool


def read_memory_limit(
    groups_of_process: Path = GROUPS_OF_PROCESS, mount: Path = MOUNT
) -> MemoryLimit:
    """Return the lowest limit of the process's control group and of the groups above it.

    Args:
        groups_of_process: a file with the process's groups, in the format of /proc/self/cgroup.
        mount: the directory of the control groups, of version 2, version 1 or both.
    """
    machine_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    files = limit_files("memory", _FILES, groups_of_process, mount)
    limits = [limit for file in files for limit in _limit(file)]
    limit_bytes = min(limits, default=machine_bytes)
    if limit_bytes >= machine_bytes:
        return MemoryLimit(machine_bytes, True)
    return MemoryLimit(limit_bytes, False)


def _limit(file: Path) -> list[int]:
    try:
        text = file.read_text().strip()
    except OSError:  # the root group has no limit, so it has no such file
        return []
    return [int(text)] if text.isdecimal() else []
