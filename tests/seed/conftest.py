from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.seed.seeding import Seeding


@pytest.fixture
def open_seeding(tmp_path: Path) -> Iterator[Callable[..., Seeding]]:
    """Opens the cluster of one data directory with some settings, and closes it at the end."""
    opened: list[Seeding] = []

    def open_one(**texts: str) -> Seeding:
        opened.append(Seeding(tmp_path / "data", **texts))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()


@pytest.fixture
def seeding(open_seeding: Callable[..., Seeding]) -> Seeding:
    return open_seeding()


@pytest.fixture
def write_file(tmp_path: Path) -> Callable[[str, str | bytes], str]:
    """Writes a file and gives its path."""

    def write(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write
