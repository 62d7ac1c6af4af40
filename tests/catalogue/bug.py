"""The bugs of the catalogue: one script of the test bench each, with a head of comments.

The head is YAML behind `#`:

    title: what goes wrong, in one line
    threads: where users tell of it; REPOSITORY#NUMBER, or KAFKA-NUMBER for Kafka's own tracker
    situation: what the script does to the client
    right: what a right client does
    program: the program that runs, such as writer; tests.conformance.clients lists them
    options: of the program, beyond those of tests.catalogue.play
    commands: what the program is told, one after the other
    stands: what has to be so in the end, see Stands
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

import msgspec
import yaml

FOLDER: Final = Path(__file__).parent / "bugs"


class Stands(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What a client that stands has done.

    Attributes:
        answers: how the program answers each command: the first words of its line.
        reads: the records that it reads, in this order: PARTITION OFFSET VALUE.
        sees: records that it reads, once or again, among others.
        log: the values that topics have.
        told: it has told the application of an error while it read.
        at_most: how many requests of an API come at most.
        at_least: how many requests of an API come at least.
        within_ms: how long all that may take.
        settle_ms: how long it is watched after that.
    """

    answers: tuple[str, ...] = ()
    reads: tuple[str, ...] | None = None
    sees: tuple[str, ...] = ()
    log: Mapping[str, tuple[str, ...]] = {}
    told: bool = False
    at_most: Mapping[str, int] = {}
    at_least: Mapping[str, int] = {}
    within_ms: int = 6000
    settle_ms: int = 0


class Bug(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One bug: what is told of it, and how a client is tried."""

    title: str
    threads: tuple[str, ...]
    situation: str
    right: str
    program: str
    stands: Stands
    options: Mapping[str, str | int | bool] = {}
    commands: tuple[str, ...] = ()


@cache
def bug_of(name: str) -> Bug:
    """The head of a bug's script.

    Raises:
        msgspec.ValidationError: it lacks something, or has too much.
    """
    text = path_of(name).read_text("utf-8")
    head = "\n".join(line[2:] for line in text.splitlines() if line.startswith("# "))
    return msgspec.convert(yaml.safe_load(head), Bug)


def path_of(name: str) -> Path:
    """The script of a bug."""
    return FOLDER / f"{name}.yaml"


def names() -> list[str]:
    """All bugs, in the order of their names."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))
