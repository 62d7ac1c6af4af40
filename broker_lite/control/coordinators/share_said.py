"""How many records the members of share groups have accepted, released and rejected.

The numbers are those since the start of the broker. They are kept in memory only, for whoever tests
a client: nothing that is written tells an accepted record from a rejected one once the start of the
share partition has moved past it.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from broker_lite.control.coordinators.kept_states import Keeping
from broker_lite.coordinator.effects import ShareStart
from broker_lite.coordinator.share_records.partition import SharePartition
from broker_lite.coordinator.share_records.states import ShareKey

_NOTHING: Final[Mapping[int, int]] = MappingProxyType({})


class ShareSaid:
    """Numbers of records by share partition and AcknowledgeType.

    There are at most as many entries as share partitions with a state.
    """

    def __init__(self) -> None:
        """Begin with no numbers."""
        self._by_key: dict[ShareKey, dict[int, int]] = {}

    def of(self, key: ShareKey) -> Mapping[int, int]:
        """Return the number of records by AcknowledgeType; a type that nobody used is left out."""
        return self._by_key.get(key, _NOTHING)

    def take(
        self, key: ShareKey, partition: SharePartition | None, keeping: Keeping | None = None
    ) -> None:
        """Add what members have said about a share partition since the last call.

        Args:
            key: of it.
            partition: None if there is none any more.
            keeping: tells whether it is kept, and only then it counts; None if it is already.
        """
        if partition is None or not partition.said:
            return
        known = self._by_key.setdefault(key, {})
        said, partition.said = partition.said, {}
        if keeping is None:
            _add(known, said)
        else:  # if the state ends before that, nobody looks at these numbers any more
            keeping.add_done_callback(
                lambda kept: _add(known, said) if kept.result() is None else None
            )

    def end(self, starts: Iterable[ShareStart]) -> None:
        """Forget the numbers of states that end."""
        if self._by_key:
            for start in starts:
                if start.start_offset is None:
                    self._by_key.pop(ShareKey(*start[:3]), None)


def _add(known: dict[int, int], said: Mapping[int, int]) -> None:
    for kind, count in said.items():
        known[kind] = known.get(kind, 0) + count
