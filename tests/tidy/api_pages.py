"""The part of the docs about the APIs that Kafka has beyond those that are served."""

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from broker_lite.handler.table import APIS
from broker_lite.wire.schema import catalog_by_api
from tests.tidy.project_files import text_of

REASONS: Final = Path("tests/tidy/unserved_apis.toml")
_OFFERED: Final = Path("tests/vectors/api_versions.json")
_WITH_A_RECEIVER: Final = frozenset((71, 72))
"""Offered by a Kafka that has a receiver of client metrics, which that of the vectors has not."""


def offered_by_kafka() -> list[int]:
    """The keys of all APIs of a Kafka's listener for clients, ascending."""
    told = json.loads(text_of(_OFFERED))["apis"]
    return sorted({*map(int, told), *_WITH_A_RECEIVER})


def reasons() -> Mapping[int, str]:
    """Why an API is not served, by its key."""
    rows = tomllib.loads(text_of(REASONS))["unserved"]
    return {key: row["reason"] for row in rows for key in row["keys"]}


def unserved_apis() -> Iterable[str]:
    """The table of the APIs that Kafka has and that are not served."""
    names, why, offered = catalog_by_api("protocol", "request"), reasons(), offered_by_kafka()
    unserved = [key for key in offered if key not in APIS]
    yield (
        f"A Kafka 4.3.1 offers {len(offered)} APIs on its listeners for clients. "
        f"{len(offered) - len(unserved)} of them are served, and these are not:"
    )
    yield ""
    yield "| Key | API | Why no client misses it |"
    yield "| --- | --- | --- |"
    for key in unserved:
        yield f"| {key} | {names[key].removesuffix('Request')} | {why[key]} |"
