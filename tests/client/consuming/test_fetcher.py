import time
from pathlib import Path

import pytest

from broker_lite.client import Client, NoConnection, Refused
from broker_lite.client.consuming.fetcher import EARLIEST, LATEST, FetchedBatch, Fetcher
from broker_lite.client.producing.producer import Producer
from broker_lite.client.producing.producer_config import ProducerConfig
from broker_lite.record.batch import RecordBatch
from broker_lite.record.control import EndTransactionMarker, end_transaction_batch
from broker_lite.record.emptied import emptied
from broker_lite.record.records import keys_and_values
from tests.support.broker_process import BrokerProcess


def write(client: Client, topic: str, *values: bytes) -> None:
    producer = Producer(client, topic, ProducerConfig(), on_failure=pytest.fail)
    for value in values:
        producer.append(None, value)
    producer.flush()


def values(batches: list[FetchedBatch]) -> list[bytes | None]:
    return [value for each in batches for _, value in keys_and_values(each.batch)]


def poll_for_ever(fetcher: Fetcher) -> None:
    while True:
        fetcher.poll(0.1)


@pytest.mark.parametrize(("reset", "found"), [(EARLIEST, [b"a", b"b"]), (LATEST, [])])
def test_where_it_begins(bootstrap: str, topic: str, reset: int, found: list[bytes | None]) -> None:
    with Client(bootstrap) as client:
        write(client, topic, b"a", b"b")
        fetcher = Fetcher(client, reset=reset)
        fetcher.assign({(topic, 0): None})
        assert values(fetcher.poll(0.1)) == found
        assert fetcher.positions == {(topic, 0): 2}
        write(client, topic, b"c")
        assert values(fetcher.poll(10)) == [b"c"]


def test_several_topics_and_one_that_is_not_there(bootstrap: str, topic: str) -> None:
    names = [f"{topic}-{number}" for number in range(3)]
    with Client(bootstrap) as client:
        for name in names[:2]:
            write(client, name, name.encode())
        fetcher = Fetcher(client, reset=EARLIEST)
        fetcher.assign({(name, 0): None for name in names})
        assert set(values(fetcher.poll(10))) == {name.encode() for name in names[:2]}
        write(client, names[2], b"late")
        found: list[bytes | None] = []
        while not found:
            found = values(fetcher.poll(10))
        assert found == [b"late"]


def test_nothing_to_read(bootstrap: str) -> None:
    with Client(bootstrap) as client:
        assert Fetcher(client, reset=EARLIEST).poll(0.01) == []


@pytest.mark.parametrize(("reset", "position"), [(EARLIEST, 0), (LATEST, 1)])
def test_a_position_that_is_not_there(
    bootstrap: str, topic: str, reset: int, position: int
) -> None:
    with Client(bootstrap) as client:
        write(client, topic, b"a")
        fetcher = Fetcher(client, reset=reset)
        fetcher.assign({(topic, 0): 77})
        found = values(fetcher.poll(0.1)) + values(fetcher.poll(0.1))
        assert found == [b"a"][position:]
        fetcher = Fetcher(client, reset=None)
        fetcher.assign({(topic, 0): 77})
        fetcher.poll(0.1)
        with pytest.raises(Refused, match="OFFSET_OUT_OF_RANGE"):
            fetcher.poll(0.1)


def test_a_broker_that_goes_away(tmp_path_factory: pytest.TempPathFactory) -> None:
    data_dir = tmp_path_factory.mktemp("away") / "data"
    with BrokerProcess(data_dir) as broker, Client(broker.bootstrap, timeout_s=0.3) as client:
        write(client, "t", b"a")
        fetcher = Fetcher(client, reset=EARLIEST)
        fetcher.assign({("t", 0): None})
        assert values(fetcher.poll(10)) == [b"a"]
        broker.kill()
        assert fetcher.poll(0.1) == []
        with pytest.raises(NoConnection):
            poll_for_ever(fetcher)


def test_s87_a_control_batch_that_was_compacted_to_nothing(tmp_path: Path) -> None:
    """The cleaner leaves the header of a producer's last batch."""
    data_dir = tmp_path / "data"
    with BrokerProcess(data_dir) as broker, Client(broker.bootstrap) as client:
        write(client, "t", b"a")
    marker = end_transaction_batch(
        7, 0, EndTransactionMarker(False, 0), timestamp=int(time.time() * 1000), base_offset=1
    )
    with (data_dir / "t-0" / f"{0:020}.log").open("ab") as file:
        file.write(emptied(RecordBatch(memoryview(marker), 0, len(marker))))
    with BrokerProcess(data_dir) as broker, Client(broker.bootstrap) as client:
        write(client, "t", b"b")
        fetcher = Fetcher(client, reset=EARLIEST, read_committed=True)
        fetcher.assign({("t", 0): None})
        assert values(fetcher.poll(10)) == [b"a", b"b"]
        assert fetcher.positions == {("t", 0): 3}
