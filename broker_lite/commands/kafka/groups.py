"""`kafka-groups`: list the groups of every type.

Flags and output are those of kafka-groups.sh.
"""

import argparse
from collections.abc import Iterator
from typing import Final

from broker_lite.client import Client, check
from broker_lite.commands.shared.connecting import add_connection, connect
from broker_lite.wire import messages

_WIDTH_MIN: Final = 20
_TYPES: Final = ("classic", "consumer", "share", "streams")
_CONSUMERS: Final = ("consumer", "")  # protocols of classic groups of consumers

_Row = tuple[str, str, str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the tool."""
    parser.add_argument("--list", action="store_true", required=True, help="print all groups")
    parser.add_argument("--group-type", type=str.lower, choices=_TYPES, help="only of this type")
    parser.add_argument("--protocol", help="only groups with this protocol type")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--consumer", action="store_true", help="only groups of consumers")
    kinds.add_argument("--share", action="store_true", help="only share groups")
    kinds.add_argument("--streams", action="store_true", help="only streams groups")
    add_connection(parser)


def run(options: argparse.Namespace) -> int:
    """Ask every broker for the groups that it coordinates."""
    with connect(options) as client:
        rows = sorted(row for row in set(_groups(client)) if _is_wanted(row, options))
    width = max([_WIDTH_MIN, *(len(text) for row in rows for text in row)])
    print(" ".join(text.ljust(width) for text in ("GROUP", "TYPE", "PROTOCOL")))
    for row in rows:
        print("".join(f"{text:<{width}} " for text in row))
    return 0


def _groups(client: Client) -> Iterator[_Row]:
    for node_id in client.nodes():
        answer = client.request(messages.ListGroupsRequest(), node_id=node_id)
        check("groups", answer.error_code)
        for group in answer.groups:
            yield group.group_id, (group.group_type or "").capitalize(), group.protocol_type


def _is_wanted(row: _Row, options: argparse.Namespace) -> bool:
    _, kind, protocol = row[0], row[1].lower(), row[2]
    if options.consumer:
        return kind == "consumer" or protocol in _CONSUMERS
    if options.share or options.streams:
        return kind == ("share" if options.share else "streams")
    return kind == (options.group_type or kind) and protocol == (
        protocol if options.protocol is None else options.protocol
    )
