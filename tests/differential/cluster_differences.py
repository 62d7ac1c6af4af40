"""The list of known differences between a cluster of broker-lite and one of Apache Kafka."""

import ast
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from tests.differential.cluster_script import Script
from tests.differential.coordinator_sequence import Step

DIFFERENCES: Final = Path(__file__).with_name("cluster_differences.toml")
_UNCLEAN: Final = "unclean.leader.election.enable"
_RETURNS: Final = frozenset({"Start", "Resume"})


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


def may_come_back(steps: Sequence[Step], line: Line) -> bool:
    """Kafka has more records of a topic that may have lost some before another broker came back."""
    topic = line.path.partition(".")[0].rpartition("-")[0]
    returns = [step for step in steps if step.api in _RETURNS]
    return len(returns) > 1 and _is_unclean(steps, topic) and _has_more(line)


def may_be_undone(steps: Sequence[Step], line: Line) -> bool:
    """A partition's records were deleted, and a broker that crashed afterwards has come back."""
    if steps[-1].api == "Look":
        names = {line.path.partition(".")[0].rpartition("-")[0]}
    else:
        names = {topic[0] for topic in steps[-1].args.get("topics", ())}
    apis = [step.api for step in steps]
    deletions = [
        index
        for index, step in enumerate(steps)
        if step.api == "DeleteRecords" and names & {topic[0] for topic in step.args["topics"]}
    ]
    if not deletions or "Kill" not in apis[deletions[0] :]:
        return False
    return "Start" in apis[apis.index("Kill", deletions[0]) :]


def _is_unclean(steps: Sequence[Step], name: str) -> bool:
    configs: list[tuple[str, tuple[str, str]]] = []
    for step in steps:
        if step.api == "CreateTopics":
            configs += [(topic[0], each) for topic in step.args["topics"] for each in topic[-1]]
        elif step.api == "IncrementalAlterConfigs":
            topic, key, value = step.args["config"]
            configs.append((topic, (key, value)))
    return (name, (_UNCLEAN, "true")) in configs


def _has_more(line: Line) -> bool:
    kafka: Any = ast.literal_eval(line.kafka)
    ours: Any = ast.literal_eval(line.ours)
    if isinstance(kafka, list) and isinstance(ours, list):
        return ours == kafka[: len(ours)]
    return isinstance(kafka, int) and isinstance(ours, int) and ours < kafka


CONDITIONS: Final[Mapping[str, Callable[[Sequence[Step], Line], bool]]] = {
    "lost records may come back": may_come_back,
    "a deletion may be undone": may_be_undone,
}


class Listed(NamedTuple):
    """A difference that is known.

    Attributes:
        api: a regular expression for the whole name of the step's api.
        path: a regular expression for the whole path of the value that differs, its list indexes
            left out.
        kafka: a regular expression for the whole of the value, as Python shows it.
        ours: the same.
        reason: why it is so.
        follow: whether the rest of the script can be compared after it.
        when: the name of a condition on the steps so far and the values.
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

    def covers(self, steps: Sequence[Step], line: Line) -> bool:
        """Whether a differing value of the last step's answer is this difference."""
        is_it = all(
            re.fullmatch(pattern, text, re.DOTALL)
            for pattern, text in (
                (self.api, steps[-1].api),
                (self.path, line.path),
                (self.kafka, line.kafka),
                (self.ours, line.ours),
            )
        )
        return is_it and (not self.when or CONDITIONS[self.when](steps, line))


def rows_for(
    rows: Sequence[Listed], script: Script, step_index: int, lines: Sequence[str]
) -> list[Listed] | None:
    """The rows that explain every line, None when one of them is not listed."""
    steps = script.steps[: step_index + 1]
    found = []
    for text in lines:
        line = Line.parse(text)
        row = next((row for row in rows if row.covers(steps, line)), None)
        if row is None:
            return None
        found.append(row)
    return found
