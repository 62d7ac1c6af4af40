"""SCRAM credentials of users, with the flags and the words of kafka-configs.sh."""

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from broker_lite.client import Client, LoginRefused
from tests.support.command_line import CommandLine
from tests.support.secured_broker import SecuredBroker, sasl, secured_broker


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    with secured_broker(tmp_path_factory.mktemp("secured")) as running:
        yield running


@pytest.fixture
def configs(command: CommandLine, secured: SecuredBroker) -> CommandLine:
    """The command with a broker's address."""
    return command.of("configs", "--bootstrap-server", secured.addresses["PLAINTEXT"])


def test_credentials_are_printed(configs: CommandLine, secured: SecuredBroker, topic: str) -> None:
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
    change = UserScramCredentialUpsertion(topic, info, b"secret", b"salt")
    admin = AdminClient({"bootstrap.servers": secured.addresses["PLAINTEXT"]})
    for future in admin.alter_user_scram_credentials([change]).values():
        future.result(30)
    described = (
        f"SCRAM credential configs for user-principal '{topic}' are SCRAM-SHA-256=iterations=4096\n"
    )
    assert configs.ok("--describe", "--user", topic) == described
    assert described in configs.ok("--describe", "--entity-type", "users")
    assert described not in configs.ok("--describe", "--user-defaults")


def test_a_user_is_made_and_removed(
    configs: CommandLine, secured: SecuredBroker, topic: str
) -> None:
    user = ("--entity-type", "users", "--entity-name", topic)
    both = "SCRAM-SHA-256=[iterations=8192,password=a=b,c],SCRAM-SHA-512=[password=x]"
    completed = f"Completed updating config for user {topic}.\n"
    assert configs.ok("--alter", *user, "--add-config", both) == completed
    assert configs.ok("--describe", *user) == (
        f"SCRAM credential configs for user-principal '{topic}' are"
        " SCRAM-SHA-256=iterations=8192, SCRAM-SHA-512=iterations=4096\n"
    )
    for mechanism, password in (("SCRAM-SHA-256", "a=b,c"), ("SCRAM-SHA-512", "x")):
        properties = sasl(mechanism, password)
        jaas = properties["sasl.jaas.config"].replace("carol", topic)
        properties["sasl.jaas.config"] = jaas
        with Client(secured.addresses["SASL"], properties=properties) as client:
            client.metadata([])
    assert configs.ok("--alter", *user, "--delete-config", "SCRAM-SHA-512") == completed
    with pytest.raises(LoginRefused):
        Client(secured.addresses["SASL"], properties=properties)
    line = configs.fails("--alter", *user, "--delete-config", "SCRAM-SHA-512")
    assert line == "1: Attempt to delete a user credential that does not exist"


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (
            (
                "--user",
                "u",
                "--add-config",
                "SCRAM-SHA-256=[password=hunter2],request_percentage=1",
            ),
            "Cannot alter both quota and SCRAM credential configs simultaneously for 'users' using"
            " --bootstrap-server.",
        ),
        (
            ("--user-defaults", "--add-config", "SCRAM-SHA-256=[password=hunter2]"),
            "The use of --entity-default or --user-defaults is not allowed with User SCRAM"
            " Credentials using --bootstrap-server.",
        ),
        (
            ("--user", "u", "--add-config", "SCRAM-SHA-256=hunter2"),
            "Invalid credential property SCRAM-SHA-256: it is iterations=NUMBER,password=PASSWORD",
        ),
        (
            ("--user", "u", "--add-config", "SCRAM-SHA-512=[iterations=4095,password=hunter2]"),
            "Iterations 4095 is less than the minimum 4096 required for SCRAM-SHA-512",
        ),
        (
            ("--user", "u", "--add-config", "SCRAM-SHA-512=[iterations=16385,password=hunter2]"),
            "Iterations 16385 is more than the maximum 16384 of SCRAM-SHA-512",
        ),
    ],
)
def test_what_a_person_got_wrong(configs: CommandLine, flags: tuple[str, ...], line: str) -> None:
    assert configs.fails("--alter", *flags) == f"2: {line}"
