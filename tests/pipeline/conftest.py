"""One Spark session for all tests: starting one takes longer than most of them."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from broker_lite.pipeline.spark.session import session
from broker_lite.pipeline.stream import settling
from tests.support.toolchain import require


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a cleaner to be done."""
    monkeypatch.setattr(settling, "PAUSE_S", 0)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Local, two tasks at a time, results in few partitions; the data source is known."""
    require("java")
    folder = tmp_path_factory.mktemp("spark")
    conf = {
        "spark.driver.memory": "1g",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.showConsoleProgress": "false",
    }
    running = session("tests", "local[2]", conf, quick_start=True)
    yield running
    running.stop()
