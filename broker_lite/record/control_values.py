"""Values of the control records in a quorum's log, in Kafka's flexible encoding.

Each value begins with its version. Arrays and strings have their length plus one in front, as an
unsigned varint. Every structure ends with its tagged fields: none are written, unknown ones are
skipped.

See: R-45 (LeaderChangeMessage, SnapshotHeaderRecord, SnapshotFooterRecord, KRaftVersionRecord,
VotersRecord).
"""

import struct
from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar

from broker_lite.errors import InvalidRecord
from broker_lite.record.varint import VarintError, decode_unsigned, encode_unsigned

_INT16: Final = struct.Struct(">h")
_UINT16: Final = struct.Struct(">H")
_INT32: Final = struct.Struct(">i")
_INT64: Final = struct.Struct(">q")
_UUID_BYTES: Final = 16
_NO_TAGS: Final = b"\x00"
_NO_DIRECTORY: Final = bytes(_UUID_BYTES)

_Item = TypeVar("_Item")


class Voter(NamedTuple):
    """A voter of a leader change; the directory id is written since version 1."""

    voter_id: int
    directory_id: bytes = _NO_DIRECTORY


class LeaderChange(NamedTuple):
    """LEADER_CHANGE: the leader of the quorum, and the voters that voted for it."""

    leader_id: int
    voters: tuple[Voter, ...]
    granting_voters: tuple[Voter, ...]
    version: int = 0

    def encode(self) -> bytes:
        """Write the value."""
        return b"".join(
            (
                _INT16.pack(self.version),
                _INT32.pack(self.leader_id),
                self._encode_voters(self.voters),
                self._encode_voters(self.granting_voters),
                _NO_TAGS,
            )
        )

    def _encode_voters(self, voters: tuple[Voter, ...]) -> bytes:
        parts = [encode_unsigned(len(voters) + 1)]
        for voter in voters:
            directory = voter.directory_id if self.version > 0 else b""
            parts += (_INT32.pack(voter.voter_id), directory, _NO_TAGS)
        return b"".join(parts)


class SnapshotHeader(NamedTuple):
    """SNAPSHOT_HEADER: the first record of a snapshot."""

    last_contained_log_timestamp: int
    version: int = 0

    def encode(self) -> bytes:
        """Write the value."""
        timestamp = _INT64.pack(self.last_contained_log_timestamp)
        return _INT16.pack(self.version) + timestamp + _NO_TAGS


class SnapshotFooter(NamedTuple):
    """SNAPSHOT_FOOTER: the last record of a snapshot."""

    version: int = 0

    def encode(self) -> bytes:
        """Write the value."""
        return _INT16.pack(self.version) + _NO_TAGS


class KraftVersion(NamedTuple):
    """KRAFT_VERSION: the finalized kraft.version."""

    kraft_version: int
    version: int = 0

    def encode(self) -> bytes:
        """Write the value."""
        return _INT16.pack(self.version) + _INT16.pack(self.kraft_version) + _NO_TAGS


class Endpoint(NamedTuple):
    """An address where a voter listens."""

    name: str
    host: str
    port: int


class KraftVoter(NamedTuple):
    """A voter of the quorum, with the range of kraft.version it supports."""

    voter_id: int
    directory_id: bytes
    endpoints: tuple[Endpoint, ...]
    min_supported_version: int
    max_supported_version: int


class KraftVoters(NamedTuple):
    """KRAFT_VOTERS: all voters of the quorum."""

    voters: tuple[KraftVoter, ...]
    version: int = 0

    def encode(self) -> bytes:
        """Write the value."""
        parts = [_INT16.pack(self.version), encode_unsigned(len(self.voters) + 1)]
        for voter in self.voters:
            parts += (_INT32.pack(voter.voter_id), voter.directory_id)
            parts.append(encode_unsigned(len(voter.endpoints) + 1))
            for endpoint in voter.endpoints:
                parts += (_encode_string(endpoint.name), _encode_string(endpoint.host))
                parts += (_UINT16.pack(endpoint.port), _NO_TAGS)
            parts += (
                _INT16.pack(voter.min_supported_version),
                _INT16.pack(voter.max_supported_version),
                _NO_TAGS,
                _NO_TAGS,
            )
        parts.append(_NO_TAGS)
        return b"".join(parts)


def decode_leader_change(value: bytes) -> LeaderChange:
    """Read the value of a LEADER_CHANGE record.

    Raises:
        InvalidRecord: the value ends too early.
    """
    return _decode(value, _leader_change)


def decode_snapshot_header(value: bytes) -> SnapshotHeader:
    """Read the value of a SNAPSHOT_HEADER record; for errors see decode_leader_change()."""
    return _decode(value, _snapshot_header)


def decode_snapshot_footer(value: bytes) -> SnapshotFooter:
    """Read the value of a SNAPSHOT_FOOTER record; for errors see decode_leader_change()."""
    return _decode(value, lambda reader: SnapshotFooter(reader.number(_INT16)))


def decode_kraft_version(value: bytes) -> KraftVersion:
    """Read the value of a KRAFT_VERSION record; for errors see decode_leader_change()."""
    return _decode(value, _kraft_version)


def decode_kraft_voters(value: bytes) -> KraftVoters:
    """Read the value of a KRAFT_VOTERS record; for errors see decode_leader_change()."""
    return _decode(value, _kraft_voters)


class _Reader:
    """A position in a value; reading past the end is a struct.error or a VarintError."""

    def __init__(self, value: bytes) -> None:
        self.value = value
        self.position = 0

    def number(self, form: struct.Struct) -> int:
        number: int = form.unpack_from(self.value, self.position)[0]
        self.position += form.size
        return number

    def raw(self, size_bytes: int) -> bytes:
        start = self.position
        self.position += size_bytes
        if self.position > len(self.value):
            raise VarintError("a field runs past the end")
        return self.value[start : self.position]

    def unsigned(self) -> int:
        number, self.position = decode_unsigned(self.value, self.position, len(self.value))
        return number

    def string(self) -> str:
        return self.raw(self.unsigned() - 1).decode("utf-8", errors="replace")

    def skip_tags(self) -> None:
        for _ in range(self.unsigned()):
            self.unsigned()
            self.raw(self.unsigned())

    def array(self, read: Callable[["_Reader"], _Item]) -> tuple[_Item, ...]:
        """Read a compact array; each item takes at least a byte, so a huge count fails early."""
        return tuple(read(self) for _ in range(self.unsigned() - 1))


def _decode(value: bytes, read: Callable[[_Reader], _Item]) -> _Item:
    reader = _Reader(value)
    try:
        decoded = read(reader)
        reader.skip_tags()
    except (struct.error, VarintError) as error:
        raise InvalidRecord("the value of a control record is not complete") from error
    return decoded


def _leader_change(reader: _Reader) -> LeaderChange:
    version = reader.number(_INT16)

    def voter(reader: _Reader) -> Voter:
        voter_id = reader.number(_INT32)
        directory_id = reader.raw(_UUID_BYTES) if version > 0 else _NO_DIRECTORY
        reader.skip_tags()
        return Voter(voter_id, directory_id)

    return LeaderChange(reader.number(_INT32), reader.array(voter), reader.array(voter), version)


def _snapshot_header(reader: _Reader) -> SnapshotHeader:
    version = reader.number(_INT16)
    return SnapshotHeader(reader.number(_INT64), version)


def _kraft_version(reader: _Reader) -> KraftVersion:
    version = reader.number(_INT16)
    return KraftVersion(reader.number(_INT16), version)


def _kraft_voters(reader: _Reader) -> KraftVoters:
    version = reader.number(_INT16)
    return KraftVoters(reader.array(_kraft_voter), version)


def _kraft_voter(reader: _Reader) -> KraftVoter:
    voter_id, directory_id = reader.number(_INT32), reader.raw(_UUID_BYTES)
    endpoints = reader.array(_endpoint)
    min_version, max_version = reader.number(_INT16), reader.number(_INT16)
    reader.skip_tags()
    reader.skip_tags()
    return KraftVoter(voter_id, directory_id, endpoints, min_version, max_version)


def _endpoint(reader: _Reader) -> Endpoint:
    endpoint = Endpoint(reader.string(), reader.string(), reader.number(_UINT16))
    reader.skip_tags()
    return endpoint


def _encode_string(text: str) -> bytes:
    encoded = text.encode()
    return encode_unsigned(len(encoded) + 1) + encoded
