"""Replaces defaults that are too large for the memory by shares of it.

Settings limit how much memory clients can make a broker use. Their defaults suit a whole machine.
In a container of 128 MB they are too large: ten producers that send 9 MB each could make the system
kill the broker. So settings that were not set explicitly become shares of the memory that the
program itself does not need:

| share | setting |
| --- | --- |
| 1/4; in use may be one request more | `queued.max.request.bytes` |
| the same, or more if the largest message needs it | `socket.request.max.bytes` |
| 1/100, because decoding takes 50 times as much | `broker.lite.control.request.max.bytes` |
| 1/8; to handle a batch takes up to five times as much | `broker.lite.decompressed.max.bytes` |
| 1/8 | `broker.lite.unsent.max.bytes` |
| 3/32 | `broker.lite.groups.max.bytes` |
| 1/32 | `broker.lite.fetch.sessions.max.bytes` |

Kafka has no limit for requests (-1), because Java's heap limits the memory. A Python process has no
such limit. So even without a container, requests get at most a quarter of the machine's memory.
"""

from collections.abc import Mapping
from typing import Final

from broker_lite.settings.settings import Settings
from broker_lite.settings.sources.load import with_flag
from broker_lite.settings.sources.memory_limit import MemoryLimit

_MIB: Final = 1 << 20
# Measured: the memory of the program with a few clients and topics.
PROGRAM_BYTES: Final = 48 * _MIB
# The size of a request without its records, at most.
_HEAD_BYTES: Final = _MIB
_CONTROL_BYTES_MIN: Final = 64 * 1024


def fit(settings: Settings, memory: MemoryLimit) -> Settings:
    """Return the settings, with larger defaults replaced by shares of the memory.

    Several processes have equal parts of the memory.

    Raises:
        SettingsError: a share is not an allowed value of its setting; this should not happen.
    """
    origin = "memory of the machine" if memory.is_machine else "memory limit of the container"
    of_process = memory.size_bytes // settings.process_count
    for name, size in _shares(settings, of_process).items():
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
        # this order, because socket.request.max.bytes must never exceed queued.max.request.bytes
        "socket.request.max.bytes": queued_bytes,
        "queued.max.request.bytes": queued_bytes,
        "broker.lite.control.request.max.bytes": max(left_bytes // 100, _CONTROL_BYTES_MIN),
        "broker.lite.decompressed.max.bytes": batch_bytes,
        "broker.lite.decompression.threads": max(left_bytes // 4 // (2 * batch_bytes), 1),
        "broker.lite.unsent.max.bytes": left_bytes // 8,
        "broker.lite.groups.max.bytes": left_bytes * 3 // 32,
        "broker.lite.fetch.sessions.max.bytes": left_bytes // 32,
    }
