"""Parses the flags of `kafka-acls` into resources and access rules.

Source: AclCommand, AclEntry.
"""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from broker_lite.errors import SettingsError

ANY: Final = "ANY"
LITERAL: Final = "LITERAL"
ALLOW: Final = "ALLOW"
DENY: Final = "DENY"
ALL: Final = "ALL"

# The index in each list is the protocol's number; 0 is never used.
RESOURCE_TYPES: Final = (
    *("UNKNOWN", ANY, "TOPIC", "GROUP", "CLUSTER"),
    *("TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER"),
)
PATTERN_TYPES: Final = ("UNKNOWN", ANY, "MATCH", LITERAL, "PREFIXED")
OPERATIONS: Final = (
    *("UNKNOWN", ANY, ALL, "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE"),
    *("CLUSTER_ACTION", "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "IDEMPOTENT_WRITE"),
    *("CREATE_TOKENS", "DESCRIBE_TOKENS", "TWO_PHASE_COMMIT"),
)
PERMISSIONS: Final = ("UNKNOWN", ANY, DENY, ALLOW)

_CONFIGS: Final = ("DESCRIBE_CONFIGS", "ALTER_CONFIGS")
_SUPPORTED: Final[Mapping[str, tuple[str, ...]]] = {
    "TOPIC": ("READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", *_CONFIGS),
    "GROUP": ("READ", "DELETE", "DESCRIBE", *_CONFIGS),
    "CLUSTER": (*("CREATE", "ALTER", "DESCRIBE", "CLUSTER_ACTION", *_CONFIGS, "IDEMPOTENT_WRITE"),),
    "TRANSACTIONAL_ID": ("WRITE", "DESCRIBE", "TWO_PHASE_COMMIT"),
    "DELEGATION_TOKEN": ("DESCRIBE",),
    "USER": ("CREATE_TOKENS", "DESCRIBE_TOKENS"),
}
_BY_FLAG_NAME: Final = {
    name.replace("_", ""): name for name in OPERATIONS if name not in ("UNKNOWN", ANY)
}
_RESOURCE_FLAGS: Final = {
    "topic": "TOPIC",
    "group": "GROUP",
    "transactional_id": "TRANSACTIONAL_ID",
    "delegation_token": "DELEGATION_TOKEN",
    "user_principal": "USER",
}


class Resource(NamedTuple):
    """Resources that have ACLs, by a pattern of their names; None means every name."""

    kind: str
    name: str | None
    pattern_type: str

    def __str__(self) -> str:  # type: ignore[explicit-override]
        name = "<any>" if self.name is None else self.name
        kind = f"resourceType={self.kind}"
        return f"ResourcePattern({kind}, name={name}, patternType={self.pattern_type})"


class Entry(NamedTuple):
    """One rule: allows or denies a principal an operation from a host."""

    principal: str | None
    host: str | None
    operation: str
    permission: str

    def __str__(self) -> str:  # type: ignore[explicit-override]
        who = f"principal={self.principal}, host={self.host}"
        return f"({who}, operation={self.operation}, permissionType={self.permission})"


EVERY_RESOURCE: Final = Resource(ANY, None, ANY)
EVERY_ENTRY: Final = Entry(None, None, ANY, ANY)
_CLUSTER: Final = Resource("CLUSTER", "kafka-cluster", LITERAL)

Acls = dict[Resource, list[Entry]]


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags for resources and rules."""
    for flag in _RESOURCE_FLAGS:
        name = flag.replace("_", "-")
        parser.add_argument(f"--{name}", action="append", default=[], metavar="NAME")
    parser.add_argument("--cluster", action="store_true", help="the cluster itself")
    parser.add_argument(
        "--resource-pattern-type",
        type=str.upper,
        choices=PATTERN_TYPES[1:],
        default=LITERAL,
        help="how to match the names; any and match only with --list and --remove [literal]",
    )
    parser.add_argument("--operation", action="append", metavar="NAME", help="Read, Write … [All]")
    for permission in ("allow", "deny"):
        for who, metavar in (("principal", "User:NAME"), ("host", "ADDRESS")):
            parser.add_argument(f"--{permission}-{who}", action="append", metavar=metavar)
    parser.add_argument("--producer", action="store_true", help="the rules that a producer needs")
    parser.add_argument("--consumer", action="store_true", help="the rules that a consumer needs")
    parser.add_argument(
        "--idempotent", action="store_true", help="with --producer: an idempotent one"
    )


def check_flags(options: argparse.Namespace) -> None:
    """Refuse wrong combinations of flags.

    Raises:
        SettingsError: flags contradict each other, or one is missing.
    """
    hosts_and_principals = ("allow_host", "allow_principal", "deny_host", "deny_principal")
    if options.action == "list":
        _exclude(options, "list", ("producer", "consumer", *hosts_and_principals))
    for role in ("producer", "consumer"):
        if getattr(options, role):
            _exclude(options, role, ("operation", "deny_principal", "deny_host"))
    if options.principal and options.action != "list":
        raise SettingsError("The --principal option is only available if --list is set")
    if options.producer and not options.topic:
        raise SettingsError("With --producer you must specify a --topic")
    if options.idempotent and not options.producer:
        raise SettingsError("The --idempotent option is only available if --producer is set")
    alien = not options.producer and (options.cluster or options.transactional_id)
    if options.consumer and (not options.topic or not options.group or alien):
        raise SettingsError(
            "With --consumer you must specify a --topic and a --group and no --cluster or"
            " --transactional-id option should be specified."
        )


def _exclude(options: argparse.Namespace, flag: str, others: Iterable[str]) -> None:
    for other in others:
        if getattr(options, other):
            name = other.replace("_", "-")
            raise SettingsError(f'Option "[{flag}]" can\'t be used with option "[{name}]"')


def resources(options: argparse.Namespace) -> list[Resource]:
    """The resources that flags name."""
    pattern_type = options.resource_pattern_type
    found = [
        Resource(kind, name.strip(), pattern_type)
        for flag, kind in _RESOURCE_FLAGS.items()
        for name in getattr(options, flag)
    ]
    if pattern_type == LITERAL and (options.cluster or options.idempotent):
        found.append(_CLUSTER)
    return list(dict.fromkeys(found))


def acls(options: argparse.Namespace) -> Acls:
    """Return the rules to add or to remove; an empty list means all rules of the resource.

    Raises:
        SettingsError: no resource is named, or a rule does not fit its resource.
    """
    named = resources(options)
    if not named:
        raise SettingsError(
            "You must provide at least one resource: --topic <topic> or --cluster or --group"
            " <group> or --delegation-token <Delegation Token ID>"
        )
    found: Acls = {}
    if options.producer:
        wanted = {"TOPIC": ("WRITE", "DESCRIBE", "CREATE"), "TRANSACTIONAL_ID": _WRITING}
        if options.idempotent:
            named = list(dict.fromkeys((*named, _CLUSTER)))
            wanted["CLUSTER"] = ("IDEMPOTENT_WRITE",)
        _allow(found, options, named, wanted)
    if options.consumer:
        _allow(found, options, named, {"TOPIC": ("READ", "DESCRIBE"), "GROUP": ("READ",)})
    if not (options.producer or options.consumer):
        operations = [_operation(name) for name in options.operation or (ALL,)]
        _allow(found, options, named, dict.fromkeys(_SUPPORTED, operations))
    _check_operations(found)
    return found


_WRITING: Final = ("WRITE", "DESCRIBE")


def _allow(
    found: Acls,
    options: argparse.Namespace,
    named: Iterable[Resource],
    wanted: Mapping[str, Sequence[str]],
) -> None:
    """Add the rules for the wanted operations on each kind of resource."""
    for resource in named:
        if resource.kind in wanted:
            entries = _entries(options, wanted[resource.kind])
            found[resource] = list(dict.fromkeys((*found.get(resource, ()), *entries)))


def _entries(options: argparse.Namespace, operations: Iterable[str]) -> list[Entry]:
    given = (
        (ALLOW, options.allow_principal, options.allow_host),
        (DENY, options.deny_principal, options.deny_host),
    )
    return [
        Entry(parse_principal(principal), host.strip(), operation, permission)
        for permission, principals, hosts in given
        for principal in principals or ()
        for operation in operations
        for host in hosts or ("*",)
    ]


def parse_principal(text: str) -> str:
    """Check that a principal is TYPE:NAME.

    Raises:
        SettingsError: it is not of that form.
    """
    kind, colon, name = text.strip().partition(":")
    if not (kind and colon and name):
        form = "expected a string in format principalType:principalName"
        raise SettingsError(f"{form} but got {text}")
    return text.strip()


def _operation(text: str) -> str:
    return _BY_FLAG_NAME.get(text.strip().upper(), "UNKNOWN")


def _check_operations(found: Acls) -> None:
    for resource, entries in found.items():
        valid = (*_SUPPORTED[resource.kind], ALL)
        if not {entry.operation for entry in entries} <= set(valid):
            raise SettingsError(
                f"ResourceType {resource.kind} only supports operations [{', '.join(valid)}]"
            )
