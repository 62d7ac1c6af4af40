"""Members and a transactional producer that do what clients do, and know every answer they get."""

from typing import Any, Final

from broker_lite.errors import ErrorCode
from broker_lite.record.builder import BatchBuilder
from broker_lite.wire import messages
from tests.bench import group_frames as frames
from tests.fuzz.read_committed import read_committed
from tests.support.raw_client import RawClient

TOPIC: Final = "calm-groups"
CLASSIC: Final = "calm-classic"
CONSUMER: Final = "calm-consumer"
PRODUCER: Final = "calm-producer"
SESSION_MS: Final = 6_000
TRANSACTION_MS: Final = 5_000
# an attacker who guesses producer ids tries small ones, and markers have to be obeyed
_PRODUCERS_BEFORE: Final = 40
_VALUE: Final = b"of a transaction"


class Unexpected(Exception):
    """An answer that a well-behaved client must not get."""


class CalmCoordinators:
    """A classic member, a consumer group's member and a transactional producer, each alone."""

    def __init__(self, port: int) -> None:
        self._client = RawClient("127.0.0.1", port, timeout_s=20)
        self._checks = 0
        self._committed = 0
        kind = messages.CreateTopicsRequest.CreatableTopic
        topic = kind(name=TOPIC, num_partitions=2, replication_factor=1)
        self._call("CreateTopics", 5, topics=[topic], timeout_ms=10_000)
        self._call("FindCoordinator", 1, key=TOPIC)
        for _ in range(_PRODUCERS_BEFORE):
            self._call("InitProducerId", 4, transactional_id=None, transaction_timeout_ms=1)
        self._member_id, self._generation = self._join_classic()
        self._epoch = self._join_consumer()
        self._producer_id, self._producer_epoch = -1, -1
        self._next_sequence = 0
        self._init_producer()

    def check(self) -> str | None:
        """Heartbeat, commit, and write in a transaction; return what was wrong."""
        self._checks += 1
        try:
            self._check_classic()
            self._check_consumer()
            if self._checks % 2:
                self._transaction_in_first_flow()
            else:
                self._transaction_in_second_flow(commit=self._checks % 4 == 0)
        except Unexpected as error:
            return f"well-behaved coordinators, check {self._checks}: {error}"
        return None

    def check_all(self) -> str | None:
        """Read everything committed; return what was wrong."""
        values = read_committed(self._client, TOPIC, 1).values
        if values != [_VALUE] * self._committed:
            return f"{len(values)} records of {self._committed} committed transactions"
        return None

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _call(self, name: str, version: int, **fields: Any) -> Any:
        response = self._client.call(name, version, **fields)
        for code in _error_codes(response):
            if code not in {0, ErrorCode.TOPIC_ALREADY_EXISTS}:
                raise Unexpected(f"{name} v{version} answered {response}")
        return response

    # -- groups

    def _join_classic(self) -> tuple[str, int]:
        kind = messages.JoinGroupRequest
        protocol = kind.JoinGroupRequestProtocol(
            name="range", metadata=frames.subscription([TOPIC])
        )
        joined = self._call(
            "JoinGroup",
            3,
            group_id=CLASSIC,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=SESSION_MS,
            member_id="",
            protocol_type="consumer",
            protocols=[protocol],
        )
        given = messages.SyncGroupRequest.SyncGroupRequestAssignment(
            member_id=joined.member_id, assignment=b"all"
        )
        member_id, generation = joined.member_id, joined.generation_id
        self._call(
            "SyncGroup",
            3,
            group_id=CLASSIC,
            member_id=member_id,
            generation_id=generation,
            assignments=[given],
        )
        return member_id, generation

    def _join_consumer(self) -> int:
        joined = self._call(
            "ConsumerGroupHeartbeat",
            1,
            group_id=CONSUMER,
            member_id="calm",
            member_epoch=0,
            rebalance_timeout_ms=SESSION_MS,
            subscribed_topic_names=[TOPIC],
            topic_partitions=[],
        )
        return int(joined.member_epoch)

    def _check_classic(self) -> None:
        member = {"member_id": self._member_id, "generation_id": self._generation}
        self._call("Heartbeat", 4, group_id=CLASSIC, **member)
        self._commit(CLASSIC, self._member_id, self._generation)

    def _check_consumer(self) -> None:
        answer = self._call(
            "ConsumerGroupHeartbeat",
            1,
            group_id=CONSUMER,
            member_id="calm",
            member_epoch=self._epoch,
        )
        if (answer.member_epoch, answer.assignment) != (self._epoch, None):
            raise Unexpected(f"heartbeat answered {answer}")
        self._commit(CONSUMER, "calm", self._epoch)

    def _commit(self, group_id: str, member_id: str, epoch: int) -> None:
        kind = messages.OffsetCommitRequest
        partition = kind.OffsetCommitRequestPartition(
            partition_index=1, committed_offset=self._checks, committed_metadata="calm"
        )
        self._call(
            "OffsetCommit",
            9,
            group_id=group_id,
            member_id=member_id,
            generation_id_or_member_epoch=epoch,
            topics=[kind.OffsetCommitRequestTopic(name=TOPIC, partitions=[partition])],
        )
        self._expect_offset(group_id, self._checks)

    def _expect_offset(self, group_id: str, offset: int) -> None:
        fetched = self._call("OffsetFetch", 7, group_id=group_id, topics=None, require_stable=True)
        found = [one.committed_offset for each in fetched.topics for one in each.partitions]
        if found != [offset]:
            raise Unexpected(f"{group_id} has {found}, committed was {offset}")

    # -- transactions

    def _init_producer(self) -> None:
        answer = self._call(
            "InitProducerId",
            4,
            transactional_id=PRODUCER,
            transaction_timeout_ms=TRANSACTION_MS,
        )
        self._producer_id, self._producer_epoch = answer.producer_id, answer.producer_epoch
        self._next_sequence = 0

    def _producer(self) -> dict[str, Any]:
        return {
            "transactional_id": PRODUCER,
            "producer_id": self._producer_id,
            "producer_epoch": self._producer_epoch,
        }

    def _transaction_in_first_flow(self) -> None:
        """Partitions and groups are added by requests of their own; the epoch stays."""
        kind = messages.AddPartitionsToTxnRequest
        self._call(
            "AddPartitionsToTxn",
            3,
            v3_and_below_transactional_id=PRODUCER,
            v3_and_below_producer_id=self._producer_id,
            v3_and_below_producer_epoch=self._producer_epoch,
            v3_and_below_topics=[kind.AddPartitionsToTxnTopic(name=TOPIC, partitions=[1])],
        )
        self._produce(11)
        self._call("AddOffsetsToTxn", 3, group_id=PRODUCER, **self._producer())
        self._commit_in_transaction(4)
        self._call("EndTxn", 3, committed=True, **self._producer())
        self._committed += 1
        self._expect_offset(PRODUCER, self._checks)

    def _transaction_in_second_flow(self, *, commit: bool) -> None:
        """Produce and TxnOffsetCommit add what they touch; each end bumps the epoch (KIP-890)."""
        self._produce(12)
        self._commit_in_transaction(5)
        ended = self._call("EndTxn", 5, committed=commit, **self._producer())
        if (ended.producer_id, ended.producer_epoch) != (
            self._producer_id,
            self._producer_epoch + 1,
        ):
            raise Unexpected(f"EndTxn answered {ended}")
        self._producer_epoch, self._next_sequence = ended.producer_epoch, 0
        self._committed += commit
        self._expect_offset(PRODUCER, self._checks if commit else self._checks - 1)

    def _produce(self, version: int) -> None:
        builder = BatchBuilder(
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            base_sequence=self._next_sequence,
            is_transactional=True,
        )
        builder.append(1_700_000_000_000, None, _VALUE)
        kind = messages.ProduceRequest
        data = kind.PartitionProduceData(index=1, records=bytes(builder.build()))
        self._call(
            "Produce",
            version,
            transactional_id=PRODUCER,
            acks=-1,
            timeout_ms=1000,
            topic_data=[kind.TopicProduceData(name=TOPIC, partition_data=[data])],
        )
        self._next_sequence += 1

    def _commit_in_transaction(self, version: int) -> None:
        kind = messages.TxnOffsetCommitRequest
        partition = kind.TxnOffsetCommitRequestPartition(
            partition_index=1, committed_offset=self._checks, committed_metadata=""
        )
        self._call(
            "TxnOffsetCommit",
            version,
            group_id=PRODUCER,
            topics=[kind.TxnOffsetCommitRequestTopic(name=TOPIC, partitions=[partition])],
            **self._producer(),
        )


def _error_codes(response: Any) -> list[int]:
    """Every error code in a response, however deep."""
    codes = []
    for name in type(response).__slots__:
        value = getattr(response, name)
        if name == "error_code":
            codes.append(value)
        elif isinstance(value, list) and value and hasattr(value[0], "__slots__"):
            codes += [code for each in value for code in _error_codes(each)]
    return codes
