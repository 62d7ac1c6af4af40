"""S-05: the offset of a batch, which no checksum covers, and the batch behind it."""

import pytest

from broker_lite.log.files.headers import BatchHeader
from broker_lite.pipeline.read.held_offsets import HeldOffsets, order_fault

# Behind offset 9 comes a batch that says it begins at 20, with five records.
HELD = HeldOffsets(10, 20, 25, 700, 77, False)


@pytest.mark.parametrize(
    ("first_offset", "is_contradicted", "is_doubtful"),
    [
        pytest.param(25, False, None, id="S-05 it agrees"),
        pytest.param(30, False, None, id="S-05 another gap"),
        pytest.param(15, True, False, id="S-05 the held one begins at 10"),
        pytest.param(10, True, False, id="S-05 the held one does not belong there"),
        pytest.param(22, True, True, id="S-05 either of them"),
        pytest.param(20, True, True, id="S-05 the held one has the offset of the next"),
        pytest.param(9, False, None, id="S-05 too low for both"),
    ],
)
def test_s_05_the_next_batch_tells(
    first_offset: int, is_contradicted: bool, is_doubtful: bool | None
) -> None:
    assert HELD.is_contradicted(first_offset, 78) is is_contradicted
    if is_doubtful is not None:
        assert (HELD.doubt(first_offset) is not None) is is_doubtful


def test_s_05_behind_damage_a_gap_tells_too() -> None:
    held = HeldOffsets(10, 10, 15, 700, 77, True)
    assert held.is_contradicted(20, 78)
    assert held.doubt(20) is None
    assert not held.is_contradicted(15, 78)
    assert not held._replace(is_before_damage=True).is_contradicted(20, 78)


@pytest.mark.parametrize(
    ("offsets", "limit", "found_offset", "is_right"),
    [
        pytest.param((12, 15), None, 25, True, id="S-05 in front of it, and what follows agrees"),
        pytest.param((12, 15), 40, 30, True, id="S-05 in front of it, and a gap follows"),
        pytest.param((12, 15), None, 22, False, id="S-05 what follows contradicts, too"),
        pytest.param((12, 15), None, None, False, id="S-05 it is sound, or nothing follows"),
        pytest.param((15, 21), None, 25, False, id="S-05 the two overlap"),
        pytest.param((30, 35), None, 30, True, id="S-05 behind it, and what follows agrees"),
        pytest.param((38, 42), 40, None, True, id="S-05 an offset of the segment behind"),
        pytest.param((22, 42), 40, None, False, id="S-05 the two overlap in front of the limit"),
    ],
)
def test_s_05_the_next_batch_is_the_damaged_one(
    offsets: tuple[int, int], limit: int | None, found_offset: int | None, is_right: bool
) -> None:
    header = BatchHeader(900, 100, found_offset or 0, found_offset or 0, 0, 2)
    found = None if found_offset is None else header
    assert HELD.is_right_beside(*offsets, limit, found) is is_right


def test_s_05_the_same_batch_once_more_confirms_it() -> None:
    assert not HELD.is_contradicted(20, 77)


def test_s_05_what_needs_to_be_confirmed() -> None:
    assert HELD.is_behind_gap
    assert not HELD._replace(is_before_damage=True).is_behind_gap
    assert HELD.fault("why") == "offset 24 behind offset 9, and why"


@pytest.mark.parametrize(
    ("offsets", "fault"),
    [
        ((5, 7, 5, None), None),
        ((5, 7, 5, 7), None),
        ((5, 5, 5, None), "offsets 5 to 4"),
        ((4, 7, 5, None), "offset 4 after offset 4"),
        ((5, 8, 5, 7), "offset 7 in front of offset 7"),
    ],
    ids=["S-05 right", "S-05 to the limit", "S-05 none", "S-05 too low", "S-05 too high"],
)
def test_s_05_the_order(offsets: tuple[int, int, int, int | None], fault: str | None) -> None:
    assert order_fault(*offsets) == fault
