"""`broker-lite log ACTION`: dump, verify, repair, import and export the files of logs.

`dump` and `verify` also read a directory that a broker uses. The others write to a directory and
lock it, so that no broker can use it meanwhile.

Exit codes: 0 success, 1 something is wrong with the files, 2 wrong usage, 130 Ctrl-C.
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
    "verify": Subcommand("broker_lite.commands.log.verify", "check logs for damage"),
    "repair": Subcommand(
        "broker_lite.commands.log.repair", "truncate and rebuild logs after a crash"
    ),
    "import": Subcommand(
        "broker_lite.commands.log.import_logs", "import logs of a Kafka into a data directory"
    ),
    "export": Subcommand(
        "broker_lite.commands.log.export", "export a directory that Kafka starts from"
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
    """Run the chosen action."""
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
    """Turn errors about a path into SettingsError, and other I/O errors into KafkaStorageError."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError) as error:
        raise SettingsError(f"{error.filename}: {error.strerror}") from error
    except BrokenPipeError:
        raise
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        raise KafkaStorageError(f"{place}{error.strerror}") from error
