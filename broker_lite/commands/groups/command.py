"""`broker-lite groups`: list, describe, delete and reset consumer groups.

Flags and output are those of kafka-consumer-groups.sh. As there, a broker's error about a group is
printed and the exit code is 0; it is another one only if no broker can be asked.
"""

import argparse
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from broker_lite.client import Client, Refused
from broker_lite.client.admin.group_admin import (
    CLASSIC,
    CONSUMER,
    delete_group,
    describe_group,
    list_groups,
)
from broker_lite.client.topic_partitions import TopicPartition, find_topics
from broker_lite.commands.groups.reset import (
    add_reset_arguments,
    check_reset,
    parse_topic,
    reset_offsets,
)
from broker_lite.commands.groups.tables import (
    GroupTable,
    delete_and_tell,
    members_table,
    offsets_table,
    states_table,
    tell_state,
)
from broker_lite.commands.shared.connecting import add_connection, connect
from broker_lite.commands.shared.flags import add_actions, add_repeatable
from broker_lite.commands.shared.kafka_errors import exception_line
from broker_lite.commands.shared.text_table import Column, table
from broker_lite.errors import ErrorCode, SettingsError

_STATES: Final = (
    "CompletingRebalance",
    "Assigning",
    "Dead",
    "Stable",
    "PreparingRebalance",
    "Reconciling",
    "Empty",
)
_KINDS: Final = (CONSUMER, CLASSIC)
_TABLES: Final[Mapping[str, GroupTable]] = {
    "offsets": offsets_table,
    "members": members_table,
    "state": states_table,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    actions = {
        "list": "print the names of all groups",
        "describe": "print offsets, members or state of groups",
        "delete": "delete groups with their offsets",
        "delete-offsets": "delete what a group has committed for topics",
        "reset-offsets": "set the committed offsets of groups",
    }
    add_actions(parser, actions).add_argument(
        "--validate-regex", metavar="REGEX", help="check a regular expression for RE2"
    )
    parser.add_argument(
        "--group", action="append", default=[], help="the group to act on; repeatable"
    )
    parser.add_argument("--all-groups", action="store_true", help="act on all groups")
    add_repeatable(
        parser,
        "--topic",
        metavar="TOPIC[:N,N]",
        text="topics, or some of their partitions; repeatable",
    )
    parser.add_argument("--offsets", action="store_true", help="with --describe: offsets and lag")
    parser.add_argument("--members", action="store_true", help="with --describe: the members")
    for name in ("state", "type"):
        parser.add_argument(
            f"--{name}",
            nargs="?",
            const="",
            metavar=f"{name.upper()},...",
            help=f"with --list: the {name} of groups, or only those with one of these",
        )
    parser.add_argument("--verbose", action="store_true", help="with --describe: more columns")
    parser.add_argument("--timeout", type=int, metavar="MS", help="how long to wait for a response")
    add_reset_arguments(parser)
    add_connection(parser)


def run(options: argparse.Namespace) -> int:
    """Run the chosen action."""
    if options.validate_regex is not None:
        return _validate_regex(options.validate_regex)
    _check(options)
    properties = {} if options.timeout is None else {"request.timeout.ms": str(options.timeout)}
    with connect(options, properties) as client:
        try:
            _ACTIONS[options.action](client, options)
        except Refused as error:
            text = exception_line(error.code, error.message)
            print(f"\nError: Executing consumer group command failed due to {text}")
    return 0


def _check(options: argparse.Namespace) -> None:
    """Raise for flags that contradict each other."""
    action = options.action
    if action != "list" and not options.group and not options.all_groups:
        raise SettingsError(f"--{action} takes one of --group and --all-groups")
    if action == "describe":
        if sum((options.offsets, options.members, options.state is not None)) > 1:
            raise SettingsError("--describe takes at most one of --members, --offsets, --state")
        if options.state:
            raise SettingsError("--describe does not take a value for --state")
    if action == "delete" and options.topic:
        raise SettingsError("--delete takes no --topic; --delete-offsets does")
    if action == "delete-offsets" and not (options.topic and len(options.group) == 1):
        raise SettingsError("--delete-offsets takes one --group, and --topic")
    if action == "reset-offsets":
        check_reset(options)
    if action == "list":
        _words(options.state, _STATES, "states")
        _words(options.type, _KINDS, "types")


def _validate_regex(text: str) -> int:
    import re2  # imported only if needed, for a faster start

    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(text.encode(errors="replace"), options)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace")
        print(f"The regular expression `{text}` is invalid: {reason}.")
    else:
        print(f"The regular expression `{text}` is valid.")
    return 0


def _words(text: str | None, known: Iterable[str], what: str) -> frozenset[str]:
    """Parse comma-separated, case-insensitive words.

    Raises:
        SettingsError: a word is unknown.
    """
    by_lower = {word.lower(): word for word in known}
    words = [word.strip().lower() for word in (text or "").split(",") if word.strip()]
    if not by_lower.keys() >= set(words):
        valid = ", ".join(by_lower.values())
        raise SettingsError(f"Invalid list of {what} '{text}'. Valid {what} are: {valid}")
    return frozenset(by_lower[word] for word in words)


def _list(client: Client, options: argparse.Namespace) -> None:
    states = _words(options.state, _STATES, "states")
    kinds = _words(options.type, _KINDS, "types")
    groups = [
        group
        for group in list_groups(client)
        if group.state in (states or (group.state,)) and group.kind in (kinds or (group.kind,))
    ]
    if options.state is None and options.type is None:
        for group in groups:
            print(group.group)
        return
    width = max((15, *(len(group.group) for group in groups))) + 10
    columns = [Column("GROUP", width)]
    rows: list[list[object]] = [[group.group] for group in groups]
    if options.type is not None:
        columns.append(Column("TYPE", 20))
        rows = [[*row, group.kind] for row, group in zip(rows, groups, strict=True)]
    if options.state is not None:
        columns.append(Column("STATE", 20))
        rows = [[*row, group.state] for row, group in zip(rows, groups, strict=True)]
    print(*table(columns, rows), sep="\n")


def _describe(client: Client, options: argparse.Namespace) -> None:
    which = "members" if options.members else "offsets" if options.state is None else "state"
    for name in sorted(_groups(client, options)):
        group = describe_group(client, name)
        if tell_state(group):
            lines = list(_TABLES[which](client, group, options.verbose))
            if lines:
                print("", *lines, sep="\n")


def _groups(client: Client, options: argparse.Namespace) -> list[str]:
    if options.all_groups:
        return [group.group for group in list_groups(client)]
    names: list[str] = options.group
    return names


def _delete(client: Client, options: argparse.Namespace) -> None:
    deleted, failed = [], []
    for group in _groups(client, options):
        try:
            delete_group(client, group)
            deleted.append(group)
        except Refused as error:
            failed.append((group, exception_line(error.code, error.message)))
    if not failed:
        names = "', '".join(deleted)
        print(f"Deletion of requested consumer groups ('{names}') was successful.")
        return
    print("\nError: Deletion of some consumer groups failed:")
    for group, text in failed:
        print(f"* Group '{group}' could not be deleted due to: {text}")
    if deleted:
        names = "', '".join(deleted)
        print(f"\nThese consumer groups were deleted successfully: '{names}'")


def _delete_offsets(client: Client, options: argparse.Namespace) -> None:
    (group,) = options.group
    partitions, codes = _chosen(client, options.topic)
    delete_and_tell(client, group, partitions, codes)


def _chosen(
    client: Client, texts: Iterable[str]
) -> tuple[set[TopicPartition], dict[TopicPartition, int]]:
    """Return the partitions of --topic, and error codes for missing topics."""
    chosen = [parse_topic(text) for text in texts]
    topics = find_topics(client, {name for name, numbers in chosen if numbers is None})
    partitions: set[TopicPartition] = set()
    codes = {}
    for name, numbers in chosen:
        if numbers is not None:
            partitions |= {(name, number) for number in numbers}
        elif name in topics:
            partitions |= {(name, number) for number in range(topics[name].partition_count)}
        else:
            codes[name, -1] = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return partitions, codes


def _reset(client: Client, options: argparse.Namespace) -> None:
    reset_offsets(client, _groups(client, options), options)


_ACTIONS: Final[Mapping[str, Callable[[Client, argparse.Namespace], None]]] = {
    "list": _list,
    "describe": _describe,
    "delete": _delete,
    "delete-offsets": _delete_offsets,
    "reset-offsets": _reset,
}
