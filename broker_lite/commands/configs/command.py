"""`broker-lite configs`: print and change configs of topics, brokers, groups and client metrics.

Flags and output are those of kafka-configs.sh, also for quotas of users, clients and addresses.
SCRAM credentials of users are printed, but cannot be changed here.
"""

import argparse
from collections.abc import Mapping
from itertools import zip_longest
from operator import attrgetter
from pathlib import Path
from typing import Final, NamedTuple

from broker_lite.client import Client, check
from broker_lite.client.topic_partitions import name_of
from broker_lite.commands.configs.changes import alter, changes_of
from broker_lite.commands.configs.entries import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    SOURCES,
    TOPIC,
    Entry,
    describe_configs,
)
from broker_lite.commands.configs.quotas import (
    CLIENTS,
    IPS,
    QUOTA_TYPES,
    USERS,
    alter_quotas,
    check_entities,
    describe_quotas,
)
from broker_lite.commands.shared.connecting import add_connection, connect
from broker_lite.commands.shared.flags import add_actions, add_repeatable
from broker_lite.errors import SettingsError
from broker_lite.wire import messages


class EntityType(NamedTuple):
    """A type of resources that have configs."""

    resource_type: int
    singular: str
    own_source: int  # the source of a value that was set on the resource itself


DEFAULTS: Final = ""  # the name of the defaults for all brokers
_DEFAULTS_SOURCE: Final = 3
ENTITY_TYPES: Final[Mapping[str, EntityType]] = {
    "topics": EntityType(TOPIC, "topic", 1),
    "brokers": EntityType(BROKER, "broker", 2),
    "broker-loggers": EntityType(BROKER_LOGGER, "broker-logger", 6),
    "client-metrics": EntityType(CLIENT_METRICS, "client-metric", 7),
    "groups": EntityType(GROUP, "group", 8),
}
_ENTITY_FLAGS: Final = (
    ("topic", "topics"),
    ("broker", "brokers"),
    ("broker-logger", "broker-loggers"),
    ("group", "groups"),
    ("client-metrics", "client-metrics"),
)
_QUOTA_FLAGS: Final = (("user", USERS), ("client", CLIENTS), ("ip", IPS))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    actions = {
        "describe": "print configs that were set, or all with --all",
        "alter": "set or remove configs",
    }
    add_actions(parser, actions)
    parser.add_argument(
        "--entity-type",
        action="append",
        default=[],
        choices=(*ENTITY_TYPES, *QUOTA_TYPES),
        help="the type; users and clients can be combined",
    )
    add_repeatable(
        parser,
        "--entity-name",
        dest="entity_names",
        metavar="NAME",
        text="a topic, a broker's number, a group …",
    )
    parser.add_argument(
        "--entity-default",
        dest="entity_names",
        action="append_const",
        const=DEFAULTS,
        help="the defaults of all brokers, users, clients or addresses",
    )
    for flag, kind in _ENTITY_FLAGS:
        text = f"--entity-type {kind} --entity-name NAME"
        parser.add_argument(f"--{flag}", metavar="NAME", help=text)
    parser.add_argument(
        "--broker-defaults", action="store_true", help="--entity-type brokers --entity-default"
    )
    for flag, kind in _QUOTA_FLAGS:
        parser.add_argument(f"--{flag}", metavar="NAME", help=f"--entity-type {kind} …")
        parser.add_argument(
            f"--{flag}-defaults",
            dest=flag,
            action="store_const",
            const=DEFAULTS,
            help=f"--entity-type {kind} --entity-default",
        )
    parser.add_argument("--all", action="store_true", help="with --describe: print defaults, too")
    parser.add_argument("--add-config", metavar="NAME=VALUE,NAME=[VALUE,VALUE]")
    parser.add_argument("--add-config-file", type=Path, metavar="FILE", help="properties to set")
    parser.add_argument("--delete-config", metavar="NAME,NAME", help="configs to remove")
    add_connection(parser)


def run(options: argparse.Namespace) -> int:
    """Print or change the configs of one entity, or print those of all entities of a type."""
    kinds, names = _quota_entity(options)
    if kinds:
        return _run_quotas(options, kinds, names)
    kind, name = _entity(options)
    entity_type = ENTITY_TYPES[kind]
    if name and entity_type.resource_type in {BROKER, BROKER_LOGGER} and not name.isdigit():
        raise SettingsError(f"--entity-name for {kind} takes the number of a broker, not {name}")
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


def _quota_entity(options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Return types and names of an entity with quotas; no types for another entity."""
    short = [(kind, getattr(options, flag)) for flag, kind in _QUOTA_FLAGS]
    given = [(kind, name) for kind, name in short if name is not None]
    kinds = [*options.entity_type, *(kind for kind, _ in given)]
    if not any(kind in QUOTA_TYPES for kind in kinds):
        return [], []
    return kinds, [*options.entity_names, *(name for _, name in given)]


def _run_quotas(options: argparse.Namespace, kinds: list[str], names: list[str]) -> int:
    alters = options.action == "alter"
    check_entities(kinds, names, alters=alters)
    if not alters:
        with connect(options) as client:
            describe_quotas(client, kinds, names)
        return 0
    changes = changes_of(options.add_config, options.add_config_file, options.delete_config)
    with connect(options) as client:
        alter_quotas(client, kinds, names, changes)
    kind, name = kinds[0], names[0]
    if name:
        print(f"Completed updating config for {kind.removesuffix('s')} {name}.")
    else:
        print(f"Completed updating default config for {kind} in the cluster.")
    return 0


def _entity(options: argparse.Namespace) -> tuple[str, str | None]:
    """Return type and name from the flags; the name is None for every entity of the type."""
    short = [(kind, getattr(options, flag.replace("-", "_"))) for flag, kind in _ENTITY_FLAGS]
    found: list[tuple[str, str | None]] = [each for each in short if each[1] is not None]
    if options.broker_defaults:
        found.append(("brokers", DEFAULTS))
    found += zip_longest(options.entity_type, options.entity_names[: len(options.entity_type)])
    if len(found) != 1 or len(options.entity_names) > len(options.entity_type):
        raise SettingsError(
            "name one entity: --entity-type with --entity-name, or --topic, --broker"
        )
    ((kind, name),) = found
    if name == DEFAULTS and kind != "brokers":
        raise SettingsError(f"{kind} have no defaults, only brokers do")
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
        for entry in sorted(found[resource], key=attrgetter("name")):
            if everything or entry.config_source == own_source:
                print(_line(entry))


def _line(entry: Entry) -> str:
    synonyms = ", ".join(
        f"{SOURCES.get(each.source, 'UNKNOWN')}:{each.name}={_text(each.value)}"
        for each in entry.synonyms
    )
    sensitive = str(entry.is_sensitive).lower()
    return f"  {entry.name}={_text(entry.value)} sensitive={sensitive} synonyms={{{synonyms}}}"


def _text(value: str | None) -> str:
    return "null" if value is None else value


def _names(client: Client, kind: str) -> list[str]:
    """Return the names of all entities of a type."""
    match kind:
        case "topics":
            return sorted(name_of(topic) for topic in client.metadata().topics)
        case "brokers":
            return [*map(str, sorted(client.nodes())), DEFAULTS]
        case "broker-loggers":
            return [*map(str, sorted(client.nodes()))]
        case "groups":
            return sorted({*_configured(client, GROUP), *_groups(client)})
        case _:
            return sorted(_configured(client, ENTITY_TYPES[kind].resource_type))


def _configured(client: Client, resource_type: int) -> list[str]:
    """Return the names of the resources with configs of their own."""
    answer = client.request(messages.ListConfigResourcesRequest(resource_types=[resource_type]))
    check("list of resources", answer.error_code)
    return [resource.resource_name for resource in answer.config_resources]


def _groups(client: Client) -> list[str]:
    """Return the groups of all coordinators."""
    names: list[str] = []
    for node_id in client.nodes():
        answer = client.request(messages.ListGroupsRequest(), node_id=node_id)
        check("list of groups", answer.error_code)
        names += [group.group_id for group in answer.groups]
    return names
