"""`broker-lite container`: the entry point of the image, with the arguments of `docker run IMAGE`.

It starts a broker with the image's defaults, unless the arguments name another program. When the
broker is ready, it also prints the log lines of Kafka that the Kafka modules of Testcontainers wait
for. Some of these modules read standard output only.
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
from broker_lite.docker_entry import healthcheck
from broker_lite.docker_entry.entry import Broker, Command, read_entry
from broker_lite.docker_entry.init import run_as_init
from broker_lite.docker_entry.sources import read_sources
from broker_lite.errors import SettingsError
from broker_lite.settings import Settings


def unwrap(arguments: Sequence[str], commands: Container[str]) -> list[str]:
    """Return the command line to run: `container` with a broker's flags, or another command.

    If the arguments name a program, it replaces this process, and the function does not return.

    Args:
        arguments: those after the word `container`.
        commands: the names of the commands.

    Raises:
        SettingsError: there is no such program.
    """
    signal.signal(signal.SIGTERM, _end)  # process 1 ignores SIGTERM by default
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
        os.execvp(entry.arguments[0], entry.arguments)  # noqa: S606 - the user named the program
    except OSError as error:
        raise SettingsError(f"{entry.arguments[0]}: {error.strerror}") from error


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    """Exit with code 0: a broker that has not started yet was stopped."""
    raise SystemExit(0)


def _fail(number: int, _frame: FrameType | None) -> NoReturn:
    """Exit as a shell reports the signal: the command did not finish."""
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
    if settings.broker_lite_security:
        from broker_lite.commands.shared.secured_lines import health_addresses

        address = health_addresses(settings, address)
    healthcheck.tell(address)
    server = f"[KafkaServer id={settings.node_id}]"
    print(f"{server} started, Transitioning from RECOVERY to RUNNING")
    print(f"{server} Kafka Server started", flush=True)
