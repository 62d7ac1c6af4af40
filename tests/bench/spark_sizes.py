"""Jobs of Spark on a log of any size: time, CPU, and memory and disk at their peaks.

    python -m tests.bench.spark_sizes [--seed 1] [--gib 4] [--jobs generate,verify,report,export]
                                      [--folder FOLDER] [--memory 1g]

Each job is a process of its own, `broker-lite spark JOB`. The seed makes the log: three topics in
nine partitions with transactions, keys that repeat, and values of 100 bytes, of log-normal sizes
and of 1 KB, in batches without compression, by lz4 and by zstd. The size is that of keys and values
before compression.

The results have to agree: every table has as many records as `verify` counts in the log, and the
log that `import` makes of a table is, by `diff`, the one that was exported. Memory is that of Java,
and that of all Pythons together, without pages of files. Disk is what the job adds at its peak,
temporary files included.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow.dataset as ds
import pyspark
from deltalake import DeltaTable
from pyiceberg.catalog import load_catalog

from broker_lite.record import implementations
from tests.bench.process_tree import ProcessTree, Taken, size_on_disk
from tests.support.command_line import ROOT, process_of

GIB: Final = 1 << 30
MB: Final = 1_000_000

_Words = Callable[[Path], Sequence[str]]
_JOBS: Final[Mapping[str, _Words]] = {
    "generate": lambda at: ("generate", f"{at}/logs", "--spec", f"{at}/spec.json"),
    "verify": lambda at: ("verify", f"{at}/logs", "--json", f"{at}/verified.json"),
    "verify --deep": lambda at: ("verify", f"{at}/logs", "--deep"),
    "report": lambda at: ("report", f"{at}/logs", f"{at}/sample.html"),
    "report --all-records": lambda at: (
        *("report", f"{at}/logs", f"{at}/all.html"),
        "--all-records",
    ),
    "export": lambda at: ("export", f"{at}/logs", f"{at}/parquet"),
    "export --format delta": lambda at: (
        *("export", f"{at}/logs", f"{at}/delta"),
        *("--format", "delta"),
    ),
    "export --format iceberg": lambda at: (
        *("export", f"{at}/logs", f"{at}/iceberg"),
        *("--format", "iceberg"),
    ),
    "import": lambda at: ("import", f"{at}/parquet", f"{at}/imported"),
    "diff": lambda at: ("diff", f"{at}/logs", f"{at}/imported"),
    "compact": lambda at: ("compact", f"{at}/imported", "orders"),
}
"""In an order in which each finds what it reads."""


def specification(seed: int, size_bytes: int) -> dict[str, Any]:
    """Describe a log of a size: half of it small values, a quarter mixed, a quarter of 1 KB."""
    common = {"payload": "text", "segment_bytes": 128 << 20}
    zipf = {"distribution": "zipf", "count": 100_000, "exponent": 1.1}
    mixed = {"distribution": "lognormal", "median": 300, "sigma": 1.0, "max": 100_000}
    orders = {
        "partitions": 4,
        "bytes": size_bytes // 4,
        "keys": zipf,
        "value_bytes": mixed,
        "codecs": ["lz4", "zstd"],
        "producers": 3,
        "transaction_batches": 10,
        "abort_share": 0.05,
    }
    clicks = {"partitions": 3, "bytes": size_bytes // 2, "value_bytes": 100, "codecs": ["zstd"]}
    pages = {"partitions": 2, "bytes": size_bytes // 4, "value_bytes": 1000}
    topics = {"orders": orders, "clicks": clicks, "pages": pages}
    named = [{"name": name, **common, **topic} for name, topic in topics.items()]
    return {"seed": seed, "topics": named}


class Sizes:
    """The files of a run, and what its jobs take.

    Args:
        folder: an empty folder.
        memory: of the driver, as Spark is told.
    """

    def __init__(self, folder: Path, memory: str) -> None:
        self._folder = folder
        local = folder / "local"
        self._conf = (f"spark.driver.memory={memory}", f"spark.local.dir={local}")
        self._expected = -1

    def run(self, job: str) -> Taken:
        """Run a job, and look at its result.

        Raises:
            RuntimeError: it failed, or its result is wrong.
        """
        words = ["spark", *_JOBS[job](self._folder)]
        for setting in self._conf:
            words += ["--conf", setting]
        errors = self._folder / "errors.txt"
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        with (
            errors.open("wb") as err,
            subprocess.Popen(
                process_of(words), stdout=subprocess.DEVNULL, stderr=err, env=environment
            ) as process,
        ):
            try:
                with ProcessTree(process.pid, self._folder) as tree:
                    code = process.wait()
            finally:
                process.terminate()  # if this was interrupted
        if code:
            raise RuntimeError(f"{job}: exit code {code}: {errors.read_text()[-2000:]}")
        self._check(job)
        return tree.taken

    def _check(self, job: str) -> None:
        """Compare the number of records of a table with that of the log."""
        counters: dict[str, Callable[[], int]] = {
            "export": lambda: ds.dataset(
                self._folder / "parquet", format="parquet", partitioning="hive"
            ).count_rows(),
            "export --format delta": lambda: (
                DeltaTable(str(self._folder / "delta")).to_pyarrow_dataset().count_rows()
            ),
            "export --format iceberg": self._iceberg_records,
        }
        if job == "verify":
            self._expected = json.loads((self._folder / "verified.json").read_text())["records"]
        elif job in counters and self._expected >= 0:
            found = counters[job]()
            if found != self._expected:
                raise RuntimeError(f"{job}: {found} records instead of {self._expected}")

    def _iceberg_records(self) -> int:
        uri = f"sqlite:///{self._folder}/iceberg/catalog.db"
        return load_catalog("lake", type="sql", uri=uri).load_table("kafka.records").scan().count()


def row(job: str, taken: Taken) -> str:
    """A row of the table."""
    figures = (
        f"{taken.seconds:.0f} s",
        f"{taken.cpu_s:.0f} s",
        *(f"{size / MB:,.0f} MB" for size in taken[2:]),
    )
    return f"| `{job}` | {' | '.join(figures)} |"


def _main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--gib", type=float, default=4.0, help="of keys and values; default: 4")
    parser.add_argument("--jobs", default=",".join(_JOBS), metavar="JOB,...")
    parser.add_argument("--folder", type=Path, help="for all files; must not exist")
    parser.add_argument("--memory", default="1g", help="of Spark's driver; default: %(default)s")
    options = parser.parse_args()
    wanted = options.jobs.split(",")
    if unknown := set(wanted) - _JOBS.keys():
        parser.error(f"--jobs: no job {min(unknown)!r}; there are {', '.join(_JOBS)}")
    if options.folder is None:
        options.folder = Path(tempfile.mkdtemp(prefix="spark-sizes-"))
    else:
        options.folder.mkdir(parents=True)
    try:
        _run(options.folder, wanted, options)
    finally:
        shutil.rmtree(options.folder)
    return 0


def _run(folder: Path, wanted: Sequence[str], options: argparse.Namespace) -> None:
    spec = specification(options.seed, int(options.gib * GIB))
    (folder / "spec.json").write_text(json.dumps(spec), "utf-8")
    print(
        f"{options.gib:g} GiB, seed {options.seed}: {platform.machine()}, {os.cpu_count()} cores at"
        f" load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}, PySpark"
        f" {pyspark.__version__}, driver of {options.memory}, {implementations()}\n\n"
        f"| job | wall | CPU | Java | Python | disk |\n{'| --- ' * 6}|",
        flush=True,
    )
    sizes = Sizes(folder, options.memory)
    for job in _JOBS:
        if job in wanted:
            print(row(job, sizes.run(job)), flush=True)
            if job == "generate":
                written = size_on_disk(folder / "logs")
                print(f"<!-- the log takes {written / MB:,.0f} MB -->", flush=True)


if __name__ == "__main__":
    sys.exit(_main())
