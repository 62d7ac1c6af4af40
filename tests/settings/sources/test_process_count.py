"""As many processes as CPUs.

Also tests: broker_lite.settings.sources.control_groups.
"""

import os
from pathlib import Path

import pytest

from broker_lite.errors import SettingsError
from broker_lite.settings import load_settings
from broker_lite.settings.sources.process_count import fit_processes, usable_cpus

ALL = len(os.sched_getaffinity(0))


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
        pytest.param({}, "0::/\n", ALL, id="no limit"),
        pytest.param({"cpu.max": "max 100000"}, "0::/\n", ALL, id="v2: a group without a limit"),
        pytest.param({"cpu.max": "100000 100000"}, "0::/\n", 1, id="v2 in a container"),
        pytest.param({"cpu.max": "50000 100000"}, "0::/\n", 1, id="v2: half a CPU is one"),
        pytest.param({"cpu.max": "150000 100000"}, "0::/\n", 1, id="v2: whole CPUs count"),
        pytest.param({"cpu.max": "9900000 100000"}, "0::/\n", ALL, id="v2: more than there are"),
        pytest.param(
            {"a/b/cpu.max": "max 100000", "a/cpu.max": "100000 100000"},
            "0::/a/b\n",
            1,
            id="v2: a group above has the limit",
        ),
        pytest.param(
            {"cpu/a/cpu.cfs_quota_us": "100000", "cpu/a/cpu.cfs_period_us": "100000"},
            "4:cpu:/a\n",
            1,
            id="v1",
        ),
        pytest.param(
            {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"},
            "4:cpu:/\n",
            ALL,
            id="v1 without a limit",
        ),
        pytest.param({"cpu/cpu.cfs_quota_us": "100000"}, "4:cpu:/\n", ALL, id="v1: half of it"),
        pytest.param({"cpu.max": "damaged"}, "0::/\n", ALL, id="not understood"),
    ],
)
def test_the_limits_of_a_container_count(
    tmp_path: Path, files: dict[str, str], of_process: str, expected: int
) -> None:
    assert usable_cpus(*group(tmp_path, files, of_process)) == expected


def test_auto_becomes_a_number() -> None:
    settings = load_settings(None, {"KAFKA_BROKER_LITE_PROCESSES": "auto"})
    assert settings.process_count == 1
    fitted = fit_processes(settings)
    assert fitted.process_count == usable_cpus()
    assert fitted.origin_of("broker.lite.processes") == "KAFKA_BROKER_LITE_PROCESSES"
    assert fit_processes(fitted) is fitted


@pytest.mark.parametrize("text", ["0", "65", "two", "-1", "1.5", "", "01"])
def test_what_is_no_number_of_processes(text: str) -> None:
    with pytest.raises(SettingsError, match="1 to 64, or auto"):
        load_settings(None, {}, {"broker.lite.processes": text})
