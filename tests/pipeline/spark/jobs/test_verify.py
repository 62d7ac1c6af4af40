"""Verify tells of everything that is wrong, with file, position and rule, and of nothing else."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from broker_lite.pipeline.audit.verification import Verification
from broker_lite.pipeline.read.ranges import PlanError
from broker_lite.pipeline.spark.jobs.verify import verify
from tests.pipeline.support import Partition, cut, damage, numbered

SPLITS = {"maxSplitBytes": "3000"}


def write_log(root: Path, topic: str = "topic") -> list[Path]:
    """Four segments of several batches, with indexes, transactions and two producers."""
    with Partition(root, topic, index_interval_bytes=300) as partition:
        for index in range(3):
            for _ in range(5):
                partition.append(numbered(10, value_bytes=50), producer_id=1, codec=index)
                partition.append(numbered(3), producer_id=2, is_transactional=True)
                partition.end_transaction(2, commit=index != 1)
            partition.roll()
        partition.append(numbered(10), producer_id=1)
    return sorted(partition.directory.glob("*.log"))


def found(verification: Verification) -> list[tuple[str, int, str]]:
    return [(Path(one.file).name, one.position, one.rule) for one in verification.findings]


def test_a_sound_log(spark: SparkSession, tmp_path: Path) -> None:
    write_log(tmp_path)
    write_log(tmp_path, "other")
    verification = verify(spark, str(tmp_path), SPLITS, is_deep=True)
    assert verification.findings == ()
    assert verification.is_sound
    assert (verification.partitions, verification.segments) == (2, 8)
    assert (verification.batches, verification.records) == (92, 410)
    told = json.loads(json.dumps(verification.as_json()))
    assert (told["is_sound"], told["records"], told["findings"]) == (True, 410, [])


def test_everything_that_is_wrong(spark: SparkSession, tmp_path: Path) -> None:
    """A damage of each kind, each in a topic of its own, in one run."""
    flipped = write_log(tmp_path, "flipped")[1]
    damage(flipped, 100)
    torn = write_log(tmp_path, "torn")[3]
    cut(torn, torn.stat().st_size - 5)
    write_log(tmp_path, "missing")[1].unlink()
    index = write_log(tmp_path, "index")[0].with_suffix(".index")
    damage(index, 7, 1)
    foreign = write_log(tmp_path, "foreign")[0].with_name("notes.txt")
    foreign.touch()
    verification = verify(spark, str(tmp_path), SPLITS)
    by_topic: dict[str, set[tuple[str, int, str]]] = {}
    for finding in verification.findings:
        path = Path(finding.file)
        topic = path.parent.name.removesuffix("-0")
        by_topic.setdefault(topic, set()).add((path.name, finding.position, finding.rule))
    assert (flipped.name, 0, "R-06") in by_topic["flipped"]
    (told,) = [one for one in verification.findings if one.rule == "R-06"]
    assert (told.file, told.text) == (
        str(flipped),
        "wrong checksum of a batch of 195 bytes, with offsets 70 to 79",
    )
    assert {(name, rule) for name, _, rule in by_topic["torn"]} == {
        (torn.name, "R-04"),
        (torn.with_suffix(".timeindex").name, "S-11"),  # of the batch that was cut off
    }
    assert {rule for _, _, rule in by_topic["missing"]} >= {"R-18", "V-57", "S-04"}
    assert by_topic["index"] == {(index.name, -1, "S-10")}
    assert by_topic["foreign"] == {("notes.txt", -1, "S-04")}
    assert not verification.is_sound


def test_an_append_that_goes_on_is_no_damage(spark: SparkSession, tmp_path: Path) -> None:
    last = write_log(tmp_path)[-1]
    cut(last, last.stat().st_size - 5)
    assert [rule for *_, rule in found(verify(spark, str(tmp_path)))] == ["R-04", "S-11"]
    assert found(verify(spark, str(tmp_path), is_live=True)) == []


def test_a_log_that_was_compacted_elsewhere(spark: SparkSession, tmp_path: Path) -> None:
    second = write_log(tmp_path)[1]
    for path in second.parent.glob(f"{second.stem}.*"):
        path.unlink()
    assert found(verify(spark, str(tmp_path))) != []
    assert found(verify(spark, str(tmp_path), is_compacted=True)) == []


def test_some_partitions(spark: SparkSession, tmp_path: Path) -> None:
    damage(write_log(tmp_path, "bad")[0], 100)
    write_log(tmp_path, "good")
    assert verify(spark, str(tmp_path), {"subscribe": "good"}).is_sound
    with pytest.raises(PlanError, match="there is no other"):
        verify(spark, str(tmp_path), {"subscribe": "other"})
