"""A transactional producer that knows how each of its transactions ended, or that it may not know.

Each transaction writes one numbered record to both partitions of a topic and commits an offset of
that number for a group; every third is aborted. Some producers come back with their transactional
id and so end what they left open, others never come back, and the broker ends it by its timeout.
"""

import time
from typing import Any, Final

from broker_lite.errors import ErrorCode
from broker_lite.record.builder import BatchBuilder
from broker_lite.wire import messages
from tests.fuzz.kill import LOST
from tests.fuzz.read_committed import read_committed
from tests.support.raw_client import RawClient

TOPIC: Final = "moved"
PARTITIONS: Final = (0, 1)
TIMEOUT_MS: Final = 30_000
# of a producer that does not come back
SHORT_TIMEOUT_MS: Final = 1_500
_RETRY_S: Final = 10.0
_RETRY: Final = frozenset((ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.COORDINATOR_NOT_AVAILABLE))
# what a producer is told whose transaction took longer than its timeout
_TIMED_OUT: Final = frozenset(
    (
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.TRANSACTION_ABORTABLE,
    )
)


class Refused(Exception):
    """An answer with an error code."""

    def __init__(self, name: str, code: int) -> None:
        super().__init__(f"{name} answered {code}")
        self.code = code


class Transactor:
    """One producer, which outlives the broker.

    Attributes:
        committed: numbers of transactions whose commit was acknowledged, or was seen to be there.
        unknown: the one whose commit was sent and not answered.
        fault: an answer that must not be.
    """

    def __init__(self, name: str, *, second_flow: bool, returns: bool) -> None:
        self.name = name
        self.group_id = f"group of {name}"
        self.second_flow = second_flow
        self.committed: list[int] = []
        self.unknown: int | None = None
        self.aborted = 0
        self.fault: str | None = None
        self._returns = returns
        self._lives = 0
        self._next = 0
        self._producer: dict[str, Any] = {}
        self._sequence = 0

    def load(self, port: int) -> None:
        """Run one transaction after the other until the broker is gone."""
        try:
            with RawClient("127.0.0.1", port) as client:
                client.call("FindCoordinator", 1, key=self.group_id)
                self.begin(client)
                while self.fault is None:
                    self._run_one(client)
        except LOST:
            return
        except Refused as error:
            self.fault = f"{self.name}: {error}"

    def begin(self, client: RawClient) -> None:
        """Get a producer id; this ends what the last life left open."""
        self._lives += not self._returns
        name = self.name if self._returns else f"{self.name} {self._lives}"
        timeout_ms = TIMEOUT_MS if self._returns else SHORT_TIMEOUT_MS
        deadline = time.monotonic() + _RETRY_S
        while True:
            answer = client.call(
                "InitProducerId", 4, transactional_id=name, transaction_timeout_ms=timeout_ms
            )
            if answer.error_code not in _RETRY or time.monotonic() > deadline:
                break
            time.sleep(0.01)
        _expect("InitProducerId", answer.error_code)
        self._take(name, answer)

    def _take(self, name: str, answer: Any) -> None:
        self._producer = {
            "transactional_id": name,
            "producer_id": answer.producer_id,
            "producer_epoch": answer.producer_epoch,
        }
        self._sequence = 0

    def _run_one(self, client: RawClient) -> None:
        number, self._next = self._next, self._next + 1
        try:
            self._write(client, number)
            self._end(client, number, commit=number % 3 != 0)
        except Refused as error:
            self.unknown = None
            if self._returns or error.code not in _TIMED_OUT:
                raise
            self.aborted += 1
            self.begin(client)

    def _write(self, client: RawClient, number: int) -> None:
        if not self.second_flow:
            self._add(client)
        topic = messages.ProduceRequest.TopicProduceData(
            name=TOPIC, partition_data=[self._data(number, index) for index in PARTITIONS]
        )
        produced = client.call(
            "Produce",
            12 if self.second_flow else 11,
            transactional_id=self._producer["transactional_id"],
            acks=-1,
            timeout_ms=1000,
            topic_data=[topic],
        )
        for partition in produced.responses[0].partition_responses:
            _expect("Produce", partition.error_code)
        self._sequence += 1
        self._commit_offset(client, number)

    def _data(self, number: int, index: int) -> Any:
        builder = BatchBuilder(
            producer_id=self._producer["producer_id"],
            producer_epoch=self._producer["producer_epoch"],
            base_sequence=self._sequence,
            is_transactional=True,
        )
        builder.append(1_700_000_000_000, None, f"{self.name}:{number}".encode())
        kind = messages.ProduceRequest.PartitionProduceData
        return kind(index=index, records=bytes(builder.build()))

    def _add(self, client: RawClient) -> None:
        kind = messages.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
        added = client.call(
            "AddPartitionsToTxn",
            3,
            **{f"v3_and_below_{name}": value for name, value in self._producer.items()},
            v3_and_below_topics=[kind(name=TOPIC, partitions=list(PARTITIONS))],
        )
        for partition in added.results_by_topic_v3_and_below[0].results_by_partition:
            _expect("AddPartitionsToTxn", partition.partition_error_code)
        added = client.call("AddOffsetsToTxn", 3, group_id=self.group_id, **self._producer)
        _expect("AddOffsetsToTxn", added.error_code)

    def _commit_offset(self, client: RawClient, number: int) -> None:
        kind = messages.TxnOffsetCommitRequest
        partition = kind.TxnOffsetCommitRequestPartition(
            partition_index=0, committed_offset=number, committed_metadata=""
        )
        committed = client.call(
            "TxnOffsetCommit",
            5 if self.second_flow else 3,
            group_id=self.group_id,
            topics=[kind.TxnOffsetCommitRequestTopic(name=TOPIC, partitions=[partition])],
            **self._producer,
        )
        _expect("TxnOffsetCommit", committed.topics[0].partitions[0].error_code)

    def _end(self, client: RawClient, number: int, *, commit: bool) -> None:
        if commit:
            self.unknown = number
        version = 5 if self.second_flow else 3
        ended = client.call("EndTxn", version, committed=commit, **self._producer)
        _expect("EndTxn", ended.error_code)
        if self.second_flow:
            self._take(self._producer["transactional_id"], ended)
        if commit:
            self.committed.append(number)
            self.unknown = None
        else:
            self.aborted += 1

    def check(self, client: RawClient) -> str | None:
        """Compare with what a consumer reads after everything has ended; return what is wrong."""
        prefix = f"{self.name}:"
        seen = []
        for index in PARTITIONS:
            texts = [value.decode() for value in read_committed(client, TOPIC, index).values]
            seen.append([int(t.removeprefix(prefix)) for t in texts if t.startswith(prefix)])
        if seen[0] != seen[1]:
            return f"{self.name}: partitions differ: {_tails(seen)}"
        if self.unknown is not None and self.unknown in seen[0]:
            self.committed.append(self.unknown)
        self.unknown = None
        if seen[0] != self.committed:
            return f"{self.name}: read {_tails(seen)}, committed {_tails([self.committed])}"
        answer = client.call(
            "OffsetFetch", 7, group_id=self.group_id, topics=None, require_stable=True
        )
        found = [
            (one.committed_offset, one.error_code) for t in answer.topics for one in t.partitions
        ]
        if found != [(number, 0) for number in self.committed[-1:]]:
            return f"{self.name}: offset {found}, committed {self.committed[-1:]}"
        return None


def _expect(name: str, code: int) -> None:
    if code != 0:
        raise Refused(name, code)


def _tails(several: list[list[int]]) -> str:
    return ", ".join(f"{len(each)} to {each[-5:]}" for each in several)
