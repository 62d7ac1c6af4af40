"""What the arguments of `docker run IMAGE ...` ask for.

As with Kafka's images: nothing starts a broker, and the first word of a command line is a program.
Flags alone are the broker's, and broker-lite's own commands need not be called by its name.
"""

from collections.abc import Container, Sequence
from typing import Final, NamedTuple, TypeAlias

_SERVE: Final = "serve"
_VERSION: Final = "--version"


class Broker(NamedTuple):
    """A broker is to be started, with these flags of `broker-lite serve`."""

    arguments: tuple[str, ...]


class Command(NamedTuple):
    """Another command of broker-lite is to be run: its name and its arguments."""

    arguments: tuple[str, ...]


class Program(NamedTuple):
    """A program is to be run: its name and its arguments."""

    arguments: tuple[str, ...]


Entry: TypeAlias = Broker | Command | Program


def read_entry(arguments: Sequence[str], commands: Container[str]) -> Entry:
    """Find out what to run.

    Args:
        arguments: those of `docker run`, behind the image's name.
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
