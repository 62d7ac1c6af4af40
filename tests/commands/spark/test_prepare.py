"""`broker-lite spark prepare`: what jobs start faster with, made once; and their silence."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.toolchain import require

pytestmark = pytest.mark.slow
TIMEOUT_S = 300


def spark_job(cache: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """Run a job in a process of its own, with a cache of its own."""
    require("java")
    return subprocess.run(
        [sys.executable, "-m", "broker_lite", "spark", *map(str, words), "--master", "local[1]"],
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )


def archives(cache: Path) -> list[Path]:
    return sorted(cache.glob("broker-lite/spark-classes-*"))


def test_jobs_are_silent_and_prepare_makes_one_archive(tmp_path: Path) -> None:
    cache, log = tmp_path / "cache", tmp_path / "log"
    first = spark_job(cache, "generate", log, "--topic", "t", "--set", "records=10")
    assert (first.returncode, first.stderr) == (0, "")
    assert archives(cache) == [], "no job makes it by the way"

    made = spark_job(cache, "prepare")
    assert made.returncode == 0, made.stderr
    (archive,) = archives(cache)
    assert made.stdout.startswith(f"Made {archive}, ")
    assert archive.stat().st_size > 10 << 20

    again = spark_job(cache, "prepare")
    assert (again.stdout, again.stderr) == (f"{archive} is there already.\n", "")
    second = spark_job(cache, "verify", log)
    assert (second.returncode, second.stderr) == (0, "")


def test_without_a_cache_there_is_nothing_to_prepare(tmp_path: Path) -> None:
    cache = tmp_path / "file"
    cache.touch()
    told = spark_job(cache, "prepare")
    assert told.returncode == 1
    assert told.stderr == "broker-lite: the cache folder cannot be written\n"
