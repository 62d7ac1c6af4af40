"""The list of known differences between a cluster of broker-lite and one of Apache Kafka."""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple, Self

DIFFERENCES: Final = Path(__file__).with_name("cluster_differences.toml")


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
    """

    api: str
    path: str
    kafka: str
    ours: str
    reason: str
    follow: bool

    @classmethod
    def read(cls) -> list[Self]:
        """All rows of the file."""
        rows = tomllib.loads(DIFFERENCES.read_text()).get("difference", [])
        return [cls(**row) for row in rows]

    def covers(self, api: str, line: str) -> bool:
        """Whether a differing value of a step's answer is this difference."""
        path, _, values = line.partition(": ")
        kafka, _, ours = values.partition(" | ")
        return all(
            re.fullmatch(pattern, text, re.DOTALL)
            for pattern, text in (
                (self.api, api),
                (self.path, re.sub(r"\[\d+\]", "", path)),
                (self.kafka, kafka),
                (self.ours, ours),
            )
        )


def rows_for(rows: Sequence[Listed], api: str, lines: Sequence[str]) -> list[Listed] | None:
    """The rows that explain every line, None when one of them is not listed."""
    found = []
    for line in lines:
        row = next((row for row in rows if row.covers(api, line)), None)
        if row is None:
            return None
        found.append(row)
    return found
