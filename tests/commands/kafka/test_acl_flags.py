"""What the flags of kafka-acls say."""

import argparse
import re

import pytest

from broker_lite.commands.kafka.acl_flags import Entry, Resource, acls, check_flags, resources
from broker_lite.commands.kafka.acls import add_arguments
from broker_lite.errors import SettingsError

WHO = ("--allow-principal", "User:Bob")


def parsed(*flags: str) -> argparse.Namespace:
    """The flags, read and found to go together."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    options = parser.parse_args(flags)
    check_flags(options)
    return options


def operations(*flags: str) -> dict[tuple[str, str | None], list[str]]:
    """What each resource gets a rule for."""
    found = acls(parsed("--add", *WHO, *flags))
    return {
        (each.kind, each.name): [entry.operation for entry in rules]
        for each, rules in found.items()
    }


def test_a_producer_and_a_consumer() -> None:
    flags = ("--producer", "--idempotent", "--consumer", "--topic", "t", "--group", "g")
    assert operations(*flags, "--transactional-id", "x") == {
        ("TOPIC", "t"): ["WRITE", "DESCRIBE", "CREATE", "READ"],
        ("TRANSACTIONAL_ID", "x"): ["WRITE", "DESCRIBE"],
        ("CLUSTER", "kafka-cluster"): ["IDEMPOTENT_WRITE"],
        ("GROUP", "g"): ["READ"],
    }


def test_an_idempotent_producer_on_prefixed_topics() -> None:
    flags = ("--producer", "--idempotent", "--topic", "t", "--resource-pattern-type", "prefixed")
    assert operations(*flags) == {
        ("TOPIC", "t"): ["WRITE", "DESCRIBE", "CREATE"],
        ("CLUSTER", "kafka-cluster"): ["IDEMPOTENT_WRITE"],
    }


def test_every_principal_host_and_operation() -> None:
    flags = ("--operation", "Read", "--operation", "alterConfigs", "--topic", "t")
    denied = ("--deny-principal", "User:Eve", "--deny-host", "::1", "--deny-host", "h")
    ((resource, found),) = acls(parsed("--add", *WHO, *denied, *flags)).items()
    assert resource == Resource("TOPIC", "t", "LITERAL")
    assert found == [
        Entry("User:Bob", "*", "READ", "ALLOW"),
        Entry("User:Bob", "*", "ALTER_CONFIGS", "ALLOW"),
        Entry("User:Eve", "::1", "READ", "DENY"),
        Entry("User:Eve", "h", "READ", "DENY"),
        Entry("User:Eve", "::1", "ALTER_CONFIGS", "DENY"),
        Entry("User:Eve", "h", "ALTER_CONFIGS", "DENY"),
    ]


def test_an_operation_is_all_unless_it_is_said() -> None:
    assert operations("--user-principal", "User:x") == {("USER", "User:x"): ["ALL"]}


def test_the_cluster_has_no_patterns() -> None:
    assert resources(parsed("--list", "--cluster", "--resource-pattern-type", "match")) == []


def test_any_name() -> None:
    assert str(Resource("ANY", None, "ANY")) == (
        "ResourcePattern(resourceType=ANY, name=<any>, patternType=ANY)"
    )


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (("--list", "--producer"), 'Option "[list]" can\'t be used with option "[producer]"'),
        (
            ("--add", "--producer", "--topic", "t", "--operation", "Read"),
            'Option "[producer]" can\'t be used with option "[operation]"',
        ),
        (("--add", "--principal", "User:a"), "The --principal option is only available if --list"),
        (("--add", "--producer"), "With --producer you must specify a --topic"),
        (("--add", "--idempotent"), "The --idempotent option is only available if --producer"),
        (("--add", "--consumer", "--topic", "t"), "With --consumer you must specify a --topic and"),
        (("--add", *WHO), "You must provide at least one resource: --topic <topic> or --cluster"),
        (
            ("--add", "--topic", "t", "--allow-principal", "Bob"),
            "expected a string in format principalType:principalName but got Bob",
        ),
        (
            ("--add", *WHO, "--delegation-token", "d", "--operation", "Write"),
            "ResourceType DELEGATION_TOKEN only supports operations [DESCRIBE, ALL]",
        ),
        (
            ("--add", *WHO, "--delegation-token", "d", "--operation", "nonsense"),
            "ResourceType DELEGATION_TOKEN only supports operations",
        ),
    ],
)
def test_flags_that_are_refused(flags: tuple[str, ...], text: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(text)):
        acls(parsed(*flags))
