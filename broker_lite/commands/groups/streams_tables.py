"""The tables of `kafka-streams-groups --describe`, laid out as Kafka's tool does it.

Source: StreamsGroupCommand.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from broker_lite.client import Client
from broker_lite.client.admin.group_admin import EMPTY
from broker_lite.client.admin.streams_group_admin import DescribedStreams
from broker_lite.client.partition_offsets import EARLIEST, LATEST, fetch_committed, list_offsets
from broker_lite.client.topic_partitions import TopicPartition, find_topics
from broker_lite.commands.shared.text_table import Column, one_row, or_missing, table
from broker_lite.wire import messages

_CLASSIC: Final = "classic"
_STREAMS: Final = "streams"

_TaskIds = messages.StreamsGroupDescribeResponse.TaskIds
_Assignment = messages.StreamsGroupDescribeResponse.Assignment


def offsets_lines(client: Client, group: DescribedStreams, verbose: bool) -> Iterator[str]:
    """Yield a row for each partition that an active task reads."""
    if not group.members:
        return
    partitions = sorted(set(_read_partitions(group)))
    topics = find_topics(client, {name for name, _ in partitions})
    first = list_offsets(client, dict.fromkeys(partitions, EARLIEST), topics)
    ends = list_offsets(client, dict.fromkeys(partitions, LATEST), topics)
    connection = client.connection(client.coordinator(group.group_id))
    committed = client.retry(lambda: fetch_committed(connection, group.group_id))
    rows: list[list[object]] = []
    for partition in partitions:
        found, end = committed.get(partition), ends[partition]
        lag = end - (first[partition] if found is None else found.offset)
        numbers: list[object] = [lag]
        if verbose:
            epoch = None if found is None or found.leader_epoch < 0 else found.leader_epoch
            offset = None if found is None else found.offset
            numbers = [*map(or_missing, (offset, epoch)), end, lag]
        rows.append([group.group_id, *partition, *numbers])
    columns = [
        Column("GROUP", 15, grows=True),
        Column("TOPIC", 15, grows=True),
        Column("PARTITION", 10),
        *(
            Column(name, 15)
            for name in ("CURRENT-OFFSET", "LEADER-EPOCH", "LOG-END-OFFSET")
            if verbose
        ),
        Column("OFFSET-LAG", 15 if verbose else 0),
    ]
    yield from table(columns, rows)


def _read_partitions(group: DescribedStreams) -> Iterator[TopicPartition]:
    """Yield the partitions of the topics that active tasks read."""
    found = group.topology.subtopologies if group.topology else None
    inputs = {
        each.subtopology_id: [
            *each.source_topics,
            *(topic.name for topic in each.repartition_source_topics),
        ]
        for each in found or ()
    }
    for member in group.members:
        for task in member.assignment.active_tasks:
            for name in inputs.get(task.subtopology_id, ()):
                yield from ((name, number) for number in task.partitions)


def members_lines(_client: Client, group: DescribedStreams, verbose: bool) -> Iterator[str]:
    """Yield a row for each member, its tasks as ROLE: SUBTOPOLOGY:[PARTITION,...]; ROLE: ...."""
    if not group.members:
        return
    columns = [
        Column("GROUP", 15, grows=True),
        Column("MEMBER", 15, grows=True),
        Column("PROCESS", 15, grows=True),
        Column("CLIENT-ID", 15, grows=True),
        Column("ASSIGNMENTS", 0),
    ]
    if verbose:
        columns[1:2] = [
            Column("TARGET-ASSIGNMENT-EPOCH", 25),
            # Kafka's tool leaves no blank behind this column
            Column("TOPOLOGY-EPOCH", 15),
            Column("MEMBER", 15, grows=True),
            Column("MEMBER-PROTOCOL", 15),
            Column("MEMBER-EPOCH", 15),
        ]
    rows: list[list[object]] = []
    for member in group.members:
        assignments = _tasks(member.assignment, "")
        row: list[object] = [group.group_id]
        if verbose:
            assignments += _tasks(member.target_assignment, "TARGET-")
            protocol = _CLASSIC if member.is_classic else _STREAMS
            row += [group.assignment_epoch, group.topology.epoch if group.topology else 0]
            row += [member.member_id, protocol, member.member_epoch]
        else:
            row.append(member.member_id)
        rows.append([*row, member.process_id, member.client_id, assignments])
    for line in table(columns, rows):
        yield _without_blank(line, columns, rows) if verbose else line


def _without_blank(line: str, columns: Iterable[Column], rows: Iterable[list[object]]) -> str:
    """Return a line of the wide table of members without the blank before MEMBER."""
    group_width = max(15, *(len(str(row[0])) for row in rows))
    end = group_width + 1 + sum(each.width + 1 for each in [*columns][1:3])
    return line[: end - 1] + line[end:]


def _tasks(assignment: _Assignment, prefix: str) -> str:
    return "".join(
        _role(f"{prefix}{role}", tasks)
        for role, tasks in (
            ("ACTIVE", assignment.active_tasks),
            ("STANDBY", assignment.standby_tasks),
            ("WARMUP", assignment.warmup_tasks),
        )
    )


def _role(name: str, tasks: Iterable[_TaskIds]) -> str:
    text = "".join(
        f"{each.subtopology_id}:[{','.join(map(str, each.partitions))}]; " for each in tasks
    )
    return f"{name}: {text}" if text else ""


def states_lines(client: Client, group: DescribedStreams, verbose: bool) -> Iterator[str]:
    """Yield one row for the group."""
    if group.group_state == EMPTY:
        yield f"\nError: Streams group '{group.group_id}' has no active members."
    node_id = client.coordinator(group.group_id)
    coordinator = f"{client.nodes()[node_id]} ({node_id})"
    cells: list[tuple[Column, object]] = [
        (Column("GROUP", 15, grows=True), group.group_id),
        (Column("COORDINATOR (ID)", 25, grows=True), coordinator),
        (Column("STATE", 25), group.group_state),
        (Column("GROUP-EPOCH", 15), group.group_epoch),
        (Column("TARGET-ASSIGNMENT-EPOCH", 25), group.assignment_epoch),
        (Column("#MEMBERS", 0), len(group.members)),
    ]
    if not verbose:
        cells = [cell for cell in cells if not cell[0].name.endswith("EPOCH")]
    yield from one_row(cells)
