"""Every command that connects, at listeners with TLS and SASL, as --command-config says it."""

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.command_line import TIMEOUT_S, CommandLine, environment, process_of, run_process
from tests.support.secured_broker import (
    MECHANISMS,
    SESSION_MS,
    SecuredBroker,
    sasl,
    secured_broker,
    write_properties,
)

COMMANDS = (
    ("topics", "--describe", "--topic", "t"),
    ("configs", "--describe", "--topic", "t"),
    ("offsets", "--topic", "t"),
    ("api-versions",),
    ("cluster", "list-endpoints"),
    ("groups", "--list"),
    ("kafka", "acls", "--list"),
    ("kafka", "features", "describe"),
    ("kafka", "groups", "--list"),
    ("kafka", "leader-election", "--election-type", "preferred", "--all-topic-partitions"),
    ("kafka", "log-dirs", "--describe"),
    ("kafka", "metadata-quorum", "describe", "--status"),
    ("kafka", "reassign-partitions", "--list"),
    ("kafka", "transactions", "list"),
)
PERF = ("--topic", "perf", "--num-records", "10", "--record-size", "10", "--throughput", "-1")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    with secured_broker(tmp_path_factory.mktemp("secured")) as running:
        at = ("topics", "--bootstrap-server", running.addresses["PLAINTEXT"], "--create")
        assert run_process(*at, "--topic", "t").code == 0
        yield running


@pytest.fixture
def ask(broker: SecuredBroker, command: CommandLine, tmp_path: Path) -> "Ask":
    return Ask(broker, command, tmp_path / "client.properties")


class Ask:
    """Runs a command with properties at a listener."""

    def __init__(self, broker: SecuredBroker, command: CommandLine, path: Path) -> None:
        self._broker = broker
        self._command = command
        self._path = path

    def flags(
        self, listener: str, properties: Mapping[str, str], flag: str = "--command-config"
    ) -> tuple[str, ...]:
        """The flags that say where and how."""
        path = write_properties(self._path, properties)
        return ("--bootstrap-server", self._broker.addresses[listener], flag, str(path))

    def fails(self, listener: str, properties: Mapping[str, str]) -> str:
        """The line of a command that fails."""
        return self._command.fails("topics", "--list", *self.flags(listener, properties))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_logs_in(ask: Ask, command: CommandLine, words: tuple[str, ...]) -> None:
    at = ask.flags("SASL", sasl("SCRAM-SHA-512"))
    names = 2 if words[0] == "kafka" else 1
    done = command(*words[:names], *at, *words[names:])
    assert "SASL" not in done.err
    if "acls" in words:  # there is no authorizer
        assert "SecurityDisabledException" in done.out + done.err
    else:
        assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_records_by_each_mechanism(ask: Ask, command: CommandLine, mechanism: str) -> None:
    topic = ("--topic", f"records-{mechanism}")
    at = ask.flags("SASL", sasl(mechanism), "--producer.config")
    assert run_process("produce", *topic, *at, stdin="one\ntwo\n") == (0, "", "")
    for group in ((), ("--group", mechanism, "--command-property", "group.protocol=classic")):
        at = ask.flags("SASL", sasl(mechanism), "--consumer.config")
        some = ("--from-beginning", "--timeout-ms", "20000", "--max-messages", "2", *group)
        assert command("consume", *topic, *some, *at).out == "one\ntwo\n"


def test_records_over_tls(ask: Ask, broker: SecuredBroker, command: CommandLine) -> None:
    at = ask.flags("TLS", broker.tls())
    value = "x" * 100_000 + "\n"
    assert run_process("produce", "--topic", "tls", *at, stdin=value) == (0, "", "")
    some = ("--from-beginning", "--timeout-ms", "20000", "--max-messages", "1", "--group", "tls")
    done = command("consume", "--topic", "tls", *some, *ask.flags("MTLS", broker.mtls()))
    assert done.out == value


def test_properties_on_the_command_line(broker: SecuredBroker, command: CommandLine) -> None:
    properties = [f"{name}={text}" for name, text in sasl("PLAIN").items()]
    at = ("--bootstrap-server", broker.addresses["SASL"], "--topic", "words")
    flags = [word for each in properties for word in ("--producer-property", each)]
    assert run_process("produce", *at, *flags, stdin="one\n") == (0, "", "")
    flags = [word for each in properties for word in ("--command-property", each)]
    assert (
        command(
            "consume",
            *at,
            "--from-beginning",
            "--timeout-ms",
            "20000",
            "--max-messages",
            "1",
            *flags,
        ).out
        == "one\n"
    )


def test_the_command_line_wins(ask: Ask) -> None:
    at = ask.flags("SASL", sasl("PLAIN", "wrong"))
    right = f"sasl.jaas.config={sasl('PLAIN')['sasl.jaas.config']}"
    given = ("produce", "--topic", "wins", *at)
    assert run_process(*given, "--command-property", right, stdin="one\n") == (0, "", "")
    done = run_process(*given, stdin="one\n")
    assert (done.code, done.out) == (1, "")


def test_performance_tests(ask: Ask, command: CommandLine) -> None:
    at = ask.flags("SASL", sasl("SCRAM-SHA-256"))
    out = command.ok("kafka", "producer-perf-test", *PERF, *at)
    assert out.startswith("10 records sent")
    some = ("--topic", "perf", "--num-records", "10")
    assert command.ok("kafka", "consumer-perf-test", *some, *at).count("\n") == 2
    some = (*some, "--producer-acks", "1", "--record-size", "10")
    assert "Avg latency" in command.ok("kafka", "e2e-latency", *some, *at)


def test_older_names_of_the_flag(ask: Ask, command: CommandLine) -> None:
    for flag in ("--config", "-c"):
        at = ask.flags("SASL", sasl("PLAIN"), flag)
        assert command.ok("cluster", "cluster-id", *at).startswith("Cluster ID: ")
    at = ask.flags("SASL", sasl("PLAIN"), "--admin.config")
    some = ("--election-type", "preferred", "--all-topic-partitions")
    command.ok("kafka", "leader-election", *some, *at)


def test_a_session_that_ends_meanwhile(ask: Ask, broker: SecuredBroker) -> None:
    at = ask.flags("SASL", sasl("PLAIN"))
    arguments = ("consume", "--topic", "session", "--max-messages", "1", "--group", "s", *at)
    with subprocess.Popen(
        process_of(arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.communicate(timeout=2.5 * SESSION_MS / 1000)
        at = ("--bootstrap-server", broker.addresses["PLAINTEXT"])
        assert run_process("produce", "--topic", "session", *at, stdin="late\n").code == 0
        out, err = process.communicate(timeout=TIMEOUT_S)
    assert (out, err) == (b"late\n", b"Processed a total of 1 messages\n")


def test_a_wrong_password_is_one_line(ask: Ask, broker: SecuredBroker) -> None:
    line = ask.fails("SASL", sasl("PLAIN", "hunter2"))
    text = "Authentication failed: Invalid username or password"
    assert line == f"1: {broker.addresses['SASL']}: {text}"


def test_a_listener_that_wants_more_is_one_line(ask: Ask, broker: SecuredBroker) -> None:
    line = ask.fails("TLS", {})
    assert line.endswith("; perhaps its listener has TLS or SASL: see security.protocol")
    line = ask.fails("MTLS", broker.tls())
    assert line.endswith("set ssl.keystore.location")


def test_a_wrong_authority_is_one_line(ask: Ask, broker: SecuredBroker) -> None:
    line = ask.fails("TLS", broker.tls(ssl_truststore_location=str(broker.files.client)))
    assert line.endswith(": ssl.truststore.location has to have its CA")
    line = ask.fails("TLS", broker.tls(ssl_truststore_location="/nosuch"))
    assert line == "2: ssl.truststore.location: /nosuch: cannot be read: No such file or directory"


def test_plain_commands_import_nothing_of_it(broker: SecuredBroker) -> None:
    program = (
        "import sys; from broker_lite import cli; code = cli.main(sys.argv[1:]);"
        " names = [n for n in sys.modules if n == 'ssl' or '.security' in n or n == 'hashlib'];"
        " print(*names, file=sys.stderr); sys.exit(code)"
    )
    at = ("--bootstrap-server", broker.addresses["PLAINTEXT"])
    done = subprocess.run(
        [process_of(())[0], "-c", program, "topics", "--list", *at],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        env=environment(),
    )
    assert (done.returncode, done.stderr) == (0, "\n")
