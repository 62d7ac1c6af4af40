"""What a member says about very many records, in parts that each take a few milliseconds.

A difference to Kafka: a request that says something about more than 2048 runs of records in
different states is carried out in parts, and other requests have their turn in between. If the
member loses a record of a later part meanwhile, because its lock or its session ends, the request
gets an error, but what it has said about the earlier parts counts. In Kafka all counts, or nothing.

Only what is said is taken in parts. To release very many runs when their locks or a session end,
or to write a snapshot of them takes up to 1.5 microseconds a run, at once. To acquire them again
takes 2 microseconds a run of one batch, 4 if each is a batch made of a kept state, and 11 a gap
between such batches (measured without compiling; compiled, it is about half). So many are in flight
only if a record batch is far larger than the limit of records in flight, and a member has split it;
a partition has at most 32,768 of them (K-36).
"""

from collections.abc import Iterator, Sequence
from typing import Final

from broker_lite.coordinator.share_records.acknowledge import Acknowledgement
from broker_lite.coordinator.share_records.partition import SharePartition

RUNS_MAX: Final = 2048
"""How many runs of records change at a time: that takes some 15 ms."""


def is_little(batches: Sequence[Acknowledgement]) -> bool:
    """Return whether so few records are told of that all of them are one part."""
    if len(batches) > RUNS_MAX:  # each of them is about one record or more
        return False
    return sum([each.last_offset - each.first_offset + 1 for each in batches]) <= RUNS_MAX


def in_parts(
    partition: SharePartition, batches: Sequence[Acknowledgement]
) -> Iterator[Sequence[Acknowledgement]]:
    """Split what a member says about records of a partition.

    Args:
        partition: the share partition; it may change meanwhile.
        batches: what `checked_acknowledgements` has accepted, without what is below the start
            offset, which does nothing.

    Yields:
        Parts that change at most RUNS_MAX runs each; `batches` itself if that is all. What is said
        twice about a record may be in two parts: check_acquired() has to know where the part
        before has ended.
    """
    if is_little(batches):
        yield batches
        return
    part: list[Acknowledgement] = []
    room = RUNS_MAX
    for each in batches:
        for piece, run_count in _pieces(partition, each):
            if part and run_count > room:
                yield part
                part, room = [], RUNS_MAX
            part.append(piece)
            room -= run_count
    yield part


def _pieces(
    partition: SharePartition, said: Acknowledgement
) -> Iterator[tuple[Acknowledgement, int]]:
    """Yield pieces of what is said about a range, and how many runs each of them may change."""
    first, last, types = said
    ends: Sequence[int]
    if len(types) > 1:
        ends = range(first, last + 1)
    else:
        ends = [run.last for run in partition.in_flight.runs(first, last)]
    count = max(len(ends), 1)
    for begin in range(0, count, RUNS_MAX):
        stop = begin + RUNS_MAX
        end = ends[stop - 1] if stop < count else last
        yield (
            Acknowledgement(first, end, types[begin:stop] if len(types) > 1 else types),
            min(stop, count) - begin,
        )
        first = end + 1
