"""How much of the requests is recorded, and what the entries of one connection have in common."""

from typing import Final, Literal

import msgspec

KEEP: Final = 10_000
KEEP_MAX: Final = 1_000_000
KEEP_BYTES: Final = 64 * 1024 * 1024


class Recording(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """How much is recorded.

    Attributes:
        recording: nothing; the first 4 KiB of each request and answer; or all of their bytes.
        keep: how many entries are kept, the newest ones.
        keep_bytes: how much memory the entries may take.
        keys: the APIs that are recorded, by name or number; left out for all of them.
    """

    recording: Literal["off", "headers", "bodies"] = "off"
    keep: int = KEEP
    keep_bytes: int = KEEP_BYTES
    keys: list[str | int] | None = None


class Peer(msgspec.Struct, gc=False):
    """What the entries of one connection have in common.

    Attributes:
        connection_id: of the process, see HandlerContext.
        node_id: the broker that is asked.
        listener: its name.
        client_address: without its port.
        software: NAME VERSION of the client (KIP-511), as far as it was told.
        client_id: of the requests' headers.
        wall_s: what to add to the monotonic clock for the system's time.
    """

    connection_id: int
    node_id: int
    listener: str
    client_address: str
    software: str
    client_id: str | None
    wall_s: float
