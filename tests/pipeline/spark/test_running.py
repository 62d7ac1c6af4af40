"""What a signal leaves of a job: its exit code, one line, and nothing else."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.files.layout import find_partitions
from broker_lite.pipeline.spark.running import Signals, Stopped
from tests.support.toolchain import require

TIMEOUT_S, STEP_S = 180, 0.05
FOREVER = ("--topic", "topic", "--set", "bytes=1t", "--set", "segment_bytes=1g")
QUICK = "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def wait_until(is_true: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not is_true():
        assert process.poll() is None, "the job goes on"
        assert time.monotonic() < deadline
        time.sleep(STEP_S)


@pytest.mark.slow
def test_ctrl_c_ends_a_job_with_all_its_processes(tmp_path: Path) -> None:
    """As a terminal does it, to all processes of the group, in the middle of writing."""
    require("java")
    log, errors = tmp_path / "log", tmp_path / "errors"
    command = ("-m", "broker_lite", "spark", "generate", str(log), *FOREVER)
    with errors.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, *command, "--master", "local[1]", "--conf", QUICK],
            stdout=stream,
            stderr=stream,
            start_new_session=True,
        )
        wait_until(lambda: any(log.glob("topic-0/*.log.*")), process)
        family = psutil.Process(process.pid).children(recursive=True)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(TIMEOUT_S) == 130
    said = errors.read_text().splitlines()
    assert said[-1] == "broker-lite spark generate: stopped by SIGINT"
    assert not [line for line in said if line.startswith(("Traceback", "\tat ", "Caused by"))]
    assert len(family) > 1
    assert not psutil.wait_procs(family, TIMEOUT_S)[1]
    (found,) = find_partitions(LocalFileIO(), str(log)).values()
    assert found.segments == ()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_told_whatever_it_breaks_off(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with Signals() as signals:
        with pytest.raises(Stopped) as stopped:
            signal.raise_signal(number)
        assert stopped.value.code == 128 + number
        assert signals.stopped is stopped.value
        assert signal.getsignal(number) is signal.SIG_DFL
    assert signal.getsignal(number) is before
