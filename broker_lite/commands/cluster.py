"""`broker-lite cluster`: the id of a cluster, and where its brokers are.

It takes the flags of kafka-cluster.sh and prints what that prints.
"""

import argparse
from typing import Any

from broker_lite.client import Client, check
from broker_lite.commands.connecting import add_connection, connect
from broker_lite.wire import messages


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    parser.add_argument(
        "action", choices=("cluster-id", "list-endpoints"), help="what to print about it"
    )
    add_connection(parser)


def run(options: argparse.Namespace) -> int:
    """Ask one broker of the cluster."""
    with connect(options) as client:
        answer = _ask(client)
    if options.action == "cluster-id":
        print(f"Cluster ID: {answer.cluster_id}")
        return 0
    width = max(len(broker.host) for broker in answer.brokers)
    rows = [("ID", "HOST", "PORT", "RACK", "STATE", "ENDPOINT_TYPE")]
    rows += [
        (
            broker.broker_id,
            broker.host,
            broker.port,
            broker.rack or "null",
            _state(broker),
            "broker",
        )
        for broker in sorted(answer.brokers, key=lambda each: int(each.broker_id))
    ]
    for number, host, port, rack, state, kind in rows:
        print(f"{number:<10} {host:<{width}} {port:<10} {rack:<10} {state:<10} {kind:<15}")
    return 0


def _ask(client: Client) -> Any:
    answer = client.request(messages.DescribeClusterRequest())
    check("cluster", answer.error_code, answer.error_message)
    return answer


def _state(broker: Any) -> str:
    return "fenced" if broker.is_fenced else "unfenced"
