"""Decides what `docker run IMAGE ...` runs.

As with Kafka's images, no arguments start a broker, and otherwise the first word is a program. In
addition, flags alone are the broker's, and broker-lite's commands need no `broker-lite` in front.
"""

from collections.abc import Container, Sequence
from typing import Final, NamedTuple, TypeAlias

_SERVE: Final = "serve"
_VERSION: Final = "--version"


class Broker(NamedTuple):
    """Start a broker with these flags of `broker-lite serve`."""

    arguments: tuple[str, ...]


class Command(NamedTuple):
    """Run another command of broker-lite, with its arguments."""

    arguments: tuple[str, ...]


class Program(NamedTuple):
    """Run a program with its arguments."""

    arguments: tuple[str, ...]


Entry: TypeAlias = Broker | Command | Program


def read_entry(arguments: Sequence[str], commands: Container[str]) -> Entry:
    """Decide what to run.

    Args:
        arguments: those of `docker run` after the image's name.
        commands: the names of broker-lite's commands.
    """
    if list(arguments) == [_VERSION]:
        return Command(tuple(arguments))
    if not arguments or arguments[0].startswith("-"):
        return Broker(tuple(arguments))
    if arguments[0] == _SERVE:
        return Broker(tuple(arguments[1:]))
    if arguments[0] in commands:
        return Command(tuple(arguments))
    return Program(tuple(arguments))
