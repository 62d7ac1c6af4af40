"""Reads the results of two runs, and puts their figures beside each other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from broker_lite.errors import SettingsError

_FIGURES: Final[Mapping[str, tuple[str, ...]]] = {
    "requests/s": ("measured", "requests_per_s"),
    "records/s": ("measured", "records_per_s"),
    "MB/s": ("measured", "mb_per_s"),
    "p50 ms": ("measured", "latency_ms", "p50"),
    "p99 ms": ("measured", "latency_ms", "p99"),
    "client CPU s/GB": ("cpu", "client_s_per_gb"),
    "broker CPU s/GB": ("cpu", "broker_s_per_gb"),
}
_MAY_BE_MISSING: Final = "cpu"
_THROUGHPUT: Final = ("measured", "mb_per_s")


class Figure(NamedTuple):
    """One figure of two runs; None if a run does not know it."""

    name: str
    first: float | None
    second: float | None

    @property
    def ratio(self) -> float | None:
        """The second divided by the first; None if that is not possible."""
        if self.first is None or self.second is None or not self.first:
            return None
        return self.second / self.first


class Outcome:
    """The result of a run, read from its file.

    Attributes:
        kind: of the load: produce, fetch ...
        loop: open or closed.
        path: of the file.
        result: as it was read.
    """

    def __init__(self, path: Path) -> None:
        """Read a file that a run has written.

        Raises:
            SettingsError: it cannot be read, or is no such file.
        """
        self.path = path
        try:
            found = json.loads(path.read_bytes())
        except OSError as error:
            raise SettingsError(f"{path}: {error.strerror}") from error
        except ValueError as error:
            raise SettingsError(f"{path}: is not JSON: {error}") from error
        if not isinstance(found, dict):
            raise SettingsError(f"{path}: is not the result of a run")
        self.result: dict[str, object] = found
        self.kind = str(found.get("kind"))
        self.loop = str(found.get("loop"))
        for place in _FIGURES.values():
            self.figure(place)

    def figure(self, place: tuple[str, ...]) -> float | None:
        """Return the number at a place; None if it is one that may be missing.

        Raises:
            SettingsError: there is none, so the file is no result of a run.
        """
        found: object = self.result
        for name in place:
            found = found.get(name) if isinstance(found, dict) else None
        if isinstance(found, int | float) and not isinstance(found, bool):
            return float(found)
        if place[0] == _MAY_BE_MISSING and found is None:
            return None
        raise SettingsError(f"{self.path}: is not the result of a run: no {'.'.join(place)}")


class Comparison(NamedTuple):
    """The figures of two runs, and the one that counts."""

    figures: list[Figure]
    throughput: Figure


def throughput_of(outcome: Outcome) -> float:
    """Return the MB/s of a run.

    Raises:
        SettingsError: its file has none.
    """
    found = outcome.figure(_THROUGHPUT)
    assert found is not None  # only figures of CPU may be missing
    return found


def compared(first: Outcome, second: Outcome) -> Comparison:
    """Compare two runs of one kind.

    Raises:
        SettingsError: one is of another kind, or open where the other is closed.
    """
    for what, ours, theirs in (
        ("kind", first.kind, second.kind),
        ("loop", first.loop, second.loop),
    ):
        if ours != theirs:
            raise SettingsError(
                f"{first.path} and {second.path} cannot be compared: {what} {ours} and {theirs}"
            )
    figures = [
        Figure(name, first.figure(place), second.figure(place)) for name, place in _FIGURES.items()
    ]
    (throughput,) = (
        figure
        for figure, place in zip(figures, _FIGURES.values(), strict=True)
        if place == _THROUGHPUT
    )
    return Comparison(figures, throughput)
