"""What a connection of a load sends and receives, without the connection.

A lane decides which request is next, when it is due, and what an answer means. It has no socket and
no clock, so tests need neither.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from broker_lite.client.broker_connection import Connection
from broker_lite.load.recorder import NS_PER_MS
from broker_lite.wire.primitives import Buffer

RETRY_AFTER_NS: Final = 100 * NS_PER_MS
"""How long after an error of a temporary state a request is sent again, as Kafka's clients do."""


LOST: Final = "connection lost"
"""The name of the error that ended a connection with requests on their way."""


class Request(NamedTuple):
    """A request that is on its way.

    Attributes:
        due_ns: when it was due, which may be long before it was sent.
        number: of the request in the schedule.
        parts: the frame.
        size_bytes: of the frame.
    """

    due_ns: int
    number: int
    parts: Sequence[Buffer]
    size_bytes: int


class Lane(Protocol):
    """The requests of one connection."""

    is_answered: bool
    """False if the broker sends no answers (Produce with acks=0)."""

    def speak_to(self, connection: Connection) -> None:
        """Use the versions of the broker at the other end, or raise NotSupported."""

    def next_due_ns(self) -> int | None:
        """Return when the next request is due; None if there is none."""

    def take(self, now_ns: int, correlation_id: int) -> Request:
        """Return the next request, which is due."""

    def on_sent(self, request: Request, now_ns: int) -> None:
        """Count a request without an answer, which has left."""

    def on_answer(self, request: Request, body: memoryview, now_ns: int) -> None:
        """Read an answer: what follows the correlation id, only valid during the call.

        Raises DecodeError if it cannot be read.
        """

    def on_lost(self, requests: Iterable[Request], now_ns: int) -> None:
        """Take back the requests of a connection that ended."""


class Work(Protocol):
    """What a run does: the same for all its lanes.

    Attributes:
        is_stale: set by a lane when leaders or offsets have to be asked for.
    """

    is_stale: bool

    def make_lane(self) -> Lane:
        """Make the lane of a further connection; it has no partitions yet."""

    def assign(self, shares: Sequence[Sequence[int]]) -> None:
        """Give each lane its partitions, in the order in which the lanes were made."""

    def end(self, now_ns: int) -> None:
        """Count the requests that are due and were not sent."""

    def missing(self) -> Sequence[int]:
        """Return the partitions whose start has to be asked for."""

    def set_starts(self, starts: Mapping[int, int]) -> None:
        """Take the log start offsets of partitions."""
