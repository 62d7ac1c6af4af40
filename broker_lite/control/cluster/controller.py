"""What Kafka's controller does about brokers and leaders.

A broker registers, is let in, stops, is gone. With each of these the partitions change that it has
or leads, in the same batch of records: after a crash all of a step is there or nothing of it.

Source: ReplicationControlManager, ClusterControlManager.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from broker_lite.control.cluster import metadata_changes as changes
from broker_lite.control.cluster.elections import Election, Terms, change, change_record
from broker_lite.control.cluster.features import ELIGIBLE_LEADER_REPLICAS_VERSION, Supported
from broker_lite.control.metadata.brokers import Endpoint
from broker_lite.control.metadata.image import MetadataImage
from broker_lite.control.metadata.metadata_records import MetadataChange, MetadataRecord
from broker_lite.control.metadata.topic import NO_LEADER, PartitionRegistration, Topic
from broker_lite.settings import TopicConfig

_log = logging.getLogger("broker_lite.control")


class Moved(NamedTuple):
    """A partition that was changed."""

    topic: Topic
    partition: int
    before: PartitionRegistration
    after: PartitionRegistration


class Alteration(NamedTuple):
    """A partition that is to be changed.

    Attributes:
        steps: what it becomes, one after the other; each one is a record of the metadata log.
    """

    topic: Topic
    partition: int
    steps: Sequence[PartitionRegistration]


class Writer(Protocol):
    """Writes records to the metadata log and applies them to the image; see Cluster.write."""

    def __call__(self, records: Sequence[MetadataChange], /) -> None:
        """Write a change that was checked."""


class Controller:
    """Changes the brokers of the cluster, and who leads the partitions; used by one thread.

    A broker of this process need not be registered: a client may have unregistered it.

    Attributes:
        moved: called with the partitions that a step has changed, once they are.
    """

    def __init__(
        self,
        *,
        image: MetadataImage,
        write: Writer,
        end_offset: Callable[[], int],
        topic_config: Callable[[Topic], TopicConfig],
    ) -> None:
        """Remember what is needed.

        Args:
            image: of the cluster.
            write: see Cluster.write.
            end_offset: where the next record of the metadata log goes.
            topic_config: the configs in force of a topic.
        """
        self._image = image
        self._write = write
        self._end_offset = end_offset
        self._topic_config = topic_config
        self.moved: Callable[[Collection[Moved]], None] = lambda _: None

    # -- brokers

    def register(
        self,
        node_id: int,
        directory_id: bytes,
        *,
        incarnation_id: bytes,
        endpoints: Sequence[Endpoint],
        rack: str | None,
        supported: Supported,
    ) -> None:
        """Register a broker that has come up, and let it in.

        Partitions that it leads and ISRs that it is in stay as they are: what it had lost by being
        away, fence() and lose() have taken away before.

        Args:
            node_id: of the broker.
            directory_id: of its data directory.
            incarnation_id: an id of this start.
            endpoints: its listeners.
            rack: where it stands.
            supported: its features.

        Raises:
            KafkaStorageError: not written; nothing was changed.

        See: C-20 (ClusterControlManager.registerBroker).
        """
        broker_epoch = self._end_offset()
        registration = changes.registration(
            node_id,
            directory_id,
            broker_epoch=broker_epoch,
            incarnation_id=incarnation_id,
            endpoints=endpoints,
            rack=rack,
            supported=supported,
        )
        let_in = changes.unfencing(node_id, broker_epoch)
        self._step(self._with(node_id), first=[registration, let_in])

    def unfence(self, node_id: int) -> None:
        """Let a registered broker in: it may lead, and partitions without a leader may take it.

        Raises:
            KafkaStorageError: not written; nothing was changed.

        Rule: C-20 (ReplicationControlManager.handleBrokerUnfenced).
        """
        broker = self._image.brokers.by_id.get(node_id)
        if broker is not None and broker.is_fenced:
            let_in = changes.unfencing(node_id, broker.epoch)
            self._step(self._with(node_id), first=[let_in])

    def shut_down(self, node_id: int) -> None:
        """Begin the controlled shutdown of a broker: others take over what it leads.

        Raises:
            KafkaStorageError: not written; nothing was changed.

        Rule: C-22 (ReplicationControlManager.handleBrokerInControlledShutdown).
        """
        broker = self._image.brokers.by_id.get(node_id)
        if broker is not None and not broker.is_stopping:
            record = changes.controlled_shutdown(node_id, broker.epoch)
            self._step(self._without(node_id), first=[record])

    def fence(self, node_id: int) -> None:
        """Take a broker out that is gone: it leaves each ISR, and others take over what it leads.

        Raises:
            KafkaStorageError: not written; nothing was changed.

        Rule: C-21 (ReplicationControlManager.handleBrokerFenced).
        """
        broker = self._image.brokers.by_id.get(node_id)
        records = []
        if broker is not None and not broker.is_fenced:
            records.append(changes.fencing(node_id, broker.epoch))
        self._step(self._without(node_id), last=records)

    def lose(self, node_id: int) -> None:
        """Note that a broker was not shut down: it may lack records that it had acknowledged.

        Raises:
            KafkaStorageError: not written; nothing was changed.

        Rule: C-25 (ReplicationControlManager.handleBrokerShutdown).
        """
        self._step(self._without(node_id, is_unclean=self._tracks_eligible))

    def unregister(self, node_id: int) -> None:
        """Forget a broker.

        Raises:
            KafkaStorageError: not written; nothing was changed.

        Rule: C-23 (ReplicationControlManager.handleBrokerUnregistered).
        """
        broker = self._image.brokers.by_id[node_id]
        record = changes.unregistration(node_id, broker.epoch)
        self._step(self._without(node_id), last=[record])

    # -- partitions

    def terms(self, topic: Topic, election: Election | None = None) -> Terms:
        """Return what elections of a topic's partitions depend on.

        Args:
            topic: one of the image.
            election: None for what the topic's unclean.leader.election.enable says.

        See: C-12 (ReplicationControlManager.getTopicEffectiveMinIsr).
        """
        config = self._topic_config(topic)
        if election is None:
            is_unclean = config.unclean_leader_election_enable
            election = Election.UNCLEAN if is_unclean else Election.ONLINE
        return Terms(
            may_lead=self._image.brokers.is_active,
            min_isr=min(config.min_insync_replicas, len(topic.partitions[0].replicas)),
            tracks_eligible=self._tracks_eligible,
            election=election,
        )

    @property
    def _tracks_eligible(self) -> bool:
        return bool(self._image.features.get(ELIGIBLE_LEADER_REPLICAS_VERSION))

    def join(self, joining: Iterable[tuple[Topic, int, Sequence[int]]]) -> None:
        """Let brokers that have all records join the ISRs of partitions, in one change.

        Args:
            joining: topic, index and brokers; each partition at most once.

        Raises:
            KafkaStorageError: not written; nothing was changed.

        Rule: C-27 (Partition.maybeExpandIsr, ReplicationControlManager.alterPartition).
        """
        altered = (Alteration(*each[:2], self._join_steps(*each)) for each in joining)
        self.alter_all([each for each in altered if each.steps])

    def _join_steps(
        self, topic: Topic, index: int, node_ids: Sequence[int]
    ) -> list[PartitionRegistration]:
        """Return what a partition becomes as one broker after the other joins."""
        before, steps = topic.partitions[index], []
        for node_id in node_ids:
            is_missing = node_id in before.replicas and node_id not in before.isr
            if is_missing and before.leader != NO_LEADER and self._image.brokers.is_active(node_id):
                terms = self.terms(topic, Election.ONLINE)
                after = change(before, terms, isr=(*before.isr, node_id))
                before = after._replace(is_recovering=False)
                steps.append(before)
                if not index:  # terms() looks at the replicas of partition 0
                    topic = replace(topic, partitions=(before, *topic.partitions[1:]))
        return steps

    def alter(self, topic: Topic, index: int, after: PartitionRegistration) -> None:
        """Change one partition.

        Raises:
            KafkaStorageError: not written; nothing was changed.
        """
        self._step([Moved(topic, index, topic.partitions[index], after)])

    def alter_all(self, altered: Iterable[Alteration]) -> None:
        """Change some partitions, all or none.

        Args:
            altered: each partition at most once.

        Raises:
            KafkaStorageError: not written; nothing was changed.
        """
        records: list[MetadataChange] = []
        moved = []
        for topic, index, steps in altered:
            first = before = topic.partitions[index]
            for after in steps:
                records.append(self._change_record(Moved(topic, index, before, after)))
                before = after
            moved.append(Moved(topic, index, first, before))
        self._carry_out(records, moved)

    def _with(self, node_id: int) -> Iterator[Moved]:
        """Return the partitions that get a leader by a broker that comes."""
        is_active = self._image.brokers.is_active
        for topic in self._image.topics.values():
            if any(partition.leader == NO_LEADER for partition in topic.partitions):
                terms = replace(
                    self.terms(topic), may_lead=lambda one: one == node_id or is_active(one)
                )
                for index, before in enumerate(topic.partitions):
                    if before.leader == NO_LEADER:
                        yield from _moved(topic, index, change(before, terms))

    def _without(self, node_id: int, *, is_unclean: bool = False) -> Iterator[Moved]:
        """Return the partitions that change by a broker that is gone.

        Args:
            node_id: of the broker.
            is_unclean: whether it may lack records that it had acknowledged.

        Rule: C-24 (ReplicationControlManager.generateLeaderAndIsrUpdates).
        """
        is_active = self._image.brokers.is_active
        lost = (node_id,) if is_unclean else ()
        for topic in self._image.topics.values():
            terms: Terms | None = None
            for index, before in enumerate(topic.partitions):
                if node_id in before.isr or (is_unclean and node_id in before.eligible):
                    terms = terms or replace(
                        self.terms(topic),
                        may_lead=lambda one: one != node_id and is_active(one),
                        unclean_shutdown=lost,
                    )
                    isr = [one for one in before.isr if one != node_id]
                    yield from _moved(topic, index, change(before, terms, isr=isr))

    def _step(
        self,
        changed: Iterable[Moved],
        *,
        first: Sequence[MetadataChange] = (),
        last: Sequence[MetadataChange] = (),
    ) -> None:
        """Write one step, log what it means for partitions, and call `moved`.

        Args:
            changed: the partitions.
            first: records that go before theirs.
            last: records that go behind theirs.
        """
        moved = list(changed)
        self._carry_out([*first, *map(self._change_record, moved), *last], moved)

    def _change_record(self, moved: Moved) -> MetadataRecord:
        topic, index, before, after = moved
        directories = list(map(self._image.brokers.default_directory, after.replicas))
        return change_record(topic.topic_id, index, before, after, directories)

    def _carry_out(self, records: Sequence[MetadataChange], moved: Sequence[Moved]) -> None:
        self._write(records)
        for topic, index, before, after in moved:
            if after.leader == NO_LEADER:
                _log.warning("partition without a leader topic=%s-%d", topic.name, index)
            elif after.is_recovering and not before.is_recovering:
                _log.warning(
                    "unclean election, records may be lost topic=%s-%d leader=%d",
                    *(topic.name, index, after.leader),
                )
        if moved:
            self.moved(moved)


def _moved(topic: Topic, index: int, after: PartitionRegistration) -> Iterator[Moved]:
    before = topic.partitions[index]
    if after is not before:
        yield Moved(topic, index, before, after)
