"""The launcher: who starts brokers ends them, and nobody else does."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from broker_lite.testing import BrokerFailed
from broker_lite.testing.processes.forks import Forks
from broker_lite.testing.processes.plan import Plan
from tests.testing import lost_launcher
from tests.testing.interruption import interrupted

TIMEOUT_S = 60

OWNER = """
import os, sys
from broker_lite.testing import Broker
from broker_lite.testing.processes.forks import running_forks
brokers = [Broker().start(), Broker().start()]
brokers[0].produce("t", "x")
forks = running_forks()
print(forks.root, forks.pid, *(broker.pid for broker in brokers), flush=True)
{end}
"""


def run_owner(end: str) -> tuple[subprocess.Popen[str], Path, list[psutil.Process]]:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER.format(end=end)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )
    assert owner.stdout is not None
    root, *pids = owner.stdout.readline().split()
    return owner, Path(root), [psutil.Process(int(pid)) for pid in pids]


def finish(owner: subprocess.Popen[str]) -> int:
    assert owner.stdin is not None
    assert owner.stdout is not None
    with owner.stdin, owner.stdout:
        return owner.wait(TIMEOUT_S)


def assert_nothing_is_left(root: Path, processes: list[psutil.Process]) -> None:
    assert len(processes) == 3
    _, alive = psutil.wait_procs(processes, timeout=TIMEOUT_S)
    assert alive == []
    assert not root.exists()


def test_a_kill_of_the_process_that_tests_leaves_nothing() -> None:
    owner, root, processes = run_owner("sys.stdin.read()")
    assert (root / "broker-1.data" / "t-0").is_dir()
    owner.kill()
    assert finish(owner) == -signal.SIGKILL
    assert_nothing_is_left(root, processes)


@pytest.mark.parametrize(
    ("end", "code"),
    [("", 0), ("sys.exit(3)", 3), ("os._exit(4)", 4), ("os.abort()", -signal.SIGABRT)],
)
def test_every_end_leaves_nothing(end: str, code: int) -> None:
    owner, root, processes = run_owner(end)
    assert finish(owner) == code
    assert_nothing_is_left(root, processes)


FORKING = """
import os, sys
from broker_lite.testing import Broker, BrokerFailed
from broker_lite.testing.processes.forks import running_forks
with Broker() as broker:
    broker.produce("t", "x")
    parents = running_forks().pid
    if not (pid := os.fork()):
        assert running_forks() is None
        assert not broker.is_running
        broker.stop()
        try:
            broker.reset()
        except BrokerFailed:
            pass
        assert len(broker.records("t")) == 1
        with Broker() as own:
            assert own.port != broker.port
            assert running_forks().pid != parents
        sys.exit(7)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code == 7, code
    assert broker.is_running
    broker.reset()
    broker.produce("t", "y")
    assert len(broker.records("t")) == 1
print("well")
"""


def test_a_forked_process_lets_its_parents_brokers_be() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", FORKING],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "well\n", "")


def test_brokers_end_with_their_owner_although_a_fork_of_it_lives_on() -> None:
    fork = "if pid := os.fork():\n    print(pid, flush=True)\nsys.stdin.read()"
    owner, root, processes = run_owner(fork)
    assert owner.stdout is not None
    child = psutil.Process(int(owner.stdout.readline()))
    owner.kill()
    owner.wait(TIMEOUT_S)
    assert_nothing_is_left(root, processes)
    assert child.is_running()
    finish(owner)
    child.wait(TIMEOUT_S)


@pytest.mark.parametrize(
    "what",
    [lost_launcher.is_replaced, lost_launcher.leaves_a_broker, lost_launcher.leaves_a_dead_broker],
)
def test_a_launcher_that_is_gone(what: Callable[[], None]) -> None:
    """In a new process: brokers of the whole session would die with the launcher of this one."""
    module = what.__module__
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"import {module}; {module}.{what.__name__}()"],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_launcher_that_dies_meanwhile_is_told(tmp_path: Path) -> None:
    forks = Forks()
    plan = Plan({}, None, None, None, [], str(tmp_path), True, str(tmp_path / "log"))
    os.kill(forks.pid, signal.SIGKILL)
    psutil.Process(forks.pid).wait(TIMEOUT_S)
    with pytest.raises(BrokerFailed, match="the process that starts brokers: it is gone"):
        forks.start(plan)
    forks.close()
    forks.close()
    shutil.rmtree(forks.root)


def test_a_launcher_that_does_not_start_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("PYTHONHOME", str(tmp_path))
    with pytest.raises(BrokerFailed, match=r"the process that starts brokers: .+"):
        Forks()


def test_who_was_interrupted_gets_the_right_answers_afterwards() -> None:
    forks = Forks()
    with interrupted(forks.pid):
        forks.wait(os.getpid())
    plan = Plan({}, None, None, None, [], str(forks.root / "data"), True, str(forks.root / "log"))
    pid, orders = forks.start(plan)
    orders.close()
    assert forks.wait(pid) == 0
    forks.close()


def test_nobody_kills_or_waits_for_strangers() -> None:
    forks = Forks()
    forks.kill(os.getpid())
    assert forks.wait(os.getpid()) is None
    forks.close()
    assert not forks.root.exists()
