"""A real Kafka's answers, kept in a file: one JSON list, a row on each line."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

_FOLDER: Final = Path(__file__).parent.parent / "vectors"

Rows = list[list[Any]]


def kept(name: str) -> Rows:
    """The rows of tests/vectors/NAME.json."""
    rows: Rows = json.loads((_FOLDER / f"{name}.json").read_text("utf-8"))
    return rows


def as_kept(rows: Sequence[Sequence[Any]]) -> Rows:
    """Rows as they come back from a file: tuples are lists."""
    plain: Rows = json.loads(json.dumps(rows))
    return plain


def keep(path: Path, ask_kafka: Callable[[Path], Rows]) -> None:
    """Write what a Kafka with files in a given folder answers."""
    with TemporaryDirectory() as folder:
        rows = ask_kafka(Path(folder))
    path.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n", "utf-8")
