"""S-60 to S-65."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.log.files.checkpoints import CorruptCheckpoint
from broker_lite.log.files.leader_epochs import LeaderEpochCache

ENTRIES = ((0, 0), (2, 11), (5, 20))


@pytest.mark.parametrize(
    ("epoch", "offset", "changed", "expected"),
    [
        pytest.param(5, 20, False, ENTRIES, id="S-63-same"),
        pytest.param(5, 25, False, ENTRIES, id="S-63-same-epoch-later"),
        pytest.param(5, 15, True, ((0, 0), (2, 11), (5, 15)), id="S-63-same-epoch-earlier"),
        pytest.param(6, 30, True, (*ENTRIES, (6, 30)), id="S-63-next"),
        pytest.param(6, 20, True, ((0, 0), (2, 11), (6, 20)), id="S-63-idle-restart"),
        pytest.param(6, 5, True, ((0, 0), (6, 5)), id="S-63-higher-epoch-lower-offset"),
        pytest.param(1, 40, True, ((0, 0), (1, 40)), id="S-63-lower-epoch"),
        pytest.param(0, 0, True, ((0, 0),), id="S-63-first-again"),
    ],
)
def test_assign(
    epoch: int, offset: int, changed: bool, expected: tuple[tuple[int, int], ...]
) -> None:
    cache = LeaderEpochCache(ENTRIES)
    assert cache.assign(epoch, offset) is changed
    assert tuple(cache.entries) == expected


@pytest.mark.parametrize(("epoch", "offset"), [(-1, 5), (7, -1)])
def test_assign_refuses_negative_numbers(epoch: int, offset: int) -> None:
    """S-63."""
    cache = LeaderEpochCache(ENTRIES)
    with pytest.raises(ValueError, match="negative"):
        cache.assign(epoch, offset)
    assert tuple(cache.entries) == ENTRIES


def test_assign_to_an_empty_cache() -> None:
    cache = LeaderEpochCache()
    assert cache.latest_epoch == -1
    assert cache.assign(0, 0)
    assert cache.latest_epoch == 0


@pytest.mark.parametrize(
    ("requested", "expected"),
    [
        pytest.param(-1, (-1, -1), id="S-64--1"),
        pytest.param(5, (5, 33), id="S-64-newest"),
        pytest.param(6, (-1, -1), id="S-64-above"),
        pytest.param(0, (0, 11), id="S-64-first"),
        pytest.param(1, (0, 11), id="S-64-gap"),
        pytest.param(2, (2, 20), id="S-64-middle"),
        pytest.param(4, (2, 20), id="S-64-gap-below-newest"),
    ],
)
def test_end_offset(requested: int, expected: tuple[int, int]) -> None:
    assert LeaderEpochCache(ENTRIES).end_offset_for(requested, 33) == expected


def test_end_offset_below_the_first_epoch() -> None:
    """S-64."""
    cache = LeaderEpochCache([(3, 7), (4, 9)])
    assert cache.end_offset_for(1, 33) == (1, 7)
    assert LeaderEpochCache().end_offset_for(0, 33) == (-1, -1)


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        pytest.param(21, ENTRIES, id="S-65-above"),
        pytest.param(20, ENTRIES[:2], id="S-65-at"),
        pytest.param(5, ENTRIES[:1], id="S-65-two"),
        pytest.param(0, (), id="S-65-all"),
    ],
)
def test_truncate_from_end(offset: int, expected: tuple[tuple[int, int], ...]) -> None:
    cache = LeaderEpochCache(ENTRIES)
    assert cache.truncate_from_end(offset) is (expected != ENTRIES)
    assert tuple(cache.entries) == expected


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        pytest.param(-1, ENTRIES, id="S-65-below"),
        pytest.param(0, ENTRIES, id="S-65-at-first"),
        pytest.param(5, ((0, 5), (2, 11), (5, 20)), id="S-65-inside-first"),
        pytest.param(11, ((2, 11), (5, 20)), id="S-65-at-second"),
        pytest.param(30, ((5, 30),), id="S-65-inside-last"),
    ],
)
def test_truncate_from_start(offset: int, expected: tuple[tuple[int, int], ...]) -> None:
    cache = LeaderEpochCache(ENTRIES)
    assert cache.truncate_from_start(offset) is (expected != ENTRIES)
    assert tuple(cache.entries) == expected


def test_clear() -> None:
    cache = LeaderEpochCache(ENTRIES)
    cache.clear()
    assert cache.entries == []


def test_text() -> None:
    """S-60, TV-67."""
    assert LeaderEpochCache([(0, 0)]).to_text() == "0\n1\n0 0\n"
    assert LeaderEpochCache().to_text() == "0\n0\n"
    assert LeaderEpochCache.from_text("0\n2\n0 0\n2 11\n").entries == [(0, 0), (2, 11)]
    assert LeaderEpochCache.from_text("").entries == []


@pytest.mark.parametrize(
    "text",
    [
        "1\n0\n",
        "0\n2\n0 0\n",
        "0\n1\n0 0\n1 1\n",
        "0\n1\n0\n",
        "0\n1\n0 0 0\n",
        "0\n1\na 0\n",
        "0\n1\n-1 0\n",
        "0\n1\n0 -1\n",
        "0\n2\n1 0\n1 5\n",
        "0\n2\n1 5\n2 5\n",
        "0\n2\n2 0\n1 5\n",
    ],
)
def test_malformed_text(text: str) -> None:
    with pytest.raises(CorruptCheckpoint):
        LeaderEpochCache.from_text(text)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99)), max_size=12))
def test_entries_always_grow(assignments: list[tuple[int, int]]) -> None:
    """S-60, S-63: whatever is assigned, both columns grow and the text reads back."""
    cache = LeaderEpochCache()
    for epoch, offset in assignments:
        cache.assign(epoch, offset)
        entries = cache.entries
        assert entries[-1].epoch == epoch
        assert all(a.epoch < b.epoch and a[1] < b[1] for a, b in itertools.pairwise(entries))
        assert LeaderEpochCache.from_text(cache.to_text()).entries == entries


@settings(max_examples=100, deadline=None)
@given(st.text("0123 -a\n", max_size=20))
def test_any_text_parses_or_is_corrupt(text: str) -> None:
    try:
        cache = LeaderEpochCache.from_text("0\n" + text)
    except CorruptCheckpoint:
        return
    assert LeaderEpochCache.from_text(cache.to_text()).entries == cache.entries
