"""`kafka-streams-groups`: list, describe, delete and reset streams groups.

Flags and output are those of kafka-streams-groups.sh.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from broker_lite.client import Client, Refused
from broker_lite.client.admin.group_admin import DEAD, EMPTY
from broker_lite.client.admin.listed_groups import STREAMS
from broker_lite.client.admin.streams_group_admin import (
    DescribedStreams,
    describe_streams_group,
    repartition_topics,
    source_topics,
)
from broker_lite.client.partition_offsets import commit, fetch_committed
from broker_lite.client.topic_partitions import TopicPartition, find_topics
from broker_lite.commands.groups import typed
from broker_lite.commands.groups.reset import (
    SCENARIOS,
    Offsets,
    ResetPlan,
    add_scenarios,
    check_scenario,
    parse_topic,
    print_csv,
)
from broker_lite.commands.groups.streams_internal_topics import (
    InternalTopics,
    deletable_topics,
    delete_after_reset,
)
from broker_lite.commands.groups.streams_tables import members_lines, offsets_lines, states_lines
from broker_lite.commands.groups.tables import delete_and_tell
from broker_lite.commands.groups.typed import GroupType, carry_out, chosen_groups, print_listed
from broker_lite.commands.shared.connecting import connect
from broker_lite.commands.shared.flags import add_repeatable
from broker_lite.commands.shared.text_table import Column, table
from broker_lite.errors import ErrorCode, SettingsError

_STREAMS: Final = GroupType(
    kind=STREAMS,
    name="streams",
    states=("Empty", "NotReady", "Stable", "Assigning", "Reconciling", "Dead"),
    unknown="Group '{}' does not exist or is not a streams group.",
    list_end=".",
    failure=1,
)

_Lines = Callable[[Client, DescribedStreams, bool], Iterator[str]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the tool."""
    typed.add_arguments(parser, _STREAMS.name)
    add_repeatable(
        parser,
        "--input-topic",
        dest="topic",
        metavar="TOPIC[:N,N]",
        text="topics that the application reads, or some of their partitions; repeatable",
    )
    parser.add_argument(
        "--all-input-topics",
        dest="all_topics",
        action="store_true",
        help="all topics that the application reads, without internal ones",
    )
    add_scenarios(parser)
    parser.add_argument(
        "--delete-all-internal-topics",
        action="store_true",
        help="with --delete or --execute: delete the internal topics of the application, too",
    )
    add_repeatable(
        parser,
        "--delete-internal-topic",
        metavar="TOPIC",
        text="with --execute: an internal topic to delete; repeatable",
    )


def run(options: argparse.Namespace) -> int:
    """Run the chosen action."""
    _check(options)
    properties = {} if options.timeout is None else {"request.timeout.ms": str(options.timeout)}
    with connect(options, properties) as client:
        return carry_out(client, options, _STREAMS, _ACTIONS)


def _check(options: argparse.Namespace) -> None:
    """Raise for flags that contradict each other."""
    typed.check_common(options, _STREAMS.states)
    action = options.action
    has_topics = bool(options.topic) or options.all_topics
    if action == "delete" and has_topics:
        raise SettingsError("--delete is for whole groups; --delete-offsets takes topics")
    if action == "delete-offsets" and not (
        bool(options.topic) != options.all_topics and len(options.group) == 1
    ):
        raise SettingsError(
            "--delete-offsets takes one --group, and one of --input-topic and --all-input-topics"
        )
    if action == "reset-offsets":
        _check_reset(options)
    elif options.dry_run or options.execute:
        raise SettingsError("--execute and --dry-run go with --reset-offsets")
    deletes = options.delete_all_internal_topics or bool(options.delete_internal_topic)
    if deletes and not (
        options.execute or (action == "delete" and not options.delete_internal_topic)
    ):
        raise SettingsError(
            "--delete-all-internal-topics goes with --delete or --reset-offsets --execute,"
            " --delete-internal-topic with the latter"
        )


def _check_reset(options: argparse.Namespace) -> None:
    if bool(options.group) == options.all_groups:
        raise SettingsError("--reset-offsets takes one of --group and --all-groups")
    if options.dry_run == options.execute:
        raise SettingsError("--reset-offsets takes one of --execute and --dry-run")
    check_scenario(options, SCENARIOS)
    if options.from_file is None and bool(options.topic) == options.all_topics:
        raise SettingsError("--reset-offsets takes one of --all-input-topics and --input-topic")


def _list(client: Client, options: argparse.Namespace) -> int:
    print_listed(client, options, _STREAMS)
    return 0


def _describe(client: Client, options: argparse.Namespace) -> int:
    lines: _Lines = offsets_lines if options.state is None else states_lines
    if options.members:
        lines = members_lines
    for name in chosen_groups(client, options, _STREAMS):
        for line in lines(client, describe_streams_group(client, name), options.verbose):
            print(line)
    return 0


def _delete(client: Client, options: argparse.Namespace) -> int:
    names = chosen_groups(client, options, _STREAMS)
    internal = InternalTopics(client)
    if options.delete_all_internal_topics:
        internal.find(names)
    deleted, failed = typed.delete_groups(client, names, _STREAMS)
    if not failed:
        internal.delete()
    typed.print_deleted(deleted, failed, _STREAMS)
    internal.print_result()
    return 0


# -- committed offsets


def _committed(client: Client, group: str, topics: Iterable[str]) -> Offsets:
    """Return the committed offsets of a group for some topics."""
    connection = client.connection(client.coordinator(group))
    found = client.retry(lambda: fetch_committed(connection, group))
    wanted = set(topics)
    return {each: committed.offset for each, committed in found.items() if each[0] in wanted}


def _delete_offsets(client: Client, options: argparse.Namespace) -> int:
    (group,) = options.group
    codes: dict[TopicPartition, int] = {}
    if options.all_topics:
        sources = source_topics(describe_streams_group(client, group))
        partitions = set(_committed(client, group, sources))
    else:
        partitions = set(_named(client, options.topic, codes))
    delete_and_tell(client, group, partitions, codes)
    return 0


def _named(
    client: Client, texts: Sequence[str], codes: dict[TopicPartition, int]
) -> Iterator[TopicPartition]:
    """Yield the partitions of --input-topic; note error codes for missing topics."""
    chosen = [parse_topic(text) for text in texts]
    topics = find_topics(client, {name for name, numbers in chosen if numbers is None})
    for name, numbers in chosen:
        if numbers is None and name not in topics:
            codes[name, -1] = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        else:
            count = range(topics[name].partition_count) if numbers is None else numbers
            yield from ((name, number) for number in count)


# -- new offsets


def _reset_offsets(client: Client, options: argparse.Namespace) -> int:
    names = chosen_groups(client, options, _STREAMS)
    rows: list[list[object]] = []
    for group in names:
        described = _described(client, group)
        state = DEAD if described is None else described.group_state
        if state not in (DEAD, EMPTY):
            print(
                f"\nError: Assignments can only be reset if the group '{group}' is inactive,"
                f" but the current state is {state}."
            )
            continue
        plan = _new_offsets(client, group, described, options, single=len(names) == 1)
        if options.execute:
            connection = client.connection(client.coordinator(group))
            if plan:
                commit(connection, group, plan)
            wanted = options.delete_internal_topic
            if options.delete_all_internal_topics:
                wanted = [] if described is None else deletable_topics(described)
            delete_after_reset(client, group, wanted)
        rows += [[group, *partition, offset] for partition, offset in plan.items()]
    if options.export:
        print_csv([row[1:] for row in rows] if len(names) == 1 else rows)
        return 0
    columns = [Column("GROUP", 30), Column("TOPIC", 30), Column("PARTITION", 10)]
    print("", *table([*columns, Column("NEW-OFFSET", 15)], rows), sep="\n")
    return 0


def _described(client: Client, group: str) -> DescribedStreams | None:
    """Describe a group; None if there is none."""
    try:
        return describe_streams_group(client, group)
    except Refused as error:
        if error.code != ErrorCode.GROUP_ID_NOT_FOUND:
            raise
        return None


def _new_offsets(
    client: Client,
    group: str,
    described: DescribedStreams | None,
    options: argparse.Namespace,
    *,
    single: bool,
) -> Offsets:
    """Compute the new offsets of a group; none if it never read one of the topics."""
    sources = set() if described is None else source_topics(described)
    read = sources if described is None else sources | repartition_topics(described)

    def known() -> Offsets:
        return _committed(client, group, sources if options.all_topics else read)

    plan = ResetPlan(client, group, options, single=single, committed=known).offsets()
    if options.topic and not plan.keys() <= _all_committed(client, group):
        print(f"\nError: One or more topics are not part of the group '{group}'.")
        return {}
    return plan


def _all_committed(client: Client, group: str) -> set[TopicPartition]:
    connection = client.connection(client.coordinator(group))
    return set(client.retry(lambda: fetch_committed(connection, group)))


_ACTIONS: Final[Mapping[str, Callable[[Client, argparse.Namespace], int]]] = {
    "list": _list,
    "describe": _describe,
    "delete": _delete,
    "delete-offsets": _delete_offsets,
    "reset-offsets": _reset_offsets,
}
