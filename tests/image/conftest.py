"""The image, built once, and a table of what was measured with it at the end of the run."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import pytest

from tests.support import docker

SETUP_TIMEOUT_S = 2400


class Figure(NamedTuple):
    """One measured value and the most that it may be."""

    name: str
    value: float
    bound: float
    unit: str

    @property
    def holds(self) -> bool:
        """Whether the value is within its bound."""
        return self.value <= self.bound


FIGURES = pytest.StashKey[list[Figure]]()


class Figures:
    """Takes what the tests measure."""

    def __init__(self, figures: list[Figure]) -> None:
        self._figures = figures

    def check(self, name: str, value: float, bound: float, unit: str) -> None:
        """Keep one value for the table and fail if it is more than its bound."""
        figure = Figure(name, value, bound, unit)
        self._figures.append(figure)
        assert figure.holds, f"{name}: {value:.2f} {unit}, at most {bound:g}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the tests here the time that an engine, a base and the image may take to be made."""
    folder = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(folder):
            item.add_marker(pytest.mark.timeout(SETUP_TIMEOUT_S))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    figures = terminalreporter.config.stash.get(FIGURES, [])
    if figures:
        terminalreporter.section("the image")
    for name, value, bound, unit in figures:
        terminalreporter.write_line(f"{name:<44} {value:7.2f} {unit:<3} at most {bound:g}")


@pytest.fixture(scope="session")
def figures(pytestconfig: pytest.Config) -> Figures:
    """Values that are printed at the end of the run, and checked."""
    return Figures(pytestconfig.stash.setdefault(FIGURES, []))


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A Docker engine."""
    with docker.engine(tmp_path_factory.mktemp("engine")):
        yield


@pytest.fixture(scope="session")
def image(engine: None) -> str:
    """The image of the checkout."""
    return docker.build()


@pytest.fixture(scope="session")
def client_image(image: str) -> str:
    """An image with kcat as its entry point."""
    folder = Path(__file__).parent
    return docker.build_image("broker-lite-test-client", folder, folder / "client.Dockerfile")


@pytest.fixture
def volume(engine: None) -> Iterator[str]:
    """A volume that outlives containers."""
    name = docker.docker("volume", "create")
    yield name
    docker.docker("volume", "rm", "--force", name)


@pytest.fixture
def network(engine: None) -> Iterator[str]:
    """A network on which containers find each other by name."""
    identity = docker.docker("network", "create", f"broker-lite-test-{uuid4().hex}")
    yield identity
    docker.docker("network", "rm", identity)


@pytest.fixture
def port() -> int:
    """A port of this machine that is free."""
    return docker.free_port()
