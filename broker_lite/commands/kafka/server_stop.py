"""`kafka-server-stop`: send SIGTERM to the brokers that run on this machine or in this container.

Brokers are processes `broker-lite serve` and `broker-lite container` that this user may signal.
"""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_BROKERS: Final = ([b"serve"], [b"container"])
_PROGRAM: Final = b"broker-lite"
_MODULE: Final = [b"-m", b"broker_lite"]
_START_SCRIPT: Final = b"kafka-server-start"
_WORDS_MAX: Final = 5
"""The program must be among the first words, behind an interpreter and its flags."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of Kafka's script; they are ignored, because a broker here has every role."""
    parser.add_argument("--process-role", help=argparse.SUPPRESS)
    parser.add_argument("--node-id", help=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> int:
    """Signal all brokers; as in Kafka's script, it is an error if there is none."""
    return stop_brokers(_PROC, os.kill)


def stop_brokers(proc: Path, kill: Callable[[int, int], None]) -> int:
    """Signal the brokers that a /proc lists; return the exit code."""
    stopped = 0
    for process in _brokers(proc):
        with suppress(ProcessLookupError, PermissionError):
            kill(process, signal.SIGTERM)
            stopped += 1
    if not stopped:
        print("No kafka server to stop", file=sys.stderr)
    return 0 if stopped else 1


def _brokers(proc: Path) -> Iterator[int]:
    for folder in proc.iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            with suppress(OSError):  # the process has ended, or its command line is not readable
                if _is_broker((folder / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")):
                    yield int(folder.name)


def _is_broker(words: list[bytes]) -> bool:
    """Tell whether a command line is a broker's, with or without an interpreter in front."""
    names = [word.rpartition(b"/")[2].removesuffix(b".sh") for word in words]
    for index, name in enumerate(names[:_WORDS_MAX]):
        if name == _START_SCRIPT:
            return True
        if name == _PROGRAM or names[max(index - 1, 0) : index + 1] == _MODULE:
            return names[index + 1 : index + 2] in _BROKERS
    return False
