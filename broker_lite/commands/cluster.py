"""`broker-lite cluster`: the id of a cluster, and where its brokers are.

It takes the flags of kafka-cluster.sh and prints what that prints.
"""

import argparse
from collections.abc import Iterable
from typing import Any

from broker_lite.commands.shared.connecting import add_connection, connect


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    parser.add_argument(
        "action", choices=("cluster-id", "list-endpoints"), help="what to print about it"
    )
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


def _print_endpoints(brokers: Iterable[Any]) -> None:
    """Print a table of the brokers; one that is fenced is in no answer."""
    rows = [("ID", "HOST", "PORT", "RACK", "STATE", "ENDPOINT_TYPE")]
    rows += [
        (broker.node_id, broker.host, broker.port, broker.rack or "null", "unfenced", "broker")
        for broker in sorted(brokers, key=lambda each: int(each.node_id))
    ]
    width = max(len(host) for _, host, *_ in rows)
    for number, host, port, rack, state, kind in rows:
        print(f"{number:<10} {host:<{width}} {port:<10} {rack:<10} {state:<10} {kind:<15}")
