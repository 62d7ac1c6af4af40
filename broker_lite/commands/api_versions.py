"""`broker-lite api-versions`: the APIs and versions of every broker in a cluster.

The output is that of kafka-broker-api-versions.sh; `usable` is the version that a client with this
project's message schemas picks.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import Final

from broker_lite.commands.shared.connecting import add_connection, connect
from broker_lite.errors import ClientError
from broker_lite.wire import messages
from broker_lite.wire.schema import catalog_by_api

_BROKER_LISTENER: Final = "broker"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    add_connection(parser)


def run(options: argparse.Namespace) -> int:
    """Ask each broker; print an error for one that cannot be reached, and continue."""
    with connect(options) as client:
        brokers = sorted(client.metadata(()).brokers, key=lambda broker: broker.node_id)
        for broker in brokers:
            print(f"{_title(broker)} -> ", end="")
            try:
                versions = client.connection(broker.node_id).versions
            except ClientError as error:
                print(f"ERROR: {error}")
                continue
            print("(\n\t" + ",\n\t".join(_lines(versions)) + "\n)")
    return 0


def _title(broker: messages.MetadataResponse.MetadataResponseBroker) -> str:
    rack = "null" if broker.rack is None else broker.rack
    return f"{broker.host}:{broker.port} (id: {broker.node_id} rack: {rack} isFenced: false)"


def _lines(versions: Mapping[int, tuple[int, int]]) -> Iterator[str]:
    """Yield a line, in order of key, for each API of the schemas or of the broker."""
    names = catalog_by_api("protocol", "request")
    for key in sorted({*names, *versions}):
        request = messages.message(names[key]) if key in names else None
        name = "UNKNOWN" if request is None else request.name.removesuffix("Request")
        offered = versions.get(key)
        if offered is not None:
            yield f"{name}({key}): {_range(*offered)}{_usable(request, *offered)}"
        elif request is not None and _BROKER_LISTENER in request.listeners:
            yield f"{name}({key}): UNSUPPORTED"


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first} to {last}"


def _usable(request: messages.MessageType | None, first: int, last: int) -> str:
    if request is None:
        return ""
    if request.max_version < request.min_version:  # an API without supported versions
        return " [unusable: node too old]"
    if first > request.max_version:
        return " [unusable: node too new]"
    return f" [usable: {min(last, request.max_version)}]"
