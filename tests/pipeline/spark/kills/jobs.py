"""The jobs of `broker-lite spark` whose workers are killed: what each is told, and what it leaves.

A job has a folder of its own to write into. What it leaves is compared between a run in peace and a
run with a kill: its exit code, what it printed, and the contents of its files. The names of Parquet
files are random, so a table is its rows in order.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow.dataset as ds
from deltalake import DeltaTable

SPLIT: Final = ("--option", "maxSplitBytes=256k")
TEXT: Final = "e0"
"""What the search looks for; about one in a hundred of the generated values has it."""

_ORDER: Final = [("topic", "ascending"), ("partition", "ascending"), ("offset", "ascending")]
_BATCH_ORDER: Final = [*_ORDER[:2], ("baseOffset", "ascending")]


class Place(NamedTuple):
    """The folders of one run of a job.

    Attributes:
        logs: what the jobs read, made by an undisturbed `generate`.
        spec: the specification of these logs, a file.
        compacted: the same logs after an undisturbed `compact`.
        table: an undisturbed export of the logs.
        out: an empty folder, for what the job writes.
    """

    logs: Path
    spec: Path
    compacted: Path
    table: Path
    out: Path


class Job(NamedTuple):
    """A job.

    Attributes:
        command: its words behind `broker-lite spark`; it may prepare the folder `out`.
        contents: what its files say, by their names.
    """

    command: Callable[[Place], list[str]]
    contents: Callable[[Path], Any]


def specification(seed: int, mib: int) -> dict[str, Any]:
    """Describe logs with transactions, aborted ones too, and a topic whose keys repeat."""
    common = {"payload": "text", "segment_bytes": 2 << 20, "producers": 2}
    orders = {
        "name": "orders",
        "partitions": 3,
        "bytes": mib << 19,
        "keys": {"distribution": "zipf", "count": 5000, "exponent": 1.1},
        "codecs": ["lz4", "zstd", "none"],
        "transaction_batches": 10,
        "abort_share": 0.1,
    }
    users = {
        "name": "users",
        "partitions": 2,
        "bytes": mib << 19,
        "keys": {"distribution": "uniform", "min": 0, "max": 3000},
        "codecs": ["zstd"],
    }
    return {"seed": seed, "topics": [{**common, **orders}, {**common, **users}]}


def _generate(place: Place) -> list[str]:
    return ["generate", str(place.out / "logs"), "--spec", str(place.spec)]


def _verify(place: Place) -> list[str]:
    told = str(place.out / "told.json")
    return ["verify", str(place.logs), "--deep", "--json", told, *SPLIT]


def _report(place: Place) -> list[str]:
    page = str(place.out / "page.html")
    return ["report", str(place.logs), page, "--all-records", *SPLIT]


def _export(place: Place) -> list[str]:
    return ["export", str(place.logs), str(place.out / "table"), *SPLIT]


def _export_delta(place: Place) -> list[str]:
    return [*_export(place), "--format", "delta"]


def _export_iceberg(place: Place) -> list[str]:
    return [*_export(place), "--format", "iceberg"]


def _import(place: Place) -> list[str]:
    return ["import", str(place.table), str(place.out / "logs")]


def _diff(place: Place) -> list[str]:
    return ["diff", str(place.logs), str(place.compacted), "--show", "1000", *SPLIT]


def _compact(place: Place) -> list[str]:
    shutil.copytree(place.logs, place.out / "logs", dirs_exist_ok=True)
    return ["compact", str(place.out / "logs"), "users"]


def _search(place: Place) -> list[str]:
    shown = ("--formatter-property", "print.offset=true", "--formatter-property", "print.key=true")
    return ["search", str(place.logs), "--text", TEXT, *shown, *SPLIT]


def files(folder: Path) -> dict[str, str]:
    """Return the hashes of all files; not of what a log has set aside, which no reader opens."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".deleted"
    }


def staged(folder: Path) -> list[str]:
    """Return the files that a log has set aside: what is left of tasks that did not end."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.deleted"))


def _told(out: Path) -> Any:
    return json.loads((out / "told.json").read_text("utf-8"))


def _tables(out: Path) -> dict[str, Any]:
    records = ds.dataset(out / "table", format="parquet", partitioning="hive").to_table()
    batches = ds.dataset(
        out / "table" / "_batches", format="parquet", partitioning="hive"
    ).to_table()
    return {"records": records.sort_by(_ORDER), "batches": batches.sort_by(_BATCH_ORDER)}


def _delta(out: Path) -> Any:
    return DeltaTable(str(out / "table")).to_pyarrow_table().sort_by(_ORDER)


def _iceberg(out: Path) -> Any:
    from pyiceberg.catalog import load_catalog

    catalog = load_catalog("lake", type="sql", uri=f"sqlite:///{out}/table/catalog.db")
    return catalog.load_table("kafka.records").scan().to_arrow().sort_by(_ORDER)


JOBS: Final[Mapping[str, Job]] = {
    "generate": Job(_generate, files),
    "verify": Job(_verify, _told),
    "report": Job(_report, files),
    "compact": Job(_compact, files),
    "export": Job(_export, _tables),
    "export to Delta": Job(_export_delta, _delta),
    "export to Iceberg": Job(_export_iceberg, _iceberg),
    "import": Job(_import, files),
    "diff": Job(_diff, files),
    "search": Job(_search, files),
}
"""In an order in which each finds what it reads."""
