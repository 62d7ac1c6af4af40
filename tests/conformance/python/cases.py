"""What the secured programs in Python share: their cases, and how they tell what came of each.

A case is a line of standard input, `NAME KIND key=value...`. Of the kind `works`, a client writes,
reads in a group, commits a transaction, and goes on for `renewal_ms`; of the kind `lasts`, the same
without a transaction; of the kind `fails`, it is refused. It prints `told NAME STEP WORD`, where
the word is `ok`, or how the client calls its error. The step of a refusal is `error`; a client may
also tell the `reason` of its error.

Of the kind `denied`, its user lacks a right for the case's `action`:

produce: write a record to `topic`, as the client does it if nothing else is said.
idempotent: the same with an idempotent producer.
read: wait for a record of `topic`, in a group if the client has groups.
join: the same to a client that has groups.
transact: write a record in a transaction and commit it.
offsets: send an offset of a group to a transaction.
describe: ask an administrator for `topic`.
create: create `topic` by an administrator.

The group and the transactional id have the name of the topic.
"""

import logging
import sys
import traceback
from collections.abc import Awaitable, Callable
from queue import SimpleQueue
from typing import NamedTuple

from tests.conformance.python.lines import emit

TIMEOUT_S = 20
PAUSE_S = 0.2


class Case(NamedTuple):
    """One client; what it does not have is empty."""

    name: str
    kind: str
    bootstrap: str
    protocol: str
    topic: str
    mechanism: str = ""
    user: str = ""
    password: str = ""
    token: str = ""
    scope: str = ""
    ca: str = ""
    certificate: str = ""
    renewal_ms: str = "0"
    action: str = ""

    @property
    def renewal_s(self) -> float:
        """How long it goes on."""
        return int(self.renewal_ms) / 1000


def cases() -> list[Case]:
    """The cases of standard input."""
    found = []
    for line in sys.stdin:
        name, kind, *words = line.split()
        found.append(Case(name, kind, **dict(word.split("=", 1) for word in words)))
    return found


def told(case: Case, step: str, error: Exception | None = None, word: str = "") -> None:
    """Print what came of a step; what was not expected goes to standard error, too."""
    if error is not None and case.kind not in {"fails", "denied"}:
        sys.stderr.write(f"{case.name} {step}: {''.join(traceback.format_exception(error))}\n")
    emit("told", case.name, step, word or ("ok" if error is None else type(error).__name__))


class Logged(logging.Handler):
    """The errors that a client writes to its log only, in lines that begin with some words.

    Attributes:
        errors: they, the oldest first.
    """

    def __init__(self, beginning: str) -> None:
        super().__init__(logging.WARNING)
        self._beginning = beginning
        self.errors: SimpleQueue[Exception] = SimpleQueue()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the errors of a line."""
        if record.msg.startswith(self._beginning):
            assert isinstance(record.args, tuple)
            for each in record.args:
                if isinstance(each, Exception):
                    self.errors.put(each)


def attempt(case: Case, step: str, action: Callable[[], object]) -> bool:
    """Do a step and tell; return whether it worked."""
    try:
        action()
    except Exception as error:
        told(case, step, error)
        return False
    told(case, step)
    return True


async def attempt_async(case: Case, step: str, action: Callable[[], Awaitable[object]]) -> bool:
    """The same for a client of coroutines."""
    try:
        await action()
    except Exception as error:
        told(case, step, error)
        return False
    told(case, step)
    return True
