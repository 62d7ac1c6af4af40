"""Jobs of Spark lose a worker in their midst, and come to the result that they have without that.

    python -m tests.pipeline.spark.kills.worker_kills --seed 1 --kills 1
    python -m tests.pipeline.spark.kills.worker_kills --victim executor --jobs export,compact

Each job runs twice: in peace, and with so many kills of a worker of Python, or of an executor with
its workers. The seed makes the logs, and chooses who dies and when. A kill counts when Spark says
that a task failed by it; a job that was faster than the kill runs again. Exit code, output and
files have to be the same.
"""

import argparse
import io
import json
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from pyspark.sql import SparkSession

from broker_lite.cli import main
from broker_lite.pipeline.spark.session import session
from tests.pipeline.spark.kills.jobs import JOBS, Place, specification, staged
from tests.pipeline.spark.kills.killer import Killer
from tests.pipeline.spark.kills.victims import MASTERS

MIB: Final = 32
RUNS_MAX: Final = 6
"""How often a job begins anew because no kill met a task."""
CONF: Final = {
    "spark.driver.memory": "1g",
    "spark.executor.memory": "512m",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",  # Spark logs each lost task as an error with a stack trace
}

_NEEDED: Final = ("generate", "compact", "export")
"""Jobs whose undisturbed results others read."""
_SHARE_MAX: Final = 0.6
"""A kill is due when the seed's share of a stage's tasks is done, at most this one."""
_SHOWN: Final = 400


class Result(NamedTuple):
    """What a job came to.

    Attributes:
        code: the exit code.
        printed: standard output, without the name of its folder.
        contents: of its files.
    """

    code: int
    printed: str
    contents: Any


@dataclass(slots=True)
class Findings:
    """What a run saw.

    Attributes:
        kills: how many processes were killed.
        lost: how many of them had a task.
        lines: one for each job.
        faults: what was wrong.
    """

    kills: int = 0
    lost: int = 0
    lines: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """The figures of the run."""
        total = f"{self.kills} kills, {self.lost} with a task, {len(self.faults)} faults"
        return "\n".join([*self.lines, total])


class Jobs:
    """Runs jobs in peace, and with kills.

    Args:
        spark: a session whose master is that of the victims.
        folder: an empty folder.
        victim: `worker` or `executor`.
        seed: of logs and kills.
        kills: in each job.
        mib: how large the logs are before compression.
    """

    def __init__(
        self, spark: SparkSession, folder: Path, victim: str, seed: int, kills: int, mib: int = MIB
    ) -> None:
        self._spark, self._folder, self._victim, self._kills = spark, folder, victim, kills
        self._random = random.Random(f"{seed} {victim}")
        self._spec = folder / "spec.json"
        self._spec.write_text(json.dumps(specification(seed, mib)), "utf-8")
        self.found = Findings()

    def run(self, wanted: Sequence[str]) -> Findings:
        """Run jobs in peace and with kills; others only where their results are needed."""
        for job in JOBS:
            if job in wanted or job in _NEEDED:
                began = time.monotonic()
                peaceful = self._run(job, "peace")
                if peaceful.code > (job == "diff"):
                    raise RuntimeError(f"{job} fails by itself: exit code {peaceful.code}")
                if job in wanted:
                    self._disturb(job, peaceful, time.monotonic() - began)
                    shutil.rmtree(self._out(job, "kills"))
        return self.found

    def _disturb(self, job: str, peaceful: Result, peaceful_s: float) -> None:
        """Run a job until kills have met it, and compare."""
        for _ in range(RUNS_MAX):
            share = self._random.uniform(0, _SHARE_MAX)
            context = self._spark.sparkContext
            began = time.monotonic()
            with Killer(context, self._victim, self._kills, share, self._random) as killer:
                disturbed = self._run(job, "kills")
            self.found.kills += killer.killed
            if killer.lost:
                break
        else:
            self._note(f"{job}: in {RUNS_MAX} runs no kill met a task")
            return
        self.found.lost += killer.lost
        took_s = time.monotonic() - began
        line = f"{job}: {killer.lost} tasks lost at {share:.0%}, {took_s:.1f} s"
        self.found.lines.append(f"{line} instead of {peaceful_s:.1f} s")
        print(self.found.lines[-1], file=sys.stderr, flush=True)
        self._compare(job, disturbed, peaceful)

    def _compare(self, job: str, disturbed: Result, peaceful: Result) -> None:
        for name, ours, theirs in zip(Result._fields, disturbed, peaceful, strict=True):
            if ours != theirs:
                told = f"{str(ours)[:_SHOWN]}\nwithout kills {str(theirs)[:_SHOWN]}"
                self._note(f"{job}: {name}: {told}")
        left, before = (staged(self._out(job, way)) for way in ("kills", "peace"))
        if left != before:
            self._note(f"{job}: left {left}\nwithout kills {before}")

    def _note(self, fault: str) -> None:
        """Keep a fault, and print it at once: the other jobs take minutes."""
        self.found.faults.append(fault)
        print(f"fault: {fault}", file=sys.stderr, flush=True)

    def _run(self, job: str, way: str) -> Result:
        """Run a job as from the command line, in the running session and an empty folder."""
        out = self._out(job, way)
        if out.exists():
            shutil.rmtree(out)
        out.mkdir(parents=True)
        place = Place(
            logs=self._out("generate", "peace") / "logs",
            spec=self._spec,
            compacted=self._out("compact", "peace") / "logs",
            table=self._out("export", "peace") / "table",
            out=out,
        )
        printed = io.TextIOWrapper(io.BytesIO(), "utf-8")  # search writes bytes
        with redirect_stdout(printed):
            code = main(["spark", *JOBS[job].command(place)])
        printed.seek(0)
        contents = JOBS[job].contents(out) if code in (0, 1) else None
        return Result(code, printed.read().replace(str(out), "OUT"), contents)

    def _out(self, job: str, way: str) -> Path:
        return self._folder / way / job.replace(" ", "-")


def _main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=1, help="in each job; default: %(default)s")
    parser.add_argument("--victim", choices=MASTERS, default="worker")
    parser.add_argument("--jobs", default=",".join(JOBS), metavar="JOB,...")
    parser.add_argument("--mib", type=int, default=MIB, help="of logs; default: %(default)s")
    options = parser.parse_args()
    wanted = options.jobs.split(",")
    if unknown := set(wanted) - JOBS.keys():
        parser.error(f"--jobs: no job {min(unknown)!r}; there are {', '.join(JOBS)}")
    spark = session("kills", MASTERS[options.victim], CONF, quick_start=True, is_quiet=True)
    try:
        with tempfile.TemporaryDirectory(prefix="worker-kills-") as folder:
            given = (options.victim, options.seed, options.kills, options.mib)
            found = Jobs(spark, Path(folder), *given).run(wanted)
    finally:
        spark.stop()
    print(found.summary())
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(_main())
