"""A short story of a broker that passes every named place, and what must be true after it.

Three lives on one data directory, without sockets: topics are made, records rolled, flushed,
deleted, compacted and aged out, transactions ended, offsets committed, a topic removed; one stop is
clean, one is not. Every record is flushed before it is acknowledged. A step may be refused when a
call fails; what was acknowledged has to be there at the end, and nothing that was never sent.
"""

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from broker_lite.errors import BrokerError, ErrorCode, SettingsError
from broker_lite.handler.context import CloseConnection
from broker_lite.log.cleaner.cleaner import Cleaner
from broker_lite.log.log import Log
from broker_lite.log.read import read_log
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.records import iterate_records
from broker_lite.server.upkeep.compaction import CleanerThread
from broker_lite.server.upkeep.maintenance import check_retention
from broker_lite.server.upkeep.pauses import Pauses
from broker_lite.wire import messages
from tests.fuzz.full_disk import batches
from tests.log.logs import content
from tests.support.handler_broker import LISTENER, HandlerBroker

ROLLED, SQUEEZED, AGED, GONE = "rolled", "squeezed", "aged", "gone"
PLAIN, TRANSACTIONAL = 0, 1
"""Partitions of the first topic."""
GROUP: Final = "g"
NAME: Final = "x"
T0: Final = 1_700_000_000_000
_SETTINGS: Final = {
    "log.flush.interval.messages": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "log.cleaner.delete.retention.ms": "0",
}
_CONFIGS: Final[dict[str, dict[str, str]]] = {
    ROLLED: {"segment.ms": "1000"},
    SQUEEZED: {
        "segment.ms": "1000",
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "0",
    },
    AGED: {"segment.ms": "1000", "retention.ms": "5000", "file.delete.delay.ms": "0"},
    GONE: {},
}
_REFUSED: Final = (BrokerError, SettingsError, OSError, CloseConnection)
_EXPECTED: Final = frozenset(
    {
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,  # the topic could not be made, or is deleted
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
_OPENINGS_MAX: Final = 3
_MIB: Final = 1 << 20

Place = tuple[str, int]


class Scene:
    """The story, and what is remembered of it.

    Attributes:
        acknowledged: by topic and partition, the value at each offset.
        sent: by topic and partition, every value that was tried.
        refused: what did not work, as text.
    """

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.acknowledged: dict[Place, dict[int, bytes]] = {}
        self.sent: dict[Place, set[bytes]] = {}
        self.offsets: dict[str, int] = {"acknowledged": -1, "tried": -1}
        self.refused: list[str] = []
        self._surprises: list[str] = []
        self._number = 0
        self._broker: HandlerBroker | None = None
        self._producer = (-1, -1)
        self._sequence = 0

    # -- the story

    def play(self) -> None:
        """Live three times."""
        for life in (self._first, self._second, self._third):
            if self._open():
                life()
        if self._broker is not None:
            self._attempt(self._broker.cluster.close)
            self._broker.cluster.logs.abandon()
            self._broker = None

    def _first(self) -> None:
        for name, configs in _CONFIGS.items():
            self._attempt(partial(self._create, name, configs))
        self._use()
        self._attempt(self._clean)
        self._attempt(self._age)
        self._attempt(self._delete_records)
        self._attempt(self._remove_topic)
        self._end(clean=True)

    def _second(self) -> None:
        self._use()
        self._end(clean=False)

    def _third(self) -> None:
        self._use()
        self._attempt(self._clean)
        self._end(clean=True)

    def _use(self) -> None:
        for _ in range(3):
            self._attempt(partial(self._produce, ROLLED, PLAIN))
            self._attempt(partial(self._produce, SQUEEZED, 0))
            self._attempt(partial(self._produce, AGED, 0))
        self._attempt(partial(self._produce, GONE, 0))
        for committed in (True, False):
            self._attempt(partial(self._transaction, committed=committed))
        self._attempt(self._commit_offset)
        self._attempt(self.broker.cluster.logs.checkpoint)
        self._attempt(self.broker.cluster.logs.chores.work)
        self.broker.cluster.logs.offline.take_failed()  # as the broker's maintenance does

    def _open(self) -> bool:
        """Start, again when that fails, as who looks after a broker does."""
        for _ in range(_OPENINGS_MAX):
            try:
                self._broker = HandlerBroker(self.data_dir, _SETTINGS, LISTENER)
            except _REFUSED as error:
                self.refused.append(f"open: {error!r}")
            else:
                self._producer = (-1, -1)
                return True
        return False

    @property
    def broker(self) -> HandlerBroker:
        """The one that lives."""
        assert self._broker is not None
        return self._broker

    def _end(self, *, clean: bool) -> None:
        broker, self._broker = self.broker, None
        if clean:
            self._attempt(broker.cluster.close)
        broker.cluster.logs.abandon()

    def _attempt(self, step: Callable[[], object]) -> None:
        try:
            step()
        except _REFUSED as error:
            self.refused.append(f"{step}: {error!r}")

    # -- steps

    def _create(self, name: str, configs: dict[str, str]) -> None:
        kind = messages.CreateTopicsRequest
        topic = kind.CreatableTopic(
            name=name,
            num_partitions=2 if name == ROLLED else 1,
            replication_factor=1,
            configs=[kind.CreatableTopicConfig(name=k, value=v) for k, v in configs.items()],
        )
        answer = self.broker.call("CreateTopics", 5, topics=[topic], timeout_ms=1000)
        self._note(answer.topics[0].error_code, "create")

    def _note(self, error_code: int, what: str) -> bool:
        if error_code:
            self.refused.append(f"{what}: error {error_code}")
        return not error_code

    def _produce(self, topic: str, partition: int, transactional: bool = False) -> bool:
        value = b"value %d" % self._number
        self._number += 1
        producer: dict[str, Any] = {}
        if transactional:
            producer = {
                "producer_id": self._producer[0],
                "producer_epoch": self._producer[1],
                "base_sequence": self._sequence,
                "is_transactional": True,
            }
        builder = BatchBuilder(**producer)
        builder.append(T0 + self._number * 10_000, b"key %d" % (self._number % 3), value)
        kind = messages.ProduceRequest
        data = kind.PartitionProduceData(index=partition, records=bytes(builder.build()))
        self.sent.setdefault((topic, partition), set()).add(value)
        answer = self.broker.call(
            "Produce",
            12 if transactional else 9,
            acks=-1,
            timeout_ms=1000,
            transactional_id=NAME if transactional else None,
            topic_data=[kind.TopicProduceData(name=topic, partition_data=[data])],
        )
        answer = answer.responses[0].partition_responses[0]
        is_there = self._note(answer.error_code, f"produce to {topic}")
        if not (transactional or answer.error_code in _EXPECTED):
            self._surprises.append(f"produce to {topic} was answered {answer.error_code}")
        if is_there:
            self.acknowledged.setdefault((topic, partition), {})[answer.base_offset] = value
        return is_there

    def _transaction(self, *, committed: bool) -> None:
        if self._producer[0] < 0:
            answer = self.broker.call(
                "InitProducerId", 5, transactional_id=NAME, transaction_timeout_ms=60_000
            )
            if not self._note(answer.error_code, "init"):
                return
            self._producer, self._sequence = (answer.producer_id, answer.producer_epoch), 0
        if self._produce(ROLLED, TRANSACTIONAL, transactional=True):
            self._sequence += 1
        ids = {
            "transactional_id": NAME,
            "producer_id": self._producer[0],
            "producer_epoch": self._producer[1],
        }
        answer = self.broker.call("EndTxn", 5, committed=committed, **ids)
        if self._note(answer.error_code, "end"):
            self._producer, self._sequence = (answer.producer_id, answer.producer_epoch), 0
        else:
            self._producer = (-1, -1)  # begin anew

    def _commit_offset(self) -> None:
        kind = messages.OffsetCommitRequest
        self.offsets["tried"] += 1
        partition = kind.OffsetCommitRequestPartition(
            partition_index=0, committed_offset=self.offsets["tried"]
        )
        answer = self.broker.call(
            "OffsetCommit",
            7,
            group_id=GROUP,
            generation_id_or_member_epoch=-1,
            topics=[kind.OffsetCommitRequestTopic(name=ROLLED, partitions=[partition])],
        )
        if self._note(answer.topics[0].partitions[0].error_code, "commit"):
            self.offsets["acknowledged"] = self.offsets["tried"]

    def _clean(self) -> None:
        logs, clock = self.broker.cluster.logs, self.broker.clock
        cleaner = Cleaner(
            logs.data_dir,
            logs.checkpoints.partitions,
            logs.removal,
            load=logs.get,
            now_ms=clock.now_ms,
        )
        thread = CleanerThread(cleaner, lambda: self.broker.settings, Pauses(clock), 0)
        asyncio.run(_until_false(thread.clean_dirtiest))

    def _age(self) -> None:
        logs = self.broker.cluster.logs
        self.broker.clock.step(3_600_000)
        asyncio.run(check_retention(logs))
        logs.removal.unlink_due()

    def _delete_records(self) -> None:
        kind = messages.DeleteRecordsRequest
        partition = kind.DeleteRecordsPartition(partition_index=PLAIN, offset=1)
        topics = [kind.DeleteRecordsTopic(name=ROLLED, partitions=[partition])]
        answer = self.broker.call("DeleteRecords", 1, topics=topics, timeout_ms=1000)
        self._note(answer.topics[0].partitions[0].error_code, "delete records")

    def _remove_topic(self) -> None:
        answer = self.broker.call("DeleteTopics", 3, topic_names=[GONE], timeout_ms=1000)
        self._note(answer.responses[0].error_code, "delete topic")
        self.broker.cluster.logs.chores.work()

    # -- what must be true

    def faults(self) -> list[str]:
        """Look at what the next start finds, with a disk that works again."""
        found = list(self._surprises)
        assert self._open(), self.refused
        try:
            for (topic, partition), sent in self.sent.items():
                place = (topic, partition)
                if topic in {ROLLED, SQUEEZED}:
                    found += _compare(
                        self._stored(*place), self.acknowledged.get(place, {}), sent, place
                    )
            found += self._offset_faults()
        finally:
            self._end(clean=False)
        return found

    def _stored(self, topic: str, partition: int) -> tuple[int, dict[int, bytes]]:
        if topic not in self.broker.cluster.topics:
            return 0, {}
        log = self.broker.cluster.log(topic, partition)
        values = dict(_values(log))
        return log.log_start_offset, values

    def _offset_faults(self) -> list[str]:
        kind = messages.OffsetFetchRequest
        topics = [kind.OffsetFetchRequestTopic(name=ROLLED, partition_indexes=[0])]
        answer = self.broker.call("OffsetFetch", 5, group_id=GROUP, topics=topics)
        offset = answer.topics[0].partitions[0].committed_offset
        if self.offsets["acknowledged"] <= offset <= self.offsets["tried"]:
            return []
        return [f"offset {offset}, acknowledged were {self.offsets}"]


def _compare(
    stored: tuple[int, dict[int, bytes]],
    acknowledged: dict[int, bytes],
    sent: set[bytes],
    place: Place,
) -> list[str]:
    start, values = stored
    is_compacted = place[0] == SQUEEZED
    newest = set(list(acknowledged)[-3:])  # of three keys
    found = [
        f"{place}: {value!r} is not at {offset}"
        for offset, value in acknowledged.items()
        if offset >= start
        and values.get(offset) != value
        and not (is_compacted and (offset not in newest or offset not in values))
    ]
    found += [f"{place}: nobody sent {v!r}" for v in values.values() if v not in sent]
    if is_compacted and acknowledged and not values:
        found.append(f"{place}: empty")
    return found


def _values(log: Log) -> Iterator[tuple[int, bytes]]:
    offset = log.log_start_offset
    while offset < log.high_watermark:
        read = batches(content(read_log(log, offset, max_bytes=_MIB)))
        if not read:
            return
        for batch in read:
            offset = batch.next_offset
            if not batch.is_control:
                for record in iterate_records(batch):
                    yield record.offset, bytes(record.value or b"")


async def _until_false(step: Callable[[], Any]) -> None:
    while await step():
        pass
