"""S-16: the index of aborted transactions."""

from pathlib import Path

import pytest

from broker_lite.log.files.txn_index import (
    AbortedTransaction,
    CorruptTransactionIndex,
    TransactionIndex,
)
from tests.log.logs import vector

ENTRY = AbortedTransaction(2000, 8, 10, 11)


def test_tv63_written_and_read(tmp_path: Path) -> None:
    path = tmp_path / "x.txnindex"
    index = TransactionIndex(str(path))
    index.save()
    assert not path.exists()
    index.append(ENTRY)
    assert path.read_bytes() == vector("TV-63")
    path.write_bytes(path.read_bytes() + b"\0\0\0")
    again = TransactionIndex(str(path), exists=True)
    assert again.entries() == [ENTRY]
    again.append(ENTRY._replace(last_offset=12))
    assert TransactionIndex(str(path), exists=True).entries()[1].last_offset == 12
    again.check(10)
    with pytest.raises(CorruptTransactionIndex):
        again.check(11)


def test_s15_entries_that_end_at_the_same_offset_are_corrupt(tmp_path: Path) -> None:
    path = tmp_path / "x.txnindex"
    path.write_bytes(2 * vector("TV-63"))
    with pytest.raises(CorruptTransactionIndex, match="is below 11"):
        TransactionIndex(str(path), exists=True).check(10)


def test_s16_last_offsets_rise(tmp_path: Path) -> None:
    index = TransactionIndex(str(tmp_path / "x.txnindex"))
    index.append(ENTRY)
    with pytest.raises(ValueError, match="does not come after"):
        index.append(ENTRY)


def test_s16_only_the_first_byte_of_the_version_counts(tmp_path: Path) -> None:
    path = tmp_path / "x.txnindex"
    for version, fits in ((b"\0\x07", True), (b"\x01\0", False)):
        path.write_bytes(version + vector("TV-63")[2:])
        index = TransactionIndex(str(path), exists=True)
        if fits:
            assert (index.entries(), index.has_fragment) == ([ENTRY], False)
        else:
            with pytest.raises(CorruptTransactionIndex):
                index.entries()


def test_an_entry_that_cannot_be_written_counts_and_is_written_later(tmp_path: Path) -> None:
    path = tmp_path / "x.txnindex"
    path.mkdir()
    index = TransactionIndex(str(path))
    index.append(ENTRY)
    assert index.entries() == [ENTRY]
    path.rmdir()
    index.save()
    assert path.read_bytes() == vector("TV-63")
    index.clear()
    index.clear()
    assert (path.exists(), index.exists, index.entries()) == (False, False, [])
    index.append(ENTRY)
    index.save()
    assert (path.read_bytes(), index.exists) == (vector("TV-63"), True)


def test_s32_a_flush_beside_the_loop_reads_nothing(tmp_path: Path) -> None:
    """What a thread reads could take the place of what the loop has appended meanwhile."""
    path = tmp_path / "x.txnindex"
    path.write_bytes(b"\x01\0" + vector("TV-63")[2:])
    index = TransactionIndex(str(path), exists=True)
    index.save()
    with pytest.raises(CorruptTransactionIndex):
        index.entries()
