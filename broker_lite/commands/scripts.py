"""The names of Kafka's scripts that broker-lite answers to, each with what it does then.

Called by such a name (a link to broker-lite is enough), with or without `.sh`, the command line is
that of Kafka's script. `python -m broker_lite.commands.scripts` prints the names, one a line.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from broker_lite.errors import SettingsError

# Kafka's tools go on trying while no broker listens yet, and those who start them rely on it.
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
}


def script_names() -> list[str]:
    """Every name, without and with `.sh`."""
    return [f"{name}{suffix}" for name in SCRIPTS for suffix in ("", ".sh")]


def as_command(program: str, arguments: Sequence[str]) -> list[str]:
    """Turn a call by the name of one of the scripts into a command with its arguments.

    Args:
        program: the name without its folder.
        arguments: those after it.

    Returns:
        The arguments for broker-lite; as they were, when the program has another name.

    Raises:
        SettingsError: the arguments of kafka-server-start cannot be used.
    """
    name = program.removesuffix(".sh")
    command = SCRIPTS.get(name)
    if command is None:
        return list(arguments)
    if name == "kafka-server-start":
        arguments = _server_start(arguments)
    return [*command, *arguments]


def _server_start(arguments: Sequence[str]) -> list[str]:
    """FILE [--override NAME=VALUE]... are `--config FILE` and `--set NAME=VALUE`."""
    if not arguments or arguments[0].startswith("-"):
        raise SettingsError("kafka-server-start FILE [--override NAME=VALUE]...: no FILE is given")
    rest = ["--set" if word == "--override" else word for word in arguments[1:]]
    return ["--config", arguments[0], *rest]


if __name__ == "__main__":
    print("\n".join(script_names()))
