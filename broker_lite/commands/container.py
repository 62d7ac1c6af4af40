"""`broker-lite container`: what the image starts, with the arguments of `docker run IMAGE ...`.

A broker with the image's defaults, unless the arguments name another program. When clients are
accepted it prints, besides the ready line, what the Kafka modules of Testcontainers wait for: their
patterns are Kafka's log lines, and some of them look at standard output only.
"""

import argparse
import os
import signal
import sys
from collections.abc import Container, Sequence
from types import FrameType
from typing import NoReturn

from broker_lite.commands import serve
from broker_lite.commands.scripts import SCRIPTS, as_command
from broker_lite.commands.sources import Place
from broker_lite.docker_entry import (
    Broker,
    Command,
    healthcheck,
    read_entry,
    read_sources,
    run_as_init,
)
from broker_lite.errors import SettingsError
from broker_lite.settings import Settings


def unwrap(arguments: Sequence[str], commands: Container[str]) -> list[str]:
    """The command line that is meant: `container` and a broker's flags, or another command's.

    A program takes the place of this process, and nothing is returned.

    Args:
        arguments: what follows the word `container`.
        commands: the names of the commands.

    Raises:
        SettingsError: there is no such program.
    """
    signal.signal(signal.SIGTERM, _end)  # to process 1 the signal means nothing by itself
    name = os.path.basename(arguments[0]) if arguments else ""
    if name.removesuffix(".sh") in SCRIPTS:
        arguments = as_command(name, arguments[1:])
    entry = read_entry(arguments, commands)
    if isinstance(entry, Broker):
        return ["container", *entry.arguments]
    if isinstance(entry, Command):
        signal.signal(signal.SIGTERM, _fail)
        return list(entry.arguments)
    if os.getpid() == 1 and not os.isatty(0):
        raise SystemExit(run_as_init(entry.arguments))
    sys.stdout.flush()
    try:
        os.execvp(entry.arguments[0], entry.arguments)  # noqa: S606 - what the person asked for
    except OSError as error:
        raise SettingsError(f"{entry.arguments[0]}: {error.strerror}") from error


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    """Be the handler of the signal for a broker that has not begun."""
    raise SystemExit(0)


def _fail(number: int, _frame: FrameType | None) -> NoReturn:
    """Be the handler of the signal for a command that is to do something."""
    raise SystemExit(128 + number)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of a broker."""
    serve.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Run a broker until SIGTERM or SIGINT."""
    sources = read_sources(os.environ, exists=os.path.exists, is_mount=os.path.ismount)
    options.config = options.config or sources.config_file
    return serve.start(
        options,
        Place(sources.environment, sources.surroundings),
        warnings=sources.warnings,
        on_ready=_on_ready,
    )


def _on_ready(settings: Settings, address: str) -> None:
    healthcheck.tell(address)
    server = f"[KafkaServer id={settings.node_id}]"
    print(f"{server} started, Transitioning from RECOVERY to RUNNING")
    print(f"{server} Kafka Server started", flush=True)
