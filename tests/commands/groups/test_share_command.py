"""`kafka share-groups`, with the flags and the words of kafka-share-groups.sh.

Also tests: broker_lite.commands.groups.share_tables, broker_lite.commands.groups.typed.
"""

from collections.abc import Iterator

import pytest

from tests.support.command_line import CommandLine
from tests.support.reference_kafka import run_tool
from tests.support.share_members import ShareMembers, id_of

TOOL = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
ERRORS = "org.apache.kafka.common.errors."


@pytest.fixture
def groups(command: CommandLine, bootstrap: str) -> CommandLine:
    """The command with a broker's address."""
    return command.of("kafka", "share-groups", "--bootstrap-server", bootstrap)


@pytest.fixture
def side(bootstrap: str, topic: str) -> Iterator[ShareMembers]:
    """A group that has accepted 4 of 10 records of the topic with its name."""
    port = int(bootstrap.rpartition(":")[2])
    side = ShareMembers(port, topic, {"share.auto.offset.reset": "earliest"})
    side.join("a")
    side.append(9)
    side.fetch("a", 10, 10, True)
    side.say("a", [(0, 3, [1])], False)
    yield side
    side.close()


@pytest.fixture
def empty(side: ShareMembers, topic: str) -> str:
    """The group, after its member has left."""
    side._beat("a", -1)
    return topic


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


@pytest.mark.usefixtures("side")
def test_list(groups: CommandLine, topic: str) -> None:
    assert topic in groups.ok("--list").splitlines()
    head, *listed = rows(groups.ok("--list", "--state", "stable,EMPTY"))
    assert head == ["GROUP", "STATE"]
    assert [topic, "Stable"] in listed
    assert [topic, "Stable"] not in rows(groups.ok("--list", "--state", "Empty"))


@pytest.mark.usefixtures("side")
def test_a_group_in_use(groups: CommandLine, bootstrap: str, topic: str) -> None:
    described = groups.ok("--describe", "--group", topic)
    wide = len(topic)
    assert described == (
        f"\n{'GROUP':{wide}} {'TOPIC':{wide}} PARTITION  START-OFFSET  LAG\n"
        f"{topic} {topic} 0          0             6\n"
    )
    assert rows(groups.ok("--describe", "--all-groups", "--verbose"))[1][3] == "LEADER-EPOCH"
    members = groups.ok("--describe", "--group", topic, "--members", "--verbose")
    assert rows(members)[1:] == [
        ["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "MEMBER-EPOCH", "ASSIGNMENT"],
        [topic, id_of("a"), "/127.0.0.1", "raw-client", "1", "2", f"{topic}:0"],
    ]
    state = rows(groups.ok("--describe", "--group", topic, "--state"))
    assert state[2] == [topic, bootstrap, "(1)", "Stable", "1"]
    epochs = rows(groups.ok("--describe", "--group", topic, "--state", "--verbose"))
    assert epochs[2] == [topic, bootstrap, "(1)", "Stable", "2", "2", "1"]
    deleted = groups.ok("--delete", "--group", topic)
    assert f"{ERRORS}GroupNotEmptyException: Share group '{topic}' is not EMPTY." in deleted
    reset = groups("--reset-offsets", "--group", topic, "--all-topics", "--to-latest", "--execute")
    assert (reset.code, reset.err) == (1, f"Share group '{topic}' is not empty.\n")
    assert groups.ok("--delete-offsets", "--group", topic, "--topic", topic) == (
        "\nError: The group is not empty.\n\n"
        f"{'TOPIC':{wide}} STATUS\n{topic} Error: The group is not empty.\n"
    )


def test_an_empty_group(groups: CommandLine, empty: str) -> None:
    told = f"\nShare group '{empty}' has no active members.\n"
    assert groups("--describe", "--group", empty, "--members") == (0, "", told)
    state = groups("--describe", "--group", empty, "--state")
    assert (rows(state.out)[2][3:], state.err) == (["Empty", "0"], told)


@pytest.mark.parametrize(
    ("flags", "offset"),
    [
        (("--to-earliest",), 0),
        (("--to-latest",), 10),
        (("--to-datetime", "2020-01-01T00:00:00"), 0),
    ],
)
def test_reset(groups: CommandLine, empty: str, flags: tuple[str, ...], offset: int) -> None:
    reset = ("--reset-offsets", "--group", empty, *flags)
    before = groups.ok("--describe", "--group", empty)
    shown = groups.ok(*reset, "--all-topics", "--dry-run")
    assert rows(shown)[2] == [empty, empty, "0", str(offset)]
    assert groups.ok("--describe", "--group", empty) == before
    assert groups.ok(*reset, "--topic", f"{empty}:0", "--execute") == shown
    assert rows(groups.ok("--describe", "--group", empty))[2][3] == str(offset)


def test_reset_where_nothing_is(groups: CommandLine, empty: str) -> None:
    reset = ("--reset-offsets", "--to-latest", "--execute", "--topic")
    assert groups.ok(*reset, "zzz", "--group", empty) == (
        "\nError: Executing share group command failed due to"
        " This server does not host this topic-partition.\n"
    )
    new = f"new-{empty}"
    groups.ok(*reset, empty, "--group", new)
    assert rows(groups.ok("--describe", "--group", new))[2][3] == "10"


def test_deletion(groups: CommandLine, empty: str) -> None:
    deleted = groups.ok("--delete-offsets", "--group", empty, "--topic", empty, "--topic", "zzz")
    assert deleted == (
        f"\n{'TOPIC':{len(empty)}} STATUS\n{empty} Successful\n"
        f"{'zzz':{len(empty)}} Error: This server does not host this topic-partition.\n"
    )
    assert groups.ok("--describe", "--group", empty) == (
        f"\nShare group '{empty}' has no offset information.\n"
    )
    assert groups.ok("--delete", "--group", empty, "--group", "nobody") == (
        "\nError: Deletion of some share groups failed:\n"
        "* Group 'nobody' could not be deleted due to: java.lang.IllegalArgumentException:"
        " Group 'nobody' is not a share group.\n"
        f"\nThese share groups were deleted successfully: '{empty}'\n"
    )
    assert empty not in groups.ok("--list").splitlines()


def test_deletion_of_one_and_of_none(groups: CommandLine, empty: str) -> None:
    assert groups.ok("--delete", "--group", empty) == (
        f"Deletion of requested share groups ('{empty}') was successful.\n"
    )


def test_a_group_that_is_not_there(groups: CommandLine) -> None:
    assert groups.ok("--describe", "--group", "nobody") == (
        "\nError: Executing share group command failed due to"
        f" {ERRORS}GroupIdNotFoundException: Group nobody not found.\n"
    )
    deleted = groups.ok("--delete-offsets", "--group", "nobody", "--topic", "t")
    assert deleted.startswith("\nError: Group nobody not found.\n\nTOPIC")


RESET = ("--reset-offsets", "--group", "g")


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        ((), "is required"),
        (("--describe",), "--describe takes one of --group and --all-groups"),
        (("--describe", "--group", "g", "--all-groups"), "takes one of --group and --all-groups"),
        (("--describe", "--group", "g", "--members", "--state"), "takes at most one of"),
        (("--describe", "--group", "g", "--state", "x"), "does not take a value for --state"),
        (("--list", "--verbose"), "--verbose goes with --describe"),
        (
            ("--list", "--state", "x"),
            "Invalid state list 'x'. Valid states are: Empty, Stable, Dead",
        ),
        (("--delete", "--group", "g", "--topic", "t"), "--delete takes no --topic"),
        (("--delete-offsets", "--group", "g"), "--delete-offsets takes one --group"),
        ((*RESET, "--topic", "t", "--to-latest"), "takes one of --execute and --dry-run"),
        ((*RESET, "--topic", "t", "--dry-run"), "exactly one of --to-datetime, --to-earliest"),
        ((*RESET, "--to-latest", "--dry-run"), "takes one of --all-topics and --topic"),
        ((*RESET, "--group", "h", "--dry-run"), "--reset-offsets takes one --group"),
    ],
)
def test_bad_input(groups: CommandLine, flags: tuple[str, ...], text: str) -> None:
    line = groups.fails(*flags)
    assert line.startswith("2: ")
    assert text in line


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.usefixtures("side")
@pytest.mark.parametrize(
    "flags",
    [
        ("--describe", "--verbose"),
        ("--describe", "--members"),
        ("--describe", "--members", "--verbose"),
        ("--describe", "--state", "--verbose"),
        ("--delete",),
    ],
)
def test_what_kafka_s_tool_prints(
    groups: CommandLine, bootstrap: str, topic: str, flags: tuple[str, ...]
) -> None:
    arguments = (*flags, "--group", topic)
    theirs = run_tool(TOOL, "--bootstrap-server", bootstrap, *arguments)
    assert groups(*arguments).out == theirs


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.parametrize(
    "flags",
    [
        ("--reset-offsets", "--all-topics", "--to-earliest", "--dry-run"),
        ("--reset-offsets", "--topic", "zzz", "--to-latest", "--dry-run"),
        ("--delete-offsets", "--topic", "zzz"),
    ],
)
def test_what_kafka_s_tool_prints_of_an_empty_group(
    groups: CommandLine, bootstrap: str, empty: str, flags: tuple[str, ...]
) -> None:
    arguments = (*flags, "--group", empty)
    theirs = run_tool(TOOL, "--bootstrap-server", bootstrap, *arguments)
    assert groups(*arguments).out == theirs
