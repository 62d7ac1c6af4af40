"""What the tools for share groups and for streams groups have in common.

Flags and output are those of kafka-share-groups.sh and kafka-streams-groups.sh. As there, a
broker's error is printed; the exit code is 0 then for share groups, and 1 for streams groups.
"""

import argparse
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from broker_lite.client import Client, Refused
from broker_lite.client.admin.group_admin import DEAD, EMPTY, delete_group
from broker_lite.client.admin.listed_groups import TypedGroup, list_groups_of_type
from broker_lite.commands.shared.connecting import add_connection
from broker_lite.commands.shared.flags import add_actions
from broker_lite.commands.shared.kafka_errors import PACKAGE, exception_line
from broker_lite.commands.shared.text_table import Column, table
from broker_lite.errors import SettingsError

_NOT_EMPTY: Final = f"{PACKAGE}GroupNotEmptyException"
_WRONG: Final = "java.lang.IllegalArgumentException"


class GroupType(NamedTuple):
    """A type of groups, and what its tool says.

    Attributes:
        kind: of the groups, as brokers list them.
        name: in texts: "share" in "share group".
        states: that its groups can have.
        unknown: says that a group is not there, with its name in braces.
        list_end: behind the list of groups that were deleted although others were not.
        failure: the exit code when a broker refuses the action.
    """

    kind: str
    name: str
    states: Sequence[str]
    unknown: str
    list_end: str
    failure: int


class Failure(NamedTuple):
    """A group that could not be deleted, and Java's text about that."""

    group: str
    text: str


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """Add the flags that both tools have.

    Args:
        parser: of the tool.
        name: of the type in texts.
    """
    actions = {
        "list": f"print the names of all {name} groups",
        "describe": "print offsets, members or state of groups",
        "delete": "delete groups without members, with their offsets",
        "reset-offsets": "set where a group without members begins",
        "delete-offsets": "forget where a group without members begins",
    }
    add_actions(parser, actions)
    parser.add_argument("--group", action="append", default=[], help="the group to act on")
    parser.add_argument("--all-groups", action="store_true", help=f"act on all {name} groups")
    parser.add_argument("--offsets", action="store_true", help="with --describe: where a group is")
    parser.add_argument("--members", action="store_true", help="with --describe: the members")
    parser.add_argument(
        "--state",
        nargs="?",
        const="",
        metavar="STATE,...",
        help="with --list: the state of groups, or only those in one of these states",
    )
    parser.add_argument("--verbose", action="store_true", help="with --describe: more columns")
    parser.add_argument("--timeout", type=int, metavar="MS", help="how long to wait for a response")
    add_connection(parser)


def check_common(options: argparse.Namespace, states: Collection[str]) -> None:
    """Check the flags of add_arguments().

    Raises:
        SettingsError: they contradict each other.
    """
    action = options.action
    if action in ("describe", "delete") and bool(options.group) == options.all_groups:
        raise SettingsError(f"--{action} takes one of --group and --all-groups")
    if action == "describe":
        if sum((options.offsets, options.members, options.state is not None)) > 1:
            raise SettingsError("--describe takes at most one of --members, --offsets, --state")
        if options.state:
            raise SettingsError("--describe does not take a value for --state")
    elif options.verbose:
        raise SettingsError("--verbose goes with --describe")
    if action == "list":
        chosen_states(options.state, states)


def chosen_states(text: str | None, states: Collection[str]) -> frozenset[str]:
    """Return the states in a comma-separated text, whatever their case; empty for all.

    Raises:
        SettingsError: there is no such state.
    """
    by_lower = {state.lower(): state for state in states}
    words = [word.strip().lower() for word in (text or "").split(",") if word.strip()]
    if not by_lower.keys() >= set(words):
        valid = ", ".join(states)
        raise SettingsError(f"Invalid state list '{text}'. Valid states are: {valid}")
    return frozenset(by_lower[word] for word in words)


def print_listed(client: Client, options: argparse.Namespace, of: GroupType) -> None:
    """Print the names of groups, and their states if they are asked for."""
    groups = list_groups_of_type(client, of.kind)
    if options.state is None:
        for each in groups:
            print(each.group)
        return
    states = chosen_states(options.state, of.states)
    rows = [[*each] for each in groups if not states or each.state in states]
    columns = [Column("GROUP", 15, grows=True), Column("STATE", 0)]
    print(*table(columns, rows), sep="\n")


def chosen_groups(client: Client, options: argparse.Namespace, of: GroupType) -> list[str]:
    """Return the names of the groups to act on, each once."""
    if options.all_groups:
        return [each.group for each in list_groups_of_type(client, of.kind)]
    return [*dict.fromkeys(options.group)]


def delete_groups(
    client: Client, names: Iterable[str], of: GroupType
) -> tuple[list[str], list[Failure]]:
    """Delete groups without members; return which were deleted, and why others were not."""
    listed = {each.group: each for each in list_groups_of_type(client, of.kind)}
    deleted, failed = [], []
    for name in names:
        reason = _reason_against(name, listed.get(name), of)
        if reason is None:
            try:
                delete_group(client, name)
            except Refused as error:
                reason = exception_line(error.code, error.message)
        if reason is None:
            deleted.append(name)
        else:
            failed.append(Failure(name, reason))
    return deleted, failed


def _reason_against(name: str, listed: TypedGroup | None, of: GroupType) -> str | None:
    """Return why a group cannot be deleted, as far as the list of groups tells it."""
    if listed is None:
        return f"{_WRONG}: {of.unknown.format(name)}"
    if listed.state not in (EMPTY, DEAD):
        return f"{_NOT_EMPTY}: {of.name.capitalize()} group '{name}' is not EMPTY."
    return None


def print_deleted(deleted: Sequence[str], failed: Sequence[Failure], of: GroupType) -> None:
    """Print which groups were deleted."""
    names = "', '".join(deleted)
    names = f"'{names}'" if deleted or of.list_end else ""
    if not failed:
        print(f"Deletion of requested {of.name} groups ({names}) was successful.")
        return
    print(f"\nError: Deletion of some {of.name} groups failed:")
    for each in failed:
        print(f"* Group '{each.group}' could not be deleted due to: {each.text}")
    if deleted:
        print(f"\nThese {of.name} groups were deleted successfully: {names}{of.list_end}")


def carry_out(
    client: Client,
    options: argparse.Namespace,
    of: GroupType,
    actions: "Mapping[str, Callable[[Client, argparse.Namespace], int]]",
) -> int:
    """Run the chosen action; print the broker's error if there is one.

    Returns:
        The exit code.
    """
    try:
        return actions[options.action](client, options)
    except Refused as error:
        text = exception_line(error.code, error.message)
        print(f"\nError: Executing {of.name} group command failed due to {text}")
        return of.failure
