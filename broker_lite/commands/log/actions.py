"""`broker-lite log ACTION`: look at logs without a broker, check, repair and move them.

`dump` and `verify` take a directory that a broker uses. The others write into one and lock it, so
that no broker can run on it.

Exit codes: 0 is well, 1 is that something is wrong with the files, 2 is wrong use, 130 is Ctrl-C.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from broker_lite.commands.shared.subcommands import Subcommand, add_subcommands
from broker_lite.commands.shared.umask import OWNER_ONLY, add_umask_flag, masked
from broker_lite.errors import KafkaStorageError, SettingsError

_INTERRUPTED: Final = 130
_WRITERS: Final = frozenset({"repair", "import", "export"})


ACTIONS: Final[Mapping[str, Subcommand]] = {
    "dump": Subcommand(
        "broker_lite.commands.log.dump.command", "print what is in files (kafka-dump-log)"
    ),
    "verify": Subcommand("broker_lite.commands.log.verify", "look for anything wrong with logs"),
    "repair": Subcommand("broker_lite.commands.log.repair", "cut and rebuild what a crash damaged"),
    "import": Subcommand(
        "broker_lite.commands.log.import_logs", "take logs of a Kafka into a directory"
    ),
    "export": Subcommand(
        "broker_lite.commands.log.export", "make a directory that Kafka starts on"
    ),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions."""
    parsers = add_subcommands(parser, ACTIONS, kind="action")
    for action, subparser in zip(ACTIONS, parsers, strict=True):
        if action in _WRITERS:
            add_umask_flag(subparser)
            subparser.set_defaults(umask=OWNER_ONLY)


def run(options: argparse.Namespace) -> int:
    """Do what is asked for."""
    module = ACTIONS[options.action].load()
    try:
        with _told_in_one_line(), masked(getattr(options, "umask", None)):
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
