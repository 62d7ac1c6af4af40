"""`kafka e2e-latency`, with the flags and the lines of kafka-e2e-latency.sh."""

import re

import pytest

from tests.support.command_line import CommandLine

PRINTED = re.compile(
    r"0\t\d+\.\d+\nAvg latency: \d+\.\d{4} ms\nPercentiles: 50th = \d+, 99th = \d+, 99\.9th = \d+\n"
)


@pytest.fixture
def e2e(command: CommandLine) -> CommandLine:
    """The tool."""
    return command.of("kafka", "e2e-latency")


def test_by_flags(e2e: CommandLine, bootstrap: str, topic: str) -> None:
    flags = ("--num-records", "20", "--producer-acks", "all", "--record-size", "10")
    assert PRINTED.fullmatch(e2e.ok("--bootstrap-server", bootstrap, "--topic", topic, *flags))


def test_by_places(e2e: CommandLine, bootstrap: str, topic: str) -> None:
    assert PRINTED.fullmatch(e2e.ok("--wait", "1", bootstrap, topic, "20", "1", "10"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a:1", "t"), "Invalid number of arguments. Expected 5 or 6 positional arguments, but"),
        (("a:1", "t", "x", "1", "10"), "--num-records x: not a number above 0"),
        (("a:1", "t", "5", "1", "0"), "--record-size 0: not a number above 0"),
        (("a:1", "t", "5", "0", "9"), "Latency testing requires synchronous acknowledgement."),
        (
            ("--num-records", "1", "--record-size", "1", "--producer-acks", "1"),
            "the following arguments are required: --topic",
        ),
        (("a:1", "t", "5", "1", "9", "/nosuch"), "/nosuch: No such file or directory"),
    ],
)
def test_wrong_use(e2e: CommandLine, arguments: tuple[str, ...], message: str) -> None:
    assert e2e.fails(*arguments).startswith(f"2: {message}")
