"""The hook of each API in a process's seams: the journal, within it the faults, then the handler.

An API has a hook only while a rule or the journal is about it.
"""

from collections.abc import Awaitable, Collection
from typing import Protocol

from broker_lite.handler.context import Handler, HandlerContext, Hook, Parts, Request
from broker_lite.server.seams import Seams
from broker_lite.testbench.facts import Facts
from broker_lite.testbench.faults.engine import Faults
from broker_lite.testbench.journal.journal import Journal


class Around(Protocol):
    """What is called around the handlers of some APIs."""

    def wanted_keys(self) -> Collection[int]:
        """Return the keys of these APIs."""

    def around(self, facts: Facts, handle: Handler, /) -> Awaitable[Parts | None]:
        """Answer a request by calling its handler, or without it."""


class BenchHooks:
    """Sets the seams of a process to what its faults and its journal need now."""

    def __init__(self, seams: Seams, faults: Faults, journal: Journal | None = None) -> None:
        """Set them for the first time; faults and journal call again when they change.

        Args:
            seams: of the process.
            faults: of the process.
            journal: sees requests as they come and answers as they leave.
        """
        self._seams = seams
        self._faults = faults
        self._journal = journal
        faults.changed = self.refresh
        if journal is not None:
            journal.changed = self.refresh
        self.refresh()

    def refresh(self) -> None:
        """Set the seams anew."""
        faults, journal = self._faults, self._journal
        of_faults = faults.wanted_keys()
        of_journal = () if journal is None else journal.wanted_keys()
        hooks: dict[int, Hook] = {}
        for key in {*of_faults, *of_journal}:
            if journal is None or key not in of_journal:
                hooks[key] = _single(faults)
            elif key not in of_faults:
                hooks[key] = journal.hook_part
            else:
                hooks[key] = _both(journal, faults)
        self._seams.hooks.clear()
        self._seams.hooks.update(hooks)
        self._seams.hooks.may_wait = faults.may_wait
        self._seams.gate = faults.gate.admits if faults.gate.faults else None
        self._seams.changed()


def _single(around: Around) -> Hook:
    def hook(
        context: HandlerContext, request: Request, handle: Handler, /
    ) -> Awaitable[Parts | None]:
        return around.around(Facts(context, request), handle)

    return hook


def _both(outer: Around, inner: Around) -> Hook:
    def hook(
        context: HandlerContext, request: Request, handle: Handler, /
    ) -> Awaitable[Parts | None]:
        facts = Facts(context, request)

        def faulty(_: HandlerContext, __: Request) -> Awaitable[Parts | None]:
            return inner.around(facts, handle)

        return outer.around(facts, faulty)

    return hook
