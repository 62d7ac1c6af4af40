"""A fault of a broker under test: a rule in force, as a context manager."""

from collections.abc import Mapping
from datetime import timedelta
from types import TracebackType
from typing import Final, Self
from urllib.parse import quote

from broker_lite.testing.controlled import WAIT, Controlled, elements, given, in_ms, members
from broker_lite.testing.processes.forks import BrokerFailed, ControlRefused

_NOT_FOUND: Final = 404


class FaultUnused(AssertionError):
    """No request met a fault; the text tells which requests came near, and what was different."""


class Fault:
    """A rule in force: `with broker.fault("Produce", error="REQUEST_TIMED_OUT") as fault:`.

    Leaving the context removes the rule, and releases the requests that it holds. If it acted on no
    request, that raises FaultUnused: a test that passes without its fault shows nothing.

    Attributes:
        id: of the rule.
    """

    def __init__(
        self, broker: Controlled, state: Mapping[str, object], *, unused_ok: bool = False
    ) -> None:
        """Take over a rule that is in force.

        Args:
            broker: where it is in force.
            state: of the rule, as the control API told it.
            unused_ok: whether it may go without having acted.
        """
        self.id = str(state["id"])
        self._broker = broker
        self._state = dict(state)
        self._unused_ok = unused_ok
        self._is_removed = False

    @property
    def rule(self) -> dict[str, object]:
        """The rule as it was given."""
        return members(self._state["rule"])

    @property
    def hits(self) -> int:
        """On how many requests it has acted."""
        return _number(self.state()["hits"])

    @property
    def left(self) -> int:
        """On how many requests it will still act; -1 for all, until it is removed."""
        return _number(self.state()["left"])

    @property
    def held(self) -> int:
        """How many requests it holds now."""
        return _number(self.state()["held"])

    @property
    def near(self) -> list[str]:
        """The requests that it nearly acted on, each with what was different; empty after a hit."""
        return [str(each) for each in elements(self.state()["near"])]

    def state(self) -> dict[str, object]:
        """Return all that the broker knows of it; after the end, what it knew last."""
        if not self._is_removed:
            self._state = members(self._broker.control("GET", self._path()))
        return self._state

    def wait(self, hits: int = 1, timeout: timedelta = WAIT) -> None:
        """Wait until it has acted on so many requests; one that holds them then holds the last.

        Args:
            hits: in all, since it was added.
            timeout: how long to wait.

        Raises:
            BrokerFailed: the time is over; the text tells which requests came near.
        """
        __tracebackhide__ = True
        body = {"hits": hits, "timeout_ms": in_ms(timeout)}
        self._state = members(self._broker.control("POST", self._path("/wait"), body, wait=timeout))

    def release(self, count: int | None = None) -> int:
        """Let requests go on that it holds, the first ones first; return how many there were.

        Args:
            count: how many; None for all.
        """
        answer = self._broker.control("POST", self._path("/release"), given({"count": count}))
        return _number(members(answer)["released"])

    def remove(self) -> None:
        """End it, and let all requests go on that it holds; nothing happens the second time."""
        if self._is_removed:
            return
        try:
            self._state = members(self._broker.control("DELETE", self._path()))
        except ControlRefused as error:
            if error.status != _NOT_FOUND:  # all faults may have been cleared
                raise
            self._unused_ok = True
        self._is_removed = True

    def __enter__(self) -> Self:
        """Return itself; it is in force already."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Remove it.

        Raises:
            FaultUnused: it has not acted, and the context ends without another error.
        """
        __tracebackhide__ = True
        try:
            self.remove()
        except BrokerFailed:
            if error is None:
                raise
            return  # the first error is the one to be told
        if error is None and not self._unused_ok and not self._state["hits"]:
            raise FaultUnused(self._unused())

    def _unused(self) -> str:
        """Return the line that says why it has not acted."""
        rule = ", ".join(f"{name}={value!r}" for name, value in self.rule.items())
        met = "call of the disk" if "disk" in self.rule else "request"
        text = f"fault {self.id} ({rule}) acted on no {met}"
        reasons = self._state.get("reasons")
        if reasons:
            text += f"; it could not act on {self._state.get('not_applied')}: "
            text += "; ".join(map(str, elements(reasons)))
        near = self.near
        return f"{text}; nearest: {'; '.join(near)}" if near else f"{text}; no {met} came near"

    def _path(self, end: str = "") -> str:
        return f"/v1/faults/{quote(self.id, safe='')}{end}"


def _number(value: object) -> int:
    assert isinstance(value, int)
    return value
