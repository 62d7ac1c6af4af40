"""Which tests one worker process has to itself, when several share a run."""

from typing import Final

from xdist.scheduler import LoadScopeScheduling

_TOGETHER: Final = (
    "tests/differential/",
    "tests/image/",
    "tests/interchange/",
    "tests/packaging/",
    "tests/pipeline/spark/",
    "tests/readme/",
    "tests/record/",
)
"""Rooms whose tests share what is dear to make: an engine, a Kafka, a Spark, an installation."""

_BY_FOLDER: Final = "tests/conformance/"
"""So long that a worker has one folder of it: each has a broker, and builds the clients it runs."""

_FIRST: Final = ("tests/differential/", "tests/pipeline/spark/")
"""The rooms that take longest: begun last, they would keep one worker when the others are done."""


def begins_first(file: str) -> bool:
    """Return whether the tests of a file are run before those of other rooms.

    Args:
        file: its path from the root of the checkout.
    """
    return file.startswith(_FIRST)


def room_of(file: str) -> str:
    """The file, the folder or the room whose tests one worker runs together with those of a file.

    Args:
        file: its path from the root of the checkout.
    """
    if file.startswith(_BY_FOLDER):
        return file.rpartition("/")[0]
    return next((room for room in _TOGETHER if file.startswith(room)), file)


class RoomScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Gives a worker all tests of a file, or of a room that shares much."""

    def _split_scope(self, nodeid: str) -> str:
        return room_of(nodeid.partition("::")[0])
