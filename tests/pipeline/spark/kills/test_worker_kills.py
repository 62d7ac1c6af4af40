"""A short share of tests.pipeline.spark.kills.worker_kills, which kills workers in more jobs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipeline.spark.kills.jobs import JOBS, specification
from tests.support.command_line import ROOT
from tests.support.toolchain import require

TIMEOUT_S = 280
MIB = 16


@pytest.mark.slow
def test_jobs_come_to_the_same_result(tmp_path: Path) -> None:
    require("java")
    words = ["--seed=20261128", f"--mib={MIB}", "--jobs=verify,compact,search"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.pipeline.spark.kills.worker_kills", *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert ", 0 faults" in done.stdout


def test_the_same_seed_makes_the_same_logs() -> None:
    assert specification(1, MIB) == specification(1, MIB)
    assert specification(1, MIB) != specification(2, MIB)


def test_a_job_that_is_unknown() -> None:
    assert "replay" not in JOBS, "it has no workers; tests.commands.replay.kills kills it"
