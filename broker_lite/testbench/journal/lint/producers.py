"""What goes wrong in producers: idempotence that does not hold."""

from collections import OrderedDict
from hashlib import blake2b
from typing import Final, NamedTuple

from broker_lite.record.batch import RECORD_BATCH_OVERHEAD, Header
from broker_lite.testbench.journal.batches import NotKept, Records, headers_of
from broker_lite.testbench.journal.entry import ANSWERED
from broker_lite.testbench.journal.entry_facts import EntryFacts
from broker_lite.testbench.journal.lint.finding import About, CountingRule
from broker_lite.testbench.journal.render import client

REMEMBERED_MAX: Final = 10_000
"""So many batches without an acknowledgement are remembered; a client retries within seconds."""
_PRODUCE: Final = 0
_ALL: Final = -1


class AcksOfIdempotent(CountingRule):
    """Idempotent producers that do not wait for all replicas."""

    about = About(
        rule="idempotence-without-acks",
        severity="error",
        what="Produce requests with a producer id had acks other than all",
        why="With acks=1 or 0 the leader may fail before a follower has the records. They"
        " are lost then, or the next sequence number does not follow, and the producer"
        " stops with OUT_OF_ORDER_SEQUENCE_NUMBER.",
        fix="Set acks=all wherever enable.idempotence is on.",
    )
    keys: frozenset[int] | None = frozenset((_PRODUCE,))

    def see(self, facts: EntryFacts) -> None:
        """Look at the next entry."""
        acks = getattr(facts.body, "acks", None)
        if acks is None or acks == _ALL:
            return
        if any(
            header.producer_id >= 0
            for _, _, records in facts.records()
            for header in headers_of(records)
        ):
            self._seen.add(facts)


class _Attempt(NamedTuple):
    """How a batch was numbered when it was not acknowledged."""

    producer_id: int
    epoch: int
    sequence: int


class NewSequences(CountingRule):
    """Batches that were not acknowledged, and are sent again with other sequence numbers.

    Two batches are the same if sizes, counts, timestamps and, where they are kept, the records are.
    Only a batch whose first request was not acknowledged counts: equal records are no retry.
    """

    about = About(
        rule="retry-with-new-sequence",
        severity="error",
        what="Batches were sent again with another sequence number",
        why="The broker cannot know that it has these records already. If the first"
        " request was carried out and only its answer was lost, they are doubled.",
        fix="Send a batch again with the producer id, epoch and sequence that it had. Only"
        " after a new epoch (InitProducerId) may it get new ones, once it is certain that"
        " it was not written.",
    )
    keys: frozenset[int] | None = frozenset((_PRODUCE,))

    def __init__(self) -> None:
        """Begin with nothing seen."""
        super().__init__()
        self._failed: OrderedDict[tuple[object, ...], _Attempt] = OrderedDict()

    def see(self, facts: EntryFacts) -> None:
        """Look at the next entry."""
        is_acknowledged = facts.entry.ended == ANSWERED and not facts.errors
        found = False
        for topic, partition, records in facts.records():
            for number, header in enumerate(headers_of(records)):
                if header.producer_id < 0:
                    continue
                key = (client(facts), topic, partition, *_identity(records, number, header))
                attempt = _Attempt(header.producer_id, header.producer_epoch, header.base_sequence)
                before = self._failed.pop(key, attempt)
                found = found or before != attempt
                if not is_acknowledged:
                    self._failed[key] = attempt
                    if len(self._failed) > REMEMBERED_MAX:
                        self._failed.popitem(last=False)
        if found:
            self._seen.add(facts)


def _identity(records: Records, number: int, header: Header) -> tuple[object, ...]:
    """Return what is the same in a batch that is sent again."""
    digest = b""
    if number == 0 and not isinstance(records, NotKept):
        digest = blake2b(records[RECORD_BATCH_OVERHEAD:], digest_size=16).digest()
    return (
        number,
        header.length,
        header.record_count,
        header.base_timestamp,
        header.max_timestamp,
        digest,
    )
