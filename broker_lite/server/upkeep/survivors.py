"""Keeps what has survived a full garbage collection out of later ones.

A full collection goes through all objects, and no request is answered meanwhile. With 10,000
connections or 10,000 logs that takes 60 ms, with groups on these connections 100. Python does it
each time the number of objects has grown by a quarter.

What a full collection finds alive mostly lives long: connections, logs, members of groups. So it is
frozen right after, and the next full collection goes through what is new since then. Python begins
it after 70,000 more objects. While thousands of clients connect, that takes 15 to 70 ms, because
the objects lie all over the memory. So it begins after 21,000 here, which take 5 to 15 ms. No time
is lost by that: each object is still looked at once.

No memory is lost by that. A frozen object is freed as any other when its last reference goes. Only
cycles of references need a collection, and connections, requests, logs and groups leave none.
"""

import gc
from typing import Final

_FULL: Final = 2
"""The oldest generation; its collection goes through all objects."""
_YOUNGER_COLLECTIONS: Final = 3
"""A full collection comes after so many of the generation before, each after 7,000 objects."""


class Survivors:
    """Freezes what survives from begin() to end()."""

    __slots__ = ("_froze", "_usual")

    def __init__(self) -> None:
        self._froze = False
        # the process's thresholds, while others hold
        self._usual: tuple[int, int, int] | None = None

    def begin(self, *, is_first_life: bool) -> None:
        """Turn collections on after the start, and freeze the survivors of each full one.

        The objects of the start stay alive, so no collection need look at them. Measured with the
        objects of 10,000 partitions: the loop stands still for 52 ms otherwise. A collection before
        the freeze would take 18 ms and find too little. Later lives do not freeze the objects of
        their start, because the garbage of the lives before them must be found.
        """
        if is_first_life:
            gc.freeze()
        gc.callbacks.append(self._note)
        self._usual = gc.get_threshold()
        gc.set_threshold(*self._usual[:_FULL], _YOUNGER_COLLECTIONS)
        gc.enable()

    def end(self) -> None:
        """Freeze nothing more; collections are on, also if the start failed."""
        gc.enable()
        if self._usual is not None:
            gc.callbacks.remove(self._note)
            gc.set_threshold(*self._usual)
            self._usual = None

    def release(self) -> None:
        """Let collections see all objects again, after the broker has dropped all that it had."""
        if self._froze:
            self._froze = False
            gc.unfreeze()

    def _note(self, phase: str, info: dict[str, int]) -> None:
        if phase == "stop" and info["generation"] == _FULL:
            self._froze = True
            gc.freeze()
