"""What was in topics and groups before a recorded session, as far as its answers tell it."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from broker_lite.server.life import Life
from broker_lite.testbench.bounds import JSON_BYTES_MAX
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.journal.entry_facts import EntryFacts
from broker_lite.testbench.journal.topic_names import Names
from broker_lite.testbench.record_lines import Wanted, read_lines
from broker_lite.testbench.turns import Turns
from broker_lite.wire.structs import Struct

RECORD_BYTES_MAX: Final = JSON_BYTES_MAX // 2
"""The script has to be smaller than what may be posted."""
_PRODUCE: Final = 0
_OFFSET_FETCH: Final = 9
_CONFLICT: Final = 409

Partition = tuple[str, int]


class Before:
    """Notes where a session began to write, and from which offsets its groups went on."""

    def __init__(self, names: Names) -> None:
        """Begin without a request.

        Args:
            names: of topics by id.
        """
        self._names = names
        # the offset of the first record that the session wrote
        self._written: dict[Partition, int] = {}
        # what a group was first told
        self._committed: dict[str, dict[Partition, int]] = {}

    def note(self, facts: EntryFacts) -> None:
        """Take in a request of the session.

        Raises:
            ControlError: 409, the answer is not there, or not all of it was kept.
        """
        api_key = facts.entry.api_key
        if api_key not in (_PRODUCE, _OFFSET_FETCH):
            return
        answer = facts.answer
        if answer is None:
            raise _error(f"what {facts.entry.id} wrote is not known: it has no answer")
        if answer.missing:
            raise _error(f"the answer to {facts.entry.id} was not kept whole: record bodies")
        if api_key == _PRODUCE:
            self._note_written(answer.struct)
            return
        groups = getattr(answer.struct, "groups", None)
        if groups:
            for group in groups:
                self._note_committed(group.group_id, group.topics)
        else:
            group_id = getattr(facts.body, "group_id", "")
            self._note_committed(group_id, getattr(answer.struct, "topics", ()))

    def _note_written(self, answer: Struct) -> None:
        for topic in getattr(answer, "responses", ()):
            for each in topic.partition_responses:
                if each.error_code == 0 and each.base_offset >= 0:
                    key = (self._name(topic), each.index)
                    known = self._written.get(key, each.base_offset)
                    self._written[key] = min(known, each.base_offset)

    def _note_committed(self, group_id: str, topics: Iterable[Any]) -> None:
        for topic in topics:
            for each in topic.partitions:
                if each.error_code == 0:
                    key = (self._name(topic), each.partition_index)
                    self._committed.setdefault(group_id, {}).setdefault(key, each.committed_offset)

    def _name(self, topic: Any) -> str:  # noqa: ANN401 - structs of several messages
        topic_id = getattr(topic, "topic_id", b"")
        return topic.name or self._names.get(topic_id) or ""

    async def read(
        self, life: Life, topics: Iterable[str], limit: int
    ) -> tuple[list[dict[str, Any]], dict[str, dict[str, dict[int, int]]]]:
        """Return the records that were there, and the offsets that groups had in them.

        Offsets are those in a partition that has these records only, as the script makes it.

        Args:
            life: of the broker.
            topics: of the session.
            limit: at most so many records.

        Raises:
            ControlError: 409, there are more.
        """
        records: list[dict[str, Any]] = []
        offsets: dict[Partition, list[int]] = {}
        size_bytes, turns = 0, Turns()
        for name in topics:
            for index in range(life.cluster.topics[name].partition_count):
                there: list[int] = []
                for line in await self._lines(life, (name, index), limit - len(records) + 1):
                    record = msgspec.json.decode(line, type=dict[str, Any])
                    offset = record.pop("offset")
                    if offset >= self._written.get((name, index), offset + 1):
                        break
                    there.append(offset)
                    records.append(record)
                    size_bytes += len(line)
                    await turns.next()
                offsets[name, index] = there
                if len(records) > limit:
                    raise _error(f"the topics had more than {limit} records before the session")
                if size_bytes > RECORD_BYTES_MAX:
                    text = f"the records before the session take more than {RECORD_BYTES_MAX} bytes"
                    raise _error(text)
        return records, dict(self._moved(offsets))

    async def _lines(self, life: Life, partition: Partition, limit: int) -> list[bytes]:
        """Read a partition, which may have records of the session at its end."""
        log = life.cluster.log(*partition)
        wanted = Wanted(log.log_start_offset, limit, committed=True, with_offsets=True)
        return await read_lines(log, wanted)

    def _moved(
        self, offsets: Mapping[Partition, list[int]]
    ) -> Iterator[tuple[str, dict[str, dict[int, int]]]]:
        for group_id, committed in self._committed.items():
            moved: dict[str, dict[int, int]] = {}
            for (topic, index), offset in committed.items():
                if offset >= 0 and (topic, index) in offsets:
                    position = bisect_left(offsets[topic, index], offset)
                    moved.setdefault(topic, {})[index] = position
            if moved:
                yield group_id, moved


def _error(text: str) -> ControlError:
    return ControlError(_CONFLICT, text, "?records")
