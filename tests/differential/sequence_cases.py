"""Batches of idempotent producers, in order and out of it."""

import random

from tests.differential.batches import LZ4, NONE, BatchSpec, random_records
from tests.differential.case import Case, CaseMaker, Maker


class SequenceCases(CaseMaker):
    """A dozen producers, each at home in one topic."""

    def __init__(self, source: random.Random, now_ms: int, *, first_producer_id: int) -> None:
        super().__init__(source, now_ms)
        self._producers = [_Producer(first_producer_id + index) for index in range(12)]

    def makers(self) -> list[tuple[int, Maker]]:
        """What makes a case each, and how often in relation to the others."""
        return [(14, self._sequence)]

    def _sequence(self) -> Case:
        source = self.source
        producer = source.choice(self._producers)
        topic = producer.topic = producer.topic or source.choice(
            ("plain", "append-time", "zstd", "narrow")
        )
        count = source.choice((1, 1, 2, 3))
        epoch, sequence, count, note = producer.next_step(source, count)
        records = random_records(source, count, keys=True)
        spec = BatchSpec(
            records=records,
            codec=source.choice((NONE, NONE, LZ4)),
            base_timestamp=self.now_ms - source.choice((0, 5000)),
            producer_id=producer.producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
        )
        return self.case("sequence", spec.encode(), topic=topic, note=note)


class _Producer:
    """A producer's walk over one partition: mostly in order, sometimes not."""

    def __init__(self, producer_id: int) -> None:
        self.producer_id = producer_id
        self.topic = ""
        self._epoch = 0
        self._next = 0
        self._sent: list[tuple[int, int, int]] = []

    def next_step(self, source: random.Random, count: int) -> tuple[int, int, int, str]:
        """Return epoch, base sequence, record count and what it is."""
        kind = source.choice(
            ("next",) * 8
            + ("duplicate",) * 3
            + ("gap", "old", "epoch", "old-epoch", "epoch-gap", "wrap")
        )
        if kind == "duplicate" and self._sent:
            epoch, sequence, sent = source.choice(self._sent[-8:])
            return epoch, sequence, sent if source.random() < 0.8 else count, kind
        if kind == "gap":
            return self._epoch, _wrapped(self._next + 1 + source.randrange(3)), count, kind
        if kind == "old":
            return self._epoch, max(0, self._next - 1 - source.randrange(4)), count, kind
        if kind == "old-epoch":
            return max(0, self._epoch - 1), self._next, count, kind
        if kind == "epoch-gap":
            return self._epoch + 1, 3, count, kind
        if kind == "epoch":
            self._epoch, self._next = self._epoch + 1, 0
        elif kind == "wrap" and not self._sent:
            self._next = 2**31 - 2
        sequence = self._next
        self._sent.append((self._epoch, sequence, count))
        self._next = _wrapped(sequence + count)
        return self._epoch, sequence, count, kind


def _wrapped(sequence: int) -> int:
    return sequence if sequence < 2**31 else sequence - 2**31
