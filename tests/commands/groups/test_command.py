"""`groups`, with the flags and the words of kafka-consumer-groups.sh."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command_line import TIMEOUT_S, CommandLine, environment, process_of, run_process
from tests.support.reference_kafka import run_tool

TOOL = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
RESET = ("--reset-offsets", "--group", "g", "--dry-run")
PROTOCOLS = ("classic", "consumer")


@pytest.fixture
def groups(command: CommandLine, bootstrap: str) -> CommandLine:
    """The command with a broker's address."""
    return command.of("groups", "--bootstrap-server", bootstrap)


@pytest.fixture
def group(command: CommandLine, bootstrap: str, topic: str) -> str:
    """A group that has read one of three records of the topic with its name."""
    topics = command.of("topics", "--bootstrap-server", bootstrap)
    topics.ok("--create", "--topic", topic, "--partitions", "1")
    run_process("produce", "--bootstrap-server", bootstrap, "--topic", topic, stdin="a\nb\nc\n")
    consume = command.of("consume", "--bootstrap-server", bootstrap, "--topic", topic)
    assert consume("--group", topic, "--from-beginning", "--max-messages", "1").out == "a\n"
    return topic


@contextlib.contextmanager
def member(bootstrap: str, group: str, protocol: str) -> Iterator[None]:
    """A member of the group that has read everything, for as long as the context lasts."""
    flags = ("--group", group, "--command-property", f"group.protocol={protocol}")
    with subprocess.Popen(
        process_of(("consume", "--bootstrap-server", bootstrap, "--topic", group, *flags)),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == [b"b\n", b"c\n"]
        yield
        process.terminate()
        process.wait(TIMEOUT_S)


def test_list(groups: CommandLine, group: str) -> None:
    assert group in groups.ok("--list").splitlines()
    listed = groups.ok("--list", "--state", "EMPTY,stable", "--type", "consumer")
    width = max(len(row.split()[0]) for row in listed.splitlines()) + 10
    assert listed.splitlines()[0] == f"{'GROUP':{width}} {'TYPE':20} {'STATE':20}"
    assert f"{group:{width}} {'Consumer':20} {'Empty':20}" in listed.splitlines()
    assert group not in groups.ok("--list", "--state", "Stable")
    assert group not in groups.ok("--list", "--type", "Classic")


def test_an_empty_group(groups: CommandLine, bootstrap: str, group: str) -> None:
    told = f"\nConsumer group '{group}' has no active members.\n"
    wide = len(group)
    assert groups("--describe", "--group", group) == (
        0,
        f"\n{'GROUP':{wide}} {'TOPIC':{wide}} PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  "
        "LAG             CONSUMER-ID     HOST            CLIENT-ID\n"
        f"{group} {group} 0          1               3               2               "
        "-               -               -\n",
        told,
    )
    assert groups("--describe", "--group", group, "--members").out == (
        f"\n{'GROUP':15} CONSUMER-ID     HOST            CLIENT-ID       #PARTITIONS     \n"
    )
    assert groups("--describe", "--group", group, "--state").out == (
        f"\n{'GROUP':{wide}} COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE                "
        f"#MEMBERS\n{group} {bootstrap + '  (1)':25} {'uniform':20} {'Empty':20} 0\n"
    )


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_group_in_use(groups: CommandLine, bootstrap: str, group: str, protocol: str) -> None:
    named = ("--group", group)
    with member(bootstrap, group, protocol):
        described = groups("--describe", *named, "--verbose")
        row = described.out.splitlines()[2].split()
        assert row[:3] == [group, group, "0"]
        assert row[5:7] + row[8:] == ["3", str(3 - int(row[4])), "/127.0.0.1", "console-consumer"]
        assert described.err == ""
        head, row_text = groups("--describe", *named, "--members", "--verbose").out.split("\n")[1:3]
        row = row_text.split()
        assert head.split()[5:] == [
            *("CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT")
        ]
        epoch, target = ("-", "-") if protocol == "classic" else (row[5], f"{group}:0")
        assert row[2:] == [
            *("/127.0.0.1", "console-consumer", "1"),
            *(epoch, f"{group}:0", epoch, target),
        ]
        refused = groups("--reset-offsets", *named, "--topic", group, "--to-latest", "--execute")
        assert "can only be reset if the group" in refused.out
        assert "GroupNotEmptyException: The group is not empty." in groups("--delete", *named).out
        assert (
            "GroupSubscribedToTopicException"
            in groups("--delete-offsets", *named, "--topic", group).out
        )


@pytest.mark.parametrize(
    ("flags", "offset"),
    [
        (("--to-earliest",), 0),
        (("--to-latest",), 3),
        (("--to-current",), 1),
        (("--to-offset", "0"), 0),
        (("--to-offset", "2"), 2),
        (("--shift-by", "-1"), 0),
        (("--shift-by", "1"), 2),
        (("--to-datetime", "2020-01-01T00:00:00.000"), 0),
        (("--by-duration", "P1D"), 0),
    ],
)
def test_reset(groups: CommandLine, group: str, flags: tuple[str, ...], offset: int) -> None:
    reset = ("--reset-offsets", "--group", group)
    expected = f"{group},0,{offset}\n\n"
    assert groups.ok(*reset, "--all-topics", "--export", "--dry-run", *flags) == expected
    done = groups.ok(*reset, "--topic", f"{group}:0", "--execute", *flags)
    assert done.splitlines()[2].split() == [group, group, "0", str(offset)]
    rows = groups("--describe", "--group", group).out.splitlines()
    assert rows[2].split()[3] == str(offset)


def test_reset_to_an_offset_that_is_not_there(groups: CommandLine, group: str) -> None:
    reset = ("--reset-offsets", "--group", group, "--topic", group, "--export", "--dry-run")
    for wanted, got in (("99", 3), ("-5", 0)):
        done = groups(*reset, "--to-offset", wanted)
        assert done.out == f"{group},0,{got}\n\n"
        assert f"Value will be set to {got}" in done.err


def test_reset_where_nothing_is(groups: CommandLine, group: str) -> None:
    reset = ("--reset-offsets", "--group", "nobody", "--dry-run", "--topic")
    line = groups.fails(*reset, group, "--shift-by", "1")
    assert line.startswith(f"2: Cannot shift offset for partition {group}-0 since")
    for missing in ("zzz", f"{group}:7"):
        assert "UnknownTopicOrPartitionException" in groups.ok(*reset, missing, "--to-latest")
    later = groups.ok(*reset, group, "--by-duration", "PT-1H")
    assert "Falling back to latest known offset." in later
    assert later.splitlines()[-1].split() == ["nobody", group, "0", "3"]
    told = groups("--reset-offsets", "--group", "nobody", "--topic", group, "--to-latest")
    assert told.err == "WARN: nothing is changed without --execute; --dry-run says so\n"


def test_reset_from_what_was_exported(groups: CommandLine, group: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.csv"
    reset = ("--reset-offsets", "--group", group)
    path.write_text(groups.ok(*reset, "--all-topics", "--to-latest", "--export", "--dry-run"))
    done = groups.ok(*reset, "--from-file", str(path), "--execute")
    assert done.splitlines()[2].split() == [group, group, "0", "3"]
    path.write_text(f"someone else,{group},0,1\n")
    assert "No reset plan for group" in groups(*reset, "--from-file", str(path), "--dry-run").out


def test_deletion(groups: CommandLine, group: str) -> None:
    deleted = groups.ok("--delete-offsets", "--group", group, "--topic", group, "--topic", "zzz")
    missing = "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: "
    assert deleted == (
        f"Request succeeded for deleting offsets from group {group}.\n\n"
        f"{'TOPIC':{len(group)}} PARTITION  STATUS         \n"
        f"{group} 0          Successful     \n"
        f"{'zzz':{len(group)}} -          Error: {missing}"
        "This server does not host this topic-partition.\n"
    )
    gone = "org.apache.kafka.common.errors.GroupIdNotFoundException: The group id does not exist."
    assert groups.ok("--delete", "--group", group, "--group", "nobody") == (
        "\nError: Deletion of some consumer groups failed:\n"
        f"* Group 'nobody' could not be deleted due to: {gone}\n"
        f"\nThese consumer groups were deleted successfully: '{group}'\n"
    )
    assert group not in groups.ok("--list").splitlines()


def test_a_group_that_is_not_there(groups: CommandLine) -> None:
    assert groups.ok("--describe", "--group", "nobody") == (
        "\nError: Executing consumer group command failed due to"
        " org.apache.kafka.common.errors.GroupIdNotFoundException: Group nobody not found.\n"
    )
    assert "The group id does not exist." in groups.ok(
        "--delete-offsets", "--group", "nobody", "--topic", "t:0"
    )


@pytest.mark.parametrize(("regex", "text"), [("a+", "is valid."), ("(a", "is invalid: missing )")])
def test_regular_expressions(command: CommandLine, regex: str, text: str) -> None:
    assert f"`{regex}` {text}" in command.ok("groups", "--validate-regex", regex)


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        ((), "is required"),
        (("--list", "--describe"), "not allowed with"),
        (("--describe",), "--describe takes one of --group and --all-groups"),
        (("--describe", "--group", "g", "--members", "--state"), "takes at most one of"),
        (("--describe", "--group", "g", "--state", "x"), "does not take a value for --state"),
        (("--list", "--state", "x"), "Invalid list of states 'x'"),
        (("--list", "--type", "x"), "Invalid list of types 'x'"),
        (("--delete", "--group", "g", "--topic", "t"), "--delete takes no --topic"),
        (("--delete-offsets", "--group", "g"), "--delete-offsets takes one --group"),
        (("--list", "--timeout", "x"), "--timeout"),
        ((*RESET, "--topic", "t", "--to-latest", "--execute"), "takes one of --execute and"),
        ((*RESET, "--topic", "t"), "takes exactly one of --to-offset, --shift-by"),
        ((*RESET, "--topic", "t", "--to-latest", "--to-offset", "0"), "takes exactly one of"),
        ((*RESET, "--to-latest"), "One of the reset scopes should be defined"),
        ((*RESET, "--topic", "t:x", "--to-latest"), "Invalid partition 'x' specified"),
    ],
)
def test_bad_input(groups: CommandLine, flags: tuple[str, ...], text: str) -> None:
    line = groups.fails(*flags)
    assert line.startswith("2: ")
    assert text in line


def test_no_broker(command: CommandLine) -> None:
    line = command.of("groups", "--bootstrap-server", "localhost:1").fails("--list")
    assert line == "1: localhost:1: connection refused"


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.parametrize(
    "flags",
    [
        ("--describe", "--verbose"),
        ("--describe", "--members", "--verbose"),
        ("--describe", "--state", "--verbose"),
        ("--reset-offsets", "--all-topics", "--to-earliest", "--dry-run"),
    ],
)
def test_what_kafka_s_tool_prints(
    groups: CommandLine, bootstrap: str, group: str, flags: tuple[str, ...]
) -> None:
    arguments = (*flags, "--group", group)
    theirs = run_tool(TOOL, "--bootstrap-server", bootstrap, *arguments)
    assert groups(*arguments).out == theirs
