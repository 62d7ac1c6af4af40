"""Further processes: their state, and the words for how they have ended."""

import psutil
import pytest

from broker_lite.server.processes.spawning import CLEAN_END, describe_end, spawn
from tests.server.processes.conftest import wait_until


@pytest.mark.parametrize(
    ("code", "words"), [(0, CLEAN_END), (2, "exit code 2"), (-9, "SIGKILL"), (-250, "signal 250")]
)
def test_an_exit_code_in_words(code: int, words: str) -> None:
    assert describe_end(code) == words


def test_a_process_that_is_suspended() -> None:
    spawned, sock = spawn()
    assert not spawned.is_suspended
    psutil.Process(spawned.pid).suspend()
    wait_until(lambda: spawned.is_suspended)
    psutil.Process(spawned.pid).resume()
    wait_until(lambda: not spawned.is_suspended)
    sock.close()
    assert spawned.wait(20) == 0
    assert not spawned.is_suspended
