from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from broker_lite.control.clock import Clock
from broker_lite.control.cluster import Cluster
from broker_lite.settings import Given, Settings

OpenCluster = Callable[..., Cluster]


@pytest.fixture
def open_cluster(tmp_path: Path) -> Iterator[OpenCluster]:
    """Opens the cluster of one data directory, and closes at the end what is still open."""
    opened: list[Cluster] = []

    def open_one(**settings: str) -> Cluster:
        given = {name.replace("_", "."): Given(text, "test") for name, text in settings.items()}
        cluster = Cluster.open(Settings(given), tmp_path / "data", Clock.standing_still())
        opened.append(cluster)
        return cluster

    yield open_one
    for cluster in opened:
        cluster.close(sync=False)
