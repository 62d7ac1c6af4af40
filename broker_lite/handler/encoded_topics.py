"""Topics as Metadata tells them, encoded and kept until something about them changes.

To describe 10,000 partitions takes 18 ms, and every client of their topic asks for them. So the
bytes are made once for all clients that are told the same.

A change of the metadata makes another object of what it changes, so a topic is unchanged if its
partitions are the same object. What else its bytes depend on is their form: the version of the
answer, and which brokers the client can reach.
"""

from asyncio import Lock
from collections.abc import Hashable
from typing import Final, NamedTuple

from broker_lite.control.metadata.topic import PartitionRegistration, Topic

ENCODED_BYTES_MAX: Final = 4 << 20
"""The answers for 100,000 partitions in one form."""
_ENTRY_BYTES: Final = 400
"""What an entry takes beside its bytes and its partitions."""
_PARTITION_BYTES: Final = 8


class _Entry(NamedTuple):
    topic_id: bytes
    partitions: tuple[PartitionRegistration, ...]
    data: bytes


class EncodedTopics:
    """The encoded topics of a process.

    Attributes:
        turn: is held by who encodes a large topic, so that those who ask for the same one meanwhile
            wait for it, and do not all encode it.
        size_bytes: the memory of what is kept.
    """

    def __init__(self, bytes_max: int = ENCODED_BYTES_MAX) -> None:
        """Keep nothing yet.

        Args:
            bytes_max: the most memory that it takes.
        """
        self.turn = Lock()
        self.size_bytes = 0
        self._bytes_max = bytes_max
        # by form, the one used last at the end; then by the topic's name and what a client may do
        self._forms: dict[Hashable, dict[tuple[str, int], _Entry]] = {}

    def find(self, form: Hashable, topic: Topic, operations: int) -> bytes | None:
        """Return the bytes of a topic; None if they are not kept, or not those of today."""
        entries = self._forms.get(form)
        entry = None if entries is None else entries.get((topic.name, operations))
        if entry is None or entry.partitions is not topic.partitions:
            return None
        if entry.topic_id != topic.topic_id:
            return None
        self._forms[form] = self._forms.pop(form)
        return entry.data

    def keep(self, form: Hashable, topic: Topic, operations: int, data: bytes) -> None:
        """Keep the bytes of a topic; if there is no room, the forms used longest ago go first."""
        key = (topic.name, operations)
        entries = self._forms.pop(form, {})
        known = entries.pop(key, None)
        if known is not None:
            self.size_bytes -= _size_of(known)
        entry = _Entry(topic.topic_id, topic.partitions, data)
        size_bytes = _size_of(entry)
        while self._forms and self.size_bytes + size_bytes > self._bytes_max:
            self._forget(self._forms.pop(next(iter(self._forms))))
        if self.size_bytes + size_bytes > self._bytes_max:
            self._forget(entries)
        if size_bytes <= self._bytes_max:
            entries[key] = entry
            self.size_bytes += size_bytes
        if entries:
            self._forms[form] = entries

    def _forget(self, entries: dict[tuple[str, int], _Entry]) -> None:
        self.size_bytes -= sum(map(_size_of, entries.values()))
        entries.clear()


def _size_of(entry: _Entry) -> int:
    return len(entry.data) + _PARTITION_BYTES * len(entry.partitions) + _ENTRY_BYTES
