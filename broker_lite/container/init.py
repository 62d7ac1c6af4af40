"""The first process of a container, when a program runs in it that does not hand signals on.

A shell that is process 1 does nothing on SIGTERM, and neither does the broker that its script has
started hear of it: after ten seconds both are killed. So the entry point stays process 1, runs the
shell below it in a process group of its own, and hands every signal to the whole group.
"""

import os
import signal
from collections.abc import Sequence
from types import FrameType
from typing import Final

from broker_lite.errors import SettingsError

_STOPS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)
_HANDED_ON: Final = (*_STOPS, signal.SIGUSR1, signal.SIGUSR2)


class _Group:
    """The processes below this one; `stop` is the signal that was to end them, if any was."""

    def __init__(self) -> None:
        self.leader = 0
        self.stop = 0

    def hand_on(self, number: int, _frame: FrameType | None = None) -> None:
        """Be the handler of a signal: everybody gets it."""
        if number in _STOPS:
            self.stop = number
        if self.leader:
            os.killpg(self.leader, number)


def run_as_init(arguments: Sequence[str]) -> int:
    """Run a program until it ends, and after a signal to stop until all that it started ended.

    Returns:
        The program's exit code. If it died of the signal to stop, that of the last process that
        ended in another way, such as the broker that a script had started.

    Raises:
        SettingsError: there is no such program.
    """
    group = _Group()
    signal.pthread_sigmask(signal.SIG_BLOCK, _HANDED_ON)
    for number in _HANDED_ON:
        signal.signal(number, group.hand_on)
    try:
        group.leader = os.posix_spawnp(
            arguments[0], [*arguments], os.environ, setpgroup=0, setsigmask=(), setsigdef=_HANDED_ON
        )
    except OSError as error:
        raise SettingsError(f"{arguments[0]}: {error.strerror}") from error
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDED_ON)
    return _wait(group)


def _wait(group: _Group) -> int:
    """Wait for the program, and for the orphans that a container leaves to its first process."""
    code = None
    while True:
        try:
            process, status = os.wait()
        except ChildProcessError:
            return 128 + group.stop if code is None else code
        died_of_stop = group.stop and os.WIFSIGNALED(status) and os.WTERMSIG(status) == group.stop
        if not died_of_stop:
            code = _exit_code(status)
        if process == group.leader and not group.stop:
            return _exit_code(status)


def _exit_code(status: int) -> int:
    """As a shell tells it: 128 and the number of the signal that ended the process."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code
