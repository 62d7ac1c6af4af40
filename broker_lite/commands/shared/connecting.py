"""The flags with which commands connect to a broker."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from broker_lite import __version__
from broker_lite.client import Client
from broker_lite.client.client_properties import read_properties, timeout_s

DEFAULT_BOOTSTRAP: Final = "localhost:9092"


def add_connection(parser: argparse.ArgumentParser, *, with_controller: bool = False) -> None:
    """Add the flags for connect(); `with_controller` adds --bootstrap-controller, too."""
    parser.add_argument(
        "--version", action="version", version=__version__, help="print the version"
    )
    parser.add_argument(
        "--bootstrap-server",
        metavar="HOST:PORT",
        default=DEFAULT_BOOTSTRAP,
        help=f"the broker; several with commas between are tried in order [{DEFAULT_BOOTSTRAP}]",
    )
    parser.add_argument(
        "--command-config",
        metavar="FILE",
        type=Path,
        help="properties of Kafka's clients: client.id, request.timeout.ms, security.protocol ...",
    )
    parser.add_argument(
        "--wait",
        metavar="SECONDS",
        type=_seconds,
        default=0.0,
        help="how long to retry while no broker listens there yet [0]",
    )
    if with_controller:
        parser.add_argument(
            "--bootstrap-controller",
            dest="bootstrap_server",
            help="the same, because brokers are controllers",
        )


def connect(options: argparse.Namespace, properties: Mapping[str, str] | None = None) -> Client:
    """Return a client by the flags; it is a context manager.

    Args:
        options: with the flags of add_connection().
        properties: of Kafka's clients, from other flags; they win over the file.

    Raises:
        SettingsError: an address or a property is wrong.
        ClientError: no broker can be reached.
    """
    found = read_properties(options.command_config) if options.command_config else {}
    found |= properties or {}
    return Client(
        options.bootstrap_server,
        client_id=found.get("client.id") or "broker-lite",
        timeout_s=timeout_s(found),
        wait_s=options.wait,
        properties=found,
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not 0 <= seconds <= 1e6:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds")
    return seconds
