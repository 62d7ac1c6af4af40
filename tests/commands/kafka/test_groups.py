"""`kafka groups`, with the flags and the table of kafka-groups.sh."""

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.support.command_line import CommandLine


@pytest.fixture
def group(command: CommandLine, bootstrap: str, topic: str) -> str:
    """A group without members or a protocol, which has committed an offset."""
    command.ok("topics", "--bootstrap-server", bootstrap, "--create", "--topic", topic)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": f"group-{topic}"})
    consumer.commit(offsets=[TopicPartition(topic, 0, 0)], asynchronous=False)
    consumer.close()
    return f"group-{topic}"


def listed(command: CommandLine, bootstrap: str, *arguments: str) -> list[list[str]]:
    """The table, by its columns."""
    printed = command.ok("kafka", "groups", "--bootstrap-server", bootstrap, "--list", *arguments)
    assert len(set(map(len, printed.splitlines()[1:]))) <= 1, "columns are of one width"
    return [line.split() for line in printed.splitlines()]


@pytest.mark.parametrize(
    ("filters", "is_there"),
    [
        ((), True),
        (("--group-type", "Classic"), True),
        (("--group-type", "consumer"), False),
        (("--consumer",), True),
        (("--share",), False),
        (("--streams",), False),
        (("--protocol", ""), True),
        (("--protocol", "consumer"), False),
    ],
)
def test_filters(
    command: CommandLine, bootstrap: str, group: str, filters: tuple[str, ...], is_there: bool
) -> None:
    header, *rows = listed(command, bootstrap, *filters)
    assert header == ["GROUP", "TYPE", "PROTOCOL"]
    assert ([group, "Classic"] in rows) == is_there


def test_nothing_to_do(command: CommandLine) -> None:
    assert command.fails("kafka", "groups") == "2: the following arguments are required: --list"
