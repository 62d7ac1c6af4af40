"""What a producer does when things go wrong; commands/console/test_produce.py has the rest."""

from pathlib import Path

import pytest

from broker_lite.client import Client, Refused
from broker_lite.client.consuming.fetcher import EARLIEST, Fetcher
from broker_lite.client.producing.producer import Producer
from broker_lite.client.producing.producer_config import ProducerConfig
from broker_lite.errors import ClientError
from broker_lite.record.records import keys_and_values
from tests.support.broker_process import BrokerProcess


def values(client: Client, topic: str, count: int) -> list[bytes | None]:
    fetcher = Fetcher(client, reset=EARLIEST)
    fetcher.assign({(topic, 0): None})
    found: list[bytes | None] = []
    while len(found) < count:
        for fetched in fetcher.poll(10):
            found += [value for _, value in keys_and_values(fetched.batch)]
    return found


@pytest.mark.parametrize("idempotent", [True, False])
def test_a_broker_that_comes_back_gets_every_record_once(tmp_path: Path, idempotent: bool) -> None:
    with BrokerProcess(tmp_path / "data") as broker, Client(broker.bootstrap) as client:
        config = ProducerConfig(idempotent=idempotent, batch_bytes=100)
        producer = Producer(client, "t", config, on_failure=pytest.fail)
        producer.append(None, b"before")
        producer.flush()
        port = broker.port
        assert broker.stop() == 0
        with BrokerProcess(tmp_path / "data", port=port):
            for number in range(20):
                producer.append(None, b"after %d" % number)
            producer.flush()
            assert producer.sent_records == 21
            expected = [b"before", *(b"after %d" % number for number in range(20))]
            assert values(client, "t", 21) == expected


def test_a_broker_that_comes_back_with_nothing_gets_the_rest(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "before") as broker, Client(broker.bootstrap) as client:
        producer = Producer(client, "t", ProducerConfig(), on_failure=pytest.fail)
        producer.append(None, b"lost")
        producer.flush()
        port = broker.port
        assert broker.stop() == 0
        with BrokerProcess(tmp_path / "after", port=port):
            producer.append(None, b"kept")
            producer.flush()
            assert values(client, "t", 1) == [b"kept"]
            assert producer.open_records == 0


def test_a_broker_that_stays_away(tmp_path: Path) -> None:
    failures: list[tuple[int, str]] = []

    def note(count: int, error: ClientError) -> None:
        failures.append((count, str(error)))

    with BrokerProcess(tmp_path / "data") as broker, Client(broker.bootstrap) as client:
        config = ProducerConfig(idempotent=False, delivery_timeout_s=0.2, retry_backoff_s=0.05)
        producer = Producer(client, "t", config, on_failure=note)
        broker.kill()
        producer.append(None, b"a")
        producer.append(None, b"b")
        producer.flush()
        assert failures[0][0] == producer.failed_records == 2
        assert producer.sent_records == 0


@pytest.mark.parametrize("idempotent", [True, False])
def test_batches_that_are_too_large_are_halved(
    tmp_path: Path, topic: str, idempotent: bool
) -> None:
    failures: list[tuple[int, str]] = []
    settings = ["message.max.bytes=300"]
    with (
        BrokerProcess(tmp_path / "data", settings=settings) as broker,
        Client(broker.bootstrap) as client,
    ):
        producer = Producer(
            client,
            topic,
            ProducerConfig(idempotent=idempotent, max_request_bytes=2000, retry_backoff_s=0),
            on_failure=lambda count, error: failures.append((count, str(error))),
        )
        producer.append(None, b"too much", [(b"h", bytes(2000))])
        for number in range(6):
            producer.append(None, b"%d" % number + bytes(100))
            producer.append(None, bytes(400 * (number == 3)))
        producer.flush()
        assert [count for count, _ in failures] == [1, 1]
        assert all("MESSAGE_TOO_LARGE" in text for _, text in failures)
        assert (producer.sent_records, producer.failed_records) == (11, 2)
        found = values(client, topic, 11)
        numbers = [value[:1] for value in found if value]
        assert numbers == [b"%d" % number for number in range(6)]


def test_without_answers(bootstrap: str, topic: str) -> None:
    with Client(bootstrap) as client:
        config = ProducerConfig(acks=0, idempotent=False)
        producer = Producer(client, topic, config, on_failure=pytest.fail)
        producer.append(b"k", b"v")
        assert producer.pending
        producer.flush()
        assert (producer.pending, producer.sent_records) == (False, 1)
        assert values(client, topic, 1) == [b"v"]


def test_a_topic_that_is_not_there_in_time(tmp_path: Path) -> None:
    settings = ["auto.create.topics.enable=false"]
    with (
        BrokerProcess(tmp_path / "data", settings=settings) as broker,
        Client(broker.bootstrap) as client,
        pytest.raises(Refused, match="topic t: UNKNOWN_TOPIC_OR_PARTITION: not there after 10 ms"),
    ):
        Producer(client, "t", ProducerConfig(max_block_s=0.01), on_failure=pytest.fail)
