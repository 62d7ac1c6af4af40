"""One broker in the comparison of share groups with transactions, lapsed locks and moved starts."""

import time
from collections.abc import Collection
from typing import Any, Final

from broker_lite.record.builder import BatchBuilder
from broker_lite.wire import messages
from tests.differential.share_side import WAIT_MS, Said, ShareSide, id_of, until
from tests.support.raw_client import RawClient

SHORT_LOCK_MS: Final = 1000
LONG_LOCK_MS: Final = 60_000
SETTINGS: Final = {"group.share.min.record.lock.duration.ms": str(SHORT_LOCK_MS)}
"""Of both brokers, so that a lock can end while somebody waits."""
_SETTLED_S: Final = WAIT_MS / 1000
_TAKE_MS: Final = 1000
"""How long a fetch waits: Kafka first reads the state of a share partition."""


class WideSide(ShareSide):
    """Topics with transactions, a group that reads all of them, and connections of its members."""

    def __init__(self, port: int, name: str, configs: dict[str, str], topics: int) -> None:
        super().__init__(port, name, configs, topics)
        self._producers: dict[int, tuple[int, int]] = {}
        self._sequences: dict[int, int] = {}
        self._asked = range(topics)
        self._forgotten: dict[str, int] = {}

    def _await_state(self, member: str) -> None:
        self._prime(member, has_records=True)

    def fetch(self, member: str, count: int, batch: int, strict: bool) -> Any:
        """Let a member acquire records of all topics."""
        return self.take(member, count, batch, strict)

    def keep(self) -> None:
        """Tell the coordinator that all members are there; a long sequence outlasts a session."""
        for member in self._clients:
            assert self._beat(member, 0).error_code == 0

    def _prime(self, member: str, *, has_records: bool = False) -> None:
        """Have the broker read the state of each topic.

        Kafka does so beside the first fetch, and goes on with the topics whose states are there.
        """
        self._end(member)
        for topic in range(len(self._topics)):
            self._asked = range(topic, topic + 1)
            self.epochs[member] = 0
            taken = self.take(member, 1, 1, True)
            while has_records and not any(acquired for _, _, acquired in taken.values()):
                taken = self.take(member, 1, 1, True)  # a Kafka that has just started is slow
            self._end(member)
        time.sleep(2 * _SETTLED_S)
        self._asked = range(len(self._topics))
        self._begin(member)

    # -- records

    def transact(self, topic: int, size: int, ending: str) -> Any:
        """Append a batch of a transaction; commit or abort it, or leave it open.

        Each topic has a producer of its own. An open transaction goes on in the next call.
        """
        name = f"{self._name}-{topic}"
        if topic not in self._producers:
            until(lambda: self._init_producer(topic, name))
            self._sequences[topic] = 0
        producer_id, epoch = self._producers[topic]
        added = messages.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(
            name=self._topics[topic], partitions=[0]
        )

        def is_added() -> bool:
            answer = self._admin.call(
                "AddPartitionsToTxn",
                3,
                v3_and_below_transactional_id=name,
                v3_and_below_producer_id=producer_id,
                v3_and_below_producer_epoch=epoch,
                v3_and_below_topics=[added],
            )
            result = answer.results_by_topic_v3_and_below[0]
            return bool(result.results_by_partition[0].partition_error_code == 0)

        until(is_added)
        builder = BatchBuilder(
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=self._sequences[topic],
            is_transactional=True,
        )
        now_ms = int(time.time() * 1000)
        for number in range(size):
            builder.append(now_ms, None, b"t%d" % number)
        assert self._produce(topic, bytes(builder.build()), name) == 0
        self._sequences[topic] += size
        if ending != "open":
            before = self._end_offset(topic, committed=False)
            answer = self._admin.call(
                "EndTxn",
                3,
                transactional_id=name,
                producer_id=producer_id,
                producer_epoch=epoch,
                committed=ending == "commit",
            )
            assert answer.error_code == 0
            until(lambda: self._end_offset(topic, committed=True) == before + 1)
        return self._end_offset(topic, committed=False), self._end_offset(topic, committed=True)

    def _init_producer(self, topic: int, name: str) -> bool:
        found = self._admin.call("FindCoordinator", 4, key_type=1, coordinator_keys=[name])
        if found.coordinators[0].error_code:
            return False
        answer = self._admin.call(
            "InitProducerId", 4, transactional_id=name, transaction_timeout_ms=600_000
        )
        self._producers[topic] = answer.producer_id, answer.producer_epoch
        return bool(answer.error_code == 0)

    def _end_offset(self, topic: int, *, committed: bool) -> int:
        message = messages.ListOffsetsRequest
        partition = message.ListOffsetsPartition(partition_index=0, timestamp=-1)
        asked = message.ListOffsetsTopic(name=self._topics[topic], partitions=[partition])
        answer = self._admin.call(
            "ListOffsets", 7, replica_id=-1, isolation_level=int(committed), topics=[asked]
        )
        return int(answer.topics[0].partitions[0].offset)

    # -- members

    def take(
        self,
        member: str,
        count: int,
        batch: int,
        strict: bool,
        said: tuple[int, Said] | None = None,
        *,
        forgets: int | None = None,
        wait_ms: int = _TAKE_MS,
    ) -> Any:
        """Let a member acquire records of all topics, and acknowledge some of one with that.

        A topic that is forgotten is named again in the next request.

        Returns:
            The error, or by topic the error of the acknowledgements and what was acquired.
        """
        epoch = self.epochs[member]
        message = messages.ShareFetchRequest
        named = self._asked if epoch == 0 else [self._forgotten.pop(member, -1)]
        topics = self._named(named, said)
        forgotten = []
        if forgets is not None and forgets not in named and (said is None or said[0] != forgets):
            self._forgotten[member] = forgets
            forgotten = [message.ForgottenTopic(topic_id=self._topic_ids[forgets], partitions=[0])]
        answer = self._clients[member].call(
            "ShareFetch",
            2,
            group_id=self._name,
            member_id=id_of(member),
            share_session_epoch=epoch,
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=10_000_000,
            max_records=count,
            batch_size=batch,
            share_acquire_mode=int(strict),
            topics=topics,
            forgotten_topics_data=forgotten,
        )
        if answer.error_code:
            return answer.error_code
        self.epochs[member] = epoch + 1
        return {
            self._topic_ids.index(topic.topic_id): (
                partition.error_code,
                partition.acknowledge_error_code,
                [
                    (each.first_offset, each.last_offset, each.delivery_count)
                    for each in partition.acquired_records
                ],
            )
            for topic in answer.responses
            for partition in topic.partitions
        }

    def _named(self, named: Collection[int], said: tuple[int, Said] | None) -> list[Any]:
        """Return the topics that a fetch names: new ones, and those that it says something of."""
        message = messages.ShareFetchRequest
        topics = []
        for number, topic_id in enumerate(self._topic_ids):
            batches = []
            if said is not None and said[0] == number:
                batches = [
                    message.AcknowledgementBatch(
                        first_offset=first, last_offset=last, acknowledge_types=list(kinds)
                    )
                    for first, last, kinds in said[1]
                ]
            if number in named or batches:
                partition = message.FetchPartition(
                    partition_index=0, acknowledgement_batches=batches
                )
                topics.append(message.FetchTopic(topic_id=topic_id, partitions=[partition]))
        return topics

    def forget(self, member: str, topic: int) -> Any:
        """Let a member forget a topic, and name it again."""
        return [
            self.take(member, 10_000, 1, True, forgets=topic),
            self.take(member, 10_000, 1, True),
        ]

    def begin(self, member: str, count: int, strict: bool) -> Any:
        """End a member's session, and begin another one that acquires records at once."""
        error = self._end(member)
        self.epochs[member] = 0
        self._forgotten.pop(member, None)
        return error, self.take(member, count, 1, strict)

    def exhaust(self, member: str, count: int, kind: int, times: int) -> Any:
        """Let a member acquire records so often, and say the same of all of them each time."""
        told = []
        for _ in range(times):
            taken = self.take(member, count, 500, False)
            told.append(taken)
            if not isinstance(taken, dict):
                break
            for topic, (_, _, acquired) in taken.items():
                said = [(first, last, [kind]) for first, last, _ in acquired]
                if said:
                    told.append(self.say(member, said, False, topic))
            if not any(acquired for _, _, acquired in taken.values()):
                break
        return told

    def lapse(self, member: str, count: int, strict: bool) -> Any:
        """Let a member acquire records with a short lock, and wait until it has ended."""
        self._configure({"share.record.lock.duration.ms": str(SHORT_LOCK_MS)})
        time.sleep(_SETTLED_S)
        taken = self.take(member, count, 500, strict)
        self._configure({"share.record.lock.duration.ms": str(LONG_LOCK_MS)})
        time.sleep(SHORT_LOCK_MS / 1000 + _SETTLED_S)
        return taken

    def closed(self, member: str, said: Said) -> Any:
        """End a member's session, acknowledge with it all the same, and begin another one."""
        error = self._end(member)
        told = self.say(member, said, False)
        return error, told, self._begin(member)

    def close_with(self, member: str, topic: int, said: Said) -> Any:
        """End a member's session by a ShareAcknowledge that says something of records, too."""
        before = self.epochs[member]
        self.epochs[member] = -1
        told = self.say(member, said, False, topic)
        self.epochs[member] = before
        if isinstance(told, int):  # the session goes on
            return told, None
        time.sleep(_SETTLED_S)
        return told, self._begin(member)

    def leave(self, member: str) -> Any:
        """Close the connection of a member, and begin again with another one."""
        self._clients[member].close()
        time.sleep(2 * _SETTLED_S)
        self._connect(member)
        return self._begin(member)

    def leave_all(self) -> Any:
        """Close the connections of all members, and begin again with others."""
        for client in self._clients.values():
            client.close()
            time.sleep(2 * _SETTLED_S)
        for member in self._clients:
            self._connect(member)
        return self._begin_all()

    def _begin_all(self) -> Any:
        begun = [self._begin(member) for member in self._clients]
        self._prime(next(iter(self._clients)))
        return begun

    def _connect(self, member: str) -> None:
        self._clients[member] = RawClient("127.0.0.1", self._port, timeout_s=30)

    def _end(self, member: str) -> int:
        answer = self._clients[member].call(
            "ShareFetch",
            2,
            group_id=self._name,
            member_id=id_of(member),
            share_session_epoch=-1,
        )
        time.sleep(_SETTLED_S)
        return int(answer.error_code)

    def _begin(self, member: str) -> Any:
        self.epochs[member] = 0
        self._forgotten.pop(member, None)
        taken = self.take(member, 0, 1, False, wait_ms=0)
        return taken if isinstance(taken, int) else sorted(taken)

    # -- offsets

    def describe(self) -> Any:
        """Return by topic where the group starts, and its lag."""
        message = messages.DescribeShareGroupOffsetsRequest
        group = message.DescribeShareGroupOffsetsRequestGroup(group_id=self._name, topics=None)
        answer = self._admin.call("DescribeShareGroupOffsets", 1, groups=[group])
        return {
            self._topics.index(topic.topic_name): (each.start_offset, each.lag)
            for topic in answer.groups[0].topics
            for each in topic.partitions
        }

    def alter(self, topic: int, offset: int) -> Any:
        """Move the start while the group has members."""
        message = messages.AlterShareGroupOffsetsRequest
        partition = message.AlterShareGroupOffsetsRequestPartition(
            partition_index=0, start_offset=offset
        )
        asked = message.AlterShareGroupOffsetsRequestTopic(
            topic_name=self._topics[topic], partitions=[partition]
        )
        answer = self._admin.call("AlterShareGroupOffsets", 0, group_id=self._name, topics=[asked])
        if answer.error_code:
            return answer.error_code
        return [each.error_code for one in answer.responses for each in one.partitions]

    def delete(self, topic: int) -> Any:
        """Delete the start of a topic while the group has members."""
        message = messages.DeleteShareGroupOffsetsRequest
        asked = message.DeleteShareGroupOffsetsRequestTopic(topic_name=self._topics[topic])
        answer = self._admin.call("DeleteShareGroupOffsets", 0, group_id=self._name, topics=[asked])
        return answer.error_code or [each.error_code for each in answer.responses]

    def move(self, topic: int, offset: int | None) -> Any:
        """Let all members leave, move the start or delete it (None), and let them join again."""
        for member, client in self._clients.items():
            client.close()
            assert self._beat(member, -1).error_code == 0
            time.sleep(2 * _SETTLED_S)
        error = self.delete(topic) if offset is None else self.alter(topic, offset)
        described = self.describe()
        for member in self._clients:
            self.join(member)
        return error, described, self._begin_all()
