"""Finds the files in which the kernel keeps the limits of this process's control group."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

GROUPS_OF_PROCESS: Final = Path("/proc/self/cgroup")
MOUNT: Final = Path("/sys/fs/cgroup")


def limit_files(
    controller: str, names: tuple[str, str], groups_of_process: Path, mount: Path
) -> Iterator[Path]:
    """Yield the files that may have a limit; inside a container, upper groups are not visible.

    Args:
        controller: as "memory".
        names: of the file with version 1 of the control groups, and with version 2.
        groups_of_process: a file with the process's groups, in the format of /proc/self/cgroup.
        mount: the directory of the control groups, of version 2, version 1 or both.
    """
    try:
        lines = groups_of_process.read_text().splitlines()
    except OSError:  # another system
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            root, name = mount, names[1]
        elif controller in controllers.split(","):
            root, name = mount / controller, names[0]
        else:
            continue
        group = root / path.lstrip("/")
        for directory in (group, *group.parents):
            yield directory / name
            if directory == root:
                break
