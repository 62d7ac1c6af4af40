"""The command line: finds the module of a command, runs it, and tells how it ended.

What a person did wrong is one line on standard error and exit code 2; a disk that fails, or a
broker that cannot be asked or says no, is one line and exit code 1. Only the module of the command
that was asked for is imported, so that each answers at once.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Final, NamedTuple, NoReturn

from broker_lite import __version__
from broker_lite.commands.descriptors import drop_output, take_standard_descriptors
from broker_lite.errors import ClientError, KafkaStorageError, SettingsError

_USAGE_ERROR: Final = 2
_FAILURE: Final = 1
_INTERRUPTED: Final = 130


class Command(NamedTuple):
    """A command: a module with `add_arguments(parser)` and `run(options) -> exit code`."""

    module: str
    help: str


COMMANDS: Final[Mapping[str, Command]] = {
    "serve": Command("broker_lite.commands.serve", "start a broker"),
    "config": Command("broker_lite.commands.config", "print every setting"),
}


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:  # type: ignore[explicit-override]
        """End with the message."""
        raise SettingsError(message)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    take_standard_descriptors()
    try:
        return _main(sys.argv[1:] if arguments is None else arguments)
    except (SettingsError, ClientError, KafkaStorageError) as error:
        text = " ".join(str(error).split())
        print(f"broker-lite: {text}", file=sys.stderr)
        return _USAGE_ERROR if isinstance(error, SettingsError) else _FAILURE
    except BrokenPipeError:
        drop_output()
        return 1
    except KeyboardInterrupt:
        return _INTERRUPTED


def _main(arguments: Sequence[str]) -> int:
    name = next((word for word in arguments if not word.startswith("-")), "")
    module = import_module(COMMANDS[name].module) if name in COMMANDS else None
    parser = _Parser(
        prog="broker-lite", description="A Kafka-compatible broker for tests and load tests."
    )
    parser.add_argument("--version", action="store_true", help="print version and form of the scan")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for known, command in COMMANDS.items():
        subparser = commands.add_parser(known, help=command.help, description=command.help)
        if known == name and module is not None:
            module.add_arguments(subparser)
    options = parser.parse_args(arguments)
    if options.version:
        print(f"broker-lite {__version__} (scan: {scan_form()})")
        return 0
    if module is None:
        raise SettingsError("say what to do: a command or --version; --help tells more")
    code: int = module.run(options)
    return code


def scan_form() -> str:
    """Which form of the record scan is in use: native or python."""
    from broker_lite.record import scan

    return "python" if str(scan.__file__).endswith(".py") else "native"
