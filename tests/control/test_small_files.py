"""Every small file of a data directory, damaged in every way: what a person reads.

S-40, S-60, S-70, S-75, S-76, S-77, S-78. A start ends with one line that names the file, or it goes
on; then one line says what was done, where anything depends on the file. No acknowledged record is
lost, and none comes back that was deleted, unless a line says that the log start offsets are lost.
"""

import logging
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.errors import BrokerError, KafkaStorageError, SettingsError, cause_of
from broker_lite.log.read import read_log
from broker_lite.record.builder import BatchBuilder
from broker_lite.settings import Settings
from tests.log.logs import batches_of, content, validated

TOPIC: Final = "t"
RECORDS: Final = 6
LOG_START: Final = 2
MARK: Final = ".kafka_cleanshutdown"
METADATA: Final = "__cluster_metadata-0"
SNAPSHOT: Final = f"{TOPIC}-0/{RECORDS:020}.snapshot"
NOT_CLEAN: Final = "last stop was not clean, logs are recovered"


def missing(path: Path, _: Path) -> None:
    path.unlink()


def empty(path: Path, _: Path) -> None:
    path.write_bytes(b"")


def random_bytes(path: Path, _: Path) -> None:
    path.write_bytes(b"\xff" + random.Random(7).randbytes(40))


def of_another(path: Path, other: Path) -> None:
    shutil.copyfile(other, path)


def directory(path: Path, _: Path) -> None:
    path.unlink()
    path.mkdir()


def unreadable(path: Path, _: Path) -> None:
    """Even for root."""
    path.unlink()
    path.symlink_to(path.name)


Damage = Callable[[Path, Path], None]
DAMAGES: Final = (missing, empty, random_bytes, of_another, directory, unreadable)


class Told(NamedTuple):
    """What a person reads; one of both.

    Attributes:
        line: of the broker's log; empty for none, as nothing depends on the file.
        refusal: the start's last word.
    """

    line: str = ""
    refusal: str = ""


NOTHING: Final = Told()
IS_DIRECTORY: Final = Told(refusal="Is a directory")
IS_LOOP: Final = Told(refusal="Too many levels of symbolic links")
_IGNORED: Final = "checkpoint ignored"
# in the order of DAMAGES
OFFSETS_ARE_LOST: Final = (
    Told(f"{_IGNORED}.*it is missing"),
    Told(f"{_IGNORED}.*it is empty"),
    Told(f"{_IGNORED}.*is not text"),
    NOTHING,
    IS_DIRECTORY,
    IS_LOOP,
)

TABLE: Final[dict[str, tuple[Told, ...]]] = {
    # in the order of DAMAGES
    "meta.properties": (
        Told("meta.properties is made anew"),
        Told(refusal="no node id"),
        Told(refusal="is not text"),
        NOTHING,  # the cluster of another directory: nothing else of this one names a cluster
        IS_DIRECTORY,
        IS_LOOP,
    ),
    "recovery-point-offset-checkpoint": OFFSETS_ARE_LOST,
    "log-start-offset-checkpoint": OFFSETS_ARE_LOST,
    "replication-offset-checkpoint": (
        NOTHING,  # with one replica a log's end is its high watermark
        Told(f"{_IGNORED}.*it is empty"),
        Told(f"{_IGNORED}.*is not text"),
        NOTHING,
        IS_DIRECTORY,
        IS_LOOP,
    ),
    MARK: (
        Told(NOT_CLEAN),
        NOTHING,  # as Kafka left it before 3.7
        Told("mark of a clean stop ignored.*is not text"),
        NOTHING,
        IS_DIRECTORY,
        Told("mark of a clean stop ignored.*symbolic links"),
    ),
    ".lock": (
        NOTHING,
        NOTHING,
        NOTHING,
        NOTHING,
        Told(refusal=".lock: Is a directory"),
        Told(refusal="a symbolic link"),
    ),
    "bootstrap.checkpoint": (
        Told("bootstrap.checkpoint is recreated.*it is missing"),
        Told("bootstrap.checkpoint is recreated.*ends before its footer"),
        Told("bootstrap.checkpoint is recreated.*"),
        NOTHING,
        IS_DIRECTORY,
        IS_LOOP,
    ),
    f"{METADATA}/quorum-state": (
        Told("quorum-state is recreated.*it is missing"),
        Told("quorum-state is recreated.*names no leader epoch"),
        Told("quorum-state is recreated.*is not text"),
        NOTHING,
        IS_DIRECTORY,
        IS_LOOP,
    ),
    f"{METADATA}/partition.metadata": (
        Told("partition.metadata is made anew"),
        Told("partition.metadata ignored.*no known version"),
        Told("partition.metadata ignored.*is not text"),
        NOTHING,  # every metadata log has the same id
        IS_DIRECTORY,
        IS_LOOP,
    ),
    f"{METADATA}/leader-epoch-checkpoint": (
        Told("leader epochs dropped.*is missing"),
        Told("leader epochs dropped.*is empty"),
        Told("leader epochs dropped.*is not text"),
        NOTHING,
        IS_DIRECTORY,
        IS_LOOP,
    ),
    f"{TOPIC}-0/partition.metadata": (
        Told("partition.metadata is made anew"),
        Told("partition.metadata ignored.*no known version"),
        Told("partition.metadata ignored.*is not text"),
        Told("partition offline.*log repair --topic-ids"),
        Told("not loaded partition=t-0.*Is a directory"),
        Told("not loaded partition=t-0.*symbolic links"),
    ),
    f"{TOPIC}-0/leader-epoch-checkpoint": (
        Told("leader epochs dropped.*is missing"),
        Told("leader epochs dropped.*is empty"),
        Told("leader epochs dropped.*is not text"),
        NOTHING,
        Told("not loaded partition=t-0.*Is a directory"),
        Told("not loaded partition=t-0.*symbolic links"),
    ),
    SNAPSHOT: (
        NOTHING,  # as Kafka: a log stopped cleanly without one has no producers of interest
        Told("snapshot deleted"),
        Told("snapshot deleted"),
        NOTHING,
        Told("not loaded partition=t-0.*Is a directory"),
        Told("not loaded partition=t-0.*symbolic links"),
    ),
}
CASES: Final = [
    pytest.param(name, damage, told, id=f"{name}-{damage.__name__}")
    for name, row in TABLE.items()
    for damage, told in zip(DAMAGES, row, strict=True)
]
# after a crash the batches are read
READ_ANEW: Final = {
    ("recovery-point-offset-checkpoint", missing),
    *((f"{folder}/leader-epoch-checkpoint", missing) for folder in (METADATA, f"{TOPIC}-0")),
    *((f"{folder}/leader-epoch-checkpoint", empty) for folder in (METADATA, f"{TOPIC}-0")),
    *((SNAPSHOT, damage) for damage in (empty, random_bytes)),
}
LOST_STARTS: Final = [
    ("log-start-offset-checkpoint", one) for one in (missing, empty, random_bytes)
]


def open_cluster(folder: Path) -> Cluster:
    return Cluster.open(Settings(), folder, Clock.standing_still())


def batch(number: int) -> bytes:
    builder = BatchBuilder(producer_id=7, producer_epoch=0, base_sequence=number)
    builder.append(1_700_000_000_000 + number, b"%d" % number, b"value")
    return builder.build()


def make_directory(folder: Path) -> Path:
    cluster = open_cluster(folder)
    cluster.create_topic(TOPIC)
    log = cluster.log(TOPIC, 0)
    for number in range(RECORDS):
        log.append(validated(batch(number)), now_ms=0)
    log.delete_records_before(LOG_START)
    cluster.close()
    return folder


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_directory(tmp_path_factory.mktemp("template") / "data")


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_directory(tmp_path_factory.mktemp("other") / "data")


def test_the_table_has_every_small_file(template: Path) -> None:
    paths = (path.relative_to(template) for path in template.rglob("*") if path.is_file())
    found = {str(path) for path in paths if path.suffix not in {".log", ".index", ".timeindex"}}
    assert found == set(TABLE)


def start(folder: Path) -> tuple[Cluster | None, str]:
    """The cluster, or what the start ends with."""
    try:
        return open_cluster(folder), ""
    except (BrokerError, SettingsError) as error:
        return None, str(error) or str(cause_of(error))


def use(cluster: Cluster, before: bytes, log_start: int, *, knows_producer: bool) -> None:
    """Everything is there, at its offset; the producer goes on."""
    log = cluster.log(TOPIC, 0)
    assert (log.log_start_offset, log.log_end_offset) == (log_start, RECORDS)
    assert content(read_log(log, log_start, max_bytes=1 << 20)) == b"".join(
        batches_of(before)[log_start:]
    )
    if knows_producer:
        repeated = batches_of(before)[-1]
        assert log.append(validated(repeated), now_ms=0).base_offset == RECORDS - 1
    assert log.append(validated(batch(RECORDS)), now_ms=0).base_offset == RECORDS


@pytest.mark.parametrize("was_clean", [True, False], ids=["S-40", "S-44"])
@pytest.mark.parametrize(("name", "damage", "told"), CASES)
def test_s70_a_lost_small_file_is_one_line_and_no_record(
    template: Path,
    other: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    name: str,
    damage: Damage,
    told: Told,
    was_clean: bool,
) -> None:
    folder = tmp_path / "data"
    shutil.copytree(template, folder)
    segment = folder / f"{TOPIC}-0" / f"{0:020}.log"
    before = segment.read_bytes()
    if not was_clean:
        (folder / MARK).unlink()
        told = NOTHING if name == MARK or (name, damage) in READ_ANEW else told
    if (folder / name).exists():
        damage(folder / name, other / name)
    with caplog.at_level(logging.INFO, "broker_lite"):
        cluster, refusal = start(folder)
        if cluster is None:
            assert told.refusal
            assert told.refusal in refusal
            assert refusal.count("\n") == 0
        elif "loaded" in told.line or "offline" in told.line:
            with pytest.raises(KafkaStorageError):
                cluster.log(TOPIC, 0)
            with pytest.raises(KafkaStorageError):  # and no second line
                cluster.log(TOPIC, 0)
        else:
            start_offset = 0 if (name, damage) in LOST_STARTS else LOG_START
            knows_producer = not was_clean or (name, damage) != (SNAPSHOT, missing)
            use(cluster, before, start_offset, knows_producer=knows_producer)
    lines = [line for line in caplog.messages if not line.startswith(NOT_CLEAN)]
    is_told = NOT_CLEAN in caplog.text
    assert is_told == (not was_clean or (name == MARK and bool(told.line))) or cluster is None
    expected = [told.line] if told.line and told.line != NOT_CLEAN else []
    assert len(lines) == len(expected), lines
    assert all(re.search(pattern, line) for pattern, line in zip(expected, lines, strict=True))
    if cluster is not None:
        cluster.close(sync=False)
    assert segment.read_bytes()[: len(before)] == before
