"""Generated segments: the same by any path, and sound but for the faults that were asked for."""

from pathlib import Path
from typing import Any

import pytest

from broker_lite.log.config import LogConfig
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.producers.snapshot import decode_snapshot
from broker_lite.log.recovery.loading import LoadRequest, load_log
from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.generate.segments import FIRST_PRODUCER_ID, PartitionGenerator, make_pool
from broker_lite.pipeline.generate.spec import GenerateSpec
from broker_lite.pipeline.write.commit import commit
from broker_lite.record.batch import RecordBatch
from broker_lite.record.control import read_end_transaction_marker
from broker_lite.record.records import iterate_records
from tests.pipeline.support import T0
from tests.pipeline.write.test_restamp import batches

IO = LocalFileIO()
SIZES: Any = {"value_bytes": 100, "batch_bytes": "1k", "segment_bytes": "20k"}
TRANSACTIONS: Any = {"producers": 2, "transaction_batches": 3, "abort_share": 0.4}


def generator(seed: int = 1, first_offset: int = 0, **topic: object) -> PartitionGenerator:
    spec = GenerateSpec.parse(
        {"seed": seed, "topics": [{"name": "t", "records": 1000, **SIZES, **topic}]}
    )
    return PartitionGenerator(spec.seed, spec.topics[0], 0, first_offset)


def make(root: Path, made: PartitionGenerator, *, backwards: bool = False) -> Path:
    numbers = range(made.shape.segment_count)
    order = reversed(numbers) if backwards else numbers
    staged = [one for number in order for one in made.write(IO, str(root), f"job-{number}", number)]
    commit(IO, str(root), sorted(staged, key=lambda one: one.base_offset))
    return root / "t-0"


def files(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def every(directory: Path) -> list[RecordBatch]:
    return [batch for path in sorted(directory.glob("*.log")) for batch in batches(path)]


@pytest.mark.parametrize("topic", [{}, TRANSACTIONS, {"codecs": ["none", "zstd"]}])
def test_the_same_bytes_in_any_order(tmp_path: Path, topic: Any) -> None:
    forwards = files(make(tmp_path / "a", generator(**topic)))
    assert files(make(tmp_path / "b", generator(**topic), backwards=True)) == forwards
    assert files(make(tmp_path / "c", generator(seed=2, **topic))) != forwards


@pytest.mark.parametrize("topic", [{}, TRANSACTIONS], ids=["plain", "transactions"])
def test_s_43_recovery_finds_everything_as_it_should_be(tmp_path: Path, topic: Any) -> None:
    """What trusts nothing and rebuilds all indexes and snapshots gets the very same files."""
    directory = make(tmp_path, generator(**topic))
    before = files(directory)
    config = LogConfig(producer_id_expiration_ms=1 << 62)
    log = load_log(
        LoadRequest("t", 0, str(directory), config, is_clean=False), FileCache(), now_ms=T0
    )
    log.close()
    assert files(directory) == before
    markers = sum(batch.is_control for batch in every(directory))
    assert log.log_end_offset == 1000 + markers
    assert log.last_stable_offset == log.log_end_offset
    assert (markers > 0) == bool(topic)


def test_transactions_and_sequences(tmp_path: Path) -> None:
    directory = make(tmp_path, generator(**TRANSACTIONS))
    sequences: dict[int, int] = {}
    ends = []
    for batch in every(directory):
        assert batch.is_transactional
        if batch.is_control:
            marker = read_end_transaction_marker(batch)
            assert marker is not None
            ends.append(marker.is_commit)
            continue
        assert batch.base_sequence == sequences.get(batch.producer_id, 0)
        sequences[batch.producer_id] = batch.base_sequence + batch.record_count
    assert set(sequences) == {FIRST_PRODUCER_ID, FIRST_PRODUCER_ID + 1}
    assert sum(sequences.values()) == 1000
    assert 0.2 < ends.count(False) / len(ends) < 0.6
    aborted = b"".join(path.read_bytes() for path in directory.glob("*.txnindex"))
    assert len(aborted) == 34 * ends.count(False)
    newest = max(directory.glob("*.snapshot"))
    assert {entry.last_sequence for entry in decode_snapshot(newest.read_bytes())} == {
        count - 1 for count in sequences.values()
    }


def test_records_are_what_was_asked_for(tmp_path: Path) -> None:
    topic: Any = {
        "keys": {"distribution": "uniform", "min": 0, "max": 9},
        "null_values": 0.1,
        "start_ms": T0,
        "interval_us": 2000,
        "codecs": ["lz4", "gzip", "snappy"],
    }
    found = every(make(tmp_path, generator(first_offset=70, **topic)))
    records = [record for batch in found for record in iterate_records(batch)]
    assert [record.offset for record in records] == list(range(70, 1070))
    assert [record.timestamp for record in records] == [T0 + 2 * n for n in range(1000)]
    assert len({bytes(record.key or b"") for record in records}) == 10
    assert 60 < sum(record.value is None for record in records) < 140
    assert {batch.codec for batch in found} == {1, 2, 3}


def test_faults(tmp_path: Path) -> None:
    sound = every(make(tmp_path / "sound", generator()))
    found = every(make(tmp_path / "crc", generator(bad_crc_share=0.2)))
    damaged = sum(not batch.crc_is_valid() for batch in found)
    assert 0.1 < damaged / len(found) < 0.3
    left = every(make(tmp_path / "gaps", generator(gap_share=0.2)))
    assert 0.7 < len(left) / len(sound) < 0.9
    assert {bytes(batch.data) for batch in left} < {bytes(batch.data) for batch in sound}


def test_r_04_a_torn_tail(tmp_path: Path) -> None:
    directory = make(tmp_path, generator(torn_tail=True))
    sound = make(tmp_path / "sound", generator())
    *whole, last = sorted(path.name for path in directory.glob("*.log"))
    assert all((directory / name).read_bytes() == (sound / name).read_bytes() for name in whole)
    torn, complete = ((path / last).read_bytes() for path in (directory, sound))
    assert complete.startswith(torn)
    assert len(complete) > len(torn)


def test_pools() -> None:
    text, noise, zeros = (make_pool(kind, 5) for kind in ("text", "random", "zeros"))
    assert len(text) == len(noise) == len(zeros)
    assert set(zeros) == {0}
    assert text.decode().replace(" ", "").isalpha()
    assert len(set(noise)) == 256
    assert make_pool("text", 6) != text


def test_a_segment_of_gaps_alone_is_none(tmp_path: Path) -> None:
    made = generator(gap_share=1)
    assert made.write(IO, str(tmp_path), "job-1", 0) == []
