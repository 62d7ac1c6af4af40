"""The memory limit of control groups of both versions."""

from pathlib import Path

import pytest

from broker_lite.settings.sources.memory_limit import read_memory_limit

MIB = 1 << 20


def group(root: Path, files: dict[str, str], of_process: str) -> tuple[Path, Path]:
    mount = root / "mount"
    mount.mkdir()
    for name, text in files.items():
        path = mount / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    listing = root / "cgroup"
    listing.write_text(of_process)
    return listing, mount


@pytest.mark.parametrize(
    ("files", "of_process", "expected"),
    [
        pytest.param({"memory.max": str(64 * MIB)}, "0::/\n", 64 * MIB, id="v2 in a container"),
        pytest.param(
            {"a/b/memory.max": "max", "a/memory.max": str(50 * MIB)},
            "0::/a/b\n",
            50 * MIB,
            id="v2: a group above has the limit",
        ),
        pytest.param(
            {"a/b/memory.max": str(40 * MIB), "a/memory.max": str(50 * MIB)},
            "0::/a/b\n",
            40 * MIB,
            id="v2: the lowest counts",
        ),
        pytest.param(
            {"memory/docker/1/memory.limit_in_bytes": str(30 * MIB)},
            "9:name=systemd:/\n4:memory:/docker/1\n",
            30 * MIB,
            id="v1",
        ),
        pytest.param(
            {"memory/memory.limit_in_bytes": str(30 * MIB)},
            "5:cpu,memory:/docker/1\n0::/\n",
            30 * MIB,
            id="v1 in a container, with the path of the host",
        ),
    ],
)
def test_a_limit(tmp_path: Path, files: dict[str, str], of_process: str, expected: int) -> None:
    assert read_memory_limit(*group(tmp_path, files, of_process)) == (expected, False)


@pytest.mark.parametrize(
    ("files", "of_process"),
    [
        pytest.param({"memory.max": "max"}, "0::/\n", id="v2"),
        pytest.param(
            {"memory/memory.limit_in_bytes": "9223372036854771712"}, "4:memory:/\n", id="v1"
        ),
        pytest.param({}, "0::/\n", id="no file"),
    ],
)
def test_no_limit_is_the_memory_of_the_machine(
    tmp_path: Path, files: dict[str, str], of_process: str
) -> None:
    limit = read_memory_limit(*group(tmp_path, files, of_process))
    assert limit.is_machine
    assert limit.size_bytes > 100 * MIB
    assert read_memory_limit(tmp_path / "none", tmp_path) == limit
