"""What the members of a group may read: everything, and twice only what was not committed."""

from collections.abc import Iterable, Mapping, Sequence

from tests.conformance.program import Event


def read_faults(journals: Iterable[Sequence[Event]], ends: Mapping[int, int]) -> list[str]:
    """What is wrong with what the members read.

    A partition is read without a gap, up to its end; whoever goes on with it begins nowhere before
    what was committed. An answer to a commit may be lost with the one who asked, so that what is
    known to be committed is at most what is.

    Args:
        journals: the events of all members that the group ever had, and what was observed.
        ends: end offset by partition.
    """
    happened: dict[int, list[Event]] = {partition: [] for partition in ends}
    for journal in journals:
        for event in journal:
            if event.kind in {"read", "committed"}:
                happened[int(event.words[0])].append(event)
    faults = []
    for partition, events in happened.items():
        # events of one millisecond keep their program's order
        faults += _partition_faults(partition, sorted(events, key=lambda e: e.time_ms), ends)
    return faults


def _partition_faults(partition: int, events: list[Event], ends: Mapping[int, int]) -> list[str]:
    committed = read = 0
    faults = []
    for event in events:
        offset = int(event.words[1])
        if event.kind == "committed":
            committed = max(committed, offset)
        elif offset < committed:
            faults.append(f"{partition}: {offset} was read again, {committed} was committed")
        elif offset > read:
            faults.append(f"{partition}: {offset} was read, {read} was not")
        else:
            read = max(read, offset + 1)
    if read != ends[partition] or committed != ends[partition]:
        faults.append(f"{partition}: read to {read}, committed to {committed}: {ends[partition]}")
    return faults
