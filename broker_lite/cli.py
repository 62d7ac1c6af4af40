"""The command line: find the module of a command, run it, and return its exit code.

A mistake of the user is one line on standard error and exit code 2. A disk that fails, or a broker
that cannot be reached or refuses, is one line and exit code 1. Only the module of the requested
command is imported, so that each command starts fast.
"""

import argparse
import errno
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Final, NoReturn

from broker_lite import __version__
from broker_lite.commands.scripts import as_command
from broker_lite.commands.shared.descriptors import drop_output, take_standard_descriptors
from broker_lite.commands.shared.subcommands import Subcommand
from broker_lite.errors import ClientError, KafkaStorageError, SettingsError, cause_of

_USAGE_ERROR: Final = 2
_FAILURE: Final = 1


COMMANDS: Final[Mapping[str, Subcommand]] = {
    "serve": Subcommand("broker_lite.commands.serve", "start a broker"),
    "config": Subcommand("broker_lite.commands.config", "print every setting"),
    "container": Subcommand("broker_lite.commands.container", "run as the image's entry point"),
    "topics": Subcommand(
        "broker_lite.commands.topics.command", "list and change topics (kafka-topics)"
    ),
    "configs": Subcommand(
        "broker_lite.commands.configs.command", "print and change configs (kafka-configs)"
    ),
    "produce": Subcommand(
        "broker_lite.commands.console.produce", "write lines (kafka-console-producer)"
    ),
    "consume": Subcommand(
        "broker_lite.commands.console.consume", "print records (kafka-console-consumer)"
    ),
    "groups": Subcommand(
        "broker_lite.commands.groups.command", "list and change groups (kafka-consumer-groups)"
    ),
    "offsets": Subcommand(
        "broker_lite.commands.topics.offsets", "print offsets (kafka-get-offsets)"
    ),
    "api-versions": Subcommand(
        "broker_lite.commands.api_versions",
        "print a broker's API versions (kafka-broker-api-versions)",
    ),
    "cluster": Subcommand("broker_lite.commands.cluster", "print a cluster's id (kafka-cluster)"),
    "control": Subcommand(
        "broker_lite.commands.control", "faults, waits and snapshots of a running broker"
    ),
    "storage": Subcommand("broker_lite.commands.storage", "make a data directory (kafka-storage)"),
    "kafka": Subcommand("broker_lite.commands.kafka.tools", "Kafka's other scripts, by name"),
    "log": Subcommand("broker_lite.commands.log.actions", "print, check, repair and move logs"),
    "bench": Subcommand(
        "broker_lite.commands.bench.command", "put load on a broker, and compare runs"
    ),
    "explain": Subcommand(
        "broker_lite.commands.explain", "list the fields of a frame or batch, and what is refused"
    ),
    "spark": Subcommand(
        "broker_lite.commands.spark.jobs", "check, measure and change logs with Spark"
    ),
}


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:  # type: ignore[explicit-override]
        """Raise the message as an error of the user."""
        raise SettingsError(message)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    take_standard_descriptors()
    try:
        if arguments is None:
            arguments = as_command(os.path.basename(sys.argv[0]), sys.argv[1:])
        code = _main(arguments)
        sys.stdout.flush()  # an error here is reported like any other; at the exit it would not be
        return code
    except (SettingsError, ClientError, KafkaStorageError) as error:
        text = " ".join(str(error if str(error) else cause_of(error)).split())
        print(f"broker-lite: {text}", file=sys.stderr)
        return _USAGE_ERROR if isinstance(error, SettingsError) else _FAILURE
    except BrokenPipeError:
        drop_output()
        return _FAILURE
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        drop_output()
        print(f"broker-lite: {error.strerror}", file=sys.stderr)
        return _FAILURE


def _main(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["container"]:
        from broker_lite.commands.container import unwrap

        arguments = unwrap(arguments[1:], COMMANDS)
    name = next((word for word in arguments if not word.startswith("-")), "")
    module = COMMANDS[name].load() if name in COMMANDS else None
    parser = _Parser(
        prog="broker-lite", description="A Kafka-compatible broker for tests and load tests."
    )
    parser.add_argument("--version", action="store_true", help="the version, and what is compiled")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for known, command in COMMANDS.items():
        subparser = commands.add_parser(known, help=command.help, description=command.help)
        if known == name and module is not None:
            module.add_arguments(subparser)
    options = parser.parse_args(arguments)
    if options.version:
        from broker_lite.record import implementations

        print(f"broker-lite {__version__} ({implementations()})")
        return 0
    if module is None:
        raise SettingsError("say what to do: a command or --version; --help tells more")
    code: int = module.run(options)
    return code
