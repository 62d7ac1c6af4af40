"""The state log of transactions: T-72."""

from pathlib import Path

import pytest

from broker_lite.coordinator.effects import StateRecord
from broker_lite.coordinator.transactions.records import encode_key
from tests.control.transactor import STATE_PARTITION, TransactionBroker


def test_t72_the_newest_record_of_an_id_counts(tmp_path: Path) -> None:
    broker = TransactionBroker(tmp_path / "data")
    broker.begin()
    key = encode_key("x")
    topic = broker.transactions.topic
    topic.append(STATE_PARTITION, [StateRecord(key, None)], now_ms=1)
    broker.restart()
    assert broker.transactions.find("x", 1) == 105
    assert broker.init().producer == (1000, 0)  # what is left of a block is lost
    broker.restart()
    assert broker.state() == "Empty"
    broker.cluster.close(sync=False)


@pytest.mark.parametrize(
    "record",
    [
        StateRecord(encode_key("y"), b""),
        StateRecord(encode_key("y"), b"\0\7abc"),
        StateRecord(b"\0\0\0\5y", b""),
        StateRecord(b"\0\1\0\0", b"a key of another type"),
    ],
)
def test_t72_records_that_cannot_be_read_are_passed_over(
    tmp_path: Path, record: StateRecord, caplog: pytest.LogCaptureFixture
) -> None:
    broker = TransactionBroker(tmp_path / "data")
    broker.begin()
    broker.transactions.topic.append(STATE_PARTITION, [record], now_ms=1)
    broker.restart()
    assert broker.state() == "Ongoing"
    is_known = record.key[:2] == b"\0\0"
    assert ("record skipped" in caplog.text) == is_known
    broker.cluster.close(sync=False)
