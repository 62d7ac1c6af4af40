"""One request in the journal."""

from typing import Final

from mypy_extensions import mypyc_attr

from broker_lite.testbench.journal.recording import Peer
from broker_lite.testbench.journal.skeleton import Skeleton

ENTRY_BYTES: Final = 380
"""What an entry takes in memory besides the bytes that it keeps; measured, rounded up.

It is 180 where the module is compiled."""
_KEY_BYTES: Final = 8
_SIZE_BYTES: Final = 4
_HEAD_BYTES: Final = 8
_API_VERSIONS: Final = 18

ANSWERED: Final = "answered"
NO_ANSWER: Final = "none"
CLOSED: Final = "closed"
CANCELLED: Final = "cancelled"
FAILED: Final = "failed"
BY_FAULT: Final = "fault"


@mypyc_attr(acyclic=True)
class Entry:
    """One request with its answer; it holds bytes and numbers only, so that it costs little.

    Compiled, it is no work for the garbage collector: it refers to nothing that refers to it, and
    a million of them would slow down each collection.

    Attributes:
        number: 1 for the first request; never used again, also not after the journal was emptied.
        started_s: when the request was taken up, by the monotonic clock.
        peer: the connection.
        api_key: of the request's header.
        api_version: of the request's header.
        correlation_id: of the request's header.
        flexible: whether the version is a flexible one.
        position: where the request's own fields start in the frame.
        frame_bytes: the size of the frame without its size prefix.
        frame: the frame without its size prefix, or as much of it as is kept.
        skeleton: what is kept of a Produce of which not all bytes are kept.
        session: the partitions of the fetch session that a Fetch goes on with.
        duration_s: until the answer was made; negative while the request is worked on.
        body_bytes: the size of the answer without its header; negative if there is none.
        body: the answer's bytes without its header, as far as they are kept.
        gaps: where bytes are missing in `body`: position, and number of bytes.
        rule: the ids of the faults that acted, with commas between them.
        ended: "answered", "none" (a Produce with acks=0), "closed" (the connection, by the broker),
            "cancelled" (the client left, or the broker was stopped), "failed" (an error in the
            broker), "fault" (a fault sent the answer in its own way); empty while it is worked on.
    """

    __slots__ = (
        "api_key",
        "api_version",
        "body",
        "body_bytes",
        "correlation_id",
        "duration_s",
        "ended",
        "flexible",
        "frame",
        "frame_bytes",
        "gaps",
        "number",
        "peer",
        "position",
        "rule",
        "session",
        "skeleton",
        "started_s",
    )

    def __init__(
        self,
        number: int,
        started_s: float,
        peer: Peer,
        api_key: int,
        api_version: int,
        correlation_id: int,
        flexible: bool,
        position: int,
        frame_bytes: int,
        frame: bytes,
    ) -> None:
        """Note a request; what is known of its answer is set later."""
        self.number = number
        self.started_s = started_s
        self.peer = peer
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.flexible = flexible
        self.position = position
        self.frame_bytes = frame_bytes
        self.frame = frame
        self.skeleton: Skeleton | None = None
        self.session: tuple[tuple[str | bytes, int], ...] = ()
        self.duration_s = -1.0
        self.body_bytes = -1
        self.body = b""
        self.gaps: tuple[tuple[int, int], ...] = ()
        self.rule = ""
        self.ended = ""

    @property
    def id(self) -> str:
        """The name of the entry: r1 is the first."""
        return f"r{self.number}"

    @property
    def connection(self) -> str:
        """The name of the connection: c1 is the first that the process accepted."""
        return f"c{self.peer.connection_id}"

    @property
    def at_s(self) -> float:
        """When the request was taken up, in seconds since 1970."""
        return self.started_s + self.peer.wall_s

    @property
    def at_ms(self) -> int:
        """The same in ms."""
        return int(self.at_s * 1000)

    @property
    def started_us(self) -> int:
        """The same by the monotonic clock, in microseconds."""
        return int(self.started_s * 1_000_000)

    @property
    def duration_us(self) -> int:
        """How long the answer took, in microseconds; negative while the request is worked on."""
        return round(self.duration_s * 1_000_000)

    @property
    def request_bytes(self) -> int:
        """The size of the request as it was sent, with its size prefix."""
        return self.frame_bytes + _SIZE_BYTES

    @property
    def answer_bytes(self) -> int:
        """The size of the answer as it was sent, with its size prefix and header; 0 for none."""
        if self.body_bytes < 0:
            return 0
        return self.body_bytes + _HEAD_BYTES + (self.flexible and self.api_key != _API_VERSIONS)

    @property
    def has_whole_request(self) -> bool:
        """True if all bytes of the request are kept."""
        return len(self.frame) == self.frame_bytes

    @property
    def has_whole_answer(self) -> bool:
        """True if all bytes of the answer are kept, or there is none."""
        return len(self.body) == max(self.body_bytes, 0)

    @property
    def kept_bytes(self) -> int:
        """What the entry takes in memory."""
        skeleton = self.skeleton
        heads = 0 if skeleton is None else skeleton.kept_bytes
        keys = len(self.session) * _KEY_BYTES
        return ENTRY_BYTES + len(self.frame) + len(self.body) + heads + keys
