"""The records of a log by the shortest way: a walk over bytes, with nothing of the package.

Slow and simple on purpose. It reads the undamaged log, which gives the truth, and it judges whether
a damaged one could be what a broker left: then nobody can tell that anything is missing.
"""

import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

Files = Mapping[str, bytes]
"""The files of a log directory by their paths in it."""

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20
_GZIP: Final = 1
_CODEC: Final = 7
_OFFSET_ENTRY: Final = struct.Struct(">ii")
_TIME_ENTRY: Final = struct.Struct(">qi")


class TrueRow(NamedTuple):
    """A record."""

    offset: int
    key: bytes | None
    value: bytes | None


class TrueBatch(NamedTuple):
    """A batch, its bytes, and the records that a reader gets of it."""

    path: str
    position: int
    data: bytes
    base_offset: int
    last_offset: int
    producer_id: int
    attributes: int
    rows: tuple[TrueRow, ...]

    @property
    def end(self) -> int:
        """Position behind it."""
        return self.position + len(self.data)


def _table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_TABLE: Final = _table()


def checksum(data: bytes) -> int:
    """CRC-32C, a byte at a time."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def segments_of(files: Files) -> list[tuple[int, str]]:
    """Base offset and path of each segment, in order."""
    return sorted((int(path[-24:-4]), path) for path in files if path.endswith(".log"))


def walk(path: str, data: bytes) -> Iterator[TrueBatch]:
    """The sound batches of a segment from its start to the first that is none."""
    at = 0
    while len(data) - at >= HEADER.size:
        base, length, _, magic, crc, attributes, delta, _, _, producer, _, _, count = (
            HEADER.unpack_from(data, at)
        )
        end = at + 12 + length
        if magic != 2 or length < 49 or end > len(data) or checksum(data[at + 21 : end]) != crc:
            return
        rows = () if attributes & _CONTROL else tuple(_rows(data[at + 61 : end], attributes, count))
        numbered = tuple(row._replace(offset=base + row.offset) for row in rows)
        batch = data[at:end]
        yield TrueBatch(path, at, batch, base, base + delta, producer, attributes, numbered)
        at = end


def _rows(records: bytes, attributes: int, count: int) -> Iterator[TrueRow]:
    if attributes & _CODEC == _GZIP:
        records = zlib.decompress(records, wbits=31)
    at = 0
    for _ in range(count):
        size_bytes, at = _varint(records, at)
        end = at + size_bytes
        _, at = _varint(records, at + 1)  # behind the attributes: timestamp delta
        delta, at = _varint(records, at)
        key, at = _sized(records, at)
        value, at = _sized(records, at)
        yield TrueRow(delta, key, value)
        at = end


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number >> 1 ^ -(number & 1), at


def _sized(data: bytes, at: int) -> tuple[bytes | None, int]:
    size_bytes, at = _varint(data, at)
    return (None, at) if size_bytes < 0 else (data[at : at + size_bytes], at + size_bytes)


def batches_of(files: Files) -> list[TrueBatch]:
    """All batches of an undamaged log."""
    return [batch for _, path in segments_of(files) for batch in walk(path, files[path])]


def committed(batches: list[TrueBatch]) -> list[TrueRow]:
    """The records that a reader of committed ones gets: decided, and not aborted."""
    pending: dict[int, list[TrueBatch]] = {}
    hidden: set[int] = set()
    for batch in batches:
        if batch.attributes & _CONTROL:
            (marker,) = _rows(batch.data[61:], batch.attributes, 1)
            own = pending.pop(batch.producer_id, [])
            if marker.key is not None and marker.key[2:4] == b"\0\0":
                hidden.update(one.base_offset for one in own)
        elif batch.attributes & _TRANSACTIONAL:
            pending.setdefault(batch.producer_id, []).append(batch)
    stable = min((own[0].base_offset for own in pending.values()), default=1 << 63)
    shown = [one for one in batches if one.base_offset not in hidden and one.base_offset < stable]
    return [row for batch in shown for row in batch.rows]


def could_be_whole(files: Files, truth: list[TrueBatch], *, has_gaps: bool) -> bool:
    """Tell whether a broker could have left these files, and no other file knows of more.

    Args:
        files: a log, with the files beside it.
        truth: its batches before it was damaged.
        has_gaps: offsets may be missing between batches.
    """
    segments = segments_of(files)
    if not segments:
        return True
    expected = segments[0][0]
    for number, (base, path) in enumerate(segments):
        if base < expected or (base > expected and not has_gaps):
            return False
        expected, at = base, 0
        for batch in walk(path, files[path]):
            if batch.base_offset < expected or (batch.base_offset > expected and not has_gaps):
                return False
            expected, at = batch.last_offset + 1, batch.end
        if _is_indexed_behind(files, path, expected):
            return False
        if number + 1 == len(segments):
            return _may_be_torn(files[path][at:], expected, truth) and _known(files) <= expected
        limit = segments[number + 1][0]
        if at < len(files[path]) or expected > limit or (expected < limit and not has_gaps):
            return False
        expected = limit
    return True


def _may_be_torn(tail: bytes, offset: int, truth: list[TrueBatch]) -> bool:
    """Whether bytes are zeros, or what an append leaves that was not finished."""
    tail = tail.rstrip(b"\0")
    if not tail:
        return True
    data = b"".join(batch.data for batch in truth if batch.base_offset >= offset)
    # Of a batch that is cut off, no checksum tells whether its content is right. And no checksum
    # covers a leader epoch.
    size_bytes = 12 + int.from_bytes(tail[8:12], "big")
    is_cut_off = len(tail) >= HEADER.size and len(tail) < size_bytes
    whole = next((batch.data for batch in truth if batch.base_offset >= offset), b"")
    if is_cut_off and len(tail) < len(whole):
        # Nor whether what is left of its header is right, but for the offset and the magic.
        return (tail[:8], tail[16]) == (whole[:8], whole[16])
    kept = tail[: HEADER.size] if is_cut_off else tail
    return _without_epoch(data).startswith(_without_epoch(kept))


def _without_epoch(data: bytes) -> bytes:
    return data[:12] + data[16:]


def _is_indexed_behind(files: Files, path: str, end: int) -> bool:
    """Whether the indexes of a segment know offsets behind its end, and do not stand alone."""
    base, stem = int(path[-24:-4]), path[:-4]
    found = []
    for suffix, entry, which in ((".index", _OFFSET_ENTRY, 0), (".timeindex", _TIME_ENTRY, 1)):
        data = files.get(stem + suffix)
        if data is not None:
            offsets = {base + pair[which] for pair in entry.iter_unpack(data) if any(pair)}
            found.append({offset for offset in offsets if offset >= end})
    if not files[path]:
        return any(found)
    return len(found[0]) > 1 if len(found) == 1 else bool(found and found[0] & found[1])


def _known(files: Files) -> int:
    """What a recovery point or a snapshot knows of the end of the log."""
    ends = [0]
    ends += [int(path[-29:-9]) for path in files if path.endswith(".snapshot")]
    for line in files.get("recovery-point-offset-checkpoint", b"").decode().splitlines()[2:]:
        ends.append(int(line.split()[2]))
    return max(ends)
