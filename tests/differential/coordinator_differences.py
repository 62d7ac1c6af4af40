"""The list of known differences between the coordinators of broker-lite and of Apache Kafka."""

import re
import tomllib
from collections.abc import Callable, Mapping
from collections.abc import Sequence as Many
from pathlib import Path
from typing import Final, NamedTuple, Self

from tests.differential.coordinator_sequence import Sequence, Step

REQUIRED_ID_VERSION: Final = 4
DIFFERENCES: Final = Path(__file__).with_name("coordinator_differences.toml")


def assigns_by_uniform(sequence: Sequence) -> bool:
    """Consumer groups of the sequence have the default assignor."""
    assignors = {
        step.args["assignor"] for step in sequence.steps if step.api == "ConsumerGroupHeartbeat"
    }
    return "range" not in assignors or "uniform" in assignors


def has_made_up_ids(sequence: Sequence) -> bool:
    """Several members of a consumer group may have ids that the broker made up."""
    joins = [
        step
        for step in sequence.steps
        if step.api == "JoinGroup" and not step.args["instance"]
        if step.args["who"] == "none" or step.version < REQUIRED_ID_VERSION
    ]
    return sequence.kind == "mixed" and len(joins) > 1


def has_regexes(sequence: Sequence) -> bool:
    """A member of the sequence subscribes by a regular expression."""
    return any(step.args.get("regex") for step in sequence.steps)


def joins_by_id(sequence: Sequence) -> bool:
    """A member that says who it is may join by the classic protocol what was a consumer group."""
    apis = {step.api for step in sequence.steps if step.args.get("who") != "none"}
    return {"JoinGroup", "ConsumerGroupHeartbeat"} <= apis


CONDITIONS: Final[Mapping[str, Callable[[Sequence], bool]]] = {
    "the assignor is uniform": assigns_by_uniform,
    "ids are made up": has_made_up_ids,
    "a regular expression is matched": has_regexes,
    "a member joins by its id": joins_by_id,
}


class Listed(NamedTuple):
    """A difference that is known.

    Attributes:
        api: a regular expression for the whole name of the api.
        path: a regular expression for the whole path of the value that differs, its list indexes
            left out.
        kafka: a regular expression for the whole of the value, as Python shows it.
        ours: the same.
        reason: why it is so.
        follow: whether the rest of the sequence can be compared after it.
        when: the name of a condition on the sequence.
    """

    api: str
    path: str
    kafka: str
    ours: str
    reason: str
    follow: bool
    when: str = ""

    @classmethod
    def read(cls) -> list[Self]:
        """All rows of the file."""
        rows = tomllib.loads(DIFFERENCES.read_text()).get("difference", [])
        return [cls(**row) for row in rows]

    def covers(self, sequence: Sequence, step: Step, line: str) -> bool:
        """Whether a differing value of a step's answer is this difference."""
        if self.when and not CONDITIONS[self.when](sequence):
            return False
        path, _, values = line.partition(": ")
        kafka, _, ours = values.partition(" | ")
        return all(
            re.fullmatch(pattern, text, re.DOTALL)
            for pattern, text in (
                (self.api, step.api),
                (self.path, re.sub(r"\[\d+\]", "", path)),
                (self.kafka, kafka),
                (self.ours, ours),
            )
        )


def rows_for(
    rows: Many[Listed], sequence: Sequence, step: Step, lines: Many[str]
) -> list[Listed] | None:
    """The rows that explain every line, None when one of them is not listed."""
    found = []
    for line in lines:
        row = next((row for row in rows if row.covers(sequence, step, line)), None)
        if row is None:
            return None
        found.append(row)
    return found
