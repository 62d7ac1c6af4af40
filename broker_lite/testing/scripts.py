"""A script at a broker under test: rules, steps and expectations, as a context manager."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from broker_lite.errors import SettingsError
from broker_lite.testbench.scripts.files import is_record, read_script_file
from broker_lite.testing.controlled import Controlled, elements, in_ms, members
from broker_lite.testing.processes.forks import BrokerFailed, ControlRefused

SCRIPT_WAIT: Final = timedelta(seconds=10)
"""How long the end of a context waits for what is missing, if the test does not say."""
_TIMED_OUT: Final = 408

_kept: list[list[dict[str, object]]] = []


class ScriptFailed(AssertionError):
    """A script did not go as it says: the text tells what is missing, or the first difference."""


class Script:
    """A script that runs: `with broker.script("lost.yaml") as script:`.

    Leaving the context waits until all steps are done, all rules are spent and the expected
    requests have come, and removes the rules. If that does not happen, it raises ScriptFailed.

    Attributes:
        id: of the run.
        seed: with which the same script decides the same.
        has_ended: whether it was ended.
    """

    def __init__(
        self, broker: Controlled, state: Mapping[str, object], timeout: timedelta = SCRIPT_WAIT
    ) -> None:
        """Take over a script that runs.

        Args:
            broker: where it runs.
            state: of the run, as the control API told it.
            timeout: how long the end of the context waits.
        """
        self.id = str(state["id"])
        self.seed = int(str(state["seed"]))
        self._broker = broker
        self._state = dict(state)
        self._timeout = timeout
        self.has_ended = False

    def state(self) -> dict[str, object]:
        """Return what the broker knows of it; after the end, what it knew last."""
        if not self.has_ended:
            self._state = members(self._broker.control("GET", self._path()))
        return self._state

    def wait(self, timeout: timedelta | None = None) -> None:
        """Wait until all is as the script says.

        Args:
            timeout: how long to wait; None for that of the script.

        Raises:
            ScriptFailed: it is not so after that time, or cannot become so any more.
        """
        __tracebackhide__ = True
        timeout = self._timeout if timeout is None else timeout
        body = {"timeout_ms": in_ms(timeout)}
        try:
            found = self._broker.control("POST", self._path("/wait"), body, wait=timeout)
        except ControlRefused as error:
            if error.status != _TIMED_OUT:
                raise
            found = error.found
        outcome = members(found)
        if not outcome["ok"]:
            raise ScriptFailed(self._told(outcome))

    def record(self) -> dict[str, object]:
        """Return the record of the run: broker.script() takes it to repeat the decisions."""
        return members(self._broker.control("GET", self._path("/log")))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the record of the run into a file, as *.brokerlite."""
        write_record(self.record(), path)

    def end(self) -> None:
        """End it, and remove its rules; nothing happens the second time."""
        if self.has_ended:
            return
        if _kept:
            _kept[-1].append(self.record())
        self._state = members(self._broker.control("DELETE", self._path()))
        self.has_ended = True

    def __enter__(self) -> Self:
        """Return itself; it runs already."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Wait for it, if the context ends without an error, and end it.

        Raises:
            ScriptFailed: see wait().
        """
        __tracebackhide__ = True
        if error is not None:
            with suppress(BrokerFailed):  # the first error is the one to be told
                self.end()
            return
        try:
            if not self.has_ended:
                self.wait()
        except AssertionError:
            self.end()
            raise
        self.end()

    def _told(self, outcome: Mapping[str, object]) -> str:
        name = self._state.get("name")
        lines = [f"script {name or self.id}, seed {self.seed}:"]
        lines += [f"  {each}" for each in elements(outcome["problems"])]
        difference = outcome.get("first_difference")
        if difference is not None:
            lines.append(str(members(difference)["diff"]))
        return "\n".join(lines)

    def _path(self, end: str = "") -> str:
        return f"/v1/scripts/{self.id}{end}"


def script_of(source: str | os.PathLike[str] | Mapping[str, object]) -> dict[str, object]:
    """Return what POST /v1/scripts takes for a script, or for the record of a run.

    Args:
        source: the script or record itself, or the path of its file.

    Raises:
        BrokerFailed: the file cannot be read.
    """
    if isinstance(source, Mapping):
        found = dict(source)
    else:
        try:
            found = read_script_file(os.fspath(source))
        except SettingsError as error:
            raise BrokerFailed(str(error)) from None
    return {"replay": found} if is_record(found) else found


def write_record(record: Mapping[str, object], path: str | os.PathLike[str]) -> None:
    """Write a record as JSON that people can read."""
    Path(path).write_text(f"{json.dumps(record, indent=1)}\n", "utf-8")


@contextmanager
def keeping_records() -> Iterator[list[dict[str, object]]]:
    """Give a list that gets the record of each script which ends in the context."""
    records: list[dict[str, object]] = []
    _kept.append(records)
    try:
        yield records
    finally:
        _kept.remove(records)
