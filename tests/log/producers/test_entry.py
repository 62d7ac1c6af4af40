"""V-57, V-59, V-61, R-14: the values of producer state."""

import pytest

from broker_lite.log.producers.entry import (
    BatchMetadata,
    ProducerEntry,
    VerificationEntry,
    decrement_sequence,
    follows_in_sequence,
)


@pytest.mark.parametrize(
    ("last", "following", "expected"),
    [
        (-1, 0, True),
        (-1, 1, False),
        (7, 8, True),
        (7, 7, False),
        (7, 9, False),
        (7, 0, False),
        (2147483647, 0, True),
        (2147483646, 2147483647, True),
        (2147483647, 1, False),
    ],
)
def test_follows_in_sequence(last: int, following: int, expected: bool) -> None:
    """V-57 row 4."""
    assert follows_in_sequence(last, following) is expected


@pytest.mark.parametrize(
    ("sequence", "count", "expected"),
    [(7, 0, 7), (7, 7, 0), (1, 3, 2147483646), (0, 1, 2147483647)],
)
def test_decrement_sequence(sequence: int, count: int, expected: int) -> None:
    """R-14, TV-21."""
    assert decrement_sequence(sequence, count) == expected


def test_five_batches_are_kept() -> None:
    """V-59."""
    entry = ProducerEntry(7, epoch=0)
    for number in range(7):
        entry.add_batch(BatchMetadata(number, number, 10 + number, 0, 100 + number))
    assert [batch.first_sequence for batch in entry.batches] == [2, 3, 4, 5, 6]
    assert entry.last_sequence == 6
    assert entry.last_timestamp_ms == 106
    assert entry.find_duplicate(0, 1, 1) is None
    assert entry.find_duplicate(0, 2, 2) == (12, 12, 102)
    assert entry.find_duplicate(1, 2, 2) is None


def test_a_new_epoch_forgets_the_batches() -> None:
    """V-59, V-62: an equal one keeps them."""
    entry = ProducerEntry(7, epoch=0)
    entry.add_batch(BatchMetadata(0, 3, 13, 3, 100))
    entry.move_to_epoch(0)
    assert entry.last_sequence == 3
    entry.move_to_epoch(1)
    assert entry.batches == []
    assert entry.describe() == (7, 1, -1, 100, -1, -1)


@pytest.mark.parametrize(("first_offset", "expected"), [(-1, False), (0, True), (1, True)])
def test_v62_a_transaction_may_begin_at_offset_0(first_offset: int, expected: bool) -> None:
    entry = ProducerEntry(7, epoch=0, transaction_first_offset=first_offset)
    assert entry.is_in_transaction is expected


def test_verification_keeps_the_lowest_sequence_of_the_newest_epoch() -> None:
    """V-61."""
    entry = VerificationEntry(timestamp_ms=5, sequence=7, epoch=1, supports_epoch_bump=False)
    for sequence, epoch, expected in [
        (9, 1, (7, 1)),
        (3, 1, (3, 1)),
        (1, 0, (3, 1)),
        (8, 2, (8, 2)),
    ]:
        entry.note(sequence, epoch)
        assert (entry.lowest_sequence, entry.epoch) == expected
