"""Frames for a live broker: valid requests of every API, damaged ones, and noise."""

import random
import struct
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from broker_lite.record.batch import RECORD_BATCH_OVERHEAD
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.crc import crc32c
from broker_lite.wire import messages
from broker_lite.wire.schema import Field
from tests.wire.samples import Sampler

TOPIC: Final = "fuzz"
# a fetch waits for records, a join for other members, a sync for their leader
_PARKED: Final = frozenset((1, 11, 14))
# UnregisterBroker: the one broker that there is would lead nothing any more until its next start,
# as in Kafka, and whoever is well-behaved could not go on
_NEVER: Final = frozenset((64,))
_TEXTS: Final = (
    TOPIC,
    TOPIC,
    TOPIC,
    "other",
    "",
    "a" * 300,
    "__consumer_offsets",
    "no/name",
    "größer",
)
_INTEGERS: Final = (-(2**31), -2, -1, 0, 1, 2, 3, 7, 1000, 2**31 - 1)
_VARINTS: Final = (b"\x00", b"\xff\xff\xff\xff\x07", b"\xff\xff\xff\xff\xff\x01", b"\xff\xff\x7f")
_SIZES: Final = (-1, 0, 1, 9, 10, 2**31 - 1, -(2**31), 104_857_601, 104_857_600, 2_097_153)
_HEADER_BYTES: Final = 15
_NOW_MS: Final = 1_700_000_000_000
_CRC_POSITION: Final = 17
_CRC_START: Final = 21


class Frame(NamedTuple):
    """Bytes for the socket, size prefix included, and how they were made."""

    kind: str
    data: bytes

    @property
    def may_park(self) -> bool:
        """Whether silence is right: the rest of the frame is waited for, or something to tell."""
        announced, key = struct.unpack(">ih", self.data[:6].ljust(6, b"\0"))
        return key in _PARKED or bool(announced != len(self.data) - 4)


class FrameGenerator:
    """An endless source of frames from one seed.

    Args:
        seed: the same seed gives the same frames.
        versions: by API key, both inclusive.
        topic_id: of TOPIC.

    Attributes:
        keys: of the APIs to ask, the more often the more often a key is in it.
        undamaged: keys of the APIs whose requests are always valid.
    """

    def __init__(
        self, seed: int, versions: Mapping[int, tuple[int, int]], topic_id: bytes = bytes(16)
    ) -> None:
        self.random = random.Random(seed)
        self.versions = versions
        self.keys = [key for key in versions if key not in _NEVER]
        self.undamaged: frozenset[int] = frozenset()
        self.topic_id = topic_id

    def answered(self, correlation_id: int, data: bytes) -> None:
        """Take notice of an answer, without its size; who learns from answers overrides this."""

    def frame(self) -> Frame:
        """Make one frame: a third is valid, a tenth is noise, the rest is damaged."""
        source = self.random
        chance = source.random()
        if chance < 0.1:
            noise = source.randbytes(source.choice((0, 1, 9, 10, 50, 200)))
            return Frame("noise", struct.pack(">i", len(noise)) + noise)
        if chance < 0.4:
            return self.valid_frame()
        body = self._request()
        if int.from_bytes(body[:2], "big") in self.undamaged:
            return Frame("valid", struct.pack(">i", len(body)) + body)
        if chance < 0.45:
            size = len(body)
            size = source.choice((*_SIZES, size - 5, size + 5))
            return Frame("size", struct.pack(">i", size) + body)
        damaged = self._damaged(body)
        return Frame("damaged", struct.pack(">i", len(damaged)) + damaged)

    def valid_frame(self) -> Frame:
        """Make a request that can be decoded."""
        body = self._request()
        return Frame("valid", struct.pack(">i", len(body)) + body)

    def half_frame(self) -> bytes:
        """Make what begins a frame and does not end it."""
        source = self.random
        body = self._request()
        size = source.choice((len(body), len(body), 2_000_000, 104_857_600))
        data = struct.pack(">i", size) + body
        return data[: source.choice((1, 3, 4, 5, 6, 13, 14, len(data) - 1))]

    def body(self, key: int, version: int, correlation_id: int) -> bytes:
        """Make the body of a request."""
        name, seed = messages.by_api(key)[0].name, self.random.randrange(2**40)
        return RequestSampler(name, version, seed, self.topic_id).encoded()

    def _request(self) -> bytes:
        key = self.random.choice(self.keys)
        request, _ = messages.by_api(key)
        low, high = self.versions[key]
        version = self.random.randint(max(low, request.min_version), high)
        correlation_id = self.random.randrange(2**31)
        flexible = request.flexible_from is not None and version >= request.flexible_from
        head = struct.pack(">hhih", key, version, correlation_id, 4) + b"fuzz"
        body = self.body(key, version, correlation_id)
        return head + (b"\x00" if flexible else b"") + body

    def _damaged(self, body: bytes) -> bytes:
        source, changed = self.random, bytearray(body)
        start = 0 if source.random() < 0.1 else min(_HEADER_BYTES, len(changed))
        for _ in range(source.choice((1, 1, 1, 2, 5, 20))):
            at = source.randrange(min(start, len(changed)), len(changed) + 1)
            _damage(source, changed, at)
        return bytes(changed)


def _damage(source: random.Random, changed: bytearray, at: int) -> None:
    match source.randrange(6):
        case 0:
            changed[at : at + 1] = source.randbytes(1)
        case 1:
            changed[at:at] = source.randbytes(source.randrange(1, 9))
        case 2:
            del changed[at : at + source.randrange(1, 9)]
        case 3:
            changed[at : at + 1] = source.choice(_VARINTS)
        case 4:
            changed[at:at] = changed[at : at + source.randrange(1, 100)]
        case _:
            changed[at : at + 4] = struct.pack(">i", source.choice(_INTEGERS))


class RequestSampler(Sampler):
    """Requests that reach the handlers: names that exist, small numbers, real batches."""

    def __init__(self, name: str, version: int, seed: int, topic_id: bytes) -> None:
        super().__init__(name, version, seed)
        self._topic_id = topic_id

    def element(self, field: Field) -> Any:
        match field.element_type:
            case "string":
                return self.random.choice(_TEXTS)
            case "records":
                return self._records()
            case "uuid":
                return self._topic_id if self.random.random() < 0.7 else super().element(field)
        return super().element(field)

    def integer(self, low: int, high: int) -> int:
        if self.random.random() < 0.8:
            return max(low, self.random.choice((-1, 0, 0, 1, 1, 2, 5, 100)))
        return super().integer(low, high)

    def field(self, field: Field) -> Any:
        if field.attribute == "max_wait_ms":  # a long poll is not a stuck connection
            return self.random.choice((0, 1, 3))
        if field.attribute == "transactional_id" and self.layout.is_nullable(field):
            return None if self.random.random() < 0.8 else self.element(field)
        return super().field(field)

    def _records(self) -> bytes:
        """A batch, often sound, or damaged below a right checksum; rarely two, or a cut one."""
        chance = self.random.random()
        batch = self.batch()
        if chance < 0.5:
            return batch
        if chance < 0.9:
            changed = bytearray(batch)
            start = self.random.choice((8, RECORD_BATCH_OVERHEAD))
            for _ in range(self.random.choice((1, 2, 4))):
                _damage(self.random, changed, self.random.randrange(start, len(changed) + 1))
            return _with_checksum(changed)
        if chance < 0.95:
            return batch + self.batch()
        return batch[: self.random.randrange(len(batch))]

    def batch(self) -> bytes:
        """A sound batch."""
        producer: dict[str, Any] = {}
        if self.random.random() < 0.4:
            producer = {
                "producer_id": self.random.choice((0, 1, 5)),
                "producer_epoch": self.random.choice((0, 1)),
                "base_sequence": self.random.choice((0, 1, 4, 2**31 - 1)),
            }
        builder = BatchBuilder(codec=self.random.choice((0, 0, 0, 1, 2, 3, 4)), **producer)
        for index in range(self.random.choice((1, 1, 3, 40))):
            key = self.random.choice((None, b"", b"k"))
            value = self.random.choice((None, b"", bytes(300), self.random.randbytes(20)))
            builder.append(_NOW_MS + index, key, value, [(b"h", b"v"), (b"", None)][: index % 3])
        return bytes(builder.build())


def _with_checksum(changed: bytearray) -> bytes:
    if len(changed) > _CRC_START:
        struct.pack_into(">I", changed, _CRC_POSITION, crc32c(changed[_CRC_START:]))
    return bytes(changed)
