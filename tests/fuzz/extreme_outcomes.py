"""What extreme requests led to, and which of it is wrong."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tests.support.stall_watch import STALL_MS_MAX


class Outcome(NamedTuple):
    """What one extreme request led to."""

    api: str
    version: int
    label: str
    end: str
    seconds: float
    stall_ms: float
    wall_ms: float
    cpu_s: float
    peak_mb: float
    kept_mb: float

    @property
    def is_answer(self) -> bool:
        """Whether it ended as a request may."""
        return self.end not in ("silent", "garbled")

    def row(self) -> str:
        """A line of the table."""
        return (
            f"{self.api:24} {self.version:3} {self.stall_ms:8.0f} {self.wall_ms:8.0f} "
            f"{self.cpu_s:7.2f} {self.seconds:7.2f} {self.peak_mb:8.0f} {self.kept_mb:8.0f}  "
            f"{self.end}: {self.label}"
        )


HEAD: Final = (
    f"{'API':24} {'ver':>3} {'stall ms':>8} {'wait ms':>8} {'cpu s':>7} {'s':>7} {'peak MB':>8} "
    f"{'kept MB':>8}  worst request"
)


@dataclass(slots=True)
class Findings:
    """What a run saw."""

    outcomes: list[Outcome] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        """Note an outcome, and whether it was wrong."""
        self.outcomes.append(outcome)
        if not outcome.is_answer or outcome.stall_ms > STALL_MS_MAX:
            self.faults.append(outcome.row())

    def worst(self) -> list[Outcome]:
        """The worst of each API and version."""
        found: dict[tuple[str, int], Outcome] = {}
        for each in sorted(self.outcomes, key=lambda each: each.stall_ms):
            found[each.api, each.version] = each
        return [found[key] for key in dict.fromkeys((o.api, o.version) for o in self.outcomes)]

    def summary(self) -> str:
        """The figures of the run."""
        rows = [HEAD, *(each.row() for each in self.worst())]
        rows.append(
            f"{len(self.outcomes)} requests, the longest stall {longest(self.outcomes):.0f} ms, "
            f"{len(self.faults)} faults"
        )
        return "\n".join(rows)


def least(tries: Sequence[Sequence[Outcome]]) -> list[Outcome]:
    """Of each request the outcome with the least stall; one that is no answer comes first."""
    return [
        min(same, key=lambda each: (each.is_answer, each.stall_ms))
        for same in zip(*tries, strict=True)
    ]


def longest(outcomes: Iterable[Outcome]) -> float:
    """The longest stall of some requests, in ms."""
    return max((each.stall_ms for each in outcomes), default=0.0)
