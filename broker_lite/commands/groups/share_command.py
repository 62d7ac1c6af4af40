"""`kafka-share-groups`: list, describe, delete and reset share groups.

Flags and output are those of kafka-share-groups.sh.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from broker_lite.client import Client, Refused
from broker_lite.client.admin.group_admin import DEAD, EMPTY
from broker_lite.client.admin.listed_groups import SHARE
from broker_lite.client.admin.share_group_admin import (
    Described,
    alter_share_offsets,
    delete_share_offsets,
    describe_share_group,
    share_offsets,
)
from broker_lite.commands.groups import typed
from broker_lite.commands.groups.reset import (
    Offsets,
    ResetPlan,
    check_scenario,
    print_new_offsets,
)
from broker_lite.commands.groups.share_tables import members_lines, offsets_lines, states_lines
from broker_lite.commands.groups.typed import GroupType, carry_out, chosen_groups, print_listed
from broker_lite.commands.shared.connecting import connect
from broker_lite.commands.shared.flags import add_repeatable
from broker_lite.commands.shared.kafka_errors import exception_line, exception_text
from broker_lite.commands.shared.text_table import Column, table
from broker_lite.errors import ErrorCode, SettingsError

_SHARE: Final = GroupType(
    kind=SHARE,
    name="share",
    states=("Empty", "Stable", "Dead"),
    unknown="Group '{}' is not a share group.",
    list_end="",
    failure=0,
)
_FAILURE: Final = 1
_SCENARIOS: Final = ("to_datetime", "to_earliest", "to_latest")
# of the whole request; an error of a topic stands in the topic's row
_TOLD: Final = frozenset(
    {
        ErrorCode.INVALID_GROUP_ID,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.NON_EMPTY_GROUP,
    }
)

_Lines = Callable[[Client, Described, bool], Iterator[str]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the tool."""
    typed.add_arguments(parser, _SHARE.name)
    add_repeatable(
        parser,
        "--topic",
        metavar="TOPIC[:N,N]",
        text="topics, or with --reset-offsets some of their partitions; repeatable",
    )
    parser.add_argument("--all-topics", action="store_true", help="all topics of the group")
    parser.add_argument(
        "--to-datetime", metavar="MOMENT", help="begin at this moment: 2026-01-31T12:00:00.000"
    )
    parser.add_argument("--to-earliest", action="store_true", help="begin at the first record")
    parser.add_argument("--to-latest", action="store_true", help="begin at the end of the log")
    parser.add_argument("--dry-run", action="store_true", help="only print the new offsets")
    parser.add_argument("--execute", action="store_true", help="set the new offsets")
    # what kafka-consumer-groups has, too, and this tool has not
    parser.set_defaults(
        to_offset=None, shift_by=None, by_duration=None, from_file=None, to_current=False
    )


def run(options: argparse.Namespace) -> int:
    """Run the chosen action."""
    _check(options)
    properties = {} if options.timeout is None else {"request.timeout.ms": str(options.timeout)}
    with connect(options, properties) as client:
        return carry_out(client, options, _SHARE, _ACTIONS)


def _check(options: argparse.Namespace) -> None:
    """Raise for flags that contradict each other."""
    typed.check_common(options, _SHARE.states)
    action, group_count = options.action, len(options.group)
    if action == "delete" and options.topic:
        raise SettingsError("--delete takes no --topic; --delete-offsets does")
    if action == "delete-offsets" and not (options.topic and group_count == 1):
        raise SettingsError("--delete-offsets takes one --group, and --topic")
    if action != "reset-offsets":
        return
    if group_count != 1 or options.all_groups:
        raise SettingsError("--reset-offsets takes one --group")
    if options.dry_run == options.execute:
        raise SettingsError("--reset-offsets takes one of --execute and --dry-run")
    if bool(options.topic) == options.all_topics:
        raise SettingsError("--reset-offsets takes one of --all-topics and --topic")
    check_scenario(options, _SCENARIOS)


def _list(client: Client, options: argparse.Namespace) -> int:
    print_listed(client, options, _SHARE)
    return 0


def _describe(client: Client, options: argparse.Namespace) -> int:
    lines: _Lines = offsets_lines if options.state is None else states_lines
    if options.members:
        lines = members_lines
    names = sorted(chosen_groups(client, options, _SHARE))
    for group in [describe_share_group(client, name) for name in names]:
        for line in lines(client, group, options.verbose):
            print(line)
    return 0


def _delete(client: Client, options: argparse.Namespace) -> int:
    names = chosen_groups(client, options, _SHARE)
    typed.print_deleted(*typed.delete_groups(client, names, _SHARE), _SHARE)
    return 0


def _delete_offsets(client: Client, options: argparse.Namespace) -> int:
    (group,) = options.group
    topics = sorted(set(options.topic))
    try:
        results = delete_share_offsets(client, group, topics)
    except Refused as error:
        text = exception_text(error.code, error.message)
        known = error.code in _TOLD
        line = exception_line(error.code, error.message)
        print(f"\nError: {text if known else f'Encounter some unknown error: {line}'}")
        results = dict.fromkeys(topics, (error.code, error.message))
    rows = [
        [topic, f"Error: {exception_text(code, text)}" if code else "Successful"]
        for topic, (code, text) in sorted(results.items())
    ]
    print("", *table([Column("TOPIC", 15, grows=True), Column("STATUS", 0)], rows), sep="\n")
    return 0


def _reset_offsets(client: Client, options: argparse.Namespace) -> int:
    (group,) = options.group
    if _state(client, group) not in (DEAD, EMPTY):
        print(f"Share group '{group}' is not empty.", file=sys.stderr)
        return _FAILURE

    def known() -> Offsets:
        return dict.fromkeys(share_offsets(client, group), 0)

    try:
        plan = ResetPlan(client, group, options, single=True, committed=known).offsets()
        if options.execute:
            alter_share_offsets(client, group, plan)
    except Refused as error:  # told without the exception's name, as by Kafka's tool
        text = exception_text(error.code, error.message)
        print(f"\nError: Executing share group command failed due to {text}")
        return _SHARE.failure
    print_new_offsets([[group, *partition, offset] for partition, offset in plan.items()])
    return 0


def _state(client: Client, group: str) -> str:
    """Return the state of a group; Dead if there is no group."""
    try:
        return describe_share_group(client, group).group_state
    except Refused as error:
        if error.code != ErrorCode.GROUP_ID_NOT_FOUND:
            raise
        return DEAD


_ACTIONS: Final[Mapping[str, Callable[[Client, argparse.Namespace], int]]] = {
    "list": _list,
    "describe": _describe,
    "delete": _delete,
    "delete-offsets": _delete_offsets,
    "reset-offsets": _reset_offsets,
}
