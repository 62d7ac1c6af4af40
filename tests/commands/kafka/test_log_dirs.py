"""`kafka log-dirs`, with the flags and the JSON of kafka-log-dirs.sh."""

import json

import pytest

from tests.support.command_line import CommandLine


@pytest.fixture
def log_dirs(command: CommandLine, bootstrap: str) -> CommandLine:
    """The tool with a broker's address."""
    return command.of("kafka", "log-dirs", "--bootstrap-server", bootstrap)


def test_describe_some_topics(
    log_dirs: CommandLine, command: CommandLine, bootstrap: str, topic: str
) -> None:
    at = ("--bootstrap-server", bootstrap, "--topic", topic)
    command.ok("topics", *at, "--create", "--partitions", "2")
    first, second, found = log_dirs.ok("--describe", "--topic-list", f"{topic},").splitlines()
    assert first == "Querying brokers for log directories information"
    assert second == "Received log directory information from brokers 1"
    assert ": " not in found, "Java's JSON has no blanks"
    (broker,) = json.loads(found)["brokers"]
    (directory,) = broker["logDirs"]
    assert (broker["broker"], directory["error"]) == (1, None)
    assert sorted(directory["partitions"], key=lambda each: str(each["partition"])) == [
        {"partition": f"{topic}-{number}", "size": 0, "offsetLag": 0, "isFuture": False}
        for number in range(2)
    ]


def test_a_broker_that_does_not_exist(log_dirs: CommandLine) -> None:
    assert log_dirs.fails("--describe", "--broker-list", "7,1") == (
        "1: ERROR: The given brokers do not exist from --broker-list: 7."
        " Current existent brokers: 1"
    )


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "2: the following arguments are required: --describe"),
        (
            ("--describe", "--broker-list", "a"),
            "2: argument --broker-list: a is not a list of brokers' numbers",
        ),
    ],
)
def test_wrong_use(log_dirs: CommandLine, arguments: tuple[str, ...], line: str) -> None:
    assert log_dirs.fails(*arguments) == line
