"""Our commands print what Kafka's tools print, about broker-lite and about a real Kafka."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from broker_lite.client.deadline import Deadline
from tests.support.command_line import CommandLine, command
from tests.support.reference_kafka import run_tool

__all__ = ["command"]

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.usefixtures("java")]
SETTLED_TIMEOUT_S = 30
TOOLS = "org.apache.kafka.tools"
USABLE = re.compile(r" \[(?:usable: \d+|unusable: [\w ]+)\],?$|,$", re.MULTILINE)
CONFIGS = re.compile(r"(?<=Configs: ).*")


def agree(ours: Callable[[], str], theirs: str) -> None:
    """Wait until both are the same: Kafka's broker sees later what its controller did."""
    deadline = Deadline(SETTLED_TIMEOUT_S)
    while ours() != theirs and deadline.pause(0.1):
        pass
    assert ours() == theirs


def create(command: CommandLine, bootstrap: str, topic: str, *arguments: str) -> None:
    """Create a topic and wait until every broker knows it."""
    named = ("--bootstrap-server", bootstrap, "--topic", topic)
    assert command.ok("topics", *named, "--create", *arguments) == f"Created topic {topic}.\n"
    agree(lambda: command.ok("topics", *named, "--list"), f"{topic}\n")


def with_sorted_configs(printed: str) -> str:
    """Described topics with their configs in order; Kafka's tool has them in that of a hash."""
    return CONFIGS.sub(lambda match: ",".join(sorted(match[0].split(","))), printed)


def test_topics(command: CommandLine, either: str, topic: str) -> None:
    at = ("--bootstrap-server", either)
    named = (*at, "--topic", topic)
    configs = ("--config", "retention.ms=1000", "--config", "cleanup.policy=compact")
    create(command, either, topic, "--partitions", "2", *configs)
    command.ok("topics", *named, "--alter", "--partitions", "3")
    theirs = run_tool(f"{TOOLS}.TopicCommand", *named, "--describe")
    assert theirs.count("\tPartition: ") == 3
    agree(
        lambda: with_sorted_configs(command.ok("topics", *named, "--describe")),
        with_sorted_configs(theirs),
    )
    listed = run_tool(f"{TOOLS}.TopicCommand", *at, "--list")
    assert command.ok("topics", *at, "--list") == listed
    command.ok("topics", *named, "--delete")
    agree(lambda: command.ok("topics", *named, "--list"), "")


def test_what_topics_refuse(command: CommandLine, either: str, topic: str) -> None:
    at = ("--bootstrap-server", either)
    named = (*at, "--topic", topic)
    create(command, either, topic)
    for arguments in (
        (*named, "--create"),
        (*at, "--topic", "b d", "--create"),
    ):
        line = command.fails("topics", *arguments)
        with pytest.raises(RuntimeError, match="exited with 1") as theirs:
            run_tool(f"{TOOLS}.TopicCommand", *arguments)
        said = line.removeprefix("1: ")
        assert f"Error while executing topic command : {said}\n" in str(theirs.value)


def test_configs(command: CommandLine, either: str, topic: str) -> None:
    at = ("--bootstrap-server", either)
    create(command, either, topic)
    added = ("--add-config", "cleanup.policy=[compact,delete],retention.ms=5")
    command.ok("configs", *at, "--topic", topic, "--alter", *added)
    command.ok("configs", *at, "--topic", topic, "--alter", "--delete-config", "retention.ms")
    command.ok("configs", *at, "--broker-defaults", "--alter", "--add-config", "log.retention.ms=9")
    for entity in (("--topic", topic, "--all"), ("--entity-type", "brokers")):
        asked = (*at, *entity, "--describe")
        theirs = run_tool("kafka.admin.ConfigCommand", *asked)
        agree(lambda asked=asked: command.ok("configs", *asked), theirs)
    command.ok(
        "configs", *at, "--broker-defaults", "--alter", "--delete-config", "log.retention.ms"
    )


def test_p134_levels_of_loggers(command: CommandLine, either: str) -> None:
    entity = ("--bootstrap-server", either, "--entity-type", "broker-loggers", "--entity-name", "1")
    before = re.search(r"root=(\w+)", command.ok("configs", *entity, "--describe"))
    assert before is not None
    changed = run_tool(
        "kafka.admin.ConfigCommand", *entity, "--alter", "--add-config", "root=ERROR"
    )
    assert command.ok("configs", *entity, "--alter", "--add-config", "root=ERROR") == changed
    described = run_tool("kafka.admin.ConfigCommand", *entity, "--describe")
    assert "root=ERROR sensitive=false synonyms={}" in described
    agree(lambda: command.ok("configs", *entity, "--describe"), described)
    refused = command.fails("configs", *entity, "--alter", "--add-config", "root=loud")
    assert "Cannot set the log level of root to loud as it is not a supported log level." in refused
    command.ok("configs", *entity, "--alter", "--add-config", f"root={before.group(1)}")


@pytest.mark.parametrize("time", ["latest", "-3"])
def test_offsets(command: CommandLine, either: str, topic: str, time: str) -> None:
    at = ("--bootstrap-server", either)
    create(command, either, topic, "--partitions", "3")
    asked = (*at, "--topic-partitions", f"{topic}:1-", "--time", time)
    assert command.ok("offsets", *asked) == run_tool(f"{TOOLS}.GetOffsetShell", *asked)


def test_api_versions(command: CommandLine, either: str) -> None:
    at = ("--bootstrap-server", either)
    ours = USABLE.sub("", command.ok("api-versions", *at)).splitlines()
    theirs = USABLE.sub("", run_tool(f"{TOOLS}.BrokerApiVersionsCommand", *at)).splitlines()
    assert [line for line in theirs if line not in ours] == []
    assert ours[0] == theirs[0]
    assert ours[-1] == theirs[-1]


@pytest.mark.parametrize("asked", ["cluster-id", "list-endpoints"])
def test_cluster(command: CommandLine, either: str, asked: str) -> None:
    arguments = (asked, "--bootstrap-server", either)
    assert command.ok("cluster", *arguments) == run_tool(f"{TOOLS}.ClusterTool", *arguments)


def test_storage(command: CommandLine, tmp_path: Path) -> None:
    config = tmp_path / "server.properties"
    config.write_text(
        "process.roles=broker,controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\n"
        "listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093\n"
        f"controller.quorum.voters=1@127.0.0.1:9093\nlog.dirs={tmp_path}/data\n"
    )
    of_config = ("-c", str(config))
    command.ok("storage", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", *of_config)
    shown = run_tool("kafka.tools.StorageTool", "info", *of_config)
    assert shown == command.ok("storage", "info", *of_config)
