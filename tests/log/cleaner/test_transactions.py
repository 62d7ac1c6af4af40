"""Which batches and markers are over: S-86."""

import pytest

from broker_lite.errors import InvalidRecord
from broker_lite.log.cleaner.transactions import CleanedTransactions
from broker_lite.log.files.txn_index import AbortedTransaction
from broker_lite.record.batch import RecordBatch
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.control import (
    ControlType,
    EndTransactionMarker,
    control_batch,
    end_transaction_batch,
)
from broker_lite.record.emptied import emptied
from tests.log.cleaner.cleaning import view

ABORTED = AbortedTransaction(7, 10, 14, 15)


def data(offset: int, producer_id: int = 7, *, is_transactional: bool = True) -> RecordBatch:
    builder = BatchBuilder(
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=is_transactional,
    )
    builder.append(0, b"k", b"v")
    return view(builder.build())


def marker(offset: int, *, commit: bool, producer_id: int = 7) -> RecordBatch:
    ending = EndTransactionMarker(commit, 0)
    return view(
        bytes(end_transaction_batch(producer_id, 0, ending, timestamp=0, base_offset=offset))
    )


class Followed:
    """The transactions, and which aborted ones were kept."""

    def __init__(self, *aborted: AbortedTransaction) -> None:
        self.kept: list[AbortedTransaction] = []
        self._transactions = CleanedTransactions(aborted, self.kept.append)

    def see(self, *batches: RecordBatch) -> list[bool]:
        return [self._transactions.can_discard(batch) for batch in batches]


def test_data_of_an_aborted_transaction_goes_and_its_marker_stays_s86() -> None:
    found = Followed(ABORTED)
    batches = data(9), data(10), data(11, 8), data(12), marker(14, commit=False), data(15)
    assert found.see(*batches) == [False, True, False, True, False, False]
    assert found.kept == [ABORTED]


def test_a_marker_whose_data_is_gone_is_over_s86() -> None:
    found = Followed(ABORTED)
    assert found.see(marker(14, commit=False)) == [True]
    assert found.see(marker(20, commit=False)) == [True]  # no index names it any more
    assert found.see(marker(21, commit=True)) == [True]
    assert found.kept == []


def test_a_commit_stays_with_its_data_s86() -> None:
    found = Followed()
    assert found.see(data(1), marker(2, commit=True), marker(3, commit=True)) == [
        False,
        False,
        True,
    ]


def test_what_is_outside_of_transactions_is_not_asked_about_s86() -> None:
    found = Followed(ABORTED)
    assert found.see(data(12, is_transactional=False), marker(14, commit=False)) == [False, True]


def test_transactions_of_one_producer_follow_one_another_s86() -> None:
    later = AbortedTransaction(7, 20, 22, 23)
    found = Followed(later, ABORTED)
    batches = data(10), marker(14, commit=False), data(16), marker(17, commit=True), data(20)
    assert found.see(*batches) == [True, False, False, False, True]
    assert found.kept == [ABORTED]


def test_other_control_batches_r42_r16() -> None:
    found = Followed()
    other = view(bytes(control_batch(ControlType.LEADER_CHANGE, b"", timestamp=0)))
    assert found.see(other) == [False]
    assert found.see(view(emptied(marker(5, commit=True)))) == [True]
    damaged = BatchBuilder(producer_id=7, producer_epoch=0, is_control=True)
    damaged.append(0, b"", b"")
    with pytest.raises(InvalidRecord):
        found.see(view(damaged.build()))
