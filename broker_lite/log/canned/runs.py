"""The canned runs in use: each shape has one, which is made when it is first read.

A run lives as long as a log refers to it. All runs together take a bounded amount of memory: if
there are too many, the one that was made first is dropped, and made again when it is read again.
Ranges that are being sent stay readable.

A broker that serves sets `start`, and then runs are made beside the event loop, one at a time.
Without it the first reader makes the run itself.

See: F-16.
"""

import logging
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Final
from weakref import WeakValueDictionary

from broker_lite.errors import KafkaStorageError
from broker_lite.log.canned.run import CannedRun, make_run
from broker_lite.record.canned import CannedShape

logger = logging.getLogger("broker_lite.log")

RUNS_BYTES_MAX: Final = 128 * 1024 * 1024


class RunPlace:
    """Where the run of a shape is, once it is made.

    Attributes:
        shape: of the run.
        run: None while it is not made, or was dropped.
        order: grows with each run that is made.
        is_wanted: the run is being made.
        waiters: are called when the run is made.
    """

    __slots__ = ("__weakref__", "is_wanted", "order", "run", "shape", "waiters")

    def __init__(self, shape: CannedShape) -> None:
        self.shape = shape
        self.run: CannedRun | None = None
        self.order = 0
        self.is_wanted = False
        self.waiters: dict[Callable[[], None], None] = {}


class CannedRuns:
    """Finds the runs of shapes.

    Attributes:
        is_used: whether there ever was a synthetic topic; until then nobody has to look for them.
        directory: where runs have their files.
        start: begins to make a run in the background, and calls ended() after it; None where the
            reader makes it.
    """

    def __init__(self, directory: Path | None = None, *, bytes_max: int = RUNS_BYTES_MAX) -> None:
        self.directory = directory
        self.is_used = False
        self.start: Callable[[RunPlace], None] | None = None
        self._bytes_max = bytes_max
        self._made_count = 0
        self._places: WeakValueDictionary[CannedShape, RunPlace] = WeakValueDictionary()

    def place_of(self, shape: CannedShape) -> RunPlace:
        """Return the place of a shape's run, which is the same while somebody refers to it."""
        self.is_used = True
        place = self._places.get(shape)
        if place is None:
            place = self._places[shape] = RunPlace(shape)
        return place

    def want(self, place: RunPlace, waiter: Callable[[], None]) -> CannedRun | None:
        """Return the run of a place, or begin to make it.

        Args:
            place: from place_of().
            waiter: is called when the run is made, unless it is returned.

        Raises:
            KafkaStorageError: it cannot be made.
        """
        if place.run is not None:
            return place.run
        if self.start is None:
            try:
                self.ended(place, make_run(place.shape, self.directory))
            except OSError as error:
                raise KafkaStorageError from error
            return place.run
        place.waiters[waiter] = None
        if not place.is_wanted:
            place.is_wanted = True
            self.start(place)
        return None

    def ended(self, place: RunPlace, run: CannedRun | None) -> None:
        """Keep a run that was made, and call who waits for it.

        Nobody is called where it could not be made: a reader tries again when its time is over.

        Args:
            place: that wanted the run.
            run: None if it could not be made.
        """
        place.is_wanted = False
        waiters, place.waiters = place.waiters, {}
        if run is None:
            return
        self._made_count += 1
        place.order, place.run = self._made_count, run
        self._make_room()
        logger.debug("canned run made bytes=%d", run.size_bytes)
        for waiter in waiters:
            waiter()

    @property
    def size_bytes(self) -> int:
        """The memory of all runs."""
        return sum(place.run.size_bytes for place in self._places.values() if place.run)

    def _make_room(self) -> None:
        """Drop the runs that were made first, but never the last one."""
        places = sorted((each for each in self._places.values() if each.run), key=_ORDER)
        for place in places[:-1]:
            if self.size_bytes <= self._bytes_max:
                return
            place.run = None


_ORDER: Final = attrgetter("order")
