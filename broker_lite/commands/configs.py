"""`broker-lite configs`: print and change what topics, brokers, groups and client metrics have.

It takes the flags of kafka-configs.sh and prints what that prints. Quotas and credentials (of
users, clients and addresses) are not known here.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from broker_lite.client import Client, check
from broker_lite.commands.config_changes import alter, changes_of
from broker_lite.commands.config_entries import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    SOURCES,
    TOPIC,
    Entry,
    describe_configs,
)
from broker_lite.commands.connecting import add_connection, connect
from broker_lite.errors import SettingsError
from broker_lite.wire import messages


class EntityType(NamedTuple):
    """A kind of things that have configs."""

    resource_type: int
    singular: str
    own_source: int  # of a value that was set on the thing itself


DEFAULTS: Final = ""  # the name that stands for the configs of all brokers together
_DEFAULTS_SOURCE: Final = 3
ENTITY_TYPES: Final[Mapping[str, EntityType]] = {
    "topics": EntityType(TOPIC, "topic", 1),
    "brokers": EntityType(BROKER, "broker", 2),
    "broker-loggers": EntityType(BROKER_LOGGER, "broker-logger", 6),
    "client-metrics": EntityType(CLIENT_METRICS, "client-metric", 7),
    "groups": EntityType(GROUP, "group", 8),
}
_ENTITY_TYPES_NOT_KNOWN: Final = ("users", "clients", "ips")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    actions = parser.add_mutually_exclusive_group(required=True)
    for name, text in (
        ("describe", "print configs that were set; with --all, all of them"),
        ("alter", "set or remove configs"),
    ):
        actions.add_argument(
            f"--{name}", dest="action", action="store_const", const=name, help=text
        )
    parser.add_argument("--entity-type", choices=(*ENTITY_TYPES, *_ENTITY_TYPES_NOT_KNOWN))
    parser.add_argument("--entity-name", help="a topic, a broker's number, a group …")
    parser.add_argument("--entity-default", action="store_true", help="what all brokers have")
    for flag, kind in (
        ("--topic", "topics"),
        ("--broker", "brokers"),
        ("--broker-logger", "broker-loggers"),
        ("--group", "groups"),
        ("--client-metrics", "client-metrics"),
    ):
        parser.add_argument(flag, metavar="NAME", help=f"--entity-type {kind} --entity-name NAME")
    parser.add_argument(
        "--broker-defaults", action="store_true", help="--entity-type brokers --entity-default"
    )
    parser.add_argument("--all", action="store_true", help="with --describe: also defaults")
    parser.add_argument("--add-config", metavar="NAME=VALUE,NAME=[VALUE,VALUE]")
    parser.add_argument("--add-config-file", type=Path, metavar="FILE", help="properties to set")
    parser.add_argument("--delete-config", metavar="NAME,NAME", help="configs to remove")
    add_connection(parser)


def run(options: argparse.Namespace) -> int:
    """Print or change the configs of one entity, or print those of all of a type."""
    kind, name = _entity(options)
    entity_type = ENTITY_TYPES[kind]
    if name and entity_type.resource_type in {BROKER, BROKER_LOGGER} and not name.isdigit():
        raise SettingsError(f"the name of one of {kind} is its broker's number, not {name}")
    if options.action == "describe":
        with connect(options) as client:
            _describe(client, kind, name, everything=options.all)
        return 0
    if name is None:
        raise SettingsError("--alter needs --entity-name, or --entity-default for brokers")
    changes = changes_of(options.add_config, options.add_config_file, options.delete_config)
    with connect(options) as client:
        alter(client, (entity_type.resource_type, name), changes)
    what = f"{entity_type.singular} {name}" if name else "brokers in the cluster"
    print(f"Completed updating {'' if name else 'default '}config for {what}.")
    return 0


def _entity(options: argparse.Namespace) -> tuple[str, str | None]:
    """The type and the name that the flags ask for; None when it is every one of the type."""
    found: list[tuple[str, str | None]] = [
        (kind, name)
        for kind, name in (
            ("topics", options.topic),
            ("brokers", options.broker),
            ("brokers", DEFAULTS if options.broker_defaults else None),
            ("broker-loggers", options.broker_logger),
            ("groups", options.group),
            ("client-metrics", options.client_metrics),
        )
        if name is not None
    ]
    if options.entity_type is not None:
        name = DEFAULTS if options.entity_default else options.entity_name
        found.append((options.entity_type, name))
    if len(found) != 1:
        raise SettingsError(
            "say one entity: --entity-type with --entity-name, or --topic, --broker"
        )
    ((kind, name),) = found
    if kind in _ENTITY_TYPES_NOT_KNOWN:
        raise SettingsError(f"quotas and credentials of {kind} are not known here")
    if name == DEFAULTS and kind != "brokers":
        raise SettingsError(f"there are no defaults of {kind}, only of brokers")
    return kind, name


def _describe(client: Client, kind: str, name: str | None, *, everything: bool) -> None:
    entity_type = ENTITY_TYPES[kind]
    known = _names(client, kind)
    if name is not None and name not in known:
        print(f"The {entity_type.singular} '{name}' doesn't exist and doesn't have dynamic config.")
        return
    names = known if name is None else [name]
    asked = [(entity_type.resource_type, each) for each in names]
    found = describe_configs(client, asked, synonyms=True)
    for resource in asked:
        _, each = resource
        scope = "All" if everything else "Dynamic"
        if each == DEFAULTS:
            print("Default configs for brokers in the cluster are:")
        else:
            print(f"{scope} configs for {entity_type.singular} {each} are:")
        own_source = entity_type.own_source if each else _DEFAULTS_SOURCE
        for entry in sorted(found[resource]):
            if everything or entry.source == own_source:
                print(_line(entry))


def _line(entry: Entry) -> str:
    synonyms = ", ".join(
        f"{SOURCES.get(each.source, 'UNKNOWN')}:{each.name}={_text(each.value)}"
        for each in entry.synonyms
    )
    sensitive = str(entry.sensitive).lower()
    return f"  {entry.name}={_text(entry.value)} sensitive={sensitive} synonyms={{{synonyms}}}"


def _text(value: str | None) -> str:
    return "null" if value is None else value


def _names(client: Client, kind: str) -> list[str]:
    """Every entity of a type that the cluster has."""
    match kind:
        case "topics":
            return sorted(topic.name for topic in client.metadata().topics)
        case "brokers":
            return [*map(str, sorted(client.nodes())), DEFAULTS]
        case "broker-loggers":
            return [*map(str, sorted(client.nodes()))]
        case "groups":
            return sorted({*_configured(client, GROUP), *_groups(client)})
        case _:
            return sorted(_configured(client, ENTITY_TYPES[kind].resource_type))


def _configured(client: Client, resource_type: int) -> list[str]:
    """The names of what has configs of its own."""
    answer = client.request(messages.ListConfigResourcesRequest(resource_types=[resource_type]))
    check("list of resources", answer.error_code)
    return [resource.resource_name for resource in answer.config_resources]


def _groups(client: Client) -> list[str]:
    """The groups that brokers coordinate."""
    names: list[str] = []
    for node_id in client.nodes():
        answer = client.request(messages.ListGroupsRequest(), node_id=node_id)
        check("list of groups", answer.error_code)
        names += [group.group_id for group in answer.groups]
    return names
