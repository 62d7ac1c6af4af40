"""Quotas of users, clients and addresses, with the flags and the words of kafka-configs.sh."""

import pytest

from broker_lite.commands.configs.quotas import double_text
from tests.support.command_line import CommandLine

PRODUCING = ("--add-config", "producer_byte_rate=1000,consumer_byte_rate=20000000")
RATES = "producer_byte_rate=1000.0, consumer_byte_rate=2.0E7"


@pytest.fixture
def configs(command: CommandLine, bootstrap: str) -> CommandLine:
    """The command with a broker's address."""
    return command.of("configs", "--bootstrap-server", bootstrap)


def test_of_a_user(configs: CommandLine, topic: str) -> None:
    user = ("--entity-type", "users", "--entity-name", topic)
    assert configs.ok("--describe", *user) == ""
    completed = f"Completed updating config for user {topic}.\n"
    assert configs.ok("--alter", *user, *PRODUCING) == completed
    described = f"Quota configs for user-principal '{topic}' are {RATES}\n"
    assert configs.ok("--describe", "--user", topic) == described
    assert described in configs.ok("--describe", "--entity-type", "users")
    removed = ("--delete-config", "producer_byte_rate,consumer_byte_rate")
    assert configs.ok("--alter", *user, *removed) == completed
    assert configs.ok("--describe", *user) == ""
    assert configs.fails("--alter", *user, *removed) == (
        "1: Invalid config(s): producer_byte_rate,consumer_byte_rate"
    )


def test_of_defaults(configs: CommandLine) -> None:
    clients = ("--entity-type", "clients", "--entity-default")
    completed = "Completed updating default config for clients in the cluster.\n"
    assert configs.ok("--alter", *clients, "--add-config", "request_percentage=20") == completed
    described = "Quota configs for the default client-id are request_percentage=20.0\n"
    assert configs.ok("--describe", *clients) == described
    assert configs.ok("--describe", "--entity-type", "clients") == described
    removed = ("--delete-config", "request_percentage")
    assert configs.ok("--alter", "--client-defaults", *removed) == completed


def test_of_the_clients_of_a_user(configs: CommandLine, topic: str) -> None:
    both = ("--entity-type", "users", "--entity-name", topic, "--entity-type", "clients")
    configs.ok("--alter", *both, "--entity-default", "--add-config", "producer_byte_rate=5")
    described = (
        f"Quota configs for user-principal '{topic}', the default client-id are"
        " producer_byte_rate=5.0\n"
    )
    assert configs.ok("--describe", *both) == described
    assert configs.ok("--describe", "--user", topic, "--client-defaults") == described
    assert configs.ok("--describe", "--user", topic) == ""


def test_of_an_address(configs: CommandLine) -> None:
    address = ("--ip", "10.1.2.3")
    assert configs.ok("--alter", *address, "--add-config", "connection_creation_rate=9") == (
        "Completed updating config for ip 10.1.2.3.\n"
    )
    described = "Quota configs for ip '10.1.2.3' are connection_creation_rate=9.0\n"
    assert configs.ok("--describe", "--entity-type", "ips") == described


def test_what_the_broker_refuses(configs: CommandLine) -> None:
    line = configs.fails("--alter", "--user", "u", "--add-config", "producer_byte_rate=1.5")
    assert line == "1: producer_byte_rate cannot be a fractional value."


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (
            ("--describe", "--entity-type", "users", "--entity-type", "ips"),
            "Only 'users' and 'clients' entity types may be specified together",
        ),
        (
            ("--describe", "--user", "u", "--entity-name", "v"),
            "More entity names specified than entity types",
        ),
        (
            ("--alter", "--entity-type", "users", *PRODUCING),
            "--entity-name or --entity-default must be specified with each --entity-type for"
            " --alter",
        ),
        (
            ("--alter", "--user", "u", "--add-config", "no=1"),
            "Only quota and SCRAM credential configs can be added for 'users' using"
            " --bootstrap-server. Unexpected config names: Set(no)",
        ),
        (
            ("--alter", "--client", "c", "--delete-config", "no"),
            "Only quota configs can be deleted for 'clients' using --bootstrap-server. Unexpected"
            " config names: ArrayBuffer(no)",
        ),
        (
            ("--alter", "--ip", "::1", *PRODUCING),
            "Only connection quota configs can be added for 'ips' using --bootstrap-server."
            " Unexpected config names: producer_byte_rate,consumer_byte_rate",
        ),
        (
            ("--alter", "--user", "u", "--add-config", "producer_byte_rate=x"),
            "Cannot parse quota configuration value for producer_byte_rate: x",
        ),
    ],
)
def test_what_a_person_got_wrong(configs: CommandLine, flags: tuple[str, ...], line: str) -> None:
    assert configs.fails(*flags) == f"2: {line}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (20.5, "20.5"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (10485760.0, "1.048576E7"),
        (12345678.9, "1.23456789E7"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (1.5e-9, "1.5E-9"),
        (1e300, "1.0E300"),
    ],
)
def test_a_number_as_java_prints_it(value: float, text: str) -> None:
    assert double_text(value) == text
