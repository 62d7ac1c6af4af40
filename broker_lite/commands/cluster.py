"""`broker-lite cluster`: the id of a cluster, and the addresses of its brokers.

Flags and output are those of kafka-cluster.sh.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Final

from broker_lite.commands.shared.connecting import add_connection, connect
from broker_lite.commands.shared.text_table import Column, table
from broker_lite.wire import messages

_COLUMNS: Final = (
    *(Column("ID", 10), Column("HOST", 0, grows=True), Column("PORT", 10)),
    *(Column("RACK", 10), Column("STATE", 10), Column("ENDPOINT_TYPE", 15)),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    parser.add_argument("action", choices=("cluster-id", "list-endpoints"), help="what to print")
    add_connection(parser)


def run(options: argparse.Namespace) -> int:
    """Ask one broker of the cluster."""
    with connect(options) as client:
        answer = client.metadata(())
    if options.action == "cluster-id":
        print(f"Cluster ID: {answer.cluster_id}")
    else:
        _print_endpoints(answer.brokers)
    return 0


def _print_endpoints(brokers: Iterable[messages.MetadataResponse.MetadataResponseBroker]) -> None:
    """Print a table of the brokers; responses never list fenced ones."""
    rows = [
        (each.node_id, each.host, each.port, each.rack or "null", "unfenced", "broker")
        for each in sorted(brokers, key=lambda each: each.node_id)
    ]
    print(*table(_COLUMNS, rows), sep="\n")
