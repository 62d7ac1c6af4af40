"""Random topics, read from files by our source and from a broker by Spark's Kafka connector.

    python -m tests.pipeline.spark.exactness --seed 1 --topics 12 --queries 50 [--broker kafka]

The seed chooses the options, too. The schemas have to be equal, and no row may be on one side only.
Where one of them refuses the options, the other one has to refuse them, too, but for one case: a
start behind the end is always an error here. The connector reads nothing of such a partition if it
divides partitions (minPartitions, maxRecordsPerPartition), and else fails.
"""

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from broker_lite.pipeline.spark.running import running
from tests.pipeline.connector.jars import connector_jars
from tests.pipeline.connector.random_topics import RandomTopics
from tests.pipeline.spark.readers import BROKERS, REFUSALS, Options, Readers, running_broker

CONF: Final = {
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
}
DIVIDING: Final = frozenset(("minPartitions", "maxRecordsPerPartition"))
EVERYTHING: Final = {"subscribePattern": "random-.*", "includeHeaders": "true"}


@dataclass(slots=True)
class Found:
    """What a run saw.

    Attributes:
        rows: how many were compared.
        refused: how many options both refused.
        reversed: how many our source alone refused, as a start lay behind the end.
        faults: what was otherwise on one side.
    """

    queries: int = 0
    rows: int = 0
    refused: int = 0
    reversed: int = 0
    faults: list[str] = field(default_factory=list)

    def compare(self, readers: Readers, options: Options) -> None:
        """Read the same by both."""
        self.queries += 1
        answers = []
        for read in (readers.connector, readers.ours):
            try:
                answers.append((read(options).count(), ""))
            except REFUSALS as error:
                answers.append((-1, str(error).partition("\n\tat ")[0][:500]))
        (rows, refused), (our_rows, our_refused) = answers
        if not refused and "behind its end" in our_refused and DIVIDING & options.keys():
            self.reversed += 1
        elif bool(refused) != bool(our_refused):
            self.faults.append(
                f"{options}: connector {rows} {refused}, ours {our_rows} {our_refused}"
            )
        elif refused:
            self.refused += 1
        else:
            self.rows += rows
            self.faults += [f"{options}: {row}" for row in readers.differences(options)]

    def summary(self) -> str:
        """The figures of the run."""
        return (
            f"{self.queries} queries, {self.rows:,} rows compared, {self.refused} refused by both,"
            f" {self.reversed} by ours for a start behind the end, {len(self.faults)} faults"
        )


def run(
    spark: SparkSession, broker: str, folder: Path, *, seed: int, topics: int, queries: int
) -> Found:
    """Write topics to one of BROKERS, and read them by everything, then by options of the seed."""
    found, made = Found(), RandomTopics(seed, topics)
    with running_broker(broker, folder) as written:
        made.write(written.broker)
        made.delete_records(written.broker, written.directory)
        readers = Readers(spark, written)
        found.compare(readers, EVERYTHING)
        found.compare(readers, {**EVERYTHING, "kafka.isolation.level": "read_committed"})
        for _ in range(queries):
            begun_s = time.monotonic()
            found.compare(readers, made.options())
            if sys.stderr.isatty():
                took = f"{time.monotonic() - begun_s:.1f} s"
                print(f"\r{found.queries} of {queries + 2}, {took}", end="", file=sys.stderr)
    return found


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--topics", type=int, default=12)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--broker", choices=BROKERS, action="append", help="default: both")
    options = parser.parse_args()
    conf = {**CONF, "spark.jars": ",".join(map(str, connector_jars()))}
    size = {"seed": options.seed, "topics": options.topics, "queries": options.queries}
    has_faults = False
    with running(master="local[2]", conf=conf, quick_start=True, is_quiet=True) as spark:
        for broker in options.broker or BROKERS:
            with tempfile.TemporaryDirectory(prefix="exactness-") as folder:
                found = run(spark, broker, Path(folder), **size)
            for fault in found.faults:
                print(fault)
            print(f"{broker}, seed {options.seed}: {found.summary()}", flush=True)
            has_faults |= bool(found.faults)
    return int(has_faults)


if __name__ == "__main__":
    sys.exit(main())
