import signal
import subprocess
import sys

import pytest

PROGRAM = """
import sys
from broker_lite.docker_entry.init import run_as_init
from broker_lite.errors import SettingsError
try:
    sys.exit(run_as_init(sys.argv[1:]))
except SettingsError as error:
    sys.exit(f"{error}")
"""
TIMEOUT_S = 30


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def code_after(process: subprocess.Popen[str], number: int) -> int:
    """Wait for the line that tells that the program runs, send a signal and wait for the end."""
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    process.send_signal(number)
    process.communicate(timeout=TIMEOUT_S)
    return process.returncode


@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 128 + signal.SIGKILL)]
)
def test_the_code_is_the_program_s(script: str, code: int) -> None:
    process = start("sh", "-c", script)
    process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == code


def test_the_end_of_a_child_is_heard_of_although_it_was_ignored() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # a new process inherits that
    try:
        process = start("sh", "-c", "exit 3")
    finally:
        signal.signal(signal.SIGCHLD, before)
    process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 3


def test_a_program_that_is_not_there() -> None:
    process = start("/nosuch", "x")
    _, told = process.communicate(timeout=TIMEOUT_S)
    assert told == "/nosuch: No such file or directory\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP])
def test_a_shell_dies_of_the_signal(number: signal.Signals) -> None:
    # Who says that it is up is the program below the shell: a shell that is just starting one lets
    # SIGINT get lost.
    assert code_after(start("sh", "-c", "yes up; true"), number) == 128 + number


def test_a_program_that_ends_well_on_the_signal() -> None:
    script = "trap 'exit 7' TERM; echo up; while :; do sleep 0.1; done"
    assert code_after(start("sh", "-c", script), signal.SIGTERM) == 7


def test_a_signal_that_stops_nothing_is_handed_on() -> None:
    script = "trap 'exit 5' USR1; echo up; while :; do sleep 0.1; done"
    assert code_after(start("sh", "-c", script), signal.SIGUSR1) == 5


def test_the_signals_of_a_program_are_as_usual() -> None:
    process = start("sh", "-c", "grep -E 'Sig(Blk|Ign)' /proc/self/status")
    told, _ = process.communicate(timeout=TIMEOUT_S)
    assert [int(line.split()[1], 16) & (1 << signal.SIGTERM - 1) for line in told.splitlines()] == [
        0,
        0,
    ]


def test_orphans_end_before_it_does() -> None:
    """What a script has started in the background ends in its own way, and its code counts."""
    adopt = "import ctypes; ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)\n"  # as process 1 by itself
    child = "trap 'sleep 0.2; exit 0' TERM; echo up; while :; do sleep 0.1; done"
    process = subprocess.Popen(
        [sys.executable, "-c", adopt + PROGRAM, "sh", "-c", f'sh -c "{child}" & wait; true'],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert code_after(process, signal.SIGTERM) == 0
