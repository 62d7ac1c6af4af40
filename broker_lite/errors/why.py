"""The reason of a refusal, for the broker's log; clients get only what Kafka sends."""

from collections.abc import Mapping
from typing import NamedTuple


class Why(NamedTuple):
    """A rule that was broken, with facts about it; formatted only when the log line is written."""

    rule: str
    """The rule's id in the specification."""
    text: str
    """What is wrong: what was expected and what came, with {names} of facts."""
    facts: Mapping[str, object]

    def __str__(self) -> str:  # type: ignore[explicit-override]
        return self.text.format_map(self.facts)
