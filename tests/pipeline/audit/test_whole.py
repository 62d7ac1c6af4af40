"""How a log is cut into tasks, and what only several of them together tell."""

from pathlib import Path

import pytest

from broker_lite.log.files.checkpoints import format_offsets
from broker_lite.pipeline.audit.task import Audit, Finding, audit
from broker_lite.pipeline.audit.whole import (
    audit_tasks,
    audited_in_order,
    between_tasks,
    cleaned_ends,
    is_torn_tail,
    log_directory,
    small_files,
)
from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.files.layout import find_partitions
from tests.pipeline.support import Partition, cut, damage, numbered

IO = LocalFileIO()


def audits_of(root: Path, *, max_split_bytes: int = 1) -> list[Audit]:
    """Audits of all partitions, with a task for each place where a split can begin."""
    logs = find_partitions(IO, str(root))
    tasks = audit_tasks(IO, str(root), logs, {}, max_split_bytes=max_split_bytes)
    return [audit(IO, task) for task in reversed(tasks)]  # they come back in any order


def findings(root: Path, cleaned_end: int = 0) -> list[Finding]:
    """What is wrong between tasks."""
    ordered = audited_in_order(audits_of(root))
    return [one for audits in ordered.values() for one in between_tasks(audits, cleaned_end)]


def beside(root: Path) -> list[Finding]:
    logs = find_partitions(IO, str(root))
    return list(small_files(IO, str(root), logs, audits_of(root)))


def three_segments(root: Path) -> list[Path]:
    with Partition(root) as partition:
        for _ in range(3):
            partition.append(numbered(4), producer_id=1)
            partition.roll()
        return sorted(partition.directory.glob("*.log"))


def test_tasks_have_every_byte_once_and_begin_at_batches(tmp_path: Path) -> None:
    with Partition(tmp_path, index_interval_bytes=500) as partition:
        for _ in range(50):
            partition.append(numbered(5), producer_id=1)
        partition.roll()
        partition.append(numbered(5))
    logs = find_partitions(IO, str(tmp_path))
    tasks = audit_tasks(IO, str(tmp_path), logs, {}, max_split_bytes=2000)
    audits = [audit(IO, task) for task in tasks]
    assert len(tasks) > 5
    assert sum(task.split.size_bytes for task in tasks) == sum(
        segment.size_bytes for log in logs.values() for segment in log.segments
    )
    assert sum(one.batches for one in audits) == 51
    assert [finding for one in audits for finding in one.findings] == []
    assert findings(tmp_path) == []


def test_small_segments_share_a_task(tmp_path: Path) -> None:
    three_segments(tmp_path)
    (task,) = audit_tasks(
        IO, str(tmp_path), find_partitions(IO, str(tmp_path)), {}, max_split_bytes=1 << 20
    )
    sizes = [part.size_bytes for part in task.split.ranges]
    assert len(sizes) == 4
    assert sizes[-1] == 0


def test_no_task_begins_where_a_wrong_index_says(tmp_path: Path) -> None:
    with Partition(tmp_path, index_interval_bytes=500) as partition:
        for _ in range(20):
            partition.append(numbered(5))
    index = next(partition.directory.glob("*.index"))
    for entry in range(index.stat().st_size // 8):
        damage(index, entry * 8 + 7, 1)
    (only,) = audits_of(tmp_path, max_split_bytes=2000)
    assert only.batches == 20
    assert {finding.rule for finding in only.findings} == {"S-10"}


def test_a_missing_segment_r18(tmp_path: Path) -> None:
    _, second, third, _ = three_segments(tmp_path)
    second.unlink()
    gap, sequence = findings(tmp_path)
    assert (gap.file, gap.position, gap.rule) == (str(third), 0, "R-18")
    assert gap.text.startswith("offsets 4 to 7 are missing")
    assert (sequence.file, sequence.rule) == (str(third), "V-57")
    assert findings(tmp_path, cleaned_end=8) == []


def test_segments_that_overlap_s05(tmp_path: Path) -> None:
    _, second, third, _ = three_segments(tmp_path)
    third.write_bytes(second.read_bytes())
    rules = {finding.rule for one in audits_of(tmp_path) for finding in one.findings}
    assert rules == {"S-05", "S-11"}  # its time index leads to batches that are left out


def test_a_segment_whose_name_is_too_low_s05(tmp_path: Path) -> None:
    first, second, *_ = three_segments(tmp_path)
    first.write_bytes(first.read_bytes() + second.read_bytes())
    second.rename(second.with_name(f"{1:020}.log"))
    assert [one.rule for audit in audits_of(tmp_path) for one in audit.findings] == [
        "S-05",
        "S-05",
        "S-11",
    ]


@pytest.mark.parametrize("which", [0, 1])
def test_a_damaged_neighbour_is_no_gap(tmp_path: Path, which: int) -> None:
    damage(three_segments(tmp_path)[which], 70)
    assert findings(tmp_path) == []


def test_a_torn_tail_is_one_only_at_the_end(tmp_path: Path) -> None:
    """R-04: cut off anywhere else it is damage; the same of what indexes have of it, S-11."""
    first, _, third, _ = three_segments(tmp_path)
    for path in (first, third):
        cut(path, path.stat().st_size - 3)
    audits = audited_in_order(audits_of(tmp_path))["topic", 0]
    told = [finding for one in audits for finding in one.findings]
    assert [(one.file, one.rule, is_torn_tail(one, audits)) for one in told] == [
        (str(first), "R-04", False),
        (str(first.with_suffix(".timeindex")), "S-11", False),
        (str(third), "R-04", True),
        (str(third.with_suffix(".timeindex")), "S-11", True),
    ]


def test_a_wrong_entry_is_no_torn_tail(tmp_path: Path) -> None:
    *_, third, _ = three_segments(tmp_path)
    damage(third.with_suffix(".timeindex"), 7)
    audits = audited_in_order(audits_of(tmp_path))["topic", 0]
    (told,) = [finding for one in audits for finding in one.findings]
    assert (told.rule, is_torn_tail(told, audits)) == ("S-11", False)


def test_s_10_an_index_of_an_empty_segment(tmp_path: Path) -> None:
    last = three_segments(tmp_path)[-1].with_suffix(".index")
    last.write_bytes(bytes.fromhex("0000000100000007"))
    (told,) = [finding for one in audits_of(tmp_path) for finding in one.findings]
    assert told == (str(last), -1, "S-10", "entry 13 -> 7 offset 13 leads behind the last batch")


@pytest.mark.parametrize("max_split_bytes", [1, 1 << 20])
def test_s_10_s_11_entries_are_told_once(tmp_path: Path, max_split_bytes: int) -> None:
    """In segments that are cut into several tasks, too."""
    with Partition(tmp_path, index_interval_bytes=500) as partition:
        for _ in range(20):
            partition.append(numbered(5), producer_id=1)
    index, time_index = (next(partition.directory.glob(f"*.{kind}index")) for kind in ("", "time"))
    damage(index, 8 * 2 + 7, 1)
    damage(time_index, 12 * 3 + 7, 1)
    audits = audits_of(tmp_path, max_split_bytes=max_split_bytes)
    assert (len(audits) > 1) is (max_split_bytes == 1)
    told = sorted((one.file, one.rule) for audit in audits for one in audit.findings)
    assert told == [(str(index), "S-10"), (str(time_index), "S-11")]


def test_nothing_beside_a_sound_log(tmp_path: Path) -> None:
    three_segments(tmp_path)
    assert beside(tmp_path) == []


def test_foreign_files_s04(tmp_path: Path) -> None:
    directory = three_segments(tmp_path)[0].parent
    (directory / "notes.txt").touch()
    ((file, position, rule, _),) = beside(tmp_path)
    assert (file, position, rule) == (str(directory / "notes.txt"), -1, "S-04")


def test_an_empty_segment_behind_a_missing_one_r18(tmp_path: Path) -> None:
    *_, third, last = three_segments(tmp_path)
    third.unlink()
    (finding,) = [one for one in beside(tmp_path) if one.rule == "R-18"]
    assert (finding.file, finding.position) == (str(last), 0)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("recovery-point-offset-checkpoint", format_offsets({("topic", 0): 12}), []),
        ("recovery-point-offset-checkpoint", format_offsets({("topic", 0): 13}), ["S-70"]),
        ("replication-offset-checkpoint", format_offsets({("topic", 0): 13}), ["S-70"]),
        ("replication-offset-checkpoint", format_offsets({("other", 0): 13}), []),
        ("cleaner-offset-checkpoint", "?", ["S-70"]),
    ],
)
def test_checkpoints_s70(tmp_path: Path, name: str, text: str, expected: list[str]) -> None:
    three_segments(tmp_path)
    (tmp_path / name).write_text(text)
    assert [finding.rule for finding in beside(tmp_path)] == expected


def test_a_damaged_snapshot_s17(tmp_path: Path) -> None:
    path = max(three_segments(tmp_path)[0].parent.glob("*.snapshot"))
    damage(path, 20)
    ((file, _, rule, _),) = beside(tmp_path)
    assert (file, rule) == (str(path), "S-17")


def test_the_cleaners_checkpoint_of_a_partition(tmp_path: Path) -> None:
    directory = three_segments(tmp_path)[0].parent
    (tmp_path / "cleaner-offset-checkpoint").write_text(format_offsets({("topic", 0): 8}))
    for root in (str(tmp_path), str(directory)):
        logs = find_partitions(IO, root)
        assert log_directory(root, logs) == str(tmp_path)
        assert cleaned_ends(IO, log_directory(root, logs)) == {("topic", 0): 8}
