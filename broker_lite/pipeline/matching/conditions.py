"""What a record must have to be found: key, headers, text, a JSON expression, and a time.

The bytes that a record must have are also looked for in the plain records of a whole batch, by a
search in C. Most batches of most searches have none of them, and are not decoded at all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from broker_lite.pipeline.matching.json_condition import JsonCondition
from broker_lite.record.batch import RecordBatch
from broker_lite.record.records import Record

# With more keys, one pass over the keys of a batch is faster than as many searches in its bytes.
_SOUGHT_KEYS_MAX: Final = 8
# A shorter text is in almost every batch.
_SOUGHT_BYTES_MIN: Final = 2


class HeaderCondition(NamedTuple):
    """A header that a record must have; the value None means any."""

    name: bytes
    value: bytes | None

    def holds(self, record: Record) -> bool:
        """Tell whether a record has it."""
        return any(
            name == self.name and (self.value is None or value == self.value)
            for name, value in record.headers
        )


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """What a record must have; without any condition, every record is found.

    Attributes:
        keys: one of them is its key; None for any key.
        headers: it has all of them.
        texts: all of them are in its key or its value.
        json: its value is JSON for which this holds.
        from_ms: its timestamp is not below.
        until_ms: its timestamp is below.
    """

    keys: frozenset[bytes] | None = None
    headers: tuple[HeaderCondition, ...] = ()
    texts: tuple[bytes, ...] = ()
    json: JsonCondition | None = None
    from_ms: int | None = None
    until_ms: int | None = None

    @cached_property
    def is_of_key_or_value(self) -> bool:
        """Whether there is one about the key or the value."""
        return self.keys is not None or bool(self.texts) or self.json is not None

    @cached_property
    def is_of_content(self) -> bool:
        """Whether there are others than those about the time."""
        return self.is_of_key_or_value or bool(self.headers)

    @cached_property
    def sought(self) -> Sequence[Sequence[bytes]]:
        """Groups of texts; the plain records of a batch must have one of each group."""
        groups: list[Sequence[bytes]] = []
        if self.keys is not None and len(self.keys) <= _SOUGHT_KEYS_MAX:
            groups.append(sorted(self.keys))
        groups += [[text] for text in self.texts]
        for header in self.headers:
            groups += [[header.name]] if header.value is None else [[header.name], [header.value]]
        return [group for group in groups if min(map(len, group), default=0) >= _SOUGHT_BYTES_MIN]

    def allow_times_of(self, batch: RecordBatch) -> bool:
        """Tell whether a batch can have a record of the wanted time, by its header."""
        if self.from_ms is not None and batch.max_timestamp < self.from_ms:
            return False
        return (
            self.until_ms is None
            or not batch.is_log_append_time
            or batch.max_timestamp < self.until_ms
        )

    def allow_bytes(self, content: bytes) -> bool:
        """Tell whether the plain records of a batch can have a wanted one, by their bytes."""
        for group in self.sought:
            for text in group:
                if text in content:
                    break
            else:
                return False
        return self.json is None or self.json.allows(content)

    def hold(self, record: Record) -> bool:
        """Tell whether a record is wanted."""
        if self.from_ms is not None and record.timestamp < self.from_ms:
            return False
        if self.until_ms is not None and record.timestamp >= self.until_ms:
            return False
        return self.hold_key_and_value(record.key, record.value) and all(
            header.holds(record) for header in self.headers
        )

    def hold_key_and_value(self, key: bytes | None, value: bytes | None) -> bool:
        """Tell whether key and value of a record are wanted."""
        if self.keys is not None and key not in self.keys:
            return False
        for text in self.texts:
            if not ((value is not None and text in value) or (key is not None and text in key)):
                return False
        return self.json is None or self.json.holds(value)


EVERY_RECORD: Final = Conditions()
