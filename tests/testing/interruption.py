"""Interrupts what waits, as Ctrl-C or a test's time limit does."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from types import FrameType

import pytest

_DELAY_S = 0.1


class Interrupted(BaseException):
    """What the signal's handler raises."""


@contextmanager
def interrupted(stopped_pid: int) -> Iterator[None]:
    """Have what is done here wait for a process that stands still, and be interrupted."""
    before = signal.signal(signal.SIGUSR1, _raise)
    timer = Timer(_DELAY_S, os.kill, (os.getpid(), signal.SIGUSR1))
    os.kill(stopped_pid, signal.SIGSTOP)
    timer.start()
    try:
        with pytest.raises(Interrupted):
            yield
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)
        os.kill(stopped_pid, signal.SIGCONT)


def _raise(_number: int, _frame: FrameType | None) -> None:
    raise Interrupted
