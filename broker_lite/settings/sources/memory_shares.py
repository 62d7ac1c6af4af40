"""Settings that fit the memory that there is, in place of defaults that might not.

What clients can make a broker hold is bounded by settings. Their defaults are for a machine; in a
container of 128 MB they would let ten producers of 9 MB have the broker killed. So where nobody
set them, they are shares of the memory that is left beside the program itself:

| share | setting |
| --- | --- |
| 1/4, exceeded by less than one request | `queued.max.request.bytes` |
| the same, or what a largest message needs | `socket.request.max.bytes` |
| 1/100, which takes 50 times as much decoded | `broker.lite.control.request.max.bytes` |
| 1/8; a batch in work takes up to five times it | `broker.lite.decompressed.max.bytes` |
| 1/8 | `broker.lite.unsent.max.bytes` |
| 3/32 | `broker.lite.groups.max.bytes` |
| 1/32 | `broker.lite.fetch.sessions.max.bytes` |

Kafka has no limit for requests (-1), and its heap is the bound. A Python process has none, so that
also without a container the requests get no more than a quarter of the machine's memory.
"""

from collections.abc import Mapping
from typing import Final

from broker_lite.settings.settings import Settings
from broker_lite.settings.sources.load import with_flag
from broker_lite.settings.sources.memory_limit import MemoryLimit

_MIB: Final = 1 << 20
# Measured: what the program takes, with a few clients and topics.
PROGRAM_BYTES: Final = 48 * _MIB
# What a request has besides its records.
_HEAD_BYTES: Final = _MIB
_CONTROL_BYTES_MIN: Final = 64 * 1024


def fit(settings: Settings, memory: MemoryLimit) -> Settings:
    """The same settings, with shares of the memory in place of defaults that are larger.

    Raises:
        SettingsError: never, as long as the shares are allowed values.
    """
    origin = "memory of the machine" if memory.is_machine else "memory limit of the container"
    for name, size in _shares(settings, memory.size_bytes).items():
        default = settings.value(name)
        assert isinstance(default, int)
        if name not in settings.given and (default < 0 or size < default):
            settings = with_flag(settings, name, str(size), origin)
    return settings


def _shares(settings: Settings, memory_bytes: int) -> Mapping[str, int]:
    left_bytes = max(memory_bytes - PROGRAM_BYTES, memory_bytes // 4)
    queued_bytes = max(left_bytes // 4, settings.message_max_bytes + _HEAD_BYTES)
    if "socket.request.max.bytes" in settings.given:
        queued_bytes = max(queued_bytes, settings.socket_request_max_bytes)
    batch_bytes = min(left_bytes // 8, settings.broker_lite_decompressed_max_bytes)
    return {
        # in this order, since no request may be larger than what all may have
        "socket.request.max.bytes": queued_bytes,
        "queued.max.request.bytes": queued_bytes,
        "broker.lite.control.request.max.bytes": max(left_bytes // 100, _CONTROL_BYTES_MIN),
        "broker.lite.decompressed.max.bytes": batch_bytes,
        "broker.lite.decompression.threads": max(left_bytes // 4 // (2 * batch_bytes), 1),
        "broker.lite.unsent.max.bytes": left_bytes // 8,
        "broker.lite.groups.max.bytes": left_bytes * 3 // 32,
        "broker.lite.fetch.sessions.max.bytes": left_bytes // 32,
    }
