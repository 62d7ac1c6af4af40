"""The tables of `kafka-share-groups --describe`, laid out as Kafka's tool does it.

Source: ShareGroupCommand.
"""

import sys
from collections.abc import Iterable, Iterator

from broker_lite.client import Client
from broker_lite.client.admin.group_admin import EMPTY
from broker_lite.client.admin.share_group_admin import Described, share_offsets
from broker_lite.commands.shared.text_table import Column, one_row, or_missing, table
from broker_lite.wire import messages


def offsets_lines(client: Client, group: Described, verbose: bool) -> Iterator[str]:
    """Yield a row for each partition that the group has read or will read."""
    found = share_offsets(client, group.group_id)
    if not found:
        yield f"\nShare group '{group.group_id}' has no offset information."
        return
    columns = [
        Column("GROUP", 15, grows=True),
        Column("TOPIC", 15, grows=True),
        Column("PARTITION", 10),
        *([Column("LEADER-EPOCH", 13)] if verbose else []),
        Column("START-OFFSET", 13),
        Column("LAG", 0),
    ]
    rows = []
    for (topic, number), offset in sorted(found.items()):
        numbers = [or_missing(offset.start), or_missing(offset.lag)]
        if verbose:
            numbers.insert(0, or_missing(offset.leader_epoch))
        rows.append([group.group_id, topic, number, *numbers])
    yield ""
    yield from table(columns, rows)


def members_lines(_client: Client, group: Described, verbose: bool) -> Iterator[str]:
    """Yield a row for each member."""
    _tell_empty(group)
    if not group.members:
        return
    columns = [
        Column("GROUP", 15, grows=True),
        Column("CONSUMER-ID", 15, grows=True),
        Column("HOST", 15, grows=True),
        Column("CLIENT-ID", 15, grows=True),
        Column("#PARTITIONS", 12),
        *([Column("MEMBER-EPOCH", 13)] if verbose else []),
        Column("ASSIGNMENT", 0),
    ]
    rows = []
    for member in sorted(group.members, key=lambda one: one.member_id):
        assigned = member.assignment.topic_partitions
        row: list[object] = [group.group_id, member.member_id, member.client_host]
        row += [member.client_id, sum(len(each.partitions) for each in assigned)]
        row += [member.member_epoch] if verbose else []
        rows.append([*row, _assignment(assigned)])
    yield ""
    yield from table(columns, rows)


def states_lines(client: Client, group: Described, verbose: bool) -> Iterator[str]:
    """Yield one row for the group."""
    _tell_empty(group)
    node_id = client.coordinator(group.group_id)
    coordinator = f"{client.nodes()[node_id]}  ({node_id})"
    cells: list[tuple[Column, object]] = [
        (Column("GROUP", 15, grows=True), group.group_id),
        (Column("COORDINATOR (ID)", 25, grows=True), coordinator),
        (Column("STATE", 15), group.group_state),
        (Column("GROUP-EPOCH", 12), group.group_epoch),
        (Column("ASSIGNMENT-EPOCH", 17), group.assignment_epoch),
        (Column("#MEMBERS", 0), len(group.members)),
    ]
    if not verbose:
        cells = [cell for cell in cells if not cell[0].name.endswith("EPOCH")]
    yield ""
    yield from one_row(cells)


def _tell_empty(group: Described) -> None:
    """Print a note if a group has no members."""
    if group.group_state == EMPTY:
        print(f"\nShare group '{group.group_id}' has no active members.", file=sys.stderr)


def _assignment(topics: "Iterable[messages.ShareGroupDescribeResponse.TopicPartitions]") -> str:
    """Return the partitions of a member as TOPIC:N,N;TOPIC:N."""
    texts = (f"{each.topic_name}:{','.join(map(str, sorted(each.partitions)))}" for each in topics)
    return ";".join(sorted(texts))
