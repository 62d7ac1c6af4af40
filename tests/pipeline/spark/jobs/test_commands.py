"""`broker-lite spark JOB`: what is printed and written, and the exit codes.

Also tests: broker_lite.commands.spark.compact, broker_lite.commands.spark.diff,
broker_lite.commands.spark.export, broker_lite.commands.spark.report,
broker_lite.commands.spark.verify, broker_lite.commands.search.by_spark.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from broker_lite.cli import main
from broker_lite.commands.spark.jobs import told_in_one_line
from broker_lite.errors import KafkaStorageError, SettingsError
from broker_lite.log.directory.data_directory import DirectoryLock
from tests.pipeline.mixed_log import write_mixed_log
from tests.pipeline.support import Partition, damage, numbered

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(spark: SparkSession, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a job in the session of the tests; gives exit code, output and errors of our own."""

    def run(*arguments: object) -> tuple[int, str, str]:
        capfd.readouterr()
        code = main(["spark", *map(str, arguments)])
        told = capfd.readouterr()
        errors = [line for line in told.err.splitlines() if line.startswith("broker-lite: ")]
        return code, told.out, "\n".join(errors)

    return run


@pytest.fixture
def log(tmp_path: Path) -> Path:
    root = tmp_path / "log"
    with Partition(root) as partition:
        partition.append(numbered(4))
        partition.append(numbered(4))
        partition.roll()
        partition.append(numbered(2))
    return root


def test_verify(run: Run, log: Path, tmp_path: Path) -> None:
    code, output, _ = run("verify", log, "--deep")
    assert (code, output.split(", ")[:3]) == (
        0,
        ["sound: 1 partitions", "2 segments", "3 batches"],
    )
    file = log / "topic-0" / f"{0:020}.log"
    damage(file, 100)
    page, told = tmp_path / "page.html", tmp_path / "told.json"
    code, output, _ = run("verify", log, "--html", page, "--json", told)
    assert code == 1
    assert f"{file} at 0: R-06: wrong checksum" in output
    assert "findings: 1 partitions" in output
    assert "R-06" in page.read_text()
    assert json.loads(told.read_text())["is_sound"] is False
    code, output, _ = run("verify", log, "--json", "-")
    assert (code, json.loads(output)["partitions"]) == (1, 1)


def test_export_and_what_it_refuses(run: Run, log: Path, tmp_path: Path) -> None:
    target = tmp_path / "table"
    told = f"Exported 10 records of {log} to {target}.\n"
    assert run("export", log, target) == (0, told, "")
    code, _, errors = run("export", log, target)
    assert code == 2
    assert "already exists" in errors
    code, output, errors = run("export", log, target, "--mode", "ignore")
    assert (code, output) == (0, "")
    assert errors == f"broker-lite: {target} already exists: it stays as it is"


@pytest.mark.parametrize("table_format", ["delta", "iceberg"])
def test_export_goes_on_where_it_was(
    run: Run, log: Path, tmp_path: Path, table_format: str
) -> None:
    target = tmp_path / "table"
    arguments = ("export", log, target, "--format", table_format)
    assert run(*arguments) == (0, f"Added 10 records of {log} to {target}.\n", "")
    assert run(*arguments) == (0, f"Added 0 records of {log} to {target}.\n", "")
    code, _, errors = run(*arguments, "--mode", "append")
    assert (code, errors) == (
        2,
        f"broker-lite: --format {table_format}: --mode and --batches are for parquet",
    )
    code, _, errors = run(*arguments, "--option", "startingOffsets=earliest")
    assert code == 2
    assert f"option startingOffsets: is not for {table_format}" in errors
    code, _, errors = run("export", log, tmp_path / "other", "--catalog", "mine")
    assert (code, errors) == (2, "broker-lite: --catalog: is for --format iceberg")


def test_a_damaged_log_is_one_line(run: Run, log: Path, tmp_path: Path) -> None:
    damage(log / "topic-0" / f"{0:020}.log", 100)
    code, _, errors = run("export", log, tmp_path / "table")
    assert code == 1
    assert "at 0: R-06: wrong checksum" in errors


def test_f_14_export_says_what_it_leaves_out(run: Run, tmp_path: Path) -> None:
    log = write_mixed_log(tmp_path / "log")
    code, output, errors = run("export", log, tmp_path / "table", "--committed")
    assert (code, output.split()[1]) == (0, "66")
    assert errors.splitlines()[0] == "broker-lite: 3 records of aborted transactions are left out"
    code, _, errors = run("import", tmp_path / "table", tmp_path / "new", "--new-offsets")
    assert code == 0
    assert "not kept: 1 control batches" in errors


def test_diff(run: Run, log: Path, tmp_path: Path) -> None:
    assert run("diff", log, log)[:2] == (0, "10 equal, 0 missing, 0 extra, 0 different\n")
    other = tmp_path / "other"
    with Partition(other) as partition:
        partition.append(numbered(9))
    code, output, _ = run("diff", log, other, "--compare", "key,value", "--show", 1)
    assert code == 1
    assert output.splitlines()[1:] == ["4 equal, 1 missing, 0 extra, 5 different"]
    code, _, errors = run("diff", log, other, "--compare", "offset")
    assert code == 2
    assert errors.startswith("broker-lite: --compare offset: only key, value")


def test_compact(run: Run, log: Path) -> None:
    lock = DirectoryLock(log)
    code, _, errors = run("compact", log, "topic")
    lock.release()
    assert (code, errors) == (
        2,
        f"broker-lite: data directory {log} is in use by another process",
    )
    code, output, _ = run("compact", log, "topic")
    assert code == 0
    assert output.startswith("Compacted 1 segments with ")
    assert run("verify", log)[0] == 0
    assert run("diff", log, log)[1].startswith("6 equal")


def test_report(run: Run, log: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert run("report", log, page, "--no-records")[:2] == (0, f"Wrote {page}.\n")
    assert "Report on a Kafka log" in page.read_text()


def test_search(run: Run, log: Path) -> None:
    flags = ("--key", "key-000001", "--option", "minPartitions=3")
    offsets = ("--formatter-property", "print.offset=true")
    code, output, _ = run("search", log, *flags, *offsets)
    assert (code, output.splitlines()) == (
        0,
        [f"Offset:{offset}\t00000001000000010000" for offset in (1, 5, 9)],
    )
    assert run("search", log, "--key", "missing")[:2] == (1, "")
    code, output, errors = run("search", log, *flags, "--value-deserializer", "LongDeserializer")
    assert (code, output) == (2, "")
    assert errors == "broker-lite: LongDeserializer: 20 bytes instead of 8"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("verify", "nowhere"), "No such file or directory"),
        (("diff", "nowhere", "LOG"), "No such file or directory"),
        (("diff", "LOG", "nowhere"), "No such file or directory"),
        (("export", "nowhere", "OUT"), "No such file or directory"),
        (("report", "nowhere", "OUT"), "No such file or directory"),
        (("compact", "nowhere", "topic"), "no such directory"),
        (("import", "nowhere", "OUT"), "there is no table"),
        (("generate", "OUT", "--spec", "nowhere"), "No such file or directory"),
        (("verify", "EMPTY"), "there is no partition"),
        (("diff", "LOG", "EMPTY"), "there is no partition"),
        (("export", "EMPTY", "OUT"), "there is no partition"),
        (("report", "EMPTY", "OUT"), "there is no partition"),
        (("import", "EMPTY", "OUT"), "there is no file of a table"),
        (("compact", "LOG", "other"), "there is no other"),
        (("diff", "LOG", "LOG", "--topics", "other"), "there is no other"),
        (("export", "LOG", "OUT", "--option", "color=x"), "option color: there is none"),
        (("export", "LOG", "OUT", "--option", "startingTimestamp=9999999999999"), "as young as"),
        (("import", "LOG", "OUT", "--option", "color=x"), "there is no file of a table"),
        (("verify", "FILE"), "Not a directory"),
        (("export", "FILE", "OUT"), "Not a directory"),
        (("verify", "LOG", "--topics", "other"), "there is no other"),
        (("verify", "LOG", "--option", "isolationLevel=x"), "option isolationLevel='x'"),
        (("verify", "LOG", "--option", "color=x"), "option color: there is none"),
    ],
)
def test_wrong_use(
    run: Run, log: Path, tmp_path: Path, arguments: tuple[str, ...], expected: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    names = {"LOG": log, "EMPTY": tmp_path / "empty", "FILE": tmp_path / "file"}
    names["OUT"] = tmp_path / "out"
    code, _, errors = run(*(names.get(word, word) for word in arguments))
    assert code == 2, errors
    assert expected in errors
    assert errors.count("\n") == 0
    assert not names["OUT"].exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("verify", "LOG"), 1),
        (("diff", "LOG", "LOG"), 2),
        (("export", "LOG", "OUT"), 1),
        (("compact", "LOG", "topic"), 1),
        (("import", "TABLE", "OUT"), 1),
        (("report", "LOG", "OUT", "--no-records"), 0),
    ],
)
def test_input_that_cannot_be_read(
    run: Run, log: Path, tmp_path: Path, arguments: tuple[str, ...], expected: int
) -> None:
    """It is a finding of verify; diff has no answer then, and the others have failed."""
    damage(log / "topic-0" / f"{0:020}.log", 100)
    (tmp_path / "table").mkdir()
    (tmp_path / "table" / "part.parquet").write_bytes(b"no table")
    names = {"LOG": log, "TABLE": tmp_path / "table", "OUT": tmp_path / "out"}
    code, _, errors = run(*(names.get(word, word) for word in arguments))
    assert code == expected, errors
    assert errors.count("broker-lite: ") == (arguments[0] not in ("verify", "report"))


def test_pyspark_does_not_log_what_is_told_anyway(
    spark: SparkSession, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(KafkaStorageError, match="cannot be resolved"), told_in_one_line():
        spark.sql("SELECT missing")
    assert "QueryContextLogger" not in capfd.readouterr().err


@pytest.mark.parametrize("failure", [KafkaStorageError, SettingsError])
def test_a_failure_is_no_answer_of_a_comparison(
    failure: type[KafkaStorageError | SettingsError],
) -> None:
    with pytest.raises(failure), told_in_one_line(failure):
        raise OSError(5, "Input/output error", "/data/0.log")


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (PermissionError(13, "Permission denied", "/data"), SettingsError),
        (OSError("AWS Error NO_SUCH_BUCKET"), KafkaStorageError),
        (OSError(5, "Input/output error", "/data/0.log"), KafkaStorageError),
        (BrokenPipeError(), BrokenPipeError),
    ],
    ids=["permission", "storage", "disk", "pipe"],
)
def test_what_files_and_stores_say_is_one_line(raised: OSError, told: type[Exception]) -> None:
    with pytest.raises(told) as caught, told_in_one_line():
        raise raised
    assert str(caught.value) == str(raised)
