"""What keeps the states of share partitions: types only.

The log of the states is in one process. The leaders of the partitions may be in others, and keep
the states there by asking it.

Source: Persister, DefaultStatePersister.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from broker_lite.coordinator.share_records.state import StateUpdate
from broker_lite.coordinator.share_records.states import KeptState, ShareKey
from broker_lite.errors import BrokerError

Keeping: TypeAlias = asyncio.Future[BrokerError | None]
"""Tells whether a change is kept: None if it is, else why not. It never raises."""


class KeepsStates(Protocol):
    """Keeps the states of share partitions; used by one thread."""

    @property
    def held(self) -> Collection[ShareKey]:
        """Those whose state was read from another process, and may grow old here."""

    def check(self, key: ShareKey, /) -> object:
        """Demand that a state can be read and written.

        Raises:
            BrokerError: it cannot.
        """

    def get(self, key: ShareKey, /) -> KeptState | None:
        """Return a state; None if there is none, or it was not read."""

    def update(self, key: ShareKey, update: StateUpdate, leader_epoch: int, /) -> Keeping | None:
        """Change a state.

        Returns:
            What tells whether the change is kept; None if it is already.

        Raises:
            BrokerError: the change may not be written.
        """

    def forget(self, key: ShareKey, /) -> object:
        """Read a state anew before it is used again."""


class StateWrite(NamedTuple):
    """A change of a state on its way to the process that keeps it.

    Attributes:
        key: of the share partition.
        state_epoch: that was told with the state; the change is refused if it has begun anew since.
        leader_epoch: of the partition's leader.
        update: what has changed.
    """

    key: ShareKey
    state_epoch: int
    leader_epoch: int
    update: StateUpdate


class AsksForStates(Protocol):
    """Asks the process that keeps the states; an answer that does not come is an error, too."""

    async def read(
        self, group_id: str, keys: Sequence[ShareKey], /
    ) -> Mapping[ShareKey, KeptState | BrokerError]:
        """Read states of a group; those that there are not are left out."""

    async def write(
        self, group_id: str, writes: Sequence[StateWrite], /
    ) -> Sequence[BrokerError | None]:
        """Change states of a group, in this order.

        If a change fails, later ones of the same state fail, too: they build on it.

        Returns:
            The error of each change; None if it is kept.
        """
