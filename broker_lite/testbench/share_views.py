"""What a share group has in flight, as the control API tells it."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import msgspec

from broker_lite.coordinator.effects import NO_START
from broker_lite.coordinator.share.group import ShareGroup
from broker_lite.coordinator.share_records.acknowledge import AcknowledgeType
from broker_lite.coordinator.share_records.in_flight import Run
from broker_lite.coordinator.share_records.partition import SharePartition
from broker_lite.coordinator.share_records.state import RecordState
from broker_lite.coordinator.share_records.states import ShareKey
from broker_lite.errors import BrokerError
from broker_lite.log.read import seen_offsets
from broker_lite.server.life import Life
from broker_lite.testbench.turns import Turns

_PAGE: Final = 500
"""Of so many runs no answer to a poll of the page is too large."""


class RunView(msgspec.Struct, kw_only=True):
    """Neighbouring records of one state.

    Attributes:
        first: the first offset.
        last: the last offset, inclusive.
        state: acquired, available, acknowledged or archived. What is available is delivered once
            more; for the first time if its delivery_count is 0.
        delivery_count: how often they were delivered.
        member: the member id of who has acquired them; empty if nobody has.
        lock_ms: how long its lock still lasts; None without a lock.
    """

    first: int
    last: int
    state: str
    delivery_count: int
    member: str
    lock_ms: int | None


class SharedView(msgspec.Struct, kw_only=True):
    """A partition as a share group has it.

    Attributes:
        start: the first record that is not done; None before a member has read.
        end: the high watermark.
        lag: how many records are not done; None where the start is.
        acquired: how many records members have and say nothing about yet.
        available: how many were delivered, and will be delivered once more.
        acknowledged: how many are done although others before them are not.
        archived: how many of those will not be delivered again, because they were rejected, were
            delivered too often, or are no records of consumers.
        accepted: about how many records members have said so, since the broker was started.
        released: the same for records to be delivered again.
        rejected: the same for records never to be delivered again.
        runs: of the records from the start on that a member was given, or that lie in a batch with
            such records, in order.
        runs_left_out: how many runs more there are.
    """

    start: int | None
    end: int
    lag: int | None
    acquired: int
    available: int
    acknowledged: int
    archived: int
    accepted: int
    released: int
    rejected: int
    runs: list[RunView]
    runs_left_out: int


class ShareView(msgspec.Struct, kw_only=True):
    """What a share group has in flight.

    Attributes:
        group: its id.
        state: in Kafka's words; Dead if there is no such group.
        in_flight: how many records are acquired, or will be delivered once more.
        lag: how many records are not done, of all partitions together; None while no member has
            read, because then nobody knows where the group starts.
        accepted: how many records members have accepted, since the broker was started.
        released: the same for records to be delivered again.
        rejected: the same for records never to be delivered again.
        partitions: by topic, then by partition.
    """

    group: str
    state: str
    in_flight: int
    lag: int | None
    accepted: int
    released: int
    rejected: int
    partitions: dict[str, dict[str, SharedView]]


class Progress(NamedTuple):
    """How far a share group is in a partition.

    Attributes:
        start_offset: the first record that is not done.
        lag: how many records are not done.
    """

    start_offset: int
    lag: int


def progress_of(life: Life, key: ShareKey, high_watermark: int) -> Progress | None:
    """Return how far a share group is in a partition; None if no member has read from it.

    Raises:
        BrokerError: nobody knows now.
    """
    partition = _partition(life, key)
    if partition is None:
        return None
    start = partition.start_offset
    return Progress(start, max(high_watermark - start - partition.complete_count, 0))


async def share_view(
    life: Life, group: ShareGroup, *, topic: str | None = None, runs: int = _PAGE
) -> ShareView:
    """Return what a group has in flight; others run in between.

    Args:
        life: of the broker.
        group: the group.
        topic: only this one; None for all.
        runs: at most so many, of all partitions together.

    Raises:
        BrokerError: the state of a partition cannot be read now.
    """
    partitions: dict[str, dict[str, SharedView]] = {}
    views: list[SharedView] = []
    turns = Turns()
    for name, key in _keys(group):
        if topic in (None, name):
            view = await _shared(life, name, key, runs, turns)
            if view is not None:
                runs -= len(view.runs)
                views.append(view)
                partitions.setdefault(name, {})[str(key.partition)] = view
    lags = [each.lag for each in views if each.lag is not None]
    return ShareView(
        group=group.group_id,
        state=group.state.value,
        in_flight=sum(each.acquired + each.available for each in views),
        lag=sum(lags) if lags else None,
        accepted=sum(each.accepted for each in views),
        released=sum(each.released for each in views),
        rejected=sum(each.rejected for each in views),
        partitions=partitions,
    )


def nothing_shared(group_id: str) -> ShareView:
    """Return the view of a group that does not exist."""
    return ShareView(
        group=group_id,
        state="Dead",
        in_flight=0,
        lag=None,
        accepted=0,
        released=0,
        rejected=0,
        partitions={},
    )


def _keys(group: ShareGroup) -> list[tuple[str, ShareKey]]:
    """Return the partitions with a state, by topic and number; others may go meanwhile."""
    return sorted(
        (topic.name, ShareKey(group.group_id, topic_id, partition))
        for topic_id, topic in group.stateful.items()
        for partition in topic.partitions
    )


async def _shared(
    life: Life, name: str, key: ShareKey, room: int, turns: Turns
) -> SharedView | None:
    """Return a partition; None if its topic was deleted meanwhile, or its log cannot be read."""
    try:
        end = seen_offsets(life.cluster.log(name, key.partition)).high_watermark
    except BrokerError:
        return None
    partition = _partition(life, key)
    said = life.coordinators.groups.shares.said.of(key)
    view = SharedView(
        start=None if partition is None else partition.start_offset,
        end=end,
        lag=None,
        acquired=0,
        available=0,
        acknowledged=0,
        archived=0,
        accepted=said.get(AcknowledgeType.ACCEPT, 0),
        released=said.get(AcknowledgeType.RELEASE, 0),
        rejected=said.get(AcknowledgeType.REJECT, 0),
        runs=[],
        runs_left_out=0,
    )
    if partition is None:
        return view
    start, now_ms, counts = partition.start_offset, life.clock.steady_ms(), dict[str, int]()
    for run in [*_runs(partition)]:
        state = run.state.name.lower()
        if run.delivery_count or run.is_final:
            counts[state] = counts.get(state, 0) + run.last - max(run.first, start) + 1
        if len(view.runs) < room:
            view.runs.append(_run(run, state, start, now_ms))
        else:
            view.runs_left_out += 1
        await turns.next()
    for state, count in counts.items():
        setattr(view, state, count)
    view.lag = max(end - start - view.acknowledged - view.archived, 0)
    return view


def _partition(life: Life, key: ShareKey) -> SharePartition | None:
    """Return a share partition as it is, or as the next reader would find it.

    Returns:
        None if no member has read from it, so that nobody knows where it starts.

    Raises:
        BrokerError: nobody knows now.
    """
    shares = life.coordinators.groups.shares
    if not shares.is_known(key):
        return None
    partition = shares.partition(key)
    if partition is not None:
        return partition
    kept = shares.log.states.get(key)
    if kept is None or kept.start_offset == NO_START:
        return None
    return SharePartition(kept.start_offset, kept.batches, shares.settings_of(key.group_id))


def _runs(partition: SharePartition) -> Iterator[Run]:
    """Yield the runs with any record from the start on; neighbours of one fate are one run."""
    before: Run | None = None
    for run in _all_runs(partition):
        if before is not None and _is_alike(before, run):
            before = _joined(before, run)
        else:
            if before is not None:
                yield before
            before = run
    if before is not None:
        yield before


def _all_runs(partition: SharePartition) -> Iterable[Run]:
    start, end = partition.start_offset, partition.end_offset
    return partition.in_flight.runs(start, end)


def _is_alike(one: Run, other: Run) -> bool:
    return (
        one.last + 1 == other.first
        and one.state is other.state
        and one.delivery_count == other.delivery_count
        and one.member_id == other.member_id
        and one.deadline_ms == other.deadline_ms
    )


def _joined(one: Run, other: Run) -> Run:
    return Run(one.first, other.last, one.state, one.delivery_count, one.member_id, one.deadline_ms)


def _run(run: Run, state: str, start: int, now_ms: int) -> RunView:
    is_locked = run.state is RecordState.ACQUIRED
    return RunView(
        first=max(run.first, start),
        last=run.last,
        state=state,
        delivery_count=run.delivery_count,
        member=run.member_id if is_locked else "",
        lock_ms=max(run.deadline_ms - now_ms, 0) if is_locked else None,
    )
