"""`kafka-acls`: list, add and remove ACLs.

Flags and output are those of kafka-acls.sh. A broker without an authorizer refuses all of these
requests, as a Kafka without one does.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from broker_lite.client import Client
from broker_lite.commands.kafka.acl_flags import (
    EVERY_ENTRY,
    EVERY_RESOURCE,
    OPERATIONS,
    PATTERN_TYPES,
    PERMISSIONS,
    RESOURCE_TYPES,
    Acls,
    Entry,
    Resource,
    acls,
    add_flags,
    check_flags,
    parse_principal,
    resources,
)
from broker_lite.commands.shared.connecting import add_connection, connect
from broker_lite.commands.shared.flags import add_actions
from broker_lite.commands.shared.kafka_errors import exception_line
from broker_lite.errors import ClientError, SettingsError
from broker_lite.wire import messages

_SPECIFIC: Final = ("LITERAL", "PREFIXED")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the tool."""
    add_actions(parser, {name: f"{name} ACLs" for name in ("list", "add", "remove")})
    add_flags(parser)
    parser.add_argument(
        "--principal",
        action="append",
        metavar="User:NAME",
        help="with --list: only rules of this principal",
    )
    parser.add_argument("--force", action="store_true", help="remove ACLs without asking")
    add_connection(parser, with_controller=True)


def run(options: argparse.Namespace) -> int:
    """Run the chosen action."""
    check_flags(options)
    prepare, act = _ACTIONS[options.action]
    wanted = prepare(options)
    with connect(options) as client:
        act(client, wanted, options)
    return 0


def _wanted_list(options: argparse.Namespace) -> Acls:
    options.principal = [*map(parse_principal, options.principal or ())]
    return {resource: [] for resource in resources(options) or (EVERY_RESOURCE,)}


def _wanted_new(options: argparse.Namespace) -> Acls:
    pattern_type = options.resource_pattern_type
    if pattern_type not in _SPECIFIC:
        raise SettingsError(
            f"A '--resource-pattern-type' value of '{pattern_type}' is not valid when adding acls."
        )
    wanted = acls(options)
    if not all(wanted.values()):
        raise SettingsError(
            "You must specify one of: --allow-principal, --deny-principal when trying to add ACLs."
        )
    return wanted


def _list(client: Client, wanted: Acls, options: argparse.Namespace) -> None:
    found: Acls = {}
    for each in wanted:
        for resource, entries in _describe(client, each).items():
            found[resource] = list(dict.fromkeys((*found.get(resource, ()), *entries)))
    if not options.principal:
        _print(found)
    for principal in options.principal:
        print(f"ACLs for principal `{principal}`")
        _print(
            {
                resource: [entry for entry in entries if entry.principal == principal]
                for resource, entries in found.items()
            }
        )


def _print(found: Acls) -> None:
    for resource, entries in found.items():
        if entries:
            print(f"Current ACLs for resource `{resource}`:", *_lines(entries), "", sep="\n")


def _lines(entries: Iterable[Entry]) -> list[str]:
    return [f"\t{entry}" for entry in entries]


def _add(client: Client, wanted: Acls, options: argparse.Namespace) -> None:
    for resource, entries in wanted.items():
        existing = _describe(client, resource).get(resource, [])
        for entry in entries:
            if entry in existing:
                print(f"Acl (pattern={resource}, entry={entry}) already exists.")
        new = [entry for entry in entries if entry not in existing]
        if new:
            lines = "\n".join(_lines(new))
            print(f"Adding ACLs for resource `{resource}`: \n {lines}\n")
            _create(client, resource, new)


def _remove(client: Client, wanted: Acls, options: argparse.Namespace) -> None:
    for resource, entries in wanted.items():
        if entries:
            lines = "\n".join(_lines(entries))
            what = f"remove ACLs: \n {lines}\n from resource filter `{resource}`"
        else:
            what = f"delete all ACLs for resource filter `{resource}`"
        if options.force or _is_confirmed(f"Are you sure you want to {what}? (y/n)"):
            _delete(client, resource, entries or [EVERY_ENTRY])


def _is_confirmed(question: str) -> bool:
    print(question, flush=True)
    return sys.stdin.readline().strip().lower() == "y"


_Prepare = Callable[[argparse.Namespace], Acls]
_Act = Callable[[Client, Acls, argparse.Namespace], None]
_ACTIONS: Final[Mapping[str, tuple[_Prepare, _Act]]] = {
    "list": (_wanted_list, _list),
    "add": (_wanted_new, _add),
    "remove": (acls, _remove),
}


def _describe(client: Client, resource: Resource) -> Acls:
    """Ask for the rules about resources."""
    value = messages.DescribeAclsRequest(
        resource_type_filter=RESOURCE_TYPES.index(resource.kind),
        resource_name_filter=resource.name,
        pattern_type_filter=PATTERN_TYPES.index(resource.pattern_type),
        **_filter(EVERY_ENTRY),
    )
    answer = client.request(value)
    _check(answer.error_code, answer.error_message)
    return {
        Resource(
            RESOURCE_TYPES[each.resource_type], each.resource_name, PATTERN_TYPES[each.pattern_type]
        ): [
            Entry(
                one.principal, one.host, OPERATIONS[one.operation], PERMISSIONS[one.permission_type]
            )
            for one in each.acls
        ]
        for each in answer.resources
    }


def _create(client: Client, resource: Resource, entries: Iterable[Entry]) -> None:
    make = messages.CreateAclsRequest  # the flags leave no name, principal or host open
    creations = [
        make.AclCreation(
            resource_type=RESOURCE_TYPES.index(resource.kind),
            resource_name=resource.name or "",
            resource_pattern_type=PATTERN_TYPES.index(resource.pattern_type),
            principal=entry.principal or "",
            host=entry.host or "",
            operation=OPERATIONS.index(entry.operation),
            permission_type=PERMISSIONS.index(entry.permission),
        )
        for entry in entries
    ]
    for result in client.request(make(creations=creations), node_id=client.controller_id()).results:
        _check(result.error_code, result.error_message)


def _delete(client: Client, resource: Resource, entries: Iterable[Entry]) -> None:
    make = messages.DeleteAclsRequest
    filters = [
        make.DeleteAclsFilter(
            resource_type_filter=RESOURCE_TYPES.index(resource.kind),
            resource_name_filter=resource.name,
            pattern_type_filter=PATTERN_TYPES.index(resource.pattern_type),
            **_filter(entry),
        )
        for entry in entries
    ]
    answer = client.request(make(filters=filters), node_id=client.controller_id())
    for result in answer.filter_results:
        _check(result.error_code, result.error_message)
        for each in result.matching_acls:
            _check(each.error_code, each.error_message)


def _filter(entry: Entry) -> dict[str, Any]:
    return {
        "principal_filter": entry.principal,
        "host_filter": entry.host,
        "operation": OPERATIONS.index(entry.operation),
        "permission_type": PERMISSIONS.index(entry.permission),
    }


def _check(code: int, message: str | None) -> None:
    """Raise an error for a code other than 0.

    Raises:
        ClientError: with the line that Kafka's tool prints before its stack trace.
    """
    if code:
        sys.stdout.flush()
        reason = exception_line(code, message)
        raise ClientError(f"Error while executing ACL command: {reason}")
