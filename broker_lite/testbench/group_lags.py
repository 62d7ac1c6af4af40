"""How far groups are in their partitions, as the control API tells it.

Leaders in other processes are asked for the offsets of their partitions.
"""

from collections.abc import Iterable, Mapping

import msgspec

from broker_lite.coordinator.offset_records import CommittedOffset
from broker_lite.coordinator.share.group import ShareGroup
from broker_lite.coordinator.transactions.transaction import TopicPartition
from broker_lite.errors import BrokerError, UnknownTopicOrPartition
from broker_lite.handler.large import sorted_in_turns
from broker_lite.handler.log_offsets.led_offsets import END, START, find_offsets
from broker_lite.server.life import Life
from broker_lite.testbench.share_runs import Progress, known_of, progress_of, stateful_partitions
from broker_lite.testbench.turns import Turns


class OffsetView(msgspec.Struct, kw_only=True):
    """How far a group is in a partition.

    Attributes:
        committed: the offset, None if there is none; of a share group the first record that is not
            done.
        end: the high watermark.
        lag: what is left; all that is there if nothing is committed. Of a share group these are the
            records that are not done.
        metadata: the client's text.
    """

    committed: int | None
    end: int
    lag: int
    metadata: str


class Lags(msgspec.Struct):
    """How far a group is in its partitions.

    Attributes:
        offsets: by topic, then by partition.
        unknown: how many partitions there are that cannot be looked at now.
    """

    offsets: dict[str, dict[str, OffsetView]] = {}
    unknown: int = 0

    @property
    def sum(self) -> int | None:
        """What is left in all partitions together; None if nobody knows."""
        lags = [each.lag for some in self.offsets.values() for each in some.values()]
        return sum(lags) if lags and not self.unknown else None

    def add(
        self,
        place: TopicPartition,
        end: int | BrokerError,
        begin: int | BrokerError,
        committed: int | None,
        *,
        done: int = 0,
        metadata: str = "",
    ) -> None:
        """Tell of a partition; one that was deleted is left out.

        Args:
            place: which.
            end: the high watermark, or why it is not known.
            begin: where the records that are left begin, or why it is not known.
            committed: see OffsetView.
            done: how many records after the first one that is left are done.
            metadata: the client's text.
        """
        if isinstance(end, BrokerError) or isinstance(begin, BrokerError):
            if not any(isinstance(each, UnknownTopicOrPartition) for each in (end, begin)):
                self.unknown += 1
            return
        topic, index = place
        self.offsets.setdefault(topic, {})[str(index)] = OffsetView(
            committed=committed, end=end, lag=max(end - begin - done, 0), metadata=metadata
        )


async def share_lags_of(life: Life, group: ShareGroup) -> Lags:
    """Return how far a share group is in the partitions from which a member has read."""
    turns, lags = Turns(), Lags()
    found: dict[TopicPartition, Progress] = {}
    for name, key in stateful_partitions(group):
        await turns.next()
        try:
            known = known_of(life, key)
        except BrokerError as error:
            lags.add((name, key.partition), error, error, None)
            continue
        if known is not None:
            found[name, key.partition] = progress_of(known)
    ends = await _find(life, found, END)
    for place, (start, complete_count) in found.items():
        lags.add(place, ends[place], start, start, done=complete_count)
    return lags


async def lags_of(life: Life, group_id: str, assigned: Iterable[TopicPartition]) -> Lags:
    """Return how far another group is in what its members have, and where it has committed."""
    known = life.coordinators.groups.coordinator.registry.offsets.of(group_id)
    places = set(assigned)
    if known is not None:
        places.update((name, index) for name, some in known.committed.items() for index in some)
    lags, turns = Lags(), Turns()
    # before the ends, so that a lag is rather told too long than too short
    committed: dict[TopicPartition, CommittedOffset | None] = {}
    for place in await sorted_in_turns(places, key=tuple):
        await turns.next()
        committed[place] = known.get(*place) if known else None
    starts = await _find(life, [each for each in committed if committed[each] is None], START)
    ends = await _find(life, committed, END)
    for place, offset in committed.items():
        await turns.next()
        if offset is None:
            lags.add(place, ends[place], starts[place], None)
        else:
            begin, metadata = offset.offset, offset.metadata
            lags.add(place, ends[place], begin, begin, metadata=metadata)
    return lags


async def _find(
    life: Life, places: Iterable[TopicPartition], which: int
) -> Mapping[TopicPartition, int | BrokerError]:
    ask = life.coordinators.groups.ask_leader
    return await find_offsets(life.cluster, ask, places, which)
