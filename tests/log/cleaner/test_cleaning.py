"""The steps of one cleaning: S-82, S-83, S-88."""

from pathlib import Path

import pytest

from broker_lite.log.cleaner.offset_map import MapLimits
from tests.log.cleaner.cleaning import KEY, CleanedLog, config
from tests.support.disk import Disk


def several(data_dir: Path) -> CleanedLog:
    given = CleanedLog(data_dir, config(segment_bytes=150))
    for number in range(5):
        given.append((f"{number}", "v"))
        given.roll()
    given.append(("end", "v"))
    return given


def test_groups_one_after_the_other_s83_s88(tmp_path: Path) -> None:
    given = several(tmp_path)
    cleaning = given.begin()
    assert (cleaning.round_end, cleaning.is_complete) == (0, False)
    cleaning.gather()
    assert cleaning.round_end == 5
    bases = []
    while (cleaned := cleaning.rewrite_next()) is not None:
        bases.append([source.base_offset for source in cleaned.sources])
        given.cleaner.swap(cleaning, cleaned)
    assert bases == [[0, 1], [2, 3], [4]]
    assert cleaning.is_complete
    assert cleaning.summary() == "from=0 to=5 bytes=350 left=350"
    given.cleaner.done(cleaning)
    assert given.records() == [*((n, f"{n}", "v") for n in range(5)), (5, "end", "v")]


def test_a_round_ends_where_the_map_is_full_s82(tmp_path: Path) -> None:
    given = several(tmp_path)
    small = MapLimits(24 * 4, 0.5)
    assert [given.clean(small) for _ in range(3)] == [2, 4, 5]
    assert [one.base_offset for one in given.log.segments.all] == [0, 2, 4, 5]


def test_the_checkpoint_is_not_ahead_of_the_files_names_s89(tmp_path: Path, disk: Disk) -> None:
    """A loss of power would leave the old segments, and nobody would clean them again."""
    given = several(tmp_path)
    cleaning = given.begin()
    cleaning.gather()
    while (cleaned := cleaning.rewrite_next()) is not None:
        given.cleaner.swap(cleaning, cleaned)
        if cleaned.sources[-1].base_offset == 4:
            disk.refuse("fsync")
            with pytest.raises(OSError, match="the disk is gone"):
                cleaning.rewrite_next()
            break
    given.cleaner.done(cleaning)
    assert not cleaning.is_complete
    assert given.cleaner.checkpoint.get(KEY) is None
