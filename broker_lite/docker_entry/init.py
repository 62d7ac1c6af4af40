"""The first process of a container, which forwards signals for programs that do not.

A shell that is process 1 ignores SIGTERM, and does not forward it to the broker that its script has
started; after ten seconds Docker kills both. So the entry point stays process 1, runs the shell in
its own process group, and forwards every signal to the whole group.
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
    """Run a program until it ends; after a stop signal, until its whole process group ends.

    Returns:
        The program's exit code. If the stop signal killed the program, the code of the last process
        that ended in another way, such as a broker that a script had started.

    Raises:
        SettingsError: there is no such program.
    """
    # The signals stay blocked, and sigwait() takes them one by one. With a Python handler, a signal
    # just before a blocking call would only be handled after it.
    signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # if inherited as ignored, it would never arrive
    try:
        leader = os.posix_spawnp(
            arguments[0], [*arguments], os.environ, setpgroup=0, setsigmask=(), setsigdef=_AWAITED
        )
    except OSError as error:
        raise SettingsError(f"{arguments[0]}: {error.strerror}") from error
    return _wait(leader)


def _wait(leader: int) -> int:
    """Wait for the program, and reap orphans, which become children of process 1."""
    code = None
    stop = 0
    while True:
        number = signal.sigwait(_AWAITED)
        if number != signal.SIGCHLD:
            if number in _STOPS:
                stop = number
            with suppress(ProcessLookupError):  # the group has ended, other orphans have not
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
    """Return a shell's exit code: 128 + number if a signal ended the process."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code
