"""`kafka client-metrics`, with the flags and the words of kafka-client-metrics.sh."""

import pytest

from tests.support.command_line import CommandLine
from tests.support.reference_kafka import run_tool

TOOL = "org.apache.kafka.tools.ClientMetricsCommand"
FLAGS = ("--metrics", "a,b", "--metrics", "c", "--interval", "1000", "--match", "client_id=x.*")
DESCRIBED = "  interval.ms=1000\n  match=client_id=x.*\n  metrics=a,b,c\n"


@pytest.fixture
def metrics(command: CommandLine, bootstrap: str) -> CommandLine:
    """The command with a broker's address."""
    return command.of("kafka", "client-metrics", "--bootstrap-server", bootstrap)


@pytest.fixture
def name(metrics: CommandLine, topic: str) -> str:
    """A subscription."""
    altered = metrics.ok("--alter", "--name", topic, *FLAGS)
    assert altered == f"Altered client metrics config for {topic}.\n"
    return topic


def test_a_subscription(metrics: CommandLine, name: str) -> None:
    assert name in metrics.ok("--list").splitlines()
    described = f"Client metrics configs for {name} are:\n{DESCRIBED}"
    assert metrics.ok("--describe", "--name", name) == described
    assert described in metrics.ok("--describe")
    metrics.ok("--alter", "--name", name, "--interval", "", "--match", "")
    assert metrics.ok("--describe", "--name", name).splitlines()[1:] == [
        *("  interval.ms=300000", "  match=", "  metrics=a,b,c"),
    ]
    assert metrics.ok("--delete", "--name", name) == f"Deleted client metrics config for {name}.\n"
    assert metrics.ok("--describe", "--name", name) == (
        f"The client metric resource {name} doesn't exist and doesn't have dynamic config.\n"
    )
    assert name not in metrics.ok("--list").splitlines()


def test_a_name_of_its_own(metrics: CommandLine) -> None:
    altered = metrics.ok("--alter", "--generate-name", "--metrics", "")
    generated = altered.removeprefix("Altered client metrics config for ").removesuffix(".\n")
    assert len(generated) == 22
    metrics.ok("--alter", "--name", generated, "--metrics", "*")
    assert generated in metrics.ok("--list")
    metrics.ok("--delete", "--name", generated)


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        ((), "is required"),
        (("--alter", "--metrics", "a"), "--alter takes one of --name and --generate-name"),
        (("--alter", "--name", "n", "--generate-name"), "--alter takes one of --name and"),
        (("--alter", "--name", "n", "--interval", "x"), "--interval takes a number of ms"),
        (("--describe", "--interval", "1"), "--interval goes with --alter"),
        (("--delete", "--generate-name"), "--generate-name goes with --alter"),
        (("--delete",), "--delete takes a --name"),
        (("--list", "--name", "n"), "--list takes no --name"),
    ],
)
def test_bad_input(metrics: CommandLine, flags: tuple[str, ...], text: str) -> None:
    line = metrics.fails(*flags)
    assert line.startswith("2: ")
    assert text in line


def test_a_value_that_the_broker_refuses(metrics: CommandLine) -> None:
    line = metrics.fails("--alter", "--name", "n", "--interval", "1")
    assert line.startswith("1: Invalid value 1 for interval.ms")


@pytest.mark.kafka
@pytest.mark.slow
def test_what_kafka_s_tool_prints(metrics: CommandLine, bootstrap: str, name: str) -> None:
    for flags in (("--list",), ("--describe", "--name", name), ("--describe", "--name", "none")):
        theirs = run_tool(TOOL, "--bootstrap-server", bootstrap, *flags)
        assert metrics(*flags).out == theirs
