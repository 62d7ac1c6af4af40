"""`kafka streams-groups`, with the flags and the words of kafka-streams-groups.sh.

Also tests: broker_lite.commands.groups.streams_tables,
broker_lite.commands.groups.streams_internal_topics.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_lite.testing import Broker
from broker_lite.wire import messages
from tests.differential.streams_side import StreamsSide
from tests.support.command_line import CommandLine
from tests.support.reference_kafka import run_tool

TOOL = "org.apache.kafka.tools.streams.StreamsGroupCommand"
ERRORS = "org.apache.kafka.common.errors."
Heartbeat = messages.StreamsGroupHeartbeatRequest
REPARTITION = "s-r-repartition"
CHANGELOG = "s-c-changelog"
ODD = "odd"
COUNTS = Heartbeat.Subtopology(
    subtopology_id="0",
    source_topics=["words"],
    state_changelog_topics=[Heartbeat.TopicInfo(name=CHANGELOG), Heartbeat.TopicInfo(name=ODD)],
    repartition_sink_topics=[REPARTITION],
)
SUMS = Heartbeat.Subtopology(
    subtopology_id="1",
    repartition_source_topics=[Heartbeat.TopicInfo(name=REPARTITION, partitions=2)],
)
JOIN = {
    "rebalance_timeout_ms": 1000,
    "topology": Heartbeat.Topology(epoch=0, subtopologies=[COUNTS, SUMS]),
    "active_tasks": [],
    "standby_tasks": [],
    "warmup_tasks": [],
}


@pytest.fixture(scope="module")
def running() -> Iterator[Broker]:
    settings = {
        "group.streams.initial.rebalance.delay.ms": 0,
        "group.streams.num.standby.replicas": 1,
    }
    with Broker(settings) as started:
        yield started


@pytest.fixture
def side(running: Broker) -> Iterator[StreamsSide]:
    """The group "s" of two members, which has committed an offset of one partition."""
    running.reset()
    running.create_topic("words", partitions=2)
    running.produce("words", "x", "y", partition=0)
    side = StreamsSide(running.port, "s")
    for member in ("a", "b"):
        side.beat(member, {**JOIN, "process_id": f"p{member}"})
    side.await_topics({CHANGELOG: 2, REPARTITION: 2})
    for _ in range(4):
        for member in ("a", "b"):
            side.beat(member, {})
    running.wait_for_streams_group("s", members=2)
    for member in ("a", "b"):  # the one that has the task is heard
        side.commit(member, side.epochs[member], "words", 0, 9)
    yield side
    side.close()


@pytest.fixture
def empty(side: StreamsSide) -> None:
    """The members have left."""
    for member in ("a", "b"):
        side.beat(member, {"member_epoch": -1})


@pytest.fixture
def groups(command: CommandLine, running: Broker) -> CommandLine:
    """The command with a broker's address."""
    return command.of("kafka", "streams-groups", "--bootstrap-server", running.bootstrap)


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


@pytest.mark.usefixtures("side")
def test_a_group_in_use(groups: CommandLine, running: Broker) -> None:
    assert groups.ok("--list") == "s\n"
    assert rows(groups.ok("--list", "--state")) == [["GROUP", "STATE"], ["s", "Stable"]]
    assert rows(groups.ok("--list", "--state", "empty")) == [["GROUP", "STATE"]]
    assert rows(groups.ok("--describe", "--group", "s"))[1:] == [
        ["s", REPARTITION, "0", "0"],
        ["s", REPARTITION, "1", "0"],
        ["s", "words", "0", "2"],
        ["s", "words", "1", "0"],
    ]
    wide = groups.ok("--describe", "--all-groups", "--verbose")
    assert rows(wide)[3] == ["s", "words", "0", "0", "-", "2", "2"]
    members = groups.ok("--describe", "--group", "s", "--members")
    assert rows(members)[1] == [
        *("s", "a", "pa", "raw-client"),
        *("ACTIVE:", "0:[0];", "1:[0];", "STANDBY:", "0:[1];"),
    ]
    verbose = groups.ok("--describe", "--group", "s", "--members", "--verbose")
    assert rows(verbose)[0][3:5] == ["MEMBER", "MEMBER-PROTOCOL"]
    assert rows(verbose)[1][1:6] == ["3", "0", "a", "streams", "3"]
    assert rows(verbose)[1][-3:] == ["1:[0];", "TARGET-STANDBY:", "0:[1];"]
    state = groups.ok("--describe", "--group", "s", "--state", "--verbose")
    assert rows(state)[1] == ["s", running.bootstrap, "(1)", "Stable", "3", "3", "2"]
    reset = ("--reset-offsets", "--group", "s", "--all-input-topics", "--to-latest", "--execute")
    assert groups.ok(*reset).startswith(
        "\nError: Assignments can only be reset if the group 's' is inactive,"
        " but the current state is Stable.\n"
    )
    assert "Streams group 's' is not EMPTY." in groups.ok("--delete", "--group", "s")
    refused = groups.ok("--delete-offsets", "--group", "s", "--input-topic", "words")
    assert f"Error: {ERRORS}GroupSubscribedToTopicException" in refused


@pytest.mark.usefixtures("empty")
def test_an_empty_group(groups: CommandLine) -> None:
    assert groups.ok("--describe", "--group", "s") == ""
    assert groups.ok("--describe", "--group", "s", "--members") == ""
    state = groups.ok("--describe", "--group", "s", "--state")
    assert state.startswith("\nError: Streams group 's' has no active members.\nGROUP")
    assert rows(state)[-1][3:] == ["Empty", "0"]


@pytest.mark.usefixtures("empty")
def test_reset(groups: CommandLine, tmp_path: Path) -> None:
    reset = ("--reset-offsets", "--group", "s")
    scope = "--all-input-topics"
    assert groups.ok(*reset, scope, "--shift-by", "1", "--export", "--dry-run") == "words,0,1\n\n"
    shown = groups.ok(*reset, "--input-topic", "words:0", "--to-latest", "--execute")
    assert shown == (
        f"\n{'GROUP':30} {'TOPIC':30} {'PARTITION':10} {'NEW-OFFSET':15}\n"
        f"{'s':30} {'words':30} {'0':10} {'2':15}\n"
    )
    assert groups.ok(*reset, scope, "--to-current", "--export", "--dry-run") == "words,0,2\n\n"
    others = groups.ok(*reset, "--input-topic", "words", "--to-latest", "--dry-run")
    assert others.startswith("\nError: One or more topics are not part of the group 's'.\n")
    path = tmp_path / "plan.csv"
    path.write_text("words,0,1\n")
    groups.ok(*reset, "--from-file", str(path), "--execute")
    assert groups.ok(*reset, scope, "--to-current", "--export", "--dry-run") == "words,0,1\n\n"
    new = ("--reset-offsets", "--group", "new", "--to-latest", "--dry-run")
    assert "not part of the group 'new'" in groups.ok(*new, "--input-topic", "words")


@pytest.mark.usefixtures("empty")
def test_a_reset_deletes_internal_topics(groups: CommandLine, running: Broker) -> None:
    reset = ("--reset-offsets", "--group", "s", "--all-input-topics", "--to-earliest", "--execute")
    groups.ok(*reset, "--delete-internal-topic", CHANGELOG)
    assert CHANGELOG not in names(running)
    told = groups.ok(*reset, "--delete-internal-topic", CHANGELOG)
    assert "for group 's' failed because the topics do not exist." in told
    assert f"The internal topic '{ODD}' is not inferred as internal" in groups.ok(
        *reset, "--delete-all-internal-topics"
    )
    assert names(running) == {"words", ODD}


def names(broker: Broker) -> set[str]:
    """The topics of users."""
    listed = broker.control("GET", "/v1/topics")
    assert isinstance(listed, list)
    return {each["name"] for each in listed if not each["name"].startswith("__")}


@pytest.mark.usefixtures("empty")
def test_deletion(groups: CommandLine, running: Broker) -> None:
    delete = ("--delete-offsets", "--group", "s", "--input-topic", "words:0")
    deleted = groups.ok(*delete, "--input-topic", "zzz")
    assert deleted == (
        "Request succeeded for deleting offsets from group s.\n\n"
        f"{'TOPIC':15} PARTITION  {'STATUS':15}\n"
        f"{'words':15} 0          {'Successful':15}\n"
        f"{'zzz':15} -          Error: {ERRORS}UnknownTopicOrPartitionException: "
        "This server does not host this topic-partition.\n"
    )
    assert "Successful" not in groups.ok("--delete-offsets", "--group", "s", "--all-input-topics")
    deleted = groups.ok("--delete", "--group", "s", "--delete-all-internal-topics")
    assert deleted.endswith(
        "Deletion of requested streams groups ('s') was successful.\n"
        "Deletion of associated internal topics of the streams groups ('s') was successful.\n"
    )
    assert (groups.ok("--list"), names(running)) == ("", {"words", ODD})


@pytest.mark.usefixtures("empty")
def test_deletion_of_some(groups: CommandLine) -> None:
    assert groups.ok("--delete", "--group", "s", "--group", "nobody") == (
        "\nError: Deletion of some streams groups failed:\n"
        "* Group 'nobody' could not be deleted due to: java.lang.IllegalArgumentException:"
        " Group 'nobody' does not exist or is not a streams group.\n"
        "\nThese streams groups were deleted successfully: 's'.\n"
    )


def test_a_group_that_is_not_there(groups: CommandLine) -> None:
    line = f"{ERRORS}GroupIdNotFoundException: Group nobody not found."
    described = groups("--describe", "--group", "nobody")
    assert described == (
        *(1, f"\nError: Executing streams group command failed due to {line}\n", ""),
    )
    deleted = groups.ok("--delete-offsets", "--group", "nobody", "--input-topic", "t:0")
    assert deleted.startswith("\nError: The group id does not exist.\n\nTOPIC")


RESET = ("--reset-offsets", "--group", "g", "--to-latest")


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        ((), "is required"),
        (("--describe",), "--describe takes one of --group and --all-groups"),
        (("--list", "--state", "x"), "Valid states are: Empty, NotReady, Stable, Assigning"),
        (("--delete", "--group", "g", "--input-topic", "t"), "--delete is for whole groups"),
        (("--delete-offsets", "--group", "g"), "--delete-offsets takes one --group"),
        (("--list", "--execute"), "--execute and --dry-run go with --reset-offsets"),
        (("--list", "--delete-all-internal-topics"), "goes with --delete or --reset-offsets"),
        ((*RESET, "--all-input-topics"), "takes one of --execute and --dry-run"),
        ((*RESET, "--dry-run"), "takes one of --all-input-topics and --input-topic"),
        ((*RESET, "--to-earliest", "--dry-run"), "takes exactly one of --to-offset, --shift-by"),
        ((*RESET, "--all-groups", "--dry-run"), "takes one of --group and --all-groups"),
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
        ("--describe", "--members", "--verbose"),
        ("--describe", "--state", "--verbose"),
    ],
)
def test_what_kafka_s_tool_prints(
    groups: CommandLine, running: Broker, flags: tuple[str, ...]
) -> None:
    """Its rows are in the order of a hash map, those of here in that of names."""
    arguments = (*flags, "--group", "s")
    theirs = run_tool(TOOL, "--bootstrap-server", running.bootstrap, *arguments)
    assert sorted(groups(*arguments).out.splitlines()) == sorted(theirs.splitlines())


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.usefixtures("empty")
@pytest.mark.parametrize(
    "flags",
    [
        ("--describe", "--state"),
        ("--reset-offsets", "--input-topic", "words:0", "--to-latest", "--dry-run"),
        ("--reset-offsets", "--all-input-topics", "--to-earliest", "--dry-run", "--export"),
        ("--delete-offsets", "--input-topic", "zzz"),
        ("--delete",),
    ],
)
def test_what_kafka_s_tool_prints_of_an_empty_group(
    groups: CommandLine, running: Broker, flags: tuple[str, ...]
) -> None:
    arguments = (*flags, "--group", "s")
    if flags == ("--delete",):
        arguments = (*flags, "--group", "nobody")
    theirs = run_tool(TOOL, "--bootstrap-server", running.bootstrap, *arguments)
    assert groups(*arguments).out == theirs
