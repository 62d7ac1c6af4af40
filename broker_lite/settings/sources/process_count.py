"""Replaces `auto` by a number of processes: one for each CPU that this process may use.

A container may use a part of the CPUs (`--cpuset-cpus`), or all of them for a part of the time
(`--cpus`): both count.
"""

import os
from pathlib import Path
from typing import Final

from broker_lite.settings.settings import Settings
from broker_lite.settings.sources.control_groups import GROUPS_OF_PROCESS, MOUNT, limit_files
from broker_lite.settings.sources.load import with_flag
from broker_lite.settings.values import AUTO

_SETTING: Final = "broker.lite.processes"
_FILES: Final = ("cpu.cfs_quota_us", "cpu.max")
_PERIOD_OF_VERSION_1: Final = "cpu.cfs_period_us"
_PROCESSES_MAX: Final = 64


def fit_processes(settings: Settings) -> Settings:
    """Return the settings with a number of processes.

    With several brokers in one process, `auto` is refused like any other number.
    """
    if settings.broker_lite_processes != AUTO:
        return settings
    count = min(usable_cpus(), _PROCESSES_MAX)
    return with_flag(settings, _SETTING, str(count), settings.origin_of(_SETTING))


def usable_cpus(groups_of_process: Path = GROUPS_OF_PROCESS, mount: Path = MOUNT) -> int:
    """Return how many CPUs this process may use all the time; at least 1.

    Args:
        groups_of_process: a file with the process's groups, in the format of /proc/self/cgroup.
        mount: the directory of the control groups.
    """
    files = limit_files("cpu", _FILES, groups_of_process, mount)
    limits = [limit for file in files for limit in _limit(file)]
    return max(1, int(min([len(os.sched_getaffinity(0)), *limits])))


def _limit(file: Path) -> list[float]:
    """Return a limit as a number of CPUs; nothing if the group has none."""
    try:
        quota, *period = file.read_text().split()
        if not period:
            period = [file.with_name(_PERIOD_OF_VERSION_1).read_text().strip()]
    except (OSError, ValueError):
        return []
    return [int(quota) / int(period[0])] if quota.isdecimal() and int(period[0]) > 0 else []
