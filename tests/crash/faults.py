"""What is made to happen at a named place: the process dies, or the call fails.

A fault is written as NAME:N[:ACTION[:PART]], as in `roll.create.log:2:ENOSPC:orders-0`. NAME may
have wildcards, as `roll.*` has; N counts the passings from 1, and `3+` means the third and all that
follow; PART must be in the path of the file.

| action | what happens |
| --- | --- |
| kill | SIGKILL before the call; also when no action is named |
| kill-after | SIGKILL after it |
| torn | half of a write is made, then SIGKILL; of other calls as kill |
| short | half of a write is made, the caller is told so; other calls are made as they are |
| ENOSPC, EIO | the call fails with this error, and nothing is written |
"""

import errno
import os
import re
import signal
from fnmatch import fnmatchcase
from threading import Lock
from typing import Final, NamedTuple

from tests.crash.calls import Call
from tests.crash.points import name_of

ACTIONS: Final = ("kill", "kill-after", "torn", "short", "ENOSPC", "EIO")
_FAULT: Final = re.compile(r"([^:]+):([1-9][0-9]*)(\+?)(?::([\w-]+))?(?::(.+))?")


class Fault(NamedTuple):
    """A fault as it was asked for."""

    name: str
    first: int
    is_lasting: bool
    action: str
    part: str

    @classmethod
    def parse(cls, text: str) -> "Fault":
        """Read NAME:N[:ACTION[:PART]].

        Raises:
            ValueError: it is written otherwise, or there is no such action.
        """
        found = _FAULT.fullmatch(text)
        if found is None or (found[4] or "kill") not in ACTIONS:
            raise ValueError(f"not NAME:N[:ACTION[:PART]]: {text!r}")
        return cls(found[1], int(found[2]), bool(found[3]), found[4] or "kill", found[5] or "")


class FaultObserver:
    """Lets one fault happen.

    Attributes:
        passed: how often the place was passed.
    """

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.passed = 0
        self._dying: Call | None = None
        self._lock = Lock()

    def before(self, call: Call) -> int | None:
        """Count the passing; fail, die, or shorten a write when it is the one."""
        action = self.fault.action
        if not self._is_meant(call):
            return None
        if action in {"ENOSPC", "EIO"}:
            number = getattr(errno, action)
            raise OSError(number, os.strerror(number), call.path)
        if action == "kill" or (action == "torn" and call.kind != "write"):
            die()
        if action in {"kill-after", "torn"}:
            self._dying = call
        return len(call.data) // 2 if action in {"short", "torn"} and call.data else None

    def after(self, call: Call, count: int) -> None:
        """Die after the call when it is the one."""
        if self._dying is call:
            die()

    def _is_meant(self, call: Call) -> bool:
        fault = self.fault
        if fault.part not in call.path or not fnmatchcase(name_of(call), fault.name):
            return False
        with self._lock:
            self.passed += 1
            passed = self.passed
        return passed == fault.first or (fault.is_lasting and passed > fault.first)


def die() -> None:
    """End as by kill -9, with nothing written any more."""
    os.kill(os.getpid(), signal.SIGKILL)
