"""`broker-lite cluster`: the id of a cluster, and the addresses of its brokers.

Flags and output are those of kafka-cluster.sh.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from broker_lite.commands.shared.connecting import add_connection, connect
from broker_lite.wire import messages


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
    rows = [("ID", "HOST", "PORT", "RACK", "STATE", "ENDPOINT_TYPE")]
    for each in sorted(brokers, key=lambda each: each.node_id):
        rack = each.rack or "null"
        rows.append((str(each.node_id), each.host, str(each.port), rack, "unfenced", "broker"))
    width = max(len(host) for _, host, *_ in rows)
    for number, host, port, rack, state, kind in rows:
        print(f"{number:<10} {host:<{width}} {port:<10} {rack:<10} {state:<10} {kind:<15}")
