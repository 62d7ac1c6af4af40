"""`broker-lite cluster`: the id of a cluster, the addresses of its brokers; forget a broker.

Flags and output are those of kafka-cluster.sh.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from broker_lite.client import Client, check
from broker_lite.commands.shared.connecting import add_connection, connect
from broker_lite.commands.shared.flags import add_alias
from broker_lite.commands.shared.text_table import Column, table
from broker_lite.errors import SettingsError
from broker_lite.wire import messages

_COLUMNS: Final = (
    *(Column("ID", 10), Column("HOST", 0, grows=True), Column("PORT", 10)),
    *(Column("RACK", 10), Column("STATE", 10), Column("ENDPOINT_TYPE", 15)),
)
_ACTIONS: Final = ("cluster-id", "list-endpoints", "unregister")

_Row = tuple[int, str, int, str, str, str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    parser.add_argument("action", choices=_ACTIONS, help="what to print or to do")
    parser.add_argument("--id", type=int, metavar="N", help="the broker that unregister forgets")
    parser.add_argument(
        "--include-fenced-brokers",
        action="store_true",
        help="with list-endpoints: also the brokers that are gone",
    )
    add_connection(parser)
    for flag in ("--config", "-c"):
        add_alias(parser, flag, dest="command_config", metavar="FILE", kind=Path)


def run(options: argparse.Namespace) -> int:
    """Ask one broker of the cluster."""
    if (options.id is None) == (options.action == "unregister"):
        raise SettingsError("unregister and --id need each other")
    with connect(options) as client:
        if options.action == "cluster-id":
            print(f"Cluster ID: {client.metadata(()).cluster_id}")
        elif options.action == "list-endpoints":
            rows = _all_endpoints(client) if options.include_fenced_brokers else _endpoints(client)
            print(*table(_COLUMNS, sorted(rows)), sep="\n")
        else:
            answer = client.request(messages.UnregisterBrokerRequest(broker_id=options.id))
            check("", answer.error_code, answer.error_message)
            print(f"Broker {options.id} is no longer registered.")
    return 0


def _endpoints(client: Client) -> list[_Row]:
    """Return the brokers that clients can reach."""
    return [
        (each.node_id, each.host, each.port, each.rack or "null", "unfenced", "broker")
        for each in client.metadata(()).brokers
    ]


def _all_endpoints(client: Client) -> list[_Row]:
    """Return the brokers that are registered."""
    request = messages.DescribeClusterRequest(include_fenced_brokers=True)
    answer = client.request(request)
    check("", answer.error_code, answer.error_message)
    return [
        (
            *(each.broker_id, each.host, each.port, each.rack or "null"),
            *("fenced" if each.is_fenced else "unfenced", "broker"),
        )
        for each in answer.brokers
    ]
