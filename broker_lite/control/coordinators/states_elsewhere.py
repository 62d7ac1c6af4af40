"""The states of share partitions that another process keeps.

A state is read before a share partition is made of it, and is held here from then on for its epoch.
Changes are sent in their order, a few together, and the next ones when those are answered. Who has
to know waits; everybody else goes on with the share partition as it is in memory. If a change is
refused, the share partition is dropped, with all changes that build on it.

See: K-28 (PersisterStateManager).
"""

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, NamedTuple

from broker_lite.control.coordinators.kept_states import AsksForStates, Keeping, StateWrite
from broker_lite.coordinator.share_records.state import StateUpdate
from broker_lite.coordinator.share_records.states import KeptState, ShareKey
from broker_lite.errors import BrokerError, UnknownServerError

_READ_AT_A_TIME: Final = 8
"""So many states are read by one request: each may have thousands of batches."""
_WRITTEN_AT_A_TIME: Final = 32
_BATCHES_AT_A_TIME: Final = 512
"""A request has so many changes, and so many batches in them, before another one is begun."""

Tell = Callable[[ShareKey], object]


class _Unsent(NamedTuple):
    write: StateWrite
    keeping: Keeping


class StatesElsewhere:
    """The states that another process keeps; used by the event loop. See KeepsStates."""

    def __init__(self, ask: AsksForStates, *, kept: Tell, lost: Tell) -> None:
        """Begin without a state.

        Args:
            ask: asks the process that keeps them.
            kept: called when a change of a state is kept.
            lost: called when a change was refused; the state is forgotten.
        """
        self._ask = ask
        self._kept = kept
        self._lost = lost
        self._held: dict[ShareKey, KeptState] = {}
        # by share partition whose state is being read: what ends then
        self._reading: dict[ShareKey, Keeping] = {}
        # by share partition: its changes that are not answered yet, sent or not
        self._changes: dict[ShareKey, dict[Keeping, None]] = {}
        self._unsent: dict[str, deque[_Unsent]] = {}
        self._sending: set[asyncio.Task[None]] = set()

    # -- reading

    @property
    def held(self) -> Collection[ShareKey]:
        """See KeepsStates; also those that are being read."""
        return {**self._held, **self._reading}.keys()

    def check(self, _key: ShareKey) -> None:
        """See KeepsStates: what cannot be read is told by load()."""

    def get(self, key: ShareKey) -> KeptState | None:
        """See KeepsStates."""
        return self._held.get(key)

    async def load(self, group_id: str, keys: Iterable[ShareKey]) -> dict[ShareKey, BrokerError]:
        """Read the states of a group that are not held, after their changes were answered.

        Returns:
            Those that cannot be read now, and why.
        """
        missing = [key for key in keys if key not in self._held]
        if not missing:
            return {}
        failures: dict[ShareKey, BrokerError] = {}
        for begin in range(0, len(missing), _READ_AT_A_TIME):
            some = missing[begin : begin + _READ_AT_A_TIME]
            # again for each request: others go on with these states while it waits
            while waiting := self._unanswered(some):
                await asyncio.wait(waiting)
            some = [key for key in some if key not in self._held]
            if some:
                failures.update(await self._read(group_id, some))
        return failures

    def _unanswered(self, keys: Iterable[ShareKey]) -> set[Keeping]:
        every = [key for key in keys if key not in self._held]
        waiting = {each for key in every for each in self._changes.get(key, ())}
        return waiting.union(self._reading[key] for key in every if key in self._reading)

    async def _read(self, group_id: str, keys: Sequence[ShareKey]) -> dict[ShareKey, BrokerError]:
        """Read a few states; what is forgotten meanwhile is not held."""
        failures: dict[ShareKey, BrokerError] = {}
        done: Keeping = asyncio.get_running_loop().create_future()
        self._reading.update(dict.fromkeys(keys, done))
        try:
            for key, state in (await self._ask.read(group_id, keys)).items():
                if isinstance(state, BrokerError):
                    failures[key] = state
                elif self._reading.get(key) is done:
                    self._held[key] = state
        finally:
            done.set_result(None)
            for key in keys:
                if self._reading.get(key) is done:
                    del self._reading[key]
        return failures

    def let_go(self, key: ShareKey) -> None:
        """Keep only the epoch of a held state: a share partition has the rest from now on."""
        self._held[key].batches = []

    def forget(self, key: ShareKey) -> None:
        """See KeepsStates."""
        self._held.pop(key, None)
        self._reading.pop(key, None)

    # -- writing

    def update(self, key: ShareKey, update: StateUpdate, leader_epoch: int) -> Keeping:
        """See KeepsStates; the state is held."""
        keeping: Keeping = asyncio.get_running_loop().create_future()
        write = StateWrite(key, self._held[key].state_epoch, leader_epoch, update)
        self._changes.setdefault(key, {})[keeping] = None
        unsent = self._unsent.get(key.group_id)
        if unsent is None:
            unsent = self._unsent[key.group_id] = deque()
            task = asyncio.get_running_loop().create_task(self._send(key.group_id, unsent))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)
        unsent.append(_Unsent(write, keeping))
        return keeping

    async def _send(self, group_id: str, unsent: deque[_Unsent]) -> None:
        """Send changes of a group until there are none."""
        some: list[_Unsent] = []
        try:
            while unsent:
                some = _some_of(unsent)
                if not some:
                    break
                errors = await self._ask.write(group_id, [each.write for each in some])
                for each, error in zip(some, errors, strict=True):
                    self._end(each, error)
        finally:
            left = [*some, *unsent]  # those that a bug, or the end of the process, has left over
            unsent.clear()
            for each in left:
                self._end(each, UnknownServerError())
            del self._unsent[group_id]

    def _end(self, unsent: _Unsent, error: BrokerError | None) -> None:
        """Tell who waits for a change; after an error, also who waits for later ones."""
        key = unsent.write.key
        if not self._tell(unsent, error):
            return
        if error is None:
            self._kept(key)
        else:
            self.refuse(key, error)
            self._lost(key)

    def refuse(self, key: ShareKey, error: BrokerError) -> None:
        """Send no change of a state that waits, because it does not count any more."""
        for keeping in self._changes.pop(key, ()):
            keeping.set_result(error)

    def _tell(self, unsent: _Unsent, error: BrokerError | None) -> bool:
        """Tell who waits for a change; return False if that was done already."""
        key, keeping = unsent.write.key, unsent.keeping
        if keeping.done():
            return False
        keeping.set_result(error)
        changes = self._changes[key]
        del changes[keeping]
        if not changes:
            del self._changes[key]
        return True

    async def drain(self) -> None:
        """Wait until all changes were answered."""
        while self._sending:
            await asyncio.wait(self._sending)


def _some_of(unsent: deque[_Unsent]) -> list[_Unsent]:
    """Take as many changes as one request has."""
    some: list[_Unsent] = []
    batches = 0
    while unsent and len(some) < _WRITTEN_AT_A_TIME and batches < _BATCHES_AT_A_TIME:
        each = unsent.popleft()
        if not each.keeping.done():  # it was not refused meanwhile
            some.append(each)
            batches += len(each.write.update.batches)
    return some
