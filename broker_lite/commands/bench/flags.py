"""The flags that several kinds of load have, and how their texts are read."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from broker_lite.commands.shared.connecting import add_connection
from broker_lite.commands.shared.flags import add_alias
from broker_lite.errors import SettingsError
from broker_lite.load.part import Part
from broker_lite.load.run import CONNECTIONS_MAX

_UNITS: Final[Mapping[str, int]] = {
    "": 1,
    "B": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
}
_SIZE: Final = re.compile(r"(\d{1,15}(?:\.\d{1,6})?) ?([A-Za-z]*)")
_SIZE_MAX: Final = 2**30
_PER_SECOND: Final = "/s"
_MAX: Final = "max"
_RATE_MAX: Final = 1e12
_SECONDS_MAX: Final = 1e6
PROCESSES_MAX: Final = 64


class Rate(NamedTuple):
    """How much per second.

    Attributes:
        per_second: None for as much as possible.
        is_bytes: whether bytes are counted; else records or requests.
    """

    per_second: float | None
    is_bytes: bool = False


def rate(text: str) -> Rate:
    """Read a rate: `50MB/s`, `20000/s` or `max`."""
    if text == _MAX:
        return Rate(None)
    match = _SIZE.fullmatch(text.removesuffix(_PER_SECOND)) if text.endswith(_PER_SECOND) else None
    if match is None or match[2] not in _UNITS:
        raise argparse.ArgumentTypeError(f"{text} is not a rate: 50MB/s, 20000/s or max")
    per_second = float(match[1]) * _UNITS[match[2]]
    if not 0 < per_second <= _RATE_MAX:
        raise argparse.ArgumentTypeError(f"{text} is not a rate above 0")
    return Rate(per_second, is_bytes=bool(match[2]))


def size(text: str) -> int:
    """Read a size in bytes: `100`, `16KiB`, `1MB`."""
    match = _SIZE.fullmatch(text)
    if match is None or match[2] not in _UNITS:
        raise argparse.ArgumentTypeError(f"{text} is not a size: 16384, 16KiB or 1MB")
    size_bytes = int(float(match[1]) * _UNITS[match[2]])
    if not 1 <= size_bytes <= _SIZE_MAX:
        raise argparse.ArgumentTypeError(f"{text} is not a size from 1 byte to 1 GiB")
    return size_bytes


def seconds(text: str) -> float:
    """Read a number of seconds: `60`, `0.5`."""
    try:
        found = float(text)
    except ValueError:
        found = -1
    if not 0 <= found <= _SECONDS_MAX:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds")
    return found


def duration(text: str) -> float:
    """Read a number of seconds above 0."""
    found = seconds(text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds above 0")
    return found


def count_up_to(count_max: int) -> Callable[[str], int]:
    """Return the reader of a number from 1 to a limit."""

    def count(text: str) -> int:
        found = int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0
        if not 1 <= found <= count_max:
            raise argparse.ArgumentTypeError(f"{text} is not a number from 1 to {count_max}")
        return found

    return count


def add_partitions(parser: argparse.ArgumentParser) -> None:
    """Add the flag for the partitions of a new topic."""
    parser.add_argument(
        "--partitions",
        type=count_up_to(100_000),
        default=12,
        metavar="N",
        help="of the topic, if it does not exist [12]",
    )


def connections_of(options: argparse.Namespace, part: Part) -> int:
    """Return how many connections a process opens, at least one."""
    return max(part.size_of(options.connections), 1)


def check_processes(options: argparse.Namespace, partition_count: int) -> None:
    """Refuse more processes than there are partitions.

    Raises:
        SettingsError: some would have nothing to do.
    """
    if options.processes > partition_count:
        raise SettingsError(
            f"--processes {options.processes}: the topic {options.topic} has"
            f" {partition_count} partitions, and each process needs one"
        )


def add_load(
    parser: argparse.ArgumentParser,
    *,
    rate_help: str,
    connections_max: int = CONNECTIONS_MAX,
    connections: int = 4,
    connections_help: str = "at least one goes to each leader, at most one to each partition [4]",
) -> None:
    """Add the flags that all kinds of load have."""
    add_connection(parser)
    add_alias(parser, "--bootstrap", dest="bootstrap_server", metavar="HOST:PORT")
    parser.add_argument("--topic", default="load", help="[load]")
    parser.add_argument("--rate", type=rate, default=Rate(None), help=rate_help)
    parser.add_argument(
        "--connections",
        type=count_up_to(connections_max),
        default=connections,
        metavar="N",
        help=connections_help,
    )
    parser.add_argument(
        "--processes",
        type=count_up_to(PROCESSES_MAX),
        default=1,
        metavar="N",
        help="that share rate, connections and partitions, for more than one core [1]",
    )
    parser.add_argument(
        "--duration",
        type=duration,
        default=60.0,
        metavar="SECONDS",
        help="of what is measured [60]",
    )
    parser.add_argument(
        "--warmup", type=seconds, default=5.0, metavar="SECONDS", help="before it, apart [5]"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="where all figures are written")
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="where a report with plots is written"
    )
    broker = parser.add_mutually_exclusive_group()
    broker.add_argument(
        "--control",
        metavar="URL",
        help="of a broker-lite's control API, which tells its CPU time, and who was the limit",
    )
    broker.add_argument(
        "--broker-pid",
        type=count_up_to(2**31),
        metavar="PID",
        help="of a broker on this machine, whose CPU time is read",
    )
