"""The names of Kafka's scripts under which broker-lite can be called.

Under such a name, with or without `.sh`, it takes the command line of Kafka's script; a link to
broker-lite is enough. `python -m broker_lite.commands.scripts` prints the names, one per line.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from broker_lite.commands.kafka.missing import MISSING_SCRIPTS
from broker_lite.commands.kafka.tools import TOOLS
from broker_lite.errors import SettingsError

# Kafka's tools retry while no broker listens yet, and users rely on it.
_WAITING: Final = ("--wait", "60")

SCRIPTS: Final[Mapping[str, tuple[str, ...]]] = {
    "kafka-topics": ("topics", *_WAITING),
    "kafka-configs": ("configs", *_WAITING),
    "kafka-console-producer": ("produce", *_WAITING),
    "kafka-console-consumer": ("consume", *_WAITING),
    "kafka-consumer-groups": ("groups", *_WAITING),
    "kafka-broker-api-versions": ("api-versions", *_WAITING),
    "kafka-get-offsets": ("offsets", *_WAITING),
    "kafka-cluster": ("cluster",),
    "kafka-storage": ("storage",),
    "kafka-dump-log": ("log", "dump"),
    "kafka-server-start": ("serve",),
    **{f"kafka-{tool}": ("kafka", tool, *_WAITING) for tool in TOOLS},
    "kafka-server-stop": ("kafka", "server-stop"),  # asks no broker
    **{script: ("kafka", tool) for tool, script in MISSING_SCRIPTS.items()},
    "kafka-run-class": (),  # replaced by the script of the class
}

# The classes behind the scripts, without their packages, which changed between versions.
_CLASSES: Final[Mapping[str, str]] = {
    "AclCommand": "kafka-acls",
    "BrokerApiVersionsCommand": "kafka-broker-api-versions",
    "ClientMetricsCommand": "kafka-client-metrics",
    "ClusterTool": "kafka-cluster",
    "ConfigCommand": "kafka-configs",
    "ConsoleConsumer": "kafka-console-consumer",
    "ConsoleProducer": "kafka-console-producer",
    "ConsumerGroupCommand": "kafka-consumer-groups",
    "ConsumerPerformance": "kafka-consumer-perf-test",
    "DeleteRecordsCommand": "kafka-delete-records",
    "DumpLogSegments": "kafka-dump-log",
    "EndToEndLatency": "kafka-e2e-latency",
    "FeatureCommand": "kafka-features",
    "GetOffsetShell": "kafka-get-offsets",
    "GroupsCommand": "kafka-groups",
    "Kafka": "kafka-server-start",
    "LeaderElectionCommand": "kafka-leader-election",
    "LogDirsCommand": "kafka-log-dirs",
    "ProducerPerformance": "kafka-producer-perf-test",
    "MetadataQuorumCommand": "kafka-metadata-quorum",
    "ReassignPartitionsCommand": "kafka-reassign-partitions",
    "ShareGroupCommand": "kafka-share-groups",
    "StorageTool": "kafka-storage",
    "StreamsGroupCommand": "kafka-streams-groups",
    "TopicCommand": "kafka-topics",
    "TransactionsCommand": "kafka-transactions",
}


def script_names() -> list[str]:
    """Return every name, without and with `.sh`."""
    return [f"{name}{suffix}" for name in SCRIPTS for suffix in ("", ".sh")]


def as_command(program: str, arguments: Sequence[str]) -> list[str]:
    """Turn a call by the name of one of the scripts into a command with its arguments.

    Args:
        program: the name without its folder.
        arguments: those after it.

    Returns:
        The arguments for broker-lite; unchanged if the program has another name.

    Raises:
        SettingsError: the arguments of kafka-server-start or kafka-run-class are wrong.
    """
    name = program.removesuffix(".sh")
    if name == "kafka-run-class":
        return as_command(_script_of_class(arguments), arguments[1:])
    command = SCRIPTS.get(name)
    if command is None:
        return list(arguments)
    if name == "kafka-server-start":
        arguments = _server_start(arguments)
    return [*command, *arguments]


def _server_start(arguments: Sequence[str]) -> list[str]:
    """Turn FILE [--override NAME=VALUE]... into `--config FILE` and `--set NAME=VALUE`."""
    if not arguments or arguments[0].startswith("-"):
        raise SettingsError("kafka-server-start FILE [--override NAME=VALUE]...: no FILE is given")
    rest = ["--set" if word == "--override" else word for word in arguments[1:]]
    return ["--config", arguments[0], *rest]


def _script_of_class(arguments: Sequence[str]) -> str:
    """Return the script of the Java class that is the first argument."""
    name = arguments[0] if arguments else ""
    script = _CLASSES.get(name.rpartition(".")[2])
    if script is None:
        raise SettingsError(
            f"kafka-run-class CLASS ...: {name or 'nothing'} is not the class of a known"
            f" script: {', '.join(_CLASSES)}"
        )
    return script


if __name__ == "__main__":
    print("\n".join(script_names()))
