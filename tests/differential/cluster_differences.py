"""The list of known differences between a cluster of broker-lite and one of Apache Kafka."""

import ast
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tests.differential.coordinator_sequence import Step
from tests.differential.known_differences import Line, Listed, rows_for

DIFFERENCES: Final = Path(__file__).with_name("cluster_differences.toml")
_UNCLEAN: Final = "unclean.leader.election.enable"
_DEBUGGER: Final = -2
_NOT_LEADERS: Final = frozenset({"other", "follower"})
_RETURNS: Final = frozenset({"Start", "Resume"})


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


def may_miss_a_deletion(steps: Sequence[Step], line: Line) -> bool:
    """A partition was led uncleanly, and its records were deleted while a replica was away."""
    topic = "own-" + line.kafka.partition("'")[2].partition("'")[0].rpartition("own-")[2]
    deleted = any(
        step.api == "DeleteRecords" and topic in {each[0] for each in step.args["topics"]}
        for step in steps
    )
    return deleted and _is_unclean(steps, topic)


def asks_a_follower(steps: Sequence[Step], _: Line) -> bool:
    """The step is a request of a debugger to a broker that is not the leader."""
    arguments = steps[-1].args
    return arguments.get("replica") == _DEBUGGER and arguments["at"][0] in _NOT_LEADERS


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
    "a deletion may be missed": may_miss_a_deletion,
    "a debugger asks a follower": asks_a_follower,
}


def explained(
    rows: Sequence[Listed], steps: Sequence[Step], texts: Sequence[str]
) -> list[Listed] | None:
    """The rows that explain what differs after the last of the steps; None if they do not."""
    return rows_for(rows, steps[-1].api, texts, lambda when, line: CONDITIONS[when](steps, line))
