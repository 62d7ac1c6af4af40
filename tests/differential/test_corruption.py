"""Damaged partitions: here, in Kafka's own loader, and in a real Kafka that is started on them."""

import time
from pathlib import Path

import pytest

from tests.differential import corruption, corruption_start
from tests.differential.loaded_log import SAMPLE_SETTINGS, Start, kafka_loader, load_ours
from tests.log.recovery.test_splitting import BASES, BATCHES, write_segment
from tests.support.toolchain import require

SEED = 20261121
ALONE = 80
COMPARED = 40
STARTED = 16


@pytest.mark.slow
def test_s15_s44_nothing_is_served_that_was_not_written(tmp_path: Path) -> None:
    """S-12, S-15 to S-18, S-40 to S-47: a share of what the command does."""
    found = corruption.run(SEED, 0, tmp_path, alone=ALONE)
    assert found.faults == [], found.summary()
    assert found.alone == ALONE


@pytest.mark.kafka
@pytest.mark.slow
def test_s44_kafkas_loader_cuts_the_same(tmp_path: Path) -> None:
    require("java", "javac", "mvn")
    found = corruption.run(SEED, COMPARED, tmp_path, alone=0)
    assert found.faults == [], found.summary()
    assert found.compared == COMPARED


@pytest.mark.kafka
@pytest.mark.slow
def test_s44_a_kafka_that_is_started_finds_the_same(tmp_path: Path) -> None:
    """Kafka creates the topic, its partitions are replaced by damaged ones, and it starts again."""
    require("java", "javac", "mvn")
    found = corruption_start.run(SEED, STARTED, tmp_path, kinds=(False,))
    assert found.faults == [], found.summary()
    assert found.compared >= STARTED


@pytest.mark.kafka
@pytest.mark.slow
def test_s42_kafkas_loader_splits_the_same(tmp_path: Path) -> None:
    """After a kill: the same segments, byte for byte, and the same indexes."""
    require("java", "javac", "mvn")
    start = Start(is_clean=False, recovery_point=0)
    directories = {name: tmp_path / name / "sample-0" for name in ("ours", "kafka")}
    for directory in directories.values():
        directory.mkdir(parents=True)
        write_segment(directory, *BATCHES)
    with kafka_loader(*SAMPLE_SETTINGS) as kafka:
        theirs = kafka.load({directories["kafka"]: start})[directories["kafka"]]
    ours, _ = load_ours(directories["ours"], start, int(time.time() * 1000))
    assert (ours.failure, theirs.failure) == ("", "")
    assert ours.differences(theirs) == []
    assert sorted(int(name[:20]) for name in ours.files if name.endswith(".log")) == BASES


def test_each_listed_difference_has_its_condition() -> None:
    listed = corruption.read_listed()
    assert {entry.when for entry in listed} == corruption.CONDITIONS.keys()
    assert all(entry.reason for entry in listed)
