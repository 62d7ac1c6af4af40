"""Which tests one worker process has to itself, when several share a run."""

from typing import Final

from xdist.scheduler import LoadScopeScheduling

_TOGETHER: Final = (
    "tests/conformance/",
    "tests/differential/",
    "tests/image/",
    "tests/interchange/",
    "tests/packaging/",
    "tests/pipeline/spark/",
    "tests/readme/",
    "tests/record/",
)
"""Rooms whose tests share what is dear to make: an engine, a Kafka, a Spark, an installation."""


class RoomScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Gives a worker all tests of a file, or of a room that shares much."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return next((room for room in _TOGETHER if file.startswith(room)), file)
