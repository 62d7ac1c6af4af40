"""The distributions, built once from a copy of what is in version control, and environments."""

import shlex
import shutil
import sysconfig
import tomllib
from pathlib import Path

import pytest

from tests.packaging.environment import Environment
from tests.support.toolchain import require
from tests.tidy.project_files import ROOT, project_files

collect_ignore = ["sample_project"]  # its tests run where it is installed
BUILD_SDIST = "import setuptools.build_meta, sys; setuptools.build_meta.build_sdist(sys.argv[1])"


def only_file(folder: Path, pattern: str) -> Path:
    """The one file that matches."""
    (found,) = folder.glob(pattern)
    return found


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what is in version control."""
    folder = tmp_path_factory.mktemp("checkout")
    for path in project_files():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, folder / path)
    return folder


@pytest.fixture(scope="session")
def builder(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment without a compiler that has what pyproject.toml wants for a build."""
    environment = Environment(tmp_path_factory.mktemp("builder") / "venv", has_compiler=False)
    project = tomllib.loads((checkout / "pyproject.toml").read_text("utf-8"))
    environment.pip("install", *project["build-system"]["requires"])
    return environment


@pytest.fixture(scope="session")
def sdist(checkout: Path, builder: Environment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, built by the backend that pyproject.toml names."""
    folder = tmp_path_factory.mktemp("sdist")
    builder.run("python", "-c", BUILD_SDIST, folder, folder=checkout)
    return only_file(folder, "*.tar.gz")


@pytest.fixture(scope="session")
def pure_wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built where there is no compiler."""
    folder = tmp_path_factory.mktemp("wheel")
    environment = Environment(folder / "venv", has_compiler=False)
    environment.pip("wheel", "--no-deps", "--wheel-dir", folder, sdist)
    return only_file(folder, "*.whl")


@pytest.fixture(scope="session")
def pure(pure_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Where there is no compiler, and broker-lite is installed by the wheel from such a place."""
    environment = Environment(tmp_path_factory.mktemp("pure") / "venv", has_compiler=False)
    environment.pip("install", pure_wheel)
    return environment


@pytest.fixture(scope="session")
def native(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Where there is a compiler, and broker-lite is installed by its sources."""
    require(shlex.split(sysconfig.get_config_var("CC") or "cc")[0])
    environment = Environment(tmp_path_factory.mktemp("native") / "venv", has_compiler=True)
    environment.pip("install", sdist, CFLAGS="-O0")  # quicker to compile
    return environment
