"""What a share group has in flight, as the control API tells it."""

from typing import Final, NamedTuple

import msgspec

from broker_lite.coordinator.share.group import ShareGroup
from broker_lite.coordinator.share_records.acknowledge import AcknowledgeType
from broker_lite.coordinator.share_records.in_flight import Run
from broker_lite.coordinator.share_records.state import RecordState
from broker_lite.coordinator.share_records.states import ShareKey
from broker_lite.errors import BrokerError
from broker_lite.log.read import seen_offsets
from broker_lite.server.life import Life
from broker_lite.testbench.share_runs import (
    Known,
    copy_of,
    known_of,
    progress_of,
    runs_of,
    stateful_partitions,
)
from broker_lite.testbench.turns import Turns

_PAGE: Final = 500
"""Of so many runs no answer to a poll of the page is too large."""
PARTITIONS: Final = 1000
"""So many are told if the caller does not say."""


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
        end: the high watermark; None if no member has read, and the log was not used since the
            broker was started.
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
    end: int | None
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
        partitions_left_out: how many more there are; they count in the numbers above.
    """

    group: str
    state: str
    in_flight: int
    lag: int | None
    accepted: int
    released: int
    rejected: int
    partitions: dict[str, dict[str, SharedView]]
    partitions_left_out: int


async def share_view(
    life: Life,
    group: ShareGroup,
    *,
    topic: str | None = None,
    runs: int = _PAGE,
    partitions: int = PARTITIONS,
) -> ShareView:
    """Return what a group has in flight; others run in between.

    Each partition is told as it is at one time. The log of one that no member has read from is not
    loaded for this.

    Args:
        life: of the broker.
        group: the group.
        topic: only this one; None for all.
        runs: at most so many, of all partitions together.
        partitions: at most so many; those that are left out count, too.

    Raises:
        BrokerError: the state of a partition cannot be read now.
    """
    view = nothing_shared(group.group_id)
    view.state = group.state.value
    turns = Turns()
    for name, key in stateful_partitions(group, topic):
        await turns.next()
        is_told = partitions > 0
        found = _seen(life, name, key, runs if is_told else 0)
        if found is None:
            continue
        _add(view, found.view)
        if not is_told:
            view.partitions_left_out += 1
            continue
        partitions -= 1
        runs -= len(found.runs)
        view.partitions.setdefault(name, {})[str(key.partition)] = found.view
        for run in found.runs:
            found.view.runs.append(_run(run, found.start_offset, found.now_ms))
            await turns.next()
    return view


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
        partitions_left_out=0,
    )


class _Seen(NamedTuple):
    """A partition at one time.

    Attributes:
        view: of it, without the runs.
        runs: copies of those that are to be told.
        start_offset: where they begin.
        now_ms: what their locks are told by.
    """

    view: SharedView
    runs: list[Run]
    start_offset: int
    now_ms: int


def _add(view: ShareView, found: SharedView) -> None:
    """Count a partition."""
    view.in_flight += found.acquired + found.available
    view.accepted += found.accepted
    view.released += found.released
    view.rejected += found.rejected
    if found.lag is not None:
        view.lag = (view.lag or 0) + found.lag


def _seen(life: Life, name: str, key: ShareKey, room: int) -> _Seen | None:
    """Look at a partition: at all of its runs at once, because they change when others run.

    Returns:
        None if its topic was deleted meanwhile, or its log cannot be read.
    """
    topic = life.cluster.topics.get(name)
    if topic is None or topic.topic_id != key.topic_id:
        return None
    known = known_of(life, key)
    try:
        end = _end(life, name, key.partition, is_needed=known is not None)
    except BrokerError:
        return None
    said = life.coordinators.groups.shares.said.of(key)
    view = SharedView(
        start=None,
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
    now_ms = life.clock.steady_ms()
    if known is None or end is None:
        return _Seen(view, [], 0, now_ms)
    view.start = start = progress_of(known).start_offset
    told = _count(view, known, start, room)
    view.lag = max(end - start - view.acknowledged - view.archived, 0)
    return _Seen(view, told, start, now_ms)


def _end(life: Life, name: str, partition: int, *, is_needed: bool) -> int | None:
    """Return the high watermark; None if it is not needed, and the log is not loaded.

    Raises:
        BrokerError: there is no such partition, or its log cannot be loaded.
    """
    log = life.cluster.loaded_log(name, partition)
    if log is None and is_needed:
        log = life.cluster.log(name, partition)
    return None if log is None else seen_offsets(log).high_watermark


def _count(view: SharedView, known: Known, start: int, room: int) -> list[Run]:
    """Count the records of a partition by state.

    Returns:
        Copies of the first runs, so many as there is room for.
    """
    told: list[Run] = []
    counts = [0] * (max(RecordState) + 1)
    for run in runs_of(known, start):
        if run.delivery_count or run.is_final:
            counts[run.state] += run.last - max(run.first, start) + 1
        if len(told) < room:
            told.append(copy_of(run))
        else:
            view.runs_left_out += 1
    view.acquired = counts[RecordState.ACQUIRED]
    view.available = counts[RecordState.AVAILABLE]
    view.acknowledged = counts[RecordState.ACKNOWLEDGED]
    view.archived = counts[RecordState.ARCHIVED]
    return told


def _run(run: Run, start: int, now_ms: int) -> RunView:
    is_locked = run.state is RecordState.ACQUIRED
    return RunView(
        first=max(run.first, start),
        last=run.last,
        state=run.state.name.lower(),
        delivery_count=run.delivery_count,
        member=run.member_id if is_locked else "",
        lock_ms=max(run.deadline_ms - now_ms, 0) if is_locked else None,
    )
