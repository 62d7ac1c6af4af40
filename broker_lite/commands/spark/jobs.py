"""`broker-lite spark JOB`: what Spark does with logs, job by job.

The session runs on this machine unless `--master` says otherwise; `--conf` works as for
spark-submit. On a terminal, Spark shows its progress.

Exit codes: 0 is done, sound, equal or found. 1 is the answer of verify and diff if they found
something, and of search if it found nothing; of the other jobs a failure. 2 is wrong usage, which a
missing input is, and for those three whatever else left them without an answer.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Final

from broker_lite.commands.log.actions import run_action
from broker_lite.commands.shared.flags import add_repeatable
from broker_lite.commands.shared.spark_options import assignments, check_log, source_options
from broker_lite.commands.shared.subcommands import Subcommand, add_subcommands
from broker_lite.commands.shared.umask import OWNER_ONLY, masked
from broker_lite.errors import KafkaStorageError, SettingsError

JOBS: Final[Mapping[str, Subcommand]] = {
    "verify": Subcommand("broker_lite.commands.spark.verify", "check a log for damage"),
    "report": Subcommand("broker_lite.commands.spark.report", "make an HTML page about a log"),
    "export": Subcommand(
        "broker_lite.commands.spark.export", "write records as Parquet, Delta or Iceberg"
    ),
    "import": Subcommand(
        "broker_lite.commands.spark.import_records", "write a table of records as logs"
    ),
    "generate": Subcommand(
        "broker_lite.commands.spark.generate", "generate logs of any size from a seed"
    ),
    "diff": Subcommand("broker_lite.commands.spark.diff", "compare the records of two logs"),
    "compact": Subcommand("broker_lite.commands.spark.compact", "compact topics offline"),
    "search": Subcommand(
        "broker_lite.commands.search.by_spark", "print records, as `log search` does on one machine"
    ),
    "replay": Subcommand(
        "broker_lite.commands.replay.command", "write records into a broker, as `log replay` does"
    ),
    "prepare": Subcommand(
        "broker_lite.commands.spark.prepare", "make what lets the other jobs start faster, once"
    ),
}
_WITHOUT_SPARK: Final = frozenset({"replay"})
"""Jobs that people look for here, although one process does them better."""

_BY_PYTHON: Final = frozenset({"verify", "report", "search", "generate"})
"""Jobs whose work is done by Python, so that Java had better start quickly."""

_ANSWERS: Final = ("verify", "diff", "search")
"""Jobs whose exit code 1 is an answer; so 2 says that there is none, whatever the reason."""

_QUERIES: Final = ("DataFrame", "SQL")
_READ: Final[Mapping[str, tuple[str, ...]]] = {
    "verify": ("path",),
    "report": ("path",),
    "export": ("path",),
    "diff": ("left", "right"),
}
"""The arguments that name a log to read with the options of the data source."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the jobs and their common flags."""
    for job, subparser in zip(JOBS, add_subcommands(parser, JOBS, kind="job"), strict=True):
        if job in _WITHOUT_SPARK:
            continue
        subparser.add_argument(
            "--master", default="local[*]", help="as for spark-submit; default: %(default)s"
        )
        add_repeatable(
            subparser, "--conf", text="a setting of Spark, as for spark-submit; repeatable"
        )


def run(options: argparse.Namespace) -> int:
    """Run a job in a new session, or in the existing one."""
    if options.job in _WITHOUT_SPARK:
        return run_action(f"spark {options.job}", JOBS[options.job], options)
    if find_spec("pyspark") is None or find_spec("pyarrow") is None:
        raise SettingsError("spark: needs more packages: pip install 'broker-lite[spark]'")
    from broker_lite.pipeline.spark.running import running

    conf = {
        "spark.log.level": "ERROR",
        "spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower(),
        **assignments("--conf", options.conf),
    }
    name = f"broker-lite spark {options.job}"
    if options.job == "prepare":
        with told_in_one_line():
            made: int = JOBS[options.job].load().run(options, name, conf)
            return made
    failure = SettingsError if options.job in _ANSWERS else KafkaStorageError
    with told_in_one_line(failure):  # before Spark starts, which takes seconds
        for argument in _READ.get(options.job, ()):
            check_log(getattr(options, argument), source_options(options))
    module = JOBS[options.job].load()
    # before the session starts, because its workers inherit the umask
    umask = options.umask if options.job == "generate" else None
    if options.job == "generate" and options.broker:
        umask = umask or OWNER_ONLY
    with (
        told_in_one_line(failure),
        masked(umask),
        running(
            name, options.master, conf, is_quiet=True, quick_start=options.job in _BY_PYTHON
        ) as spark,
    ):
        code: int = module.run(spark, options)
        return code


@contextmanager
def told_in_one_line(
    failure: type[KafkaStorageError | SettingsError] = KafkaStorageError,
) -> Iterator[None]:
    """Turn wrong usage into SettingsError, and failures into `failure`."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    from broker_lite.commands.shared.reading_errors import WRONG_USE, reading_told
    from broker_lite.pipeline.spark.class_archive import ArchiveError

    try:
        with _unlogged(), reading_told():
            yield
    except (KafkaStorageError, ArchiveError) as error:
        raise failure(str(error)) from error
    except _of_a_person() as error:
        raise SettingsError(str(error)) from error
    except BrokenPipeError:
        raise  # the reader of the output has gone, which is no failure
    except OSError as error:
        raise failure(str(error)) from error
    except (PySparkException, Py4JJavaError) as error:
        # PySpark has no class for some errors of Java.
        text, _, _ = str(getattr(error, "java_exception", error)).partition("\n\tat ")
        text = text.partition("JVM stacktrace")[0]
        # An error of our source comes as text, with the name of its class.
        wrong_use = (*_of_a_person(), *WRONG_USE)
        names = (f"{one.__module__}.{one.__qualname__}: " for one in wrong_use)
        raise (SettingsError if any(name in text for name in names) else failure)(text) from error


@contextmanager
def _unlogged() -> Iterator[None]:
    """Keep PySpark from logging an error as JSON before it raises it."""
    from pyspark.logger import PySparkLogger

    loggers = [PySparkLogger.getLogger(f"{kind}QueryContextLogger") for kind in _QUERIES]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, was_disabled in zip(loggers, before, strict=True):
            logger.disabled = was_disabled


def _of_a_person() -> tuple[type[Exception], ...]:
    """Return further errors that the user can fix by other arguments."""
    from broker_lite.pipeline.compact.group import OldMessages
    from broker_lite.pipeline.files.log_root import WriteRefused
    from broker_lite.pipeline.spark.java import NoJava
    from broker_lite.pipeline.spark.jobs.compact import CompactionRefused
    from broker_lite.pipeline.spark.jobs.export import ExportError
    from broker_lite.pipeline.spark.lake.table import LakeError

    return (
        CompactionRefused,
        ExportError,
        FileNotFoundError,
        LakeError,
        NoJava,
        NotADirectoryError,
        OldMessages,
        PermissionError,
        WriteRefused,
    )
