"""`kafka-client-metrics`: which clients push which of their own metrics (KIP-714).

Flags and output are those of kafka-client-metrics.sh.
"""

import argparse
import base64
import uuid
from collections.abc import Callable, Mapping
from typing import Final

from broker_lite.client import Client, check
from broker_lite.commands.configs.changes import alter
from broker_lite.commands.configs.entries import CLIENT_METRICS, describe_configs
from broker_lite.commands.shared.connecting import add_connection, connect
from broker_lite.commands.shared.flags import add_actions
from broker_lite.errors import SettingsError
from broker_lite.wire import messages

_OF_ALTER: Final = ("interval", "match", "metrics")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the tool."""
    actions = {
        "list": "print the names of all subscriptions",
        "describe": "print the configs of subscriptions",
        "alter": "change a subscription, or make it",
        "delete": "delete a subscription",
    }
    add_actions(parser, actions)
    parser.add_argument("--name", help="of the subscription")
    parser.add_argument(
        "--generate-name", action="store_true", help="with --alter: use a new UUID as the name"
    )
    parser.add_argument(
        "--metrics",
        action="append",
        metavar="NAME,...",
        help="with --alter: beginnings of names of metrics; * for all, nothing to reset",
    )
    parser.add_argument(
        "--interval", metavar="MS", help="with --alter: between two pushes; empty to reset"
    )
    parser.add_argument(
        "--match",
        action="append",
        metavar="NAME=REGEX,...",
        help="with --alter: which clients push; empty to reset",
    )
    add_connection(parser)


def run(options: argparse.Namespace) -> int:
    """Run the chosen action."""
    _check(options)
    with connect(options) as client:
        _ACTIONS[options.action](client, options)
    return 0


def _check(options: argparse.Namespace) -> None:
    """Raise for flags that contradict each other."""
    action = options.action
    if action == "alter":
        if options.generate_name == (options.name is not None):
            raise SettingsError("--alter takes one of --name and --generate-name")
        try:
            int(options.interval or "0")
        except ValueError as error:
            raise SettingsError(
                "--interval takes a number of ms, or nothing to reset it"
            ) from error
        return
    for name in _OF_ALTER:
        if getattr(options, name) is not None:
            raise SettingsError(f"--{name} goes with --alter")
    if options.generate_name:
        raise SettingsError("--generate-name goes with --alter")
    if action == "delete" and not options.name:
        raise SettingsError("--delete takes a --name")
    if action == "list" and options.name is not None:
        raise SettingsError("--list takes no --name")


def _names(client: Client) -> list[str]:
    """Return the names of all subscriptions, sorted."""
    request = messages.ListConfigResourcesRequest(resource_types=[CLIENT_METRICS])
    answer = client.request(request)
    check("client metrics", answer.error_code)
    return sorted(each.resource_name for each in answer.config_resources)


def _list(client: Client, _options: argparse.Namespace) -> None:
    print(*_names(client), sep="\n")


def _describe(client: Client, options: argparse.Namespace) -> None:
    names = _names(client)
    if options.name is not None:
        if options.name not in names:
            print(
                f"The client metric resource {options.name} doesn't exist and doesn't have dynamic"
                " config."
            )
            return
        names = [options.name]
    for name in names:
        print(f"Client metrics configs for {name} are:")
        for config, value in _configs(client, name).items():
            print(f"  {config}={value}")


def _configs(client: Client, name: str) -> dict[str, str | None]:
    """Return the configs of a subscription, sorted by name."""
    (entries,) = describe_configs(client, [(CLIENT_METRICS, name)]).values()
    return {entry.name: entry.value for entry in sorted(entries, key=lambda one: one.name)}


def _alter(client: Client, options: argparse.Namespace) -> None:
    name = options.name
    if options.generate_name:  # as Kafka writes a UUID
        name = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
    given = {
        "interval.ms": options.interval,
        "metrics": _joined(options.metrics),
        "match": _joined(options.match),
    }
    # an empty value resets a config
    changes = {config: text or None for config, text in given.items() if text is not None}
    alter(client, (CLIENT_METRICS, name), changes)
    print(f"Altered client metrics config for {name}.")


def _joined(values: list[str] | None) -> str | None:
    return None if values is None else ",".join(values)


def _delete(client: Client, options: argparse.Namespace) -> None:
    changes: Mapping[str, str | None] = dict.fromkeys(_configs(client, options.name))
    alter(client, (CLIENT_METRICS, options.name), changes)
    print(f"Deleted client metrics config for {options.name}.")


_ACTIONS: Final[Mapping[str, Callable[[Client, argparse.Namespace], None]]] = {
    "list": _list,
    "describe": _describe,
    "alter": _alter,
    "delete": _delete,
}
