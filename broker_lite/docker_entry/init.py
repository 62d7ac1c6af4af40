"""The first process of a container, when a program runs in it that does not hand signals on.

A shell that is process 1 does nothing on SIGTERM, and neither does the broker that its script has
started hear of it: after ten seconds both are killed. So the entry point stays process 1, runs the
shell below it in a process group of its own, and hands every signal to the whole group.
"""

import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from broker_lite.errors import SettingsError

_STOPS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)
_HANDED_ON: Final = (*_STOPS, signal.SIGUSR1, signal.SIGUSR2)
_AWAITED: Final = (*_HANDED_ON, signal.SIGCHLD)


def run_as_init(arguments: Sequence[str]) -> int:
    """Run a program until it ends, and after a signal to stop until all that it started ended.

    Returns:
        The program's exit code. If it died of the signal to stop, that of the last process that
        ended in another way, such as the broker that a script had started.

    Raises:
        SettingsError: there is no such program.
    """
    # They stay blocked, and are taken one by one: Python would run a handler after a call that
    # waits, if its signal came just before the call.
    signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # inherited as ignored, it would never come
    try:
        leader = os.posix_spawnp(
            arguments[0], [*arguments], os.environ, setpgroup=0, setsigmask=(), setsigdef=_AWAITED
        )
    except OSError as error:
        raise SettingsError(f"{arguments[0]}: {error.strerror}") from error
    return _wait(leader)


def _wait(leader: int) -> int:
    """Wait for the program, and for the orphans that a container leaves to its first process."""
    code = None
    stop = 0
    while True:
        number = signal.sigwait(_AWAITED)
        if number != signal.SIGCHLD:
            if number in _STOPS:
                stop = number
            with suppress(ProcessLookupError):  # the group has ended, orphans of others have not
                os.killpg(leader, number)
            continue
        try:
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                process, status = ended
                died_of_stop = stop and os.WIFSIGNALED(status) and os.WTERMSIG(status) == stop
                if not died_of_stop:
                    code = _exit_code(status)
                if process == leader and not stop:
                    return _exit_code(status)
        except ChildProcessError:
            return 128 + stop if code is None else code


def _exit_code(status: int) -> int:
    """As a shell tells it: 128 and the number of the signal that ended the process."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code
