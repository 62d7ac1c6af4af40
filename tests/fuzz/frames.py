"""Frames for a live broker: valid requests of every API, damaged ones, and noise."""

import random
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

from broker_lite.record.builder import BatchBuilder
from broker_lite.wire import messages
from broker_lite.wire.schema import Field
from tests.wire.samples import Sampler

TOPIC = "fuzz"
FETCH = 1
_TEXTS = (TOPIC, TOPIC, TOPIC, "other", "", "a" * 300, "__consumer_offsets", "no/name", "größer")
_INTEGERS = (-(2**31), -2, -1, 0, 1, 2, 3, 7, 1000, 2**31 - 1)


class Frame(NamedTuple):
    """Bytes for the socket, size prefix included, and what they were made from (-1 is noise)."""

    kind: str
    api_key: int
    data: bytes


class FrameGenerator:
    """An endless source of frames from one seed; `versions` by API key, both inclusive."""

    def __init__(self, seed: int, versions: Mapping[int, tuple[int, int]]) -> None:
        self._random = random.Random(seed)
        self._versions = versions

    def frame(self) -> Frame:
        """Make one frame: a third is valid, a tenth is noise, the rest is damaged."""
        source = self._random
        chance = source.random()
        if chance < 0.1:
            noise = source.randbytes(source.randrange(200))
            return Frame("noise", -1, struct.pack(">i", len(noise)) + noise)
        key = source.choice(list(self._versions))
        body = self._request(key)
        size = len(body)
        if chance < 0.4:
            return Frame("valid", key, struct.pack(">i", size) + body)
        if chance < 0.45:
            size = source.choice((-1, 0, 1, 7, 8, 2**31 - 1, -(2**31), 104_857_601, size - 5))
            return Frame("size", key, struct.pack(">i", size) + body)
        damaged = self._damaged(body)
        return Frame("damaged", key, struct.pack(">i", len(damaged)) + damaged)

    def _request(self, key: int) -> bytes:
        request, _ = messages.by_api(key)
        low, high = self._versions[key]
        version = self._random.randint(max(low, request.min_version), high)
        sampler = _RequestSampler(request.name, version, self._random.randrange(2**40))
        flexible = request.flexible_from is not None and version >= request.flexible_from
        head = struct.pack(">hhih", key, version, self._random.randrange(2**31), 4) + b"fuzz"
        return head + (b"\x00" if flexible else b"") + sampler.encoded()

    def _damaged(self, body: bytes) -> bytes:
        source, changed = self._random, bytearray(body)
        for _ in range(source.choice((1, 1, 2, 5, 20))):
            at = source.randrange(len(changed) + 1)
            match source.randrange(4):
                case 0:
                    changed[at : at + 1] = source.randbytes(1)
                case 1:
                    changed[at:at] = source.randbytes(source.randrange(1, 9))
                case 2:
                    del changed[at : at + source.randrange(1, 9)]
                case _:
                    changed[at : at + 4] = struct.pack(">i", source.choice(_INTEGERS))
        return bytes(changed)


class _RequestSampler(Sampler):
    """Requests that reach the handlers: names that exist, small numbers, real batches."""

    def element(self, field: Field) -> Any:
        match field.element_type:
            case "string":
                return self.random.choice(_TEXTS)
            case "records":
                return self._batch()
        return super().element(field)

    def integer(self, low: int, high: int) -> int:
        if self.random.random() < 0.8:
            return max(low, self.random.choice((-1, 0, 1, 2, 5, 100)))
        return super().integer(low, high)

    def field(self, field: Field) -> Any:
        if field.attribute == "max_wait_ms":  # a long poll is not a stuck connection
            return self.random.choice((0, 1, 3))
        return super().field(field)

    def _batch(self) -> bytes:
        builder = BatchBuilder(codec=self.random.choice((0, 0, 0, 1, 2, 3, 4)))
        for index in range(self.random.randrange(1, 5)):
            builder.append(1_700_000_000_000 + index, b"k", self.random.randbytes(20))
        return bytes(builder.build())
