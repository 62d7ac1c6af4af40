"""A member of a group with kafka-python; `tests.conformance.members` says what it does."""

import time

from kafka import ConsumerRebalanceListener, KafkaConsumer, OffsetAndMetadata, TopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import KafkaConnectionError, KafkaError

from tests.conformance.python.lines import Commands, Owned, emit, name_of, options

ASSIGNORS = {"range": RangePartitionAssignor, "cooperative": CooperativeStickyAssignor}


class Listener(ConsumerRebalanceListener):
    """Tells what the member owns."""

    def __init__(self) -> None:
        self._owned = Owned()

    def on_partitions_assigned(self, assigned: list[TopicPartition]) -> None:
        """Some were added."""
        self._owned.add(each.partition for each in assigned)

    def on_partitions_revoked(self, revoked: list[TopicPartition]) -> None:
        """Some were taken away."""
        self._owned.remove(each.partition for each in revoked)

    def on_partitions_lost(self, lost: list[TopicPartition]) -> None:
        """Some were lost."""
        self._owned.remove(each.partition for each in lost)


# kafka-python 3.0 forgets to finish a rebalance during which a poll came to its end
POLL_MS = 2000
PAUSE_S = 0.1


def poll(consumer: KafkaConsumer) -> None:
    """Print some records and commit them."""
    try:
        batches = consumer.poll(POLL_MS, max_records=20)
    except KafkaConnectionError as error:  # the broker is gone for a while
        emit("refused", name_of(error))
        time.sleep(PAUSE_S)
        return
    for partition, records in batches.items():
        for record in records:
            value = (record.value or b"").decode()
            emit("read", partition.partition, record.offset, value)
        end = records[-1].offset + 1
        try:
            consumer.commit({partition: OffsetAndMetadata(end, "", -1)}, timeout_ms=5000)
            emit("committed", partition.partition, end)
        except KafkaError as error:
            emit("refused", name_of(error))


def main() -> None:
    """Read until told to leave."""
    given, commands = options(), Commands()
    topic, session_ms = given["topic"], int(given["session_ms"])
    consumer = KafkaConsumer(
        bootstrap_servers=given["bootstrap"],
        group_id=given["group"],
        group_instance_id=given.get("instance"),
        isolation_level=given.get("isolation", "read_uncommitted"),
        auto_offset_reset=given.get("reset", "earliest"),
        enable_auto_commit=False,
        session_timeout_ms=session_ms,
        heartbeat_interval_ms=int(given["heartbeat_ms"]),
        partition_assignment_strategy=(ASSIGNORS[given["assignor"]],),
        reconnect_backoff_max_ms=500,
    )
    consumer.subscribe([topic], listener=Listener())
    while (command := commands.next()) != ["leave"]:
        if command is not None:
            consumer.seek(TopicPartition(topic, int(command[1])), int(command[2]))
            emit("done", *command)
        poll(consumer)
    consumer.close()


if __name__ == "__main__":
    main()
