"""V-54 to V-58 and V-62, rule by rule; test_producer_state has the courses of V-93 and V-94."""

import pytest

from broker_lite import errors
from broker_lite.log.producers.checks import (
    check_epoch,
    check_guard,
    check_marker,
    check_plain_batch,
    check_sequence,
    find_duplicate,
)
from broker_lite.log.producers.entry import BatchMetadata, ProducerEntry, VerificationEntry
from broker_lite.record.batch import RecordBatch
from tests.log.batches import batch, record, writable

UNKNOWN = None


def view(
    sequence: int = 0, epoch: int = 0, *, transactional: bool = False, control: bool = False
) -> RecordBatch:
    attributes = 0x10 * transactional | 0x20 * control
    data = batch(record(), attributes=attributes, producer=(7, epoch, sequence))
    return RecordBatch(writable(data), 0, len(data))


def known(*, epoch: int = 3, last: int | None = 9, open_since: int = -1) -> ProducerEntry:
    entry = ProducerEntry(7, epoch=epoch, coordinator_epoch=4, transaction_first_offset=open_since)
    if last is not None:
        entry.add_batch(BatchMetadata(last, last, 50, 0, 1000))
    return entry


def verifying(lowest: int, *, bump: bool = False) -> VerificationEntry:
    return VerificationEntry(timestamp_ms=0, sequence=lowest, epoch=3, supports_epoch_bump=bump)


@pytest.mark.parametrize(
    ("sequence", "epoch", "entry", "verification"),
    [
        pytest.param(5, 3, UNKNOWN, None, id="V-57-unknown-any-sequence"),
        pytest.param(5, 3, known(epoch=-1, last=7), None, id="V-57-2-known-epoch--1"),
        pytest.param(5, -1, known(epoch=-1, last=7), None, id="V-57-3-epoch--1"),
        pytest.param(0, 4, known(), None, id="V-57-2-new-epoch-0"),
        pytest.param(10, 3, known(), None, id="V-57-4-next"),
        pytest.param(0, 3, known(last=2147483647), None, id="V-57-4-wrap"),
        pytest.param(0, 3, known(last=None), None, id="V-57-4-none-cached"),
        pytest.param(5, 3, UNKNOWN, verifying(5), id="V-57-1-lowest"),
        pytest.param(10, 3, known(), verifying(12, bump=True), id="V-57-1-bump-known"),
        pytest.param(0, 3, UNKNOWN, verifying(5, bump=True), id="V-57-1-bump-0"),
    ],
)
def test_sequence_is_taken(
    sequence: int,
    epoch: int,
    entry: ProducerEntry | None,
    verification: VerificationEntry | None,
) -> None:
    check_sequence(view(sequence, epoch), entry, verification)


@pytest.mark.parametrize(
    ("sequence", "epoch", "entry", "verification"),
    [
        pytest.param(6, 3, UNKNOWN, verifying(5), id="V-57-1-above-lowest"),
        pytest.param(5, 3, UNKNOWN, verifying(5, bump=True), id="V-57-1-bump-unknown"),
        pytest.param(5, 3, known(last=None), verifying(5, bump=True), id="V-57-1-bump-empty"),
        pytest.param(1, 4, known(), None, id="V-57-2-new-epoch-1"),
        pytest.param(9, 3, known(), None, id="V-57-4-same"),
        pytest.param(11, 3, known(), None, id="V-57-4-gap"),
        pytest.param(0, 3, known(), None, id="V-57-4-zero"),
        pytest.param(1, 3, known(last=None), None, id="V-57-4-none-cached"),
    ],
)
def test_sequence_is_refused(
    sequence: int,
    epoch: int,
    entry: ProducerEntry | None,
    verification: VerificationEntry | None,
) -> None:
    with pytest.raises(errors.OutOfOrderSequenceNumber) as raised:
        check_sequence(view(sequence, epoch), entry, verification)
    assert raised.value.message is None


def test_duplicate() -> None:
    """V-54."""
    assert find_duplicate(view(9, 3), known()) == (50, 50, 1000)
    assert find_duplicate(view(9, 3), UNKNOWN) is None
    assert find_duplicate(view(8, 3), known()) is None


def test_epoch() -> None:
    """V-56."""
    check_epoch(view(epoch=0), UNKNOWN)
    check_epoch(view(epoch=3), known())
    check_epoch(view(epoch=4), known())
    with pytest.raises(errors.InvalidProducerEpoch):
        check_epoch(view(epoch=2), known())
    with pytest.raises(errors.InvalidProducerEpoch):
        check_epoch(view(epoch=-2), UNKNOWN)


def test_plain_batch_in_an_open_transaction() -> None:
    """V-58."""
    check_plain_batch(view(), UNKNOWN)
    check_plain_batch(view(), known())
    check_plain_batch(view(transactional=True), known(open_since=40))
    with pytest.raises(errors.InvalidTxnState):
        check_plain_batch(view(), known(open_since=40))


def test_guard() -> None:
    """V-55."""
    verification = verifying(0)
    first = view(0, 3, transactional=True)
    check_guard(view(), UNKNOWN, None, None)
    check_guard(view(transactional=True, control=True), UNKNOWN, None, None)
    check_guard(first, known(open_since=40), None, None)
    check_guard(first, UNKNOWN, verification, verification.guard)
    for entry, stored, guard in [
        (UNKNOWN, None, None),
        (UNKNOWN, None, verification.guard),
        (UNKNOWN, verification, None),
        (UNKNOWN, verification, object()),
        (known(epoch=2, open_since=40), None, None),
        (known(), None, None),
    ]:
        with pytest.raises(errors.InvalidTxnState):
            check_guard(first, entry, stored, guard)


@pytest.mark.parametrize(
    ("entry", "epoch", "coordinator_epoch", "version", "error"),
    [
        pytest.param(UNKNOWN, 0, 0, 2, None, id="V-62-unknown"),
        pytest.param(known(), 3, 4, 0, None, id="V-62-same-epoch"),
        pytest.param(known(), 5, 9, 0, None, id="V-62-higher"),
        pytest.param(known(), 2, 4, 0, errors.InvalidProducerEpoch, id="V-62-epoch"),
        pytest.param(
            known(), 3, 3, 0, errors.TransactionCoordinatorFenced, id="V-62-coordinator-epoch"
        ),
        pytest.param(
            known(open_since=40), 3, 4, 2, errors.InvalidProducerEpoch, id="V-68-same-epoch"
        ),
        pytest.param(known(open_since=40), 4, 4, 2, None, id="V-68-higher"),
        pytest.param(known(), 3, 4, 2, None, id="V-68-again"),
        pytest.param(known(epoch=32767, open_since=40), 32767, 4, 2, None, id="V-68-last-epoch"),
    ],
)
def test_marker(
    entry: ProducerEntry | None,
    epoch: int,
    coordinator_epoch: int,
    version: int,
    error: type[errors.BrokerError] | None,
) -> None:
    if error is None:
        check_marker(entry, epoch, coordinator_epoch, version)
    else:
        with pytest.raises(error):
            check_marker(entry, epoch, coordinator_epoch, version)
