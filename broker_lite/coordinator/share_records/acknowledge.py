"""A member acknowledges records that it has acquired.

All batches of a request for a partition are accepted, or none.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from broker_lite.coordinator.share_records.held_states import NO_ROOM
from broker_lite.coordinator.share_records.in_flight import NO_MEMBER, InFlightBatch, Run
from broker_lite.coordinator.share_records.partition import SharePartition
from broker_lite.coordinator.share_records.state import RecordState, StateUpdate
from broker_lite.errors import CoordinatorNotAvailable, InvalidRecordState, InvalidRequest


class AcknowledgeType(IntEnum):
    """What a member says about a record.

    Source: AcknowledgeType.
    """

    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


_STATE_OF: Final = {
    AcknowledgeType.GAP: RecordState.ARCHIVED,
    AcknowledgeType.ACCEPT: RecordState.ACKNOWLEDGED,
    AcknowledgeType.RELEASE: RecordState.AVAILABLE,
    AcknowledgeType.REJECT: RecordState.ARCHIVED,
}
_NOT_ACQUIRED_BATCH: Final = (
    "The batch cannot be acknowledged. The batch is not in the acquired state."
)
_NOT_ACQUIRED: Final = "The offset cannot be acknowledged. The offset is not acquired."
_NOT_OWNER_OF_BATCH: Final = "Member is not the owner of batch record"
_NOT_OWNER: Final = "Member is not the owner of offset"


class Acknowledgement(NamedTuple):
    """What a member says about a range of records.

    Attributes:
        first_offset: inclusive.
        last_offset: inclusive.
        types: one for all records, or one for each.
    """

    first_offset: int
    last_offset: int
    types: Sequence[int]

    def parts(self) -> Iterator[tuple[int, int, AcknowledgeType]]:
        """Yield ranges with the type of all their records; neighbours of one type are one range."""
        first, types = self.first_offset, self.types
        if len(types) == 1:
            yield first, self.last_offset, AcknowledgeType(types[0])
            return
        begin = 0
        for index in range(1, len(types) + 1):
            if index == len(types) or types[index] != types[begin]:
                yield first + begin, first + index - 1, AcknowledgeType(types[begin])
                begin = index


def checked_acknowledgements(
    batches: Iterable[Acknowledgement], *, may_renew: bool
) -> Iterator[Acknowledgement]:
    """Check what can be checked without knowing the partition.

    Args:
        batches: of one partition.
        may_renew: whether the request says that it renews locks.

    Yields:
        Each of the batches. Nothing counts before all of them are checked.

    Raises:
        InvalidRequest: offsets or types are wrong; it has no text, as in Kafka.

    Rule: K-30 (KafkaApis.validateAcknowledgementBatches).
    """
    highest = AcknowledgeType.RENEW if may_renew else AcknowledgeType.REJECT
    before = -1
    for each in batches:
        first, last, types = each
        if first > last or first < before or not types:
            raise InvalidRequest
        if len(types) > 1 and last - first != len(types) - 1:
            raise InvalidRequest
        if min(types) < AcknowledgeType.GAP or max(types) > highest:
            raise InvalidRequest
        before = last
        yield each


def acknowledge(
    partition: SharePartition,
    member_id: str,
    batches: Sequence[Acknowledgement],
    now_ms: int,
    *,
    has_room: bool = False,
) -> StateUpdate | None:
    """Take what a member says about records; `checked_acknowledgements` has accepted it.

    Args:
        partition: the share partition.
        member_id: of the member.
        batches: what it says.
        now_ms: in the clock's steady milliseconds.
        has_room: whether the caller holds memory for the runs that are split.

    Returns:
        What has to be written, None if nothing has.

    Raises:
        InvalidRequest: the records were never delivered; nothing has changed.
        InvalidRecordState: the member has not acquired them; nothing has changed.
        CoordinatorNotAvailable: it splits runs of records, and there is no memory for more of them;
            nothing has changed.

    Rule: K-14 (SharePartition.acknowledge).
    See: K-36.
    """
    accepted = check_acquired(partition, member_id, batches)
    if not has_room:
        _check_split(partition, accepted)
    settled: list[Run] = []
    for each in accepted:
        settled += _apply(partition, each, now_ms)
    return partition.changed(settled)


def check_acquired(
    partition: SharePartition, member_id: str, batches: Sequence[Acknowledgement], begin: int = 0
) -> Sequence[Acknowledgement]:
    """Check that a member has acquired the records that it says something about.

    A batch that it names in parts counts record by record from then on, which only texts of errors
    tell.

    Args:
        partition: the share partition.
        member_id: of the member.
        batches: what it says, or a part of that.
        begin: the records below have their fate already, by the parts before; 0 for none.

    Returns:
        What is not about records before the start offset.

    Raises:
        InvalidRequest: the records were never delivered.
        InvalidRecordState: the member has not acquired them.

    Rule: K-31 (SharePartition.acknowledge).
    """
    accepted = [each for each in batches if each.last_offset >= partition.start_offset]
    renews = any(AcknowledgeType.RENEW in each.types for each in accepted)
    if renews and not partition.settings.may_renew:
        raise InvalidRecordState("Renewing acquisition locks is not enabled for the group.")
    for each in accepted:
        _check(partition, member_id, each)
        if each.first_offset < begin:
            raise InvalidRecordState(_NOT_ACQUIRED)
        begin = each.last_offset + 1
    return accepted


def _check_split(partition: SharePartition, said: Sequence[Acknowledgement]) -> None:
    if not partition.in_flight.has_room(sum([len(each.types) + 1 for each in said])):
        check_room(partition, runs_added(partition, said))


def runs_added(partition: SharePartition, said: Sequence[Acknowledgement], begin: int = 0) -> int:
    """Return how many more runs there are after runs were split for what a member says.

    Args:
        partition: the share partition.
        said: about records that the member has acquired.
        begin: runs are split there already, or will be; 0 for nowhere.
    """
    in_flight = partition.in_flight
    begin = max(begin, partition.start_offset)
    more = 0
    for each in said:
        for first, last, _ in each.parts():
            if last < begin:
                continue
            if first > begin:
                more += in_flight.splits_at(first)
            begin = last + 1
            more += in_flight.splits_at(begin)
    return more


def check_room(partition: SharePartition, run_count: int) -> None:
    """Demand that there is memory for more runs, if any are needed.

    Raises:
        CoordinatorNotAvailable: there is not.

    See: K-36.
    """
    if run_count and not partition.in_flight.has_room(run_count):
        raise CoordinatorNotAvailable(NO_ROOM)


def _check(partition: SharePartition, member_id: str, asked: Acknowledgement) -> None:
    """Check that a member has acquired all records of a range.

    Rule: K-31 (SharePartition.fetchSubMapForAcknowledgementBatch).
    """
    first, last, _ = asked
    begin = max(first, partition.start_offset)
    in_flight = partition.in_flight
    known = next((each for each in in_flight.batches if not each.is_unread), None)
    if known is None or known.first > begin:
        raise InvalidRecordState(
            "Batch record not found. The request batch offsets are not found in the cache."
        )
    found = [each for each in in_flight.within(begin, last) if not each.is_unread]
    if not found:
        raise InvalidRequest(
            "Batch record not found. The first offset in request is past acquired records."
        )
    if last > found[-1].last:
        raise InvalidRequest(
            "Batch record not found. The last offset in request is past acquired records."
        )
    for batch in found:
        _check_batch(partition, member_id, batch, asked)


def _check_batch(
    partition: SharePartition, member_id: str, batch: InFlightBatch, asked: Acknowledgement
) -> None:
    begin = max(asked.first_offset, partition.start_offset)
    for run in batch.within(begin, asked.last_offset):
        if run.member_id == NO_MEMBER:
            text = _NOT_ACQUIRED if batch.is_split else _NOT_ACQUIRED_BATCH
            raise InvalidRecordState(text)
        if run.member_id != member_id:
            raise InvalidRecordState(_NOT_OWNER if batch.is_split else _NOT_OWNER_OF_BATCH)
    is_whole = begin <= batch.first and batch.last <= asked.last_offset
    if not is_whole or len(asked.types) > 1:
        batch.is_split = True  # it stays so, even if a later batch of the request is refused


def _apply(partition: SharePartition, asked: Acknowledgement, now_ms: int) -> list[Run]:
    """Give records their new state; return the runs that are no longer acquired.

    What lies between kept records, and was not read yet, stays as it is.
    """
    settings = partition.settings
    deadline_ms = now_ms + settings.lock_duration_ms
    start = partition.start_offset
    parts = [each for each in asked.parts() if each[1] >= start]
    ranges = [(max(first, start), last) for first, last, _ in parts]
    settled: list[Run] = []
    renewed: list[Run] = []
    for position, run in partition.in_flight.cut(ranges):
        if run.state is not RecordState.ACQUIRED:
            continue
        kind = parts[position][2]
        partition.said[kind] = partition.said.get(kind, 0) + run.last - run.first + 1
        if kind is AcknowledgeType.RENEW:
            renewed.append(run)
        else:
            partition.settle(run, _STATE_OF[kind])
            settled.append(run)
    if renewed:
        partition.lock(renewed, deadline_ms)
    return settled
