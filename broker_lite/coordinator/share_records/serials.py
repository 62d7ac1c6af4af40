"""Numbers that tell a state of a share partition from earlier ones of the same share partition.

A leader in another process names the state that its change is about. The epoch of the group does
not tell that: a group that is deleted and made anew begins with the epochs of the old one. So each
state that begins gets a number that no other state of this process has had.

A state keeps its number when it is forgotten and read from the log again: it is the same one if
both its epoch and the time when it began are the same.

See: K-28.
"""

from typing import Final, NamedTuple, TypeAlias

_SERIAL_MAX: Final = (1 << 31) - 1
_Key: TypeAlias = tuple[str, bytes, int]


class Begin(NamedTuple):
    """When a state began: the group's epoch, and the time in milliseconds."""

    state_epoch: int
    created_ms: int


class Serials:
    """Gives the numbers; used by one thread."""

    __slots__ = ("_forgotten", "_last")

    def __init__(self) -> None:
        """Begin with 1."""
        self._last = 0
        # by partition of the log: the states that were forgotten, and will be read again
        self._forgotten: dict[int, dict[_Key, tuple[Begin, int]]] = {}

    def new(self) -> int:
        """Return the number of a state that begins; an int32, as it is in messages."""
        self._last = self._last % _SERIAL_MAX + 1
        return self._last

    def forget(self, place: int, key: _Key, begin: Begin, serial: int) -> None:
        """Remember the number of a state that will be read again.

        What was read before somebody forgets it once more is not the state if it began at another
        time: then the number that was remembered first stays.
        """
        self._forgotten.setdefault(place, {}).setdefault(key, (begin, serial))

    def of_read(self, place: int, key: _Key, begin: Begin) -> int:
        """Return the number of a state that was read: the one that it had, or a new one."""
        forgotten = self._forgotten.get(place)
        if forgotten is not None:
            known = forgotten.get(key)
            if known is not None and known[0] == begin:
                del forgotten[key]
                return known[1]
        return self.new()

    def end_reading(self, place: int) -> None:
        """No longer remember what was forgotten of a partition of the log: it was read."""
        self._forgotten.pop(place, None)

    def forget_all(self) -> None:
        """No longer remember anything: nothing will be read again."""
        self._forgotten.clear()
