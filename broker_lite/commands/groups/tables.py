"""The tables of `groups --describe`, one per group, laid out as by kafka-consumer-groups.sh.

Source: ConsumerGroupCommand of Kafka's tools.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from broker_lite.client import Client, Refused
from broker_lite.client.admin.group_admin import (
    DEAD,
    EMPTY,
    Group,
    Member,
    Partitions,
    delete_offsets,
)
from broker_lite.client.partition_offsets import LATEST, Committed, fetch_committed, list_offsets
from broker_lite.client.topic_partitions import TopicPartition, find_topics
from broker_lite.commands.shared.kafka_errors import exception_line, exception_text
from broker_lite.commands.shared.text_table import MISSING, Column, one_row, or_missing, table

_REBALANCING: Final = frozenset(
    {"PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"}
)

GroupTable = Callable[[Client, Group, bool], Iterable[str]]
"""Yields the lines of a table; takes a client, the group, and whether to be verbose."""


def tell_state(group: Group) -> bool:
    """Print a note if a group does not exist, has no members or is rebalancing.

    Returns:
        Whether the group exists.
    """
    if group.state == DEAD:
        print(f"\nError: Consumer group '{group.group}' does not exist.")
        return False
    if group.state == EMPTY:
        print(f"\nConsumer group '{group.group}' has no active members.", file=sys.stderr)
    elif group.state in _REBALANCING:
        print(f"\nWarning: Consumer group '{group.group}' is rebalancing.", file=sys.stderr)
    return True


def offsets_table(client: Client, group: Group, verbose: bool) -> Iterator[str]:
    """Yield a row for each partition that is assigned or has a committed offset."""
    connection = client.connection(group.coordinator_id)
    committed = client.retry(lambda: fetch_committed(connection, group.group))
    members = sorted(group.members, key=_partition_count, reverse=True)
    owners: dict[TopicPartition, Member | None] = {
        partition: member for member in members for partition in _partitions(member.assignment)
    }
    owners |= dict.fromkeys(sorted(committed.keys() - owners.keys()))
    ends = _ends(client, owners)
    rows = [
        _offsets_row(group.group, partition, owner, committed.get(partition), ends.get(partition))
        for partition, owner in owners.items()
    ]
    columns = [
        Column("GROUP", 15, grows=True),
        Column("TOPIC", 15, grows=True),
        Column("PARTITION", 10),
        Column("LEADER-EPOCH", 15),
        Column("CURRENT-OFFSET", 15),
        Column("LOG-END-OFFSET", 15),
        Column("LAG", 15),
        Column("CONSUMER-ID", 15, grows=True),
        Column("HOST", 15, grows=True),
        Column("CLIENT-ID", 0),
    ]
    if not verbose:
        leader_epoch = 3
        del columns[leader_epoch]
        for row in rows:
            del row[leader_epoch]
    if rows:
        yield from table(columns, rows)


def _offsets_row(
    group: str,
    partition: TopicPartition,
    owner: Member | None,
    committed: Committed | None,
    end: int | None,
) -> list[object]:
    offset = None if committed is None else committed.offset
    epoch = None if committed is None or committed.leader_epoch < 0 else committed.leader_epoch
    lag = None if offset is None or end is None else end - offset
    who = (owner.member_id, owner.host, owner.client_id) if owner else (MISSING,) * 3
    numbers = [or_missing(number) for number in (epoch, offset, end, lag)]
    return [group, *partition, *numbers, *who]


def _ends(client: Client, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    topics = find_topics(client, {name for name, _ in partitions})
    there = {
        (name, number): LATEST
        for name, number in partitions
        if name in topics and number in topics[name].leaders
    }
    return list_offsets(client, there, topics)


def members_table(client: Client, group: Group, verbose: bool) -> Iterator[str]:
    """Yield a row for each member."""
    columns = [Column("GROUP", 15, grows=True), Column("CONSUMER-ID", 15, grows=True)]
    with_instances = any(member.instance_id for member in group.members)
    if with_instances:
        columns.append(Column("GROUP-INSTANCE-ID", 17, grows=True))
    columns += [
        Column("HOST", 15, grows=True),
        Column("CLIENT-ID", 15, grows=True),
        Column("#PARTITIONS", 15),
    ]
    if verbose:
        columns += [
            Column("CURRENT-EPOCH", 15),
            Column("CURRENT-ASSIGNMENT", 20, grows=True),
            Column("TARGET-EPOCH", 15),
            Column("TARGET-ASSIGNMENT", 20, grows=True),
        ]
    rows = []
    for member in group.members:
        instance = [member.instance_id] if with_instances else []
        count = _partition_count(member)
        row = [group.group, member.member_id, *instance, member.host, member.client_id, count]
        rows.append(row + _assignments(group, member) if verbose else row)
    # every line of Kafka's short table ends with a blank
    yield from (line if verbose else f"{line} " for line in table(columns, rows))


def _assignments(group: Group, member: Member) -> list[object]:
    if member.target is None:
        return [MISSING, _assignment(member.assignment), MISSING, MISSING]
    current, target = _assignment(member.assignment), _assignment(member.target)
    return [member.epoch, current, group.target_epoch, target]


def states_table(client: Client, group: Group, verbose: bool) -> Iterator[str]:
    """Yield one row for the group."""
    coordinator = f"{group.coordinator}  ({group.coordinator_id})"
    cells: list[tuple[Column, object]] = [
        (Column("GROUP", 15, grows=True), group.group),
        (Column("COORDINATOR (ID)", 25, grows=True), coordinator),
        (Column("ASSIGNMENT-STRATEGY", 20), group.assignor or MISSING),
        (Column("STATE", 20), group.state),
        (Column("GROUP-EPOCH", 15), or_missing(group.epoch)),
        (Column("TARGET-ASSIGNMENT-EPOCH", 25), or_missing(group.target_epoch)),
        (Column("#MEMBERS", 0), len(group.members)),
    ]
    if not verbose:
        cells = [cell for cell in cells if not cell[0].name.endswith("EPOCH")]
    yield from one_row(cells)


def _partitions(assignment: Partitions) -> Iterator[TopicPartition]:
    return ((name, number) for name in sorted(assignment) for number in assignment[name])


def _partition_count(member: Member) -> int:
    return sum(map(len, member.assignment.values()))


def _assignment(assignment: Mapping[str, Sequence[int]]) -> str:
    texts = (f"{name}:{','.join(map(str, assignment[name]))}" for name in sorted(assignment))
    return ";".join(texts) or MISSING


def delete_and_tell(
    client: Client,
    group: str,
    partitions: Iterable[TopicPartition],
    codes: dict[TopicPartition, int],
) -> None:
    """Delete committed offsets of a group, and print what became of each partition.

    Args:
        client: to ask with.
        group: its id.
        partitions: whose offsets are deleted.
        codes: errors of partitions that are not asked for; gets those of the others.
    """
    asked, whole = [*partitions], 0
    try:
        codes |= delete_offsets(client, group, asked)
    except Refused as error:
        whole = error.code
        codes |= dict.fromkeys(asked, whole)
    if whole:
        print(f"\nError: {exception_text(whole)}")
    elif any(codes[partition] for partition in asked):
        print("\nError: Encountered some partition-level error, see the follow-up details.")
    else:
        print(f"Request succeeded for deleting offsets from group {group}.")
    rows = [
        [
            name,
            MISSING if number < 0 else number,
            f"Error: {exception_line(code)}" if code else "Successful",
        ]
        for (name, number), code in sorted(codes.items())
    ]
    columns = [Column("TOPIC", 15, grows=True), Column("PARTITION", 10), Column("STATUS", 15)]
    print("", *table(columns, rows), sep="\n")
