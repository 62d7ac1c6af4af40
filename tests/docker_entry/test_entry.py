import pytest

from broker_lite.docker_entry.entry import Broker, Command, Entry, Program, read_entry

COMMANDS = ("serve", "topics", "config")


@pytest.mark.parametrize(
    ("arguments", "entry"),
    [
        ([], Broker(())),
        (["--set", "num.partitions=3"], Broker(("--set", "num.partitions=3"))),
        (["--version"], Command(("--version",))),
        (["serve"], Broker(())),
        (["serve", "--port", "1"], Broker(("--port", "1"))),
        (["topics", "--list"], Command(("topics", "--list"))),
        (["sh", "-c", "topics"], Program(("sh", "-c", "topics"))),
        (["/usr/bin/topics"], Program(("/usr/bin/topics",))),
    ],
)
def test_what_is_run(arguments: list[str], entry: Entry) -> None:
    found = read_entry(arguments, COMMANDS)
    assert (type(found), found) == (type(entry), entry)
