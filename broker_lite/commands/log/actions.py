"""`broker-lite log ACTION`: what can be done with the files of logs; most need no broker.

`repair`, `import` and `export` write to a directory and lock it, so that no broker can use it
meanwhile. The others also read a directory that a broker uses.

Exit codes: 0 success, 1 something is wrong with the files, 2 wrong usage, 130 Ctrl-C. Those of
`search` are grep's.
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
    "search": Subcommand(
        "broker_lite.commands.search.command", "print records by key, header, text, JSON or time"
    ),
    "replay": Subcommand(
        "broker_lite.commands.replay.command", "write records into a broker, at their pace"
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
    return run_action(f"log {options.action}", ACTIONS[options.action], options)


def run_action(name: str, action: Subcommand, options: argparse.Namespace) -> int:
    """Run an action, and tell in one line what goes wrong with files, or that it was stopped."""
    module = action.load()
    try:
        with _told_in_one_line(), masked(getattr(options, "umask", None)):
            code: int = module.run(options)
            return code
    except KeyboardInterrupt:
        print(f"broker-lite: {name}: interrupted", file=sys.stderr)
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
