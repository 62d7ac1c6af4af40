"""The list of known differences between the coordinators of broker-lite and of Apache Kafka."""

from collections.abc import Callable, Mapping
from collections.abc import Sequence as Many
from pathlib import Path
from typing import Final

from tests.differential.coordinator_sequence import Sequence, Step
from tests.differential.known_differences import Listed, rows_for

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


def explained(
    rows: Many[Listed], sequence: Sequence, step: Step, texts: Many[str]
) -> list[Listed] | None:
    """The rows that explain what differs after a step; None if they do not."""
    return rows_for(rows, step.api, texts, lambda when, _: CONDITIONS[when](sequence))
