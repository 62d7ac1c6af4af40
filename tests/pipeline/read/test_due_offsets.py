"""R-18, S-05: offsets that are missing without a word of damage, and those that damage took."""

from broker_lite.pipeline.files.layout import EVERY_OFFSET
from broker_lite.pipeline.read.due_offsets import DueOffsets


def test_r_18_a_gap_is_told_where_nothing_was_cleaned() -> None:
    due = DueOffsets(5, 100, 0)
    assert due.missing_below(5) is None
    assert (due.missing_below(8) or "").startswith("offsets 5 to 7 are missing")
    due.came_to(10)
    assert due.missing_below(10) is None
    assert due.missing_below(EVERY_OFFSET) is None


def test_r_18_a_cleaner_leaves_gaps() -> None:
    due = DueOffsets(5, 100, 20)
    assert not due.is_strict
    assert due.missing_below(30) is None
    due.came_to(20)
    assert due.is_strict
    assert due.missing_below(30) is not None


def test_r_18_what_damage_explains_is_no_news() -> None:
    due = DueOffsets(5, 100, 0)
    due.is_told = True
    assert due.missing_below(30) is None
    assert due.lost_below(30) == ", with offsets 5 to 29"
    due.lost_to(30)
    assert due.lost_below(30) == ""
    due.came_to(31)
    assert not due.is_told


def test_where_a_segment_ends() -> None:
    due = DueOffsets(5, 100, 0)
    assert (due.end_of(None), due.end_of(50), due.end_of(150)) == (100, 50, 100)
    assert due.ends_right(50, 50)
    assert not due.ends_right(49, 50)
    assert due.ends_right(103, 150)
    assert not due.ends_right(99, None)


def test_what_ends_short_of_the_next_segment() -> None:
    due = DueOffsets(5, 100, 0)
    assert due.is_short(49, 50)
    assert not due.is_short(50, 50)
    assert not due.is_short(49, None)
    assert not DueOffsets(5, EVERY_OFFSET, 0).is_short(49, 50)
    due.is_told = True
    assert not due.is_short(49, 50)


def test_s_05_headers_of_damaged_batches_confirm_the_offset_behind_them() -> None:
    due = DueOffsets(5, 100, 0)
    assert not due.is_claimed(5)
    due.claim(20, 30, 10)  # it does not go on from what is sound
    assert not due.is_claimed(30)
    due.claim(10, 10, 10)  # it has no offsets
    assert not due.is_claimed(10)
    due.claim(10, 20, 10)
    due.claim(0, 1, 10)
    assert due.is_claimed(20)
    due.claim(20, 30, 10)
    due.claim_count(77, 82, 10)
    assert due.is_claimed(35)
    due.came_to(35)
    assert not due.is_claimed(35)
    due.claim_count(77, 82, 35)
    assert due.is_claimed(40)


def test_s_05_offsets_of_a_damaged_batch_that_is_in_a_wrong_place() -> None:
    due = DueOffsets(5, 100, 0)
    due.claim(20, 30, 10)
    assert due.is_lost(20, 30)
    assert not due.is_lost(20, 29)
    due.claim_count(40, 50, 10)
    assert due.is_lost(40, 50)
    due.came_to(50)
    assert not due.is_lost(40, 50)
