"""Topics with everything that a log can hold, written to a broker by real clients.

Written by librdkafka: each codec, transactions, keys that are written again and deleted, records
deleted from the log's start. Written by a raw connection: what no client writes. By Kafka's Java
client, which is Spark's connector, `test_exactness` writes.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from broker_lite.record.builder import BatchBuilder
from broker_lite.record.codecs.compression import Codec
from broker_lite.wire import messages
from tests.support.raw_client import RawClient

Headers = list[tuple[str, str | bytes | None]]

T0: Final = 1_700_000_000_000
TIMEOUT_S: Final = 30
PARTITIONS: Final = 2
SEGMENT_BYTES: Final = 1 << 20  # Kafka allows no less
LOG_STARTS: Final = (1234, 17)
CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")

KEYS: Final = (None, b"", b"key", b"\x00\xff not UTF-8")
VALUES: Final = (None, b"", b"value", bytes(range(256)), b"long " * 700)
HEADERS: Final[tuple[Headers, ...]] = (
    [],
    [("one", b"1")],
    [("twice", b"1"), ("twice", None), ("", b"")],
    [("nicht leer: \u00fc \u4e2d \U0001f600", b"\x00\xff")],
)
NO_TIMESTAMP: Final = -1
ODD_HEADER_KEYS: Final = (
    b"\xff",
    b"cut \xe4\xb8",
    b"overlong \xc0\xaf",
    b"surrogates \xed\xa0\xbd\xed\xb8\x80",
    b"beyond \xf4\x90\x80\x80",
    b"\xe4\xb8\xadzero \x00",
)


class Topic(NamedTuple):
    """A topic, and who fills it once it is there."""

    name: str
    write: Callable[["Broker", str], None]
    config: Mapping[str, str] = {}


class Broker(NamedTuple):
    """Where the topics are written to."""

    host: str
    port: int

    @property
    def bootstrap(self) -> str:
        """HOST:PORT for clients."""
        return f"{self.host}:{self.port}"

    def producer(self, **settings: str | int) -> Producer:
        """A producer of librdkafka; underscores of a setting's name stand for dots."""
        named = {name.replace("_", "."): value for name, value in settings.items()}
        return Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 5, **named})


def write_topics(broker: Broker) -> None:
    """Create and fill all topics; one transaction of `undecided` stays open."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    created = admin.create_topics(
        [NewTopic(topic.name, PARTITIONS, 1, config=dict(topic.config)) for topic in TOPICS]
    )
    for future in created.values():
        future.result(TIMEOUT_S)
    with ThreadPoolExecutor() as pool:  # most of it is waiting for the broker
        for written in [pool.submit(topic.write, broker, topic.name) for topic in TOPICS]:
            written.result(TIMEOUT_S)


def wait_for_log_starts(log_dir: Path) -> None:
    """Wait until the broker has noted where `trimmed` begins."""
    expected = {("trimmed", number): start for number, start in enumerate(LOG_STARTS)}
    wait_for_checkpoint(log_dir / "log-start-offset-checkpoint", expected)


def wait_for_cleaner(log_dir: Path) -> None:
    """Wait until the broker has compacted all but the active segments of the compacted topics."""
    compacted = [topic.name for topic in TOPICS if topic.config is _COMPACT]
    names = [(name, number) for name in compacted for number in range(PARTITIONS)]
    active = {
        (name, number): max(int(path.stem) for path in log_dir.glob(f"{name}-{number}/*.log"))
        for name, number in names
    }
    wait_for_checkpoint(log_dir / "cleaner-offset-checkpoint", active)


def wait_for_checkpoint(checkpoint: Path, expected: Mapping[tuple[str, int], int]) -> None:
    """Wait until a checkpoint file has these offsets of partitions."""
    deadline = time.monotonic() + TIMEOUT_S
    while not expected.items() <= (noted := _noted(checkpoint)).items():
        assert time.monotonic() < deadline, f"{checkpoint}: {noted}, not {expected}"
        time.sleep(0.1)


def _noted(checkpoint: Path) -> dict[tuple[str, int], int]:
    """By partition, the offset that a checkpoint file holds."""
    lines = checkpoint.read_text().splitlines()[2:] if checkpoint.exists() else []
    words = [line.rsplit(" ", 2) for line in lines]
    return {(topic, int(number)): int(offset) for topic, number, offset in words}


def varied(producer: Producer, topic: str, count: int, *, first: int = 0) -> None:
    """Write records in which each key, value and headers meet; timestamps go back at times."""
    for index in range(first, first + count):
        producer.produce(
            topic,
            VALUES[index % len(VALUES)],
            KEYS[index // 5 % len(KEYS)],
            partition=index % PARTITIONS,
            timestamp=T0 + index * 1000 - index % 7 * 1500,
            headers=HEADERS[index // 20 % len(HEADERS)],
        )
    producer.flush(TIMEOUT_S)


def _codec(broker: Broker, topic: str) -> None:
    codec = topic.removeprefix("codec-")
    varied(broker.producer(compression_type=codec), topic, 200)
    varied(broker.producer(compression_type=codec, enable_idempotence="true"), topic, 200)


def _appended(broker: Broker, topic: str) -> None:
    for codec in CODECS:
        varied(broker.producer(compression_type=codec), topic, 40)


def _nothing(broker: Broker, topic: str) -> None:
    """The topic stays empty."""


def _decided(broker: Broker, topic: str) -> None:
    """Two producers whose transactions overlap, and one without transactions in between."""
    plain = broker.producer(compression_type="lz4")
    for number, (one, other) in enumerate([(True, False), (False, False), (False, True)]):
        begun = [_begun(broker, f"{topic}-{name}") for name in ("one", "other")]
        for step in range(3):
            for producer in (*begun, plain):
                varied(producer, topic, 11, first=100 * number + 10 * step)
        for producer, committed in zip(begun, (one, other), strict=True):
            if committed:
                producer.commit_transaction(TIMEOUT_S)
            else:
                producer.abort_transaction(TIMEOUT_S)
            varied(plain, topic, 3)


def _begun(broker: Broker, transactional_id: str) -> Producer:
    """A producer in a new transaction, which stays open long enough when nobody ends it."""
    producer = broker.producer(transactional_id=transactional_id, transaction_timeout_ms=900_000)
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    return producer


def _undecided(broker: Broker, topic: str) -> None:
    """Decided transactions, an open one, and decided ones behind its begin."""
    _decided(broker, topic)
    varied(_begun(broker, f"{topic}-open"), topic, 20)
    _decided(broker, topic)


def _segments(broker: Broker, topic: str) -> None:
    """Several segments, one batch a few records, so that there is something to cut."""
    producer = broker.producer(batch_size=20_000)
    for index in range(4000):
        producer.produce(
            topic, b"%d " % index * 200, partition=index % PARTITIONS, timestamp=T0 + index * 1000
        )
        producer.poll(0)
    producer.flush(TIMEOUT_S)


def _trimmed(broker: Broker, topic: str) -> None:
    """Segments whose start is deleted up to the middle of a batch."""
    _segments(broker, topic)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    asked = [TopicPartition(topic, number, start) for number, start in enumerate(LOG_STARTS)]
    for future in admin.delete_records(asked).values():
        future.result(TIMEOUT_S)


def _compacted(broker: Broker, topic: str) -> None:
    """Each key again and again, some deleted at the end; a producer of which nothing survives."""
    lost = broker.producer(enable_idempotence="true", compression_type="snappy")
    rounds = [lost, *(broker.producer(compression_type=codec) for codec in CODECS)]
    for producer in rounds:
        for value, key, headers in _keyed():
            producer.produce(topic, value, key, headers=headers, timestamp=T0)
            producer.poll(0)
        producer.flush(TIMEOUT_S)
    _roll(broker, topic)


def _keyed() -> Iterator[tuple[bytes | None, bytes, Headers]]:
    for index in range(700):
        value = None if index % 10 == 3 else b"%d " % index * 300
        yield value, b"key %d" % (index % 350), HEADERS[index % len(HEADERS)]


def _compacted_transactions(broker: Broker, topic: str) -> None:
    """The same in transactions, every second of them aborted."""
    for number in range(6):
        producer = _begun(broker, topic)
        for value, key, headers in _keyed():
            producer.produce(topic, value, key, headers=headers, timestamp=T0)
            producer.poll(0)
        producer.flush(TIMEOUT_S)
        if number % 2:
            producer.abort_transaction(TIMEOUT_S)
        else:
            producer.commit_transaction(TIMEOUT_S)
    _roll(broker, topic)


def _roll(broker: Broker, topic: str) -> None:
    """Fill the last segment of each partition with a key that has no meaning."""
    producer = broker.producer()
    for _ in range(SEGMENT_BYTES // 100_000 + 1):
        for partition in range(PARTITIONS):
            producer.produce(topic, bytes(100_000), b"filler", partition=partition, timestamp=T0)
    producer.flush(TIMEOUT_S)


def _odd(broker: Broker, topic: str) -> None:
    """Header keys that are no UTF-8, records without timestamp, one batch a codec."""
    kind = messages.ProduceRequest
    with RawClient(broker.host, broker.port) as client:
        for codec in Codec:
            builder = BatchBuilder(codec=codec)
            for index, header_key in enumerate(ODD_HEADER_KEYS):
                timestamp = NO_TIMESTAMP if index % 2 else T0 - index
                builder.append(timestamp, None, b"odd", [(header_key, None), (b"", header_key)])
            data = kind.PartitionProduceData(index=codec % PARTITIONS, records=builder.build())
            topics = [kind.TopicProduceData(name=topic, partition_data=[data])]
            answer = client.request(kind, kind(acks=-1, timeout_ms=30_000, topic_data=topics), 9)
            assert answer.responses[0].partition_responses[0].error_code == 0, answer


_COMPACT: Final = {
    "cleanup.policy": "compact",
    "segment.bytes": str(SEGMENT_BYTES),
    "min.cleanable.dirty.ratio": "0.01",
}
TOPICS: Final = (
    *(Topic(f"codec-{codec}", _codec) for codec in CODECS),
    Topic("empty", _nothing),
    Topic("log-append-time", _appended, {"message.timestamp.type": "LogAppendTime"}),
    Topic("decided", _decided),
    Topic("undecided", _undecided),
    Topic("segments", _segments, {"segment.bytes": str(SEGMENT_BYTES)}),
    Topic("trimmed", _trimmed, {"segment.bytes": str(SEGMENT_BYTES)}),
    Topic("compacted", _compacted, _COMPACT),
    Topic("compacted-transactions", _compacted_transactions, _COMPACT),
    Topic("odd", _odd),
)
