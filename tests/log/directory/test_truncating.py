"""C-52: the cut of a log whose segments have gaps between them."""

from pathlib import Path

from tests.log.logs import T0, append, segment_bases
from tests.log.test_truncation import fill, manager_of, offsets


def test_c52_a_cut_in_a_gap_between_segments_keeps_all_that_is_before(tmp_path: Path) -> None:
    """S-20: a compacted log has gaps, and no batch of the kept segment reaches the offset."""
    manager = manager_of(tmp_path)
    fill(manager.get("t", 0))
    manager.close()
    for path in (tmp_path / "t-0").glob(f"{6:020d}.*"):
        path.unlink()
    manager = manager_of(tmp_path)
    assert offsets(manager.get("t", 0)) == [0, 2, 4, 12, 14, 16]
    assert manager.truncate("t", 0, 8) == 12
    log = manager.get("t", 0)
    assert (segment_bases(tmp_path / "t-0"), offsets(log)) == ([0], [0, 2, 4])
    assert append(log, T0, T0).base_offset == log.log_end_offset - 2
    manager.close()
