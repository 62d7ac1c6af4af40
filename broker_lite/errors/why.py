"""Why something was refused, for the broker's log; clients get only what Kafka sends."""

from collections.abc import Mapping
from typing import NamedTuple


class Why(NamedTuple):
    """A rule that was broken, and the facts of it; formatted only when it is written."""

    rule: str
    """Its id in the specification."""
    text: str
    """What is wrong, in plain English: what was expected and what came, with {names} of facts."""
    facts: Mapping[str, object]

    def __str__(self) -> str:  # type: ignore[explicit-override]
        return self.text.format_map(self.facts)
