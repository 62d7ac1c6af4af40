"""The versions of each API that a release of Kafka offers, for each release we can emulate.

The highest versions are in data/releases.json, one column per release. The columns up to 3.9 are
those of a broker in ZooKeeper mode. Releases before 4.0 offer every version from 0 on, and so do
we, as far as there is code for it. The lowest versions of later releases are in the same file.

Source: spec P-61, measured and read from the releases' own schemas. Brokers of release 0.9 do not
know ApiVersions yet: that column, and OffsetFetch of 0.10.2, are from the tables in the Java
clients of these releases.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from broker_lite.settings import RELEASES


@cache
def _table() -> Mapping[str, Any]:
    text = files("broker_lite.handler").joinpath("data/releases.json").read_text("utf-8")
    table: Mapping[str, Any] = json.loads(text)
    return table


def max_versions(release: str) -> Mapping[int, int]:
    """Return the highest version of each API that a release offers, by API key.

    Args:
        release: one of RELEASES.

    Rule: P-56, P-61.
    """
    column = RELEASES.index(release)
    rows: Mapping[str, list[int | None]] = _table()["max_versions"]
    return {int(key): version for key, row in rows.items() if (version := row[column]) is not None}


def min_versions(release: str) -> Mapping[int, int]:
    """Return the lowest version of each API where it is not 0, by API key.

    Args:
        release: one of RELEASES.

    Rule: P-56.
    """
    if serves_old_messages(release):
        return {}
    return {int(key): version for key, version in _table()["min_versions_since_4.0"].items()}


def serves_old_messages(release: str) -> bool:
    """True if brokers of a release serve the versions that carry messages of magic 0 and 1.

    Rule: P-56.
    See: P-50, F-60, V-92.
    """
    return RELEASES.index(release) < RELEASES.index("4.0")
