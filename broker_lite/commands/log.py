"""`broker-lite log ACTION`: look at logs without a broker, check, repair and move them.

`dump` and `verify` take a directory that a broker uses. The others write into one and lock it, so
that no broker can run on it.

Exit codes: 0 is well, 1 is that something is wrong with the files, 2 is wrong use, 130 is Ctrl-C.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Final, NamedTuple

from broker_lite.errors import KafkaStorageError, SettingsError

_INTERRUPTED: Final = 130


class Action(NamedTuple):
    """An action: a module with `add_arguments(parser)` and `run(options) -> exit code`."""

    module: str
    help: str


ACTIONS: Final[Mapping[str, Action]] = {
    "dump": Action("broker_lite.commands.log_dump", "print what is in files (kafka-dump-log)"),
    "verify": Action("broker_lite.commands.log_verify", "look for anything wrong with logs"),
    "repair": Action("broker_lite.commands.log_repair", "cut and rebuild what a crash damaged"),
    "import": Action("broker_lite.commands.log_import", "take logs of a Kafka into a directory"),
    "export": Action("broker_lite.commands.log_export", "make a directory that Kafka starts on"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, action in ACTIONS.items():
        subparser = actions.add_parser(name, help=action.help, description=action.help)
        import_module(action.module).add_arguments(subparser)


def run(options: argparse.Namespace) -> int:
    """Do what is asked for."""
    module = import_module(ACTIONS[options.action].module)
    try:
        with _told_in_one_line():
            code: int = module.run(options)
            return code
    except KeyboardInterrupt:
        print(f"broker-lite: log {options.action}: interrupted", file=sys.stderr)
        return _INTERRUPTED


@contextmanager
def _told_in_one_line() -> Iterator[None]:
    """Make a place that cannot be used a SettingsError, and a disk that fails a storage error."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError) as error:
        raise SettingsError(f"{error.filename}: {error.strerror}") from error
    except BrokenPipeError:
        raise
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        raise KafkaStorageError(f"{place}{error.strerror}") from error
