"""The requests of one partition: what is sent next, what is sent again, and with which sequence.

After an error nothing more is sent for the partition until all its open requests are answered. Then
those that failed go first, in their old order. So the order stays as it was due, the sequences fit,
and no more is kept than was on its way.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final, NamedTuple

from broker_lite.load.stamped import Producer
from broker_lite.record.batch import SEQUENCE_MAX, increment_sequence

if TYPE_CHECKING:
    from broker_lite.load.produce import ProduceLane

NO_SEQUENCE: Final = -1
_EPOCH_MAX: Final = 2**15 - 1


class Retry(NamedTuple):
    """A request to send again.

    Attributes:
        number: of the request in the schedule.
        at_ns: not before.
        due_ns: when it was due at first.
        sequence: as it was sent, which the broker may have written; NO_SEQUENCE if it has not.
    """

    number: int
    at_ns: int
    due_ns: int
    sequence: int


class PartitionQueue:
    """The requests of one partition.

    Attributes:
        partition: its number in the topic.
        number: of the next new request.
        retries: a heap, so the oldest request is the first one.
        in_flight: how many requests are open.
        is_held: nothing is sent until `in_flight` is 0.
        producer: with the epoch of this partition; None for no sequences.
        sequence: of the next record.
        lane: that sends them; None while the partition has no leader.
    """

    __slots__ = (
        "in_flight",
        "is_held",
        "lane",
        "number",
        "partition",
        "producer",
        "retries",
        "sequence",
    )

    def __init__(self, partition: int, number: int, producer: Producer | None) -> None:
        self.partition = partition
        self.number = number
        self.producer = producer
        self.retries: list[Retry] = []
        self.in_flight = 0
        self.is_held = False
        self.sequence = 0
        self.lane: ProduceLane | None = None

    def take_sequence(self, records: int) -> int:
        """Return the sequence for a further batch."""
        if self.producer is None:
            return NO_SEQUENCE
        sequence = self.sequence
        self.sequence = increment_sequence(sequence, records)
        return sequence

    def take_retry(self) -> Retry:
        """Take the oldest request that is to be sent again."""
        return heappop(self.retries)

    def put_retry(self, retry: Retry) -> None:
        """Send a request again, once the open ones are answered."""
        heappush(self.retries, retry)
        self.is_held = True

    def refused(self, sequence: int) -> None:
        """Let the next batch have the sequence of one that the broker has refused for good."""
        self.is_held = True
        if self._is_assigned(sequence):
            self.sequence = sequence

    def out_of_order(self, number: int, sequence: int) -> None:
        """Take back the sequence of a request that the broker has not written.

        If all requests before it were accepted, the broker has lost what it knew of them. Then the
        sequences begin again in the next epoch, as in Kafka's clients.
        """
        if not self._is_assigned(sequence):
            return
        self.sequence = sequence
        is_oldest = not self.retries or number < self.retries[0].number
        if is_oldest and self.producer is not None and self.producer.epoch < _EPOCH_MAX:
            self.producer = self.producer._replace(epoch=self.producer.epoch + 1)
            self.sequence = 0
            self.retries = [each._replace(sequence=NO_SEQUENCE) for each in self.retries]

    def is_settled(self) -> bool:
        """Count an answer, or a lost request; tell whether it was the last one of a held queue."""
        self.in_flight -= 1
        if not self.is_held or self.in_flight:
            return False
        self.is_held = False
        return True

    def _is_assigned(self, sequence: int) -> bool:
        """Tell whether the next sequence is behind this one; sequences are a ring."""
        return 0 < (self.sequence - sequence) & SEQUENCE_MAX <= SEQUENCE_MAX // 2
