"""What two sides may answer differently, and what a comparison of their answers found."""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Self


class Line(NamedTuple):
    """A value that differs: `path: kafka | ours`, list indexes in the path left out."""

    path: str
    kafka: str
    ours: str

    @classmethod
    def parse(cls, text: str) -> Self:
        path, _, values = text.partition(": ")
        kafka, _, ours = values.partition(" | ")
        return cls(re.sub(r"\[\d+\]", "", path), kafka, ours)


class Listed(NamedTuple):
    """A difference that is known.

    Attributes:
        api: a regular expression for the whole name of the step's api.
        path: a regular expression for the whole path of the value that differs, its list indexes
            left out.
        kafka: a regular expression for the whole of the value, as Python shows it.
        ours: the same.
        reason: why it is so.
        follow: whether what comes after it can be compared.
        when: the name of a condition besides.
    """

    api: str
    path: str
    kafka: str
    ours: str
    reason: str
    follow: bool
    when: str = ""

    @classmethod
    def read(cls, path: Path) -> list[Self]:
        """All rows of a file."""
        return [cls(**row) for row in tomllib.loads(path.read_text()).get("difference", [])]

    def fits(self, api: str, line: Line) -> bool:
        """Whether a differing value of an answer is this difference, its condition apart."""
        return all(
            re.fullmatch(pattern, text, re.DOTALL)
            for pattern, text in (
                (self.api, api),
                (self.path, line.path),
                (self.kafka, line.kafka),
                (self.ours, line.ours),
            )
        )


def rows_for(
    rows: Sequence[Listed], api: str, texts: Sequence[str], holds: Callable[[str, Line], bool]
) -> list[Listed] | None:
    """The rows that explain every differing value of an answer.

    Args:
        rows: all that are known.
        api: of the answer.
        texts: the differing values; see Line.
        holds: whether the condition of a row, given by its name, holds for a value.

    Returns:
        None when one of them is not listed.
    """
    found = []
    for text in texts:
        line = Line.parse(text)
        for row in rows:
            if row.fits(api, line) and (not row.when or holds(row.when, line)):
                found.append(row)
                break
        else:
            return None
    return found


class Difference(NamedTuple):
    """The first step whose results differ, and in what."""

    step_index: int
    lines: list[str]


@dataclass(slots=True)
class Comparison:
    """What a run found.

    Attributes:
        noun: for what was compared.
        count: of them.
    """

    noun: str
    count: int = 0
    steps: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    listed: Counter[str] = field(default_factory=Counter)
    late: Counter[str] = field(default_factory=Counter)
    unlisted: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def summary(self) -> str:
        """The figures of the run, a line each."""
        lines = [
            f"{self.count} {self.noun} of {self.steps} steps in {self.seconds:.1f} s",
            *(f"{api}: {n}" for api, n in sorted(self.codes.items())),
            *(f"equal at a later try: {count} x {kind}" for kind, count in self.late.items()),
            *(f"listed: {count} x {reason}" for reason, count in self.listed.items()),
            f"unlisted differences: {len(self.unlisted)}",
        ]
        return "\n".join(lines)
