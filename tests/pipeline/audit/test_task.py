"""What a task says of its bytes: framing, checksums, offsets, producers' sequences."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker_lite.pipeline.audit import task
from broker_lite.pipeline.audit.task import (
    FINDINGS_MAX,
    NO_OFFSET,
    PRODUCER_EXPIRATION_MS,
    UNDAMAGED,
    Audit,
    AuditTask,
    SequencedBatch,
    audit,
    run_audit,
    sequence_fault,
)
from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.read.batches import LogBatch, read_batches
from broker_lite.record.batch import RECORD_BATCH_OVERHEAD, RecordBatch
from broker_lite.record.builder import BatchBuilder
from tests.pipeline.support import (
    T0,
    NewRecord,
    Partition,
    cut,
    damage,
    legacy_message,
    legacy_wrapper,
    numbered,
    whole_split,
    write_segment,
)


def audit_all(root: Path, *, cleaned_end: int = 0, is_deep: bool = False) -> Audit:
    return audit(LocalFileIO(), AuditTask(whole_split(root), cleaned_end, is_deep))


def batch(base_offset: int, *, count: int = 1, codec: int = 0, sequence: int = -1) -> bytes:
    has_producer = sequence >= 0
    builder = BatchBuilder(
        base_offset=base_offset,
        codec=codec,
        producer_id=7 if has_producer else -1,
        producer_epoch=0 if has_producer else -1,
        base_sequence=sequence,
    )
    for index in range(count):
        builder.append(T0 + index, b"k", b"v" * 100, ())
    return builder.build()


def rules(found: Audit) -> list[str]:
    return [finding.rule for finding in found.findings]


def sequenced(offset: int, epoch: int, first: int, last: int, after_ms: int = 0) -> SequencedBatch:
    return SequencedBatch("f", offset, offset, epoch, first, last, T0 + after_ms)


def test_a_sound_log_of_several_segments(tmp_path: Path) -> None:
    with Partition(tmp_path) as partition:
        partition.append(numbered(5), producer_id=1)
        partition.append(numbered(3), producer_id=1, codec=4)
        partition.roll()
        partition.append(numbered(2), producer_id=2, is_transactional=True)
        partition.end_transaction(2, commit=True)
        partition.append(numbered(1), producer_id=1)
    found = audit_all(tmp_path, is_deep=True)
    assert found.findings == ()
    assert (found.batches, found.records) == (5, 11)
    assert (found.first_offset, found.next_offset) == (0, 12)
    assert (found.damaged_from, found.damaged_to) == (UNDAMAGED, 0)
    assert found.end_file.endswith("00000000000000000008.log")
    first, second = found.producers
    assert (first.producer_id, first.first.first_sequence, first.last.last_sequence) == (1, 0, 8)
    assert (second.producer_id, second.last.last_sequence) == (2, 1)


def test_a_flipped_bit_r06_is_told_once(tmp_path: Path) -> None:
    """What the lost batch had, its offsets and sequences, is not told as missing, too."""
    one, two = batch(0, sequence=0), batch(1, sequence=1)
    path = write_segment(tmp_path, one + two + batch(2, sequence=2))
    damage(path, len(one) + 80)
    found = audit_all(tmp_path)
    ((file, position, rule, text),) = found.findings
    assert (file, position, rule) == (str(path), len(one), "R-06")
    assert "checksum" in text
    assert (found.damaged_from, found.damaged_to) == (1, 2)
    assert (found.batches, found.next_offset) == (2, 3)


def test_a_cut_file_r04(tmp_path: Path) -> None:
    path = write_segment(tmp_path, batch(0) + batch(1))
    cut(path, len(batch(0)) + 30)
    found = audit_all(tmp_path)
    assert rules(found) == ["R-04"]
    assert found.end_position == len(batch(0))


def test_a_file_without_a_sound_batch(tmp_path: Path) -> None:
    write_segment(tmp_path, b"\xff" * 100)
    found = audit_all(tmp_path)
    assert rules(found) == ["R-02"]
    assert (found.batches, found.first_offset, found.next_offset) == (0, NO_OFFSET, NO_OFFSET)


@pytest.mark.parametrize(
    ("cleaned_end", "expected"), [(0, ["R-18"]), (2, ["R-18"]), (3, []), (9, [])]
)
def test_a_gap_r18_is_a_finding_unless_the_cleaner_was_there(
    tmp_path: Path, cleaned_end: int, expected: list[str]
) -> None:
    write_segment(tmp_path, batch(0, count=2) + batch(5))
    assert rules(audit_all(tmp_path, cleaned_end=cleaned_end)) == expected


@pytest.mark.parametrize(("cleaned_end", "expected"), [(0, ["R-18"]), (1, [])])
def test_fewer_records_than_offsets_r18(
    tmp_path: Path, cleaned_end: int, expected: list[str]
) -> None:
    builder = BatchBuilder(base_offset=0)
    builder.append(T0, b"k", b"v", (), offset=4)
    write_segment(tmp_path, builder.build())
    assert rules(audit_all(tmp_path, cleaned_end=cleaned_end)) == expected


def test_offsets_that_go_back_s05(tmp_path: Path) -> None:
    write_segment(tmp_path, batch(4) + batch(5) + batch(2))
    found = audit_all(tmp_path)
    assert rules(found) == ["S-05"]


def test_a_sequence_that_is_left_out_v57(tmp_path: Path) -> None:
    write_segment(tmp_path, batch(0, sequence=0) + batch(1, sequence=2))
    ((_, position, rule, text),) = audit_all(tmp_path).findings
    assert (position, rule) == (len(batch(0)), "V-57")
    assert text == "sequence 2 after sequence 0 of producer 7"


@pytest.mark.parametrize(
    ("batch", "judged_from", "rule"),
    [
        pytest.param(sequenced(9, 3, 5, 6), 0, None, id="next"),
        pytest.param(sequenced(9, 3, 6, 6), 0, "V-57", id="V-57 gap"),
        pytest.param(sequenced(9, 3, 4, 4), 0, "V-57", id="V-57 again"),
        pytest.param(sequenced(9, 4, 0, 0), 0, None, id="new epoch"),
        pytest.param(sequenced(9, 4, 1, 1), 0, "V-57", id="V-57 new epoch begins late"),
        pytest.param(sequenced(9, 2, 0, 0), 0, "V-56", id="V-56 old epoch"),
        pytest.param(sequenced(9, 3, 6, 6), 3, None, id="compacted in between"),
        pytest.param(sequenced(9, 3, 6, 6, PRODUCER_EXPIRATION_MS), 0, None, id="V-65 forgotten"),
    ],
)
def test_sequences(batch: SequencedBatch, judged_from: int, rule: str | None) -> None:
    fault = sequence_fault(7, sequenced(2, 3, 2, 4), batch, judged_from)
    assert (fault and fault.rule) == rule


def test_records_are_looked_at_when_it_is_deep(tmp_path: Path) -> None:
    """R-37: a checksum can be right, and a record wrong."""
    builder = BatchBuilder(base_offset=0)
    builder.append(T0, b"k", b"v", ())
    data = bytearray(builder.build())
    data[RECORD_BATCH_OVERHEAD] += 2  # the record says that it is longer
    view = RecordBatch(memoryview(data), 0, len(data))
    view.set_max_timestamp(False, T0 + 1)  # a change: the checksum is made anew
    path = write_segment(tmp_path, bytes(data))
    assert rules(audit_all(tmp_path)) == []
    ((file, position, rule, _),) = audit_all(tmp_path, is_deep=True).findings
    assert (file, position, rule) == (str(path), 0, "R-37")


def test_old_messages(tmp_path: Path) -> None:
    inner = [legacy_message(index, b"k", b"v") for index in range(2)]
    data = legacy_message(0, None, b"v") + legacy_wrapper(2, inner) + batch(3)
    write_segment(tmp_path, data)
    found = audit_all(tmp_path, is_deep=True)
    assert rules(found) == []
    assert (found.first_offset, found.next_offset, found.batches) == (0, 4, 3)


def test_the_number_of_findings_has_a_limit(tmp_path: Path) -> None:
    """Every second offset is missing."""
    count = FINDINGS_MAX + 5
    write_segment(tmp_path, b"".join(batch(2 * index) for index in range(count + 1)))
    found = audit_all(tmp_path)
    assert len(found.findings) == FINDINGS_MAX + 1
    assert found.findings[-1].text == "5 more findings from here on"


def test_an_empty_value_is_no_gap(tmp_path: Path) -> None:
    with Partition(tmp_path) as partition:
        partition.append([NewRecord(), NewRecord(b"", b"")])
    assert audit_all(tmp_path, is_deep=True).findings == ()


@pytest.fixture(scope="module")
def sound_log(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a log of three segments with transactions and two producers."""
    root = tmp_path_factory.mktemp("sound")
    with Partition(root, index_interval_bytes=300) as partition:
        for _ in range(3):
            for index in range(6):
                partition.append(numbered(1 + index % 3), producer_id=1)
                partition.append(numbered(2))
            partition.append(numbered(2), producer_id=2, is_transactional=True)
            partition.end_transaction(2, commit=False)
            partition.append(numbered(2), producer_id=2, is_transactional=True)
            partition.end_transaction(2, commit=True)
            partition.roll()
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in partition.directory.iterdir()
        if path.suffix in (".log", ".index", ".timeindex", ".txnindex")
    }


@given(
    changes=st.lists(
        st.tuples(st.integers(0, 99), st.integers(0, 1 << 20), st.integers(1, 255)), max_size=4
    ),
    cuts=st.lists(st.tuples(st.integers(0, 99), st.integers(0, 200)), max_size=2),
    cleaned_end=st.sampled_from([0, 20, 1000]),
)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_the_walk_leaves_no_finding_out(
    sound_log: dict[str, bytes],
    tmp_path_factory: pytest.TempPathFactory,
    changes: list[tuple[int, int, int]],
    cuts: list[tuple[int, int]],
    cleaned_end: int,
) -> None:
    """Whatever is damaged: with compiled code that passes over batches and without it."""
    files = {name: bytearray(data) for name, data in sound_log.items()}
    filled = sorted(name for name, data in files.items() if data)
    for which, position, xor in changes:
        data = files[filled[which % len(filled)]]
        data[position % len(data)] ^= xor
    for which, size_bytes in cuts:
        name = filled[which % len(filled)]
        files[name] = files[name][: max(len(files[name]) - size_bytes, 1)]
    root = tmp_path_factory.mktemp("changed")
    for name, data in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(data)
    task_ = AuditTask(whole_split(root), cleaned_end, False)
    found = run_audit(task_)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(task, "read_batches", without_walk)
        one_by_one = audit(LocalFileIO(), task_)
    # Of an entry in the wrong order the walk lets its owner know later.
    assert sorted(one_by_one.findings) == sorted(found.findings)
    assert one_by_one._replace(findings=()) == found._replace(findings=())
    if not changes and not cuts and cleaned_end == 0:
        assert found.findings == ()


def without_walk(*args: Any, walk: object, **given: Any) -> Iterator[LogBatch]:
    return read_batches(*args, **given)
