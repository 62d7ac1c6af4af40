"""Generate: one task or many, the bytes are the same; nothing is left by a job that fails."""

import argparse
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from broker_lite.commands.spark import generate as spark_generate
from broker_lite.errors import SettingsError
from broker_lite.log.directory.data_directory import DirectoryLock
from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.files.log_root import WriteRefused
from broker_lite.pipeline.generate.distributions import SpecError
from broker_lite.pipeline.generate.plan import TASK_BYTES, tasks_of
from broker_lite.pipeline.generate.spec import GenerateSpec
from broker_lite.pipeline.spark.jobs import generate as job
from broker_lite.pipeline.spark.jobs.generate import GenerateTask, generate
from broker_lite.pipeline.write.commit import commit
from broker_lite.pipeline.write.log_writer import StagedSegment

SPEC: dict[str, Any] = {
    "seed": 11,
    "topics": [
        {"name": "plain", "records": 3000, "partitions": 2, "value_bytes": 100},
        {
            "name": "transactional",
            "records": 4000,
            "value_bytes": {"distribution": "uniform", "min": 0, "max": 200},
            "codecs": ["zstd"],
            "producers": 2,
            "transaction_batches": 2,
            "abort_share": 0.5,
            "batch_bytes": "2k",
            "segment_bytes": "50k",
        },
    ],
}


def files(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }


def segments_of(root: str, task_bytes: int = TASK_BYTES) -> list[list[StagedSegment]]:
    """The segments of each task of the specification, made here."""
    ends = dict.fromkeys(("plain-0", "plain-1", "transactional-0"), 0)
    spec = GenerateSpec.parse(SPEC)
    task = GenerateTask(root, spec, ends, "job-")
    return [task.generate(pieces) for pieces in tasks_of(spec, task_bytes=task_bytes)]


def test_the_number_of_tasks_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    done = generate(spark, SPEC, str(tmp_path / "one"))
    assert [(one.topic, one.partition, one.first_offset) for one in done] == [
        ("plain", 0, 0),
        ("plain", 1, 0),
        ("transactional", 0, 0),
    ]
    assert [one.end_offset for one in done[:2]] == [1500, 1500]
    assert done[2].segment_count > 5
    assert done[2].record_count == 4000 < done[2].end_offset
    root = str(tmp_path / "many")
    tasks = segments_of(root, task_bytes=1)
    assert len(tasks) > 7
    segments = [segment for task in reversed(tasks) for segment in task]
    segments.sort(key=lambda one: (*one.placement[:3], one.base_offset))
    commit(LocalFileIO(), root, segments)
    assert files(tmp_path / "one") == files(tmp_path / "many")


def test_what_was_generated_is_read(spark: SparkSession, tmp_path: Path) -> None:
    generate(spark, SPEC, str(tmp_path))
    reader = spark.read.format("kafka_segments")
    assert reader.load(str(tmp_path)).count() == 7000
    committed = reader.option("isolationLevel", "read_committed").load(str(tmp_path)).count()
    assert 3000 < committed < 7000


def test_a_second_time_goes_behind_the_first(spark: SparkSession, tmp_path: Path) -> None:
    for first_offset in (0, 1500):
        done = generate(spark, {"topics": [SPEC["topics"][0]]}, str(tmp_path))
        assert [one.first_offset for one in done] == [first_offset] * 2


def test_what_cannot_be_done(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="topics: a list"):
        generate(spark, {}, str(tmp_path))
    lock = DirectoryLock(tmp_path)
    with pytest.raises(WriteRefused, match="in use by another process"):
        generate(spark, SPEC, str(tmp_path))
    lock.release()
    (tmp_path / "meta.properties").write_text("version=1\n")
    (tmp_path / ".kafka_cleanshutdown").write_text("")
    with pytest.raises(WriteRefused, match="no partition plain-0: create its topic"):
        generate(spark, SPEC, str(tmp_path))


def test_a_log_that_grew_meanwhile_is_left_alone(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generate(spark, SPEC, str(tmp_path))
    before = files(tmp_path)
    monkeypatch.setattr(job, "log_ends", lambda io, root, keys: dict.fromkeys(keys, 0))
    with pytest.raises(WriteRefused, match="offset 0 of plain-0 is not above 1499"):
        generate(spark, SPEC, str(tmp_path))
    assert files(tmp_path) == before


def test_an_attempt_that_was_not_taken_has_files_of_its_own(tmp_path: Path) -> None:
    first, second = (segments_of(str(tmp_path)) for _ in range(2))
    assert len(first) == len(second) == 1
    logs = list(tmp_path.rglob("*.log.*.deleted"))
    assert len(logs) == len(first[0]) + len(second[0])


def test_the_command_tells_what_came_to_be(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = argparse.ArgumentParser()
    spark_generate.add_arguments(parser)
    words = [str(tmp_path), "--topic", "t", "--set", "partitions=2", "--set"]
    assert spark_generate.run(spark, parser.parse_args([*words, "records=10"])) == 0
    size_bytes = sum(path.stat().st_size for path in tmp_path.rglob("*.log"))
    assert capsys.readouterr().out == f"t: partitions=2 records=10 bytes={size_bytes} segments=2\n"
    with pytest.raises(SettingsError, match="spark generate: topic t: unknown field colour"):
        spark_generate.run(spark, parser.parse_args([*words, "colour=1"]))
