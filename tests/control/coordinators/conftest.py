"""Three brokers, of which one can be behind; a test module may have a kind of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.control.lagging_trio import LaggingTrio


@pytest.fixture
def trio(tmp_path: Path) -> Iterator[LaggingTrio]:
    trio = LaggingTrio(tmp_path / "data")
    yield trio
    trio.cluster.close(sync=False)
