"""A transactional producer against a broker, and what its coordinator refuses."""

from pathlib import Path

import pytest

from broker_lite.client import Client, Refused
from broker_lite.client.consuming.fetcher import Fetcher
from broker_lite.client.partition_offsets import EARLIEST
from broker_lite.client.producing.producer_config import ProducerConfig
from broker_lite.client.producing.transactional_producer import TransactionalProducer
from broker_lite.errors import ErrorCode, SettingsError
from broker_lite.record.records import keys_and_values
from tests.support.broker_process import BrokerProcess

TIMEOUT_MS = 60_000


def producer(client: Client, **options: object) -> TransactionalProducer:
    """A producer with the id `a` for the topic `t`."""
    return TransactionalProducer(
        client,
        "t",
        ProducerConfig(**options),  # type: ignore[arg-type]
        transactional_id="a",
        timeout_ms=TIMEOUT_MS,
        on_failure=pytest.fail,
    )


def committed(client: Client, count: int) -> list[bytes | None]:
    """So many values of committed transactions."""
    fetcher = Fetcher(client, reset=EARLIEST, read_committed=True)
    fetcher.assign({("t", 0): None})
    found: list[bytes | None] = []
    while len(found) < count:
        for fetched in fetcher.poll(10):
            found += [value for _, value in keys_and_values(fetched.batch)]
    return found


def test_transactions_one_after_the_other(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as broker, Client(broker.bootstrap) as client:
        first = producer(client)
        first.commit()
        for number in range(3):
            first.append(None, b"%d" % number)
            first.commit()
        first.append(None, b"aborted")
        first.flush()
        second = producer(client)
        second.append(None, b"3")
        second.commit()
        assert committed(client, 4) == [b"0", b"1", b"2", b"3"]
        with pytest.raises(Refused) as fenced:
            first.commit()
        assert fenced.value.code in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)


def test_it_has_to_be_idempotent() -> None:
    with pytest.raises(SettingsError, match=r"a transactional\.id needs enable\.idempotence"):
        producer(None, idempotent=False)  # type: ignore[arg-type]
