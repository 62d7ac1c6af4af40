"""`kafka reassign-partitions`, with the flags and the lines of kafka-reassign-partitions.sh."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from broker_lite.errors import ErrorCode
from broker_lite.wire import messages
from tests.support.command_line import CommandLine, Done
from tests.support.scripted_server import ScriptedServer, answer, read_request, speak

NO_MOVES = "None of the specified partition moves are active."


@pytest.fixture
def reassign(command: CommandLine, bootstrap: str) -> CommandLine:
    """The tool with a broker's address."""
    return command.of("kafka", "reassign-partitions", "--bootstrap-server", bootstrap)


@pytest.fixture
def created(command: CommandLine, bootstrap: str, topic: str) -> str:
    """A topic with two partitions."""
    at = ("--bootstrap-server", bootstrap, "--topic", topic)
    command.ok("topics", *at, "--create", "--partitions", "2")
    return topic


def file_of(folder: Path, topic: str, *replicas: int, partition: int = 1, **more: Any) -> str:
    """A file that asks for one partition on brokers."""
    path = folder / "plan.json"
    entry = {"topic": topic, "partition": partition, "replicas": replicas, **more}
    path.write_text(json.dumps({"version": 1, "partitions": [entry]}))
    return str(path)


def cleared(topic: str) -> list[str]:
    """What is printed when there is nothing left to do."""
    return [
        "Clearing broker-level throttles on broker 1",
        f"Clearing topic-level throttles on topic {topic}",
    ]


def test_nothing_is_under_way(reassign: CommandLine) -> None:
    assert reassign.ok("--list") == "No partition reassignments found.\n"


def test_generated_executed_verified_cancelled(
    reassign: CommandLine, created: str, tmp_path: Path
) -> None:
    topics = tmp_path / "topics.json"
    topics.write_text(json.dumps({"topics": [{"topic": created}], "version": 1}))
    asked = ("--topics-to-move-json-file", str(topics), "--broker-list", "1,2")
    lines = reassign.ok("--generate", *asked).splitlines()
    assert [*lines[::3], lines[2]] == [
        "Current partition replica assignment",
        "Proposed partition reassignment configuration",
        "",
    ]
    current, proposed = json.loads(lines[1]), json.loads(lines[4])
    assert [each["replicas"] for each in proposed["partitions"]] == [[1], [1]]
    plan = tmp_path / "plan.json"
    plan.write_text(lines[1])
    directory = current["partitions"][0]["log_dirs"][0]
    executed = reassign.ok("--execute", "--reassignment-json-file", str(plan))
    moving = f"Successfully started moving log directory to {directory} for replica {created}"
    assert executed.splitlines() == [
        "Current partition replica assignment",
        "",
        lines[1],
        "",
        "Save this to use as the --reassignment-json-file option during rollback",
        f"Successfully started partition reassignments for {created}-0,{created}-1",
        *(f"{moving}-{number} with broker 1 " for number in (0, 1)),
    ]
    assert reassign.ok("--verify", "--reassignment-json-file", str(plan)).splitlines() == [
        "Status of partition reassignment:",
        *(f"Reassignment of partition {created}-{number} is completed." for number in (0, 1)),
        *(
            f"Reassignment of replica {created}-{number}-1 completed successfully."
            for number in (0, 1)
        ),
        *cleared(created),
    ]
    first, second = cleared(created)
    assert reassign.ok("--cancel", "--reassignment-json-file", str(plan)).splitlines() == [
        "None of the specified partition reassignments are active.",
        NO_MOVES + first,
        second,
    ]


def test_verify_what_was_never_begun(reassign: CommandLine, created: str, tmp_path: Path) -> None:
    asked = ("--reassignment-json-file", file_of(tmp_path, created, 1, 2))
    assert reassign.ok("--verify", *asked, "--preserve-throttles").splitlines() == [
        "Status of partition reassignment:",
        f"There is no active reassignment of partition {created}-1, but replica set is 1 rather"
        " than 1,2.",
        "",
    ]


def test_what_is_not_there(reassign: CommandLine, created: str, tmp_path: Path) -> None:
    asked = ("--execute", "--reassignment-json-file")
    assert reassign.fails(*asked, file_of(tmp_path, created, 7)) == "1: Unknown broker id 7"
    assert reassign.fails(*asked, file_of(tmp_path, "no-such-topic", 1)) == (
        "1: Topic no-such-topic not found."
    )
    assert reassign.fails(*asked, file_of(tmp_path, created, 1, partition=5)) == (
        f"1: Unable to find partition: {created}-5"
    )


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (("--execute",), 'Missing required argument "[reassignment-json-file]"'),
        (
            ("--list", "--additional"),
            'Option "[additional]" can\'t be used with action "[list]"',
        ),
        (
            ("--execute", "--reassignment-json-file", "f", "--throttle", "5"),
            "throttles are not supported: leave them out",
        ),
        (
            ("--generate", "--topics-to-move-json-file", "f", "--broker-list", "a"),
            "--broker-list a: not numbers",
        ),
    ],
)
def test_flags_that_are_refused(reassign: CommandLine, flags: tuple[str, ...], line: str) -> None:
    assert reassign.fails(*flags) == f"2: {line}"


def test_generate_with_something_twice(reassign: CommandLine, tmp_path: Path) -> None:
    topics = tmp_path / "topics.json"
    topics.write_text(json.dumps({"topics": [{"topic": "t"}] * 2}))
    asked = ("--generate", "--topics-to-move-json-file", str(topics), "--broker-list")
    assert reassign.fails(*asked, "1,1") == "1: Broker list contains duplicate entries: [1]"
    assert reassign.fails(*asked, "1") == (
        "1: List of topics to reassign contains duplicate entries: [t]"
    )


def send(client: socket.socket, message: Any, value: Any, *, flexible: bool = False) -> None:
    """Answer one request; flexible answers have tagged fields in front."""
    _, version, correlation_id = read_request(client)
    answer(client, correlation_id, b"\0" * flexible + message.encode(value, version))


def with_one_under_way(
    command: CommandLine, path: str, action: str, code: int | None = None
) -> Done:
    """Ask brokers of which one is being given the partition t-1."""

    def serve(client: socket.socket) -> None:
        speak(
            client,
            Metadata=(0, 5),
            ListPartitionReassignments=(0, 0),
            AlterPartitionReassignments=(0, 0),
        )
        make: Any = messages.MetadataResponse
        broker = make.MetadataResponseBroker(node_id=1, host="127.0.0.1", port=server.port)
        metadata = make(brokers=[broker], controller_id=1)
        send(client, make, metadata)
        listed: Any = messages.ListPartitionReassignmentsResponse
        each = listed.OngoingPartitionReassignment(
            partition_index=1, replicas=[1, 2, 3], adding_replicas=[2], removing_replicas=[3]
        )
        topic = listed.OngoingTopicReassignment(name="t", partitions=[each])
        send(client, listed, listed(topics=[topic]), flexible=True)
        if action == "--verify":
            send(client, make, metadata)
        if code is not None:
            altered: Any = messages.AlterPartitionReassignmentsResponse
            result = altered.ReassignablePartitionResponse(partition_index=1, error_code=code)
            found = altered.ReassignableTopicResponse(name="t", partitions=[result])
            send(client, altered, altered(responses=[found]), flexible=True)

    with ScriptedServer(serve) as server:
        flags = () if action == "--list" else ("--reassignment-json-file", path)
        if action == "--cancel":
            flags = (*flags, "--preserve-throttles")
        at = ("--bootstrap-server", server.bootstrap)
        return command("kafka", "reassign-partitions", *at, action, *flags)


def test_list_what_is_under_way(command: CommandLine) -> None:
    assert with_one_under_way(command, "", "--list").out.splitlines() == [
        "Current partition reassignments:",
        "t-1: replicas: 1,2,3. adding: 2. removing: 3.",
    ]


def test_verify_what_is_under_way(command: CommandLine, tmp_path: Path) -> None:
    done = with_one_under_way(command, file_of(tmp_path, "t", 1, 2), "--verify")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "Status of partition reassignment:",
        "Reassignment of partition t-1 is still in progress.",
        "",
    ]


def test_execute_while_one_is_under_way(command: CommandLine, tmp_path: Path) -> None:
    done = with_one_under_way(command, file_of(tmp_path, "t", 1, 2), "--execute")
    assert done.code == 1
    assert "Cannot execute because there is an existing partition assignment." in done.err


def test_cancel_what_is_under_way(command: CommandLine, tmp_path: Path) -> None:
    done = with_one_under_way(command, file_of(tmp_path, "t", 1, 2), "--cancel", 0)
    assert (done.code, done.err) == (0, "")
    assert done.out == f"Successfully cancelled partition reassignment for: t-1\n{NO_MOVES}"


def test_a_cancellation_that_is_refused(command: CommandLine, tmp_path: Path) -> None:
    code = ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    done = with_one_under_way(command, file_of(tmp_path, "t", 1, 2), "--cancel", code)
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        "broker-lite: Error cancelling partition reassignment for: t-1: No partition reassignment"
        " is in progress.\n"
    )
