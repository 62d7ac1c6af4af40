"""What the distributions hold."""

import tarfile
import zipfile
from collections.abc import Set
from pathlib import Path

import pytest

from tests.tidy.project_files import project_files

pytestmark = pytest.mark.slow


def of_the_package() -> Set[str]:
    """The files in version control that are installed."""
    installed = {"broker_lite", "pyspark_kafka_segments.py"}
    return {str(path) for path in project_files() if path.parts[0] in installed}


def test_sdist_is_complete(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"LICENSE", "NOTICE", "README.md", "pyproject.toml", "setup.py"}
    assert of_the_package() | wanted <= names
    assert not any(name.startswith("tests") for name in names)
    assert not any(name.endswith(".c") for name in names)  # Cython made it


def test_wheel_is_complete(pure_wheel: Path) -> None:
    with zipfile.ZipFile(pure_wheel) as archive:
        names = set(archive.namelist())
        (entry_points,) = (name for name in names if name.endswith("/entry_points.txt"))
        text = archive.read(entry_points).decode()
    information = entry_points.rpartition("/")[0]
    assert {name for name in names if not name.startswith(information)} == of_the_package()
    assert {f"{information}/licenses/{name}" for name in ("LICENSE", "NOTICE")} <= names
    assert "[console_scripts]\nbroker-lite = broker_lite.__main__:main\n" in text
    assert "[pytest11]\nbroker_lite = broker_lite.testing.plugin\n" in text
