"""`broker-lite spark JOB`: check, measure, export, compare, compact and make logs, on Spark.

The session runs on this machine unless `--master` says otherwise; every `--conf` of spark-submit is
passed on. On a terminal Spark shows how far it is.

Exit codes are those of each job; 2 is wrong use, as everywhere.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from broker_lite.commands.shared.spark_options import assignments
from broker_lite.commands.shared.subcommands import Subcommand, add_subcommands
from broker_lite.commands.shared.umask import OWNER_ONLY, masked
from broker_lite.errors import KafkaStorageError, SettingsError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


JOBS: Final[Mapping[str, Subcommand]] = {
    "verify": Subcommand("broker_lite.commands.spark.verify", "look for anything wrong with a log"),
    "report": Subcommand("broker_lite.commands.spark.report", "make an HTML page about a log"),
    "export": Subcommand("broker_lite.commands.spark.export", "write records as Parquet or Delta"),
    "import": Subcommand(
        "broker_lite.commands.spark.import_records", "write a table of records as logs"
    ),
    "generate": Subcommand(
        "broker_lite.commands.spark.generate", "make logs of any size from a seed"
    ),
    "diff": Subcommand("broker_lite.commands.spark.diff", "tell which records of two logs differ"),
    "compact": Subcommand(
        "broker_lite.commands.spark.compact", "keep the newest record of each key"
    ),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the jobs, and the flags that all of them have."""
    for subparser in add_subcommands(parser, JOBS, kind="job"):
        subparser.add_argument(
            "--master", default="local[*]", help="as of spark-submit; default: %(default)s"
        )
        subparser.add_argument(
            "--conf",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="a setting of Spark, as of spark-submit; repeatable",
        )


def run(options: argparse.Namespace) -> int:
    """Run a job in a session of its own, or in the one that is there."""
    if find_spec("pyspark") is None or find_spec("pyarrow") is None:
        raise SettingsError("spark: needs more packages: pip install 'broker-lite[spark]'")
    conf = assignments("--conf", options.conf)
    module = JOBS[options.job].load()
    # before the session is there: its workers are processes that get what this one has now
    umask = options.umask if options.job == "generate" else None
    if options.job == "generate" and options.broker:
        umask = umask or OWNER_ONLY
    with (
        told_in_one_line(),
        masked(umask),
        _session(options.job, options.master, conf) as spark,
    ):
        code: int = module.run(spark, options)
        return code


@contextmanager
def _session(job: str, master: str, conf: Mapping[str, str]) -> Iterator["SparkSession"]:
    from broker_lite.pipeline.spark.running import running

    shown = {
        "spark.log.level": "ERROR",
        "spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower(),
    }
    with running(f"broker-lite spark {job}", master, {**shown, **conf}) as spark:
        yield spark


@contextmanager
def told_in_one_line() -> Iterator[None]:
    """Make what a person did wrong a SettingsError, and what failed a KafkaStorageError."""
    from pyspark.errors import PySparkException

    from broker_lite.pipeline.read.corruption import CorruptLog

    wrong_use: tuple[type[Exception], ...] = (
        *_of_a_person(),
        FileNotFoundError,
        NotADirectoryError,
        PermissionError,
    )
    try:
        yield
    except CorruptLog as error:
        raise KafkaStorageError(str(error)) from error
    except wrong_use as error:
        raise SettingsError(str(error)) from error
    except BrokenPipeError:
        raise  # who reads the output went away: that is no fault
    except OSError as error:
        raise KafkaStorageError(str(error)) from error
    except PySparkException as error:
        text, _, _ = str(error).partition("\n\tat ")
        raise KafkaStorageError(text.partition("JVM stacktrace")[0]) from error


def _of_a_person() -> tuple[type[Exception], ...]:
    """Give the errors that a person can mend by saying something else."""
    from broker_lite.pipeline.compact.group import OldMessages
    from broker_lite.pipeline.files.file_io import UnknownFileSystem
    from broker_lite.pipeline.files.layout import LayoutError
    from broker_lite.pipeline.files.log_root import WriteRefused
    from broker_lite.pipeline.read.options import OptionError
    from broker_lite.pipeline.read.ranges import PlanError
    from broker_lite.pipeline.spark.java import NoJava
    from broker_lite.pipeline.spark.jobs.compact import CompactionRefused
    from broker_lite.pipeline.spark.jobs.export import ExportError

    return (
        CompactionRefused,
        ExportError,
        LayoutError,
        NoJava,
        OldMessages,
        OptionError,
        PlanError,
        UnknownFileSystem,
        WriteRefused,
    )
