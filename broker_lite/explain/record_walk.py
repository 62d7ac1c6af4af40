"""Walk the records of a v2 batch, field by field, as the reader does that the broker would use.

See: R-30 to R-37.
"""

from typing import Final, NamedTuple

from broker_lite.errors import BrokerError
from broker_lite.explain.explanation import State
from broker_lite.explain.listing import ListFull, Reader, Unreadable
from broker_lite.explain.message_walk import MessageWalk
from broker_lite.explain.values import moment
from broker_lite.record.batch import RecordBatch
from broker_lite.record.control import ControlType, decode_control_key
from broker_lite.record.loops.scan import RecordCursor
from broker_lite.wire import messages

_MASK_64: Final = 0xFFFFFFFFFFFFFFFF
_SIGN_64: Final = 0x8000000000000000
_END_MARKERS: Final = (ControlType.ABORT, ControlType.COMMIT)
_CONTROL_VALUES: Final = {
    ControlType.LEADER_CHANGE: "LeaderChangeMessage",
    ControlType.SNAPSHOT_HEADER: "SnapshotHeaderRecord",
    ControlType.SNAPSHOT_FOOTER: "SnapshotFooterRecord",
    ControlType.KRAFT_VERSION: "KRaftVersionRecord",
    ControlType.KRAFT_VOTERS: "VotersRecord",
}
_INT16_BYTES: Final = 2
_WANTED_FIELDS_MAX: Final = 500
_END_MARKER_BYTES: Final = 6


class Wanted(NamedTuple):
    """How to read the records of a batch.

    Attributes:
        full_reader: True if the declared lengths of records count (R-34), False if not (R-36).
        record: index of a record that is listed in any case, even if the list is full.
    """

    full_reader: bool
    record: int | None = None


def walk_records(reader: Reader, batch: RecordBatch, prefix: str, wanted: Wanted) -> None:
    """List the records of a batch up to the end of the reader.

    Args:
        reader: at the first record.
        batch: has the count of records, and what their deltas are relative to.
        prefix: of the paths, such as `batches[0].`.
        wanted: how to read them.
    """
    walk = _RecordWalk(reader, batch, prefix, wanted)
    index = listed = 0
    start = reader.position
    try:
        for index in range(max(batch.record_count, 0)):
            start, listed = reader.position, len(reader.fields)
            walk.record(index)
        count = batch.record_count
        if reader.position < reader.end and count > 0:
            expected = f"the end, because the header says {count} records"
            reader.rest(f"{prefix}records.rest", expected, State.UNREADABLE)
    except Unreadable:
        reader.rest(f"{prefix}records.rest", "what comes after the unreadable field")
    except ListFull:
        del reader.fields[listed:]
        reader.position = start
        walk.skip(index)
    reader.rest(f"{prefix}records.rest", "not counted by the header")


class _RecordWalk:
    """Lists single records of a batch."""

    def __init__(self, reader: Reader, batch: RecordBatch, prefix: str, wanted: Wanted) -> None:
        self._reader = reader
        self._batch = batch
        self._prefix = prefix
        self._wanted = wanted

    def record(self, index: int) -> None:
        """List one record.

        Raises:
            Unreadable: its structure is wrong.
            ListFull: there are too many fields.
        """
        reader, path = self._reader, f"{self._prefix}records[{index}]"
        batch_end = reader.end
        length = reader.varint(f"{path}.length")
        if self._wanted.full_reader:
            left = reader.end - reader.position
            if not 0 <= length <= left:
                reader.is_wrong(f"0 to {left}")
            reader.end = reader.position + length
        try:
            self._fields(path)
            if self._wanted.full_reader and reader.position < reader.end:
                left = reader.end - reader.position
                with reader.budget.waived():
                    reader.content(left, "bytes", f"{path}.rest")
                reader.is_wrong("the end of the record, whose length is larger")
        finally:
            reader.end = batch_end

    def _fields(self, path: str) -> None:
        reader, batch = self._reader, self._batch
        reader.fixed("int8", f"{path}.attributes")
        delta = reader.varlong(f"{path}.timestamp_delta")
        reader.annotate(self._timestamp(delta))
        offset_delta = reader.varint(f"{path}.offset_delta")
        reader.annotate(f"offset {batch.base_offset + offset_delta}")
        key = self._content(f"{path}.key", is_key=True)
        self._content(f"{path}.value", control_key=key)
        count = reader.varint(f"{path}.header_count")
        left = reader.end - reader.position
        if count < 0 or (self._wanted.full_reader and count > left):
            reader.is_wrong(f"0 to {left}" if self._wanted.full_reader else "0 or more")
        for index in range(count):
            header = f"{path}.headers[{index}]"
            length = reader.varint(f"{header}.key_length")
            if length < 0:
                reader.is_wrong("0 or more: the key of a header cannot be null")
            self._bytes(length, f"{header}.key")
            self._bytes(reader.varint(f"{header}.value_length"), f"{header}.value")

    def _timestamp(self, delta: int) -> str:
        """See: R-33."""
        batch = self._batch
        if batch.is_log_append_time:
            return f"{batch.max_timestamp}, that of the batch"
        found = (((batch.base_timestamp + delta) & _MASK_64) ^ _SIGN_64) - _SIGN_64
        return f"{found} = {moment(found)}"

    def _content(
        self, path: str, *, is_key: bool = False, control_key: bytes | None = None
    ) -> bytes | None:
        """List a key or a value, and return the key of a control record."""
        reader = self._reader
        length = reader.varint(f"{path}_length")
        left = reader.end - reader.position
        if not self._batch.is_control or not 0 <= length <= left:
            self._bytes(length, path)
            return None
        data = bytes(reader.data[reader.position : reader.position + length])
        if is_key:
            self._control_key(data, path)
            return data
        self._control_value(control_key, len(data), path)
        return None

    def _bytes(self, length: int, path: str) -> None:
        reader = self._reader
        if length < 0:
            reader.annotate("null")
            return
        left = reader.end - reader.position
        if length > left:
            reader.is_wrong(f"at most {left}")
        reader.content(length, "bytes", path)

    def _control_key(self, key: bytes, path: str) -> None:
        """See: R-41."""
        reader = self._reader
        if len(key) < 2 * _INT16_BYTES:
            reader.content(len(key), "bytes", path, "too short for the key of a control record")
            return
        reader.fixed("int16", f"{path}.version")
        reader.fixed("int16", f"{path}.type")
        reader.annotate(_control_type(key).name)
        if rest := len(key) - 2 * _INT16_BYTES:
            reader.content(rest, "bytes", f"{path}.rest")

    def _control_value(self, key: bytes | None, size: int, path: str) -> None:
        """See: R-43, R-45."""
        reader = self._reader
        control_type = _control_type(key)
        if control_type in _END_MARKERS and size >= _END_MARKER_BYTES:
            reader.fixed("int16", f"{path}.version")
            reader.fixed("int32", f"{path}.coordinator_epoch")
            if rest := size - _END_MARKER_BYTES:
                reader.content(rest, "bytes", f"{path}.rest")
        elif control_type in _CONTROL_VALUES and size >= _INT16_BYTES:
            self._quorum_value(_CONTROL_VALUES[control_type], size, path)
        else:
            reader.content(size, "bytes", path)

    def _quorum_value(self, name: str, size: int, path: str) -> None:
        """List a value of a quorum's log; as bytes if it has an unknown version or is damaged."""
        reader = self._reader
        layout = messages.message(name).layout(reader.peek("int16"))
        end = reader.position + size
        inner = Reader(reader.data[:end], reader.budget, shift=reader.shift, start=reader.position)
        try:
            if layout is None:
                raise Unreadable
            MessageWalk(layout, inner).walk(f"{path}.")
        except Unreadable:
            reader.content(size, "bytes", path)
            return
        inner.rest(f"{path}.rest", "after the value")
        reader.fields += inner.fields
        reader.position = end

    def skip(self, index: int) -> None:
        """List what follows as one field, but the wanted record by itself.

        Args:
            index: of the record at the position, at which the list was full.
        """
        reader, wanted = self._reader, self._wanted.record
        if wanted is not None and wanted >= index:
            self._pass_by(wanted - index)
            try:
                with reader.budget.extended(_WANTED_FIELDS_MAX):
                    self.record(wanted)
            except Unreadable:
                reader.rest(f"{self._prefix}records.rest", "what comes after")
            except ListFull:
                pass
        reader.rest(f"{self._prefix}records.rest", "the list is full", State.NOT_LISTED)

    def _pass_by(self, count: int) -> None:
        """Go to a record by the reader of the validator; list the bytes before it as one field."""
        reader = self._reader
        cursor = RecordCursor(reader.data, reader.position, reader.end, self._wanted.full_reader)
        position = reader.position
        for _ in range(count):
            if cursor.read_record():
                break
            position = cursor.position
        end, reader.end = reader.end, position
        reader.rest(f"{self._prefix}records.rest", "the list is full", State.NOT_LISTED)
        reader.end = end


def _control_type(key: bytes | None) -> ControlType:
    try:
        return decode_control_key(key)
    except BrokerError:
        return ControlType.UNKNOWN
