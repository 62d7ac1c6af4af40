"""The jobs on a standalone cluster that has broker-lite installed, a worker dying in each."""

import json
import shutil
import subprocess
import sysconfig
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from broker_lite.pipeline.spark.java import find_java
from broker_lite.pipeline.spark.jobs.generate import generate
from tests.packaging.environment import Environment
from tests.pipeline.spark import cluster_jobs
from tests.pipeline.spark.cluster import Cluster, shared_classes
from tests.pipeline.support import Partition, numbered
from tests.support.toolchain import require
from tests.tidy.project_files import ROOT, project_files

pytestmark = pytest.mark.slow

RECORDS: Final = 2000
BATCH_RECORDS: Final = 50


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Where broker-lite is installed; what it depends on comes from the tests' environment."""
    checkout = tmp_path_factory.mktemp("checkout")
    for path in project_files():
        if path.parts[0] not in ("tests", "docker"):
            (checkout / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, checkout / path)
    environment = Environment(tmp_path_factory.mktemp("installed") / "venv", has_compiler=True)
    environment.pip("install", "--no-deps", checkout, BROKER_LITE_NATIVE="off")
    folder = environment.run("python", "-c", "import sysconfig as s; print(s.get_path('purelib'))")
    Path(folder.strip(), "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return environment


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two partitions in many segments, so in many splits."""
    root = tmp_path_factory.mktemp("logs")
    for number in range(2):
        with Partition(root, "topic", number, segment_bytes=10_000) as partition:
            for first in range(0, RECORDS, BATCH_RECORDS):
                partition.append(numbered(BATCH_RECORDS, first=first))
    return root


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where each job writes, in a folder of its name."""
    return tmp_path_factory.mktemp("target")


@pytest.fixture(scope="module")
def found(
    installed: Environment, logs: Path, target: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What each job found, by its name."""
    require("java")
    folder = tmp_path_factory.mktemp("cluster")
    with Cluster(folder / "spark") as cluster:
        program = (installed.programs / "python", cluster_jobs.__file__, cluster.master_url)
        classes = shared_classes(find_java())
        with subprocess.Popen(
            [*program, logs, target, classes],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=installed.environ,
        ) as driver:
            found = list(results(driver, cluster))
    assert driver.returncode == 0
    return {one["job"]: one for one in found}


def results(driver: "subprocess.Popen[str]", cluster: Cluster) -> Iterator[dict[str, Any]]:
    """Kill a worker whenever a job is in its middle; yield what the jobs say."""
    assert driver.stdin is not None
    assert driver.stdout is not None
    for line in driver.stdout:
        if line != "middle\n":
            yield json.loads(line)
            continue
        cluster.replace_worker()
        driver.stdin.write("killed\n")
        driver.stdin.flush()


@pytest.mark.parametrize("job", cluster_jobs.JOBS)
def test_a_worker_died_while_there_was_work(found: dict[str, Any], job: str) -> None:
    assert found[job]["unfinished"] > 0


def test_verify_saw_every_batch(found: dict[str, Any]) -> None:
    result = found["verify"]["result"]
    assert result["findings"] == []
    assert result["records"] == 2 * RECORDS
    assert result["batches"] == 2 * RECORDS // BATCH_RECORDS


def test_export_has_every_record_once(found: dict[str, Any]) -> None:
    checksums = sum(zlib.crc32(record.value or b"") for record in numbered(RECORDS))
    expected = [RECORDS, RECORDS * (RECORDS - 1) // 2, checksums]
    assert found["export"]["result"] == [["topic", 0, *expected], ["topic", 1, *expected]]


def test_generate_made_what_it_makes_on_one_machine(
    found: dict[str, Any], target: Path, spark: SparkSession, tmp_path: Path
) -> None:
    assert found["generate"]["result"] == 2
    generate(spark, cluster_jobs.SPEC, str(tmp_path))
    made = segments(tmp_path)
    assert len(made) >= 2 * 4
    assert segments(target / "generate") == made


def segments(root: Path) -> dict[str, bytes]:
    """The files of the partitions, by their path."""
    return {str(path.relative_to(root)): path.read_bytes() for path in root.glob("made-*/0*")}
