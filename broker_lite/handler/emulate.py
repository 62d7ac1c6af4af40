"""Older releases to stand in for: the highest version of each API that they offer.

The table is data/releases.json, a column a release; columns up to 3.9 are those of a broker in
ZooKeeper mode. Minimum versions stay ours, but for Produce and Fetch: releases before 4.0 take and
give messages of magic 0 and 1, so they serve the versions that carry them.

Not done: telling a release that lies between two columns, which is refused rather than guessed.

Source: spec P-61, measured and read from the releases' own schemas; release 0.9, whose brokers know
no ApiVersions yet, and OffsetFetch of 0.10.2, from the tables in the Java clients of these.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from broker_lite.errors import SettingsError

NO_RELEASE: Final = ""
"""The setting's value for: offer all there is."""

_NO_OLD_MESSAGES_SINCE: Final = (4, 0)
_FEATURES_SINCE: Final = (2, 7)
_METADATA_VERSION_SINCE: Final = (3, 3)
_TRANSACTION_AND_GROUP_SINCE: Final = (4, 0)


@cache
def _table() -> Mapping[str, Any]:
    text = files("broker_lite.handler").joinpath("data/releases.json").read_text("utf-8")
    table: Mapping[str, Any] = json.loads(text)
    return table


def releases() -> list[str]:
    """The releases that can be stood in for, the oldest first."""
    return list(_table()["releases"])


def max_versions(release: str) -> Mapping[int, int]:
    """The highest version of each API that a release offers; what it lacks is not there.

    Args:
        release: one of `releases()`.

    Raises:
        SettingsError: no such release in the table.

    Rule: P-56, P-61.
    """
    known = releases()
    if release not in known:
        raise SettingsError(f"emulate={release}: not one of {', '.join(known)}")
    column = known.index(release)
    rows: Mapping[str, list[int | None]] = _table()["max_versions"]
    return {int(key): version for key, row in rows.items() if (version := row[column]) is not None}


def serves_old_messages(release: str) -> bool:
    """Whether brokers of a release serve the versions that carry messages of magic 0 and 1.

    Rule: P-50, P-56, F-60, V-92.
    """
    return release != NO_RELEASE and _major_minor(release) < _NO_OLD_MESSAGES_SINCE


def _major_minor(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".")[:2])


def has_feature(release: str, feature: str) -> bool:
    """Whether brokers of a release know a feature, so that ApiVersions tells of it.

    Rule: P-56.
    """
    if release == NO_RELEASE:
        return True
    major_minor = _major_minor(release)
    if major_minor < _FEATURES_SINCE:
        return False
    if feature in {"metadata.version", "kraft.version"}:
        return major_minor >= _METADATA_VERSION_SINCE
    return major_minor >= _TRANSACTION_AND_GROUP_SINCE
