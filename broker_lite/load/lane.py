"""What a connection of a load sends and receives, without the connection.

A lane decides which request is next, when it is due, and what an answer means. It has no socket and
no clock, so tests need neither.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from broker_lite.client.broker_connection import Connection
from broker_lite.client.errors import BadAnswer, NoAnswer, NoConnection
from broker_lite.errors import ClientError
from broker_lite.load.recorder import NS_PER_MS, Recorder
from broker_lite.load.schedule import Schedule
from broker_lite.wire.primitives import Buffer

RETRY_AFTER_NS: Final = 100 * NS_PER_MS
"""How long after an error of a temporary state a request is sent again, as Kafka's clients do."""


LOST: Final = "connection lost"
NOT_OPENED: Final = "no connection"
ENDS: Final[Mapping[type[ClientError], str]] = {
    NoConnection: LOST,
    NoAnswer: "no answer in time",
    BadAnswer: "unreadable answer",
}
"""What may end a connection, and the names by which it is counted."""


class Request(NamedTuple):
    """A request that is on its way.

    Attributes:
        due_ns: when it was due, which may be long before it was sent.
        number: of the request in the schedule.
        parts: the frame.
        size_bytes: of the frame.
        sequence: of the first record of an idempotent producer; -1 for none.
    """

    due_ns: int
    number: int
    parts: Sequence[Buffer]
    size_bytes: int
    sequence: int = -1


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
        awaits_answers: whether the end waits a moment for answers.
    """

    is_stale: bool

    awaits_answers: bool

    @property
    def reads_on(self) -> bool:
        """Whether it goes on after the end for a moment, because records may still come."""

    def make_lane(self) -> Lane:
        """Make the lane of a further connection; it has no partitions yet."""

    def assign(self, shares: Sequence[Sequence[int]]) -> None:
        """Give each lane its partitions, in the order in which the lanes were made."""

    def end(self, now_ns: int) -> None:
        """Count the requests that are due and were not sent."""

    def unanswered(self, request: Request, now_ns: int) -> None:
        """Count a request that is open at the end."""

    def missing(self) -> Sequence[int]:
        """Return the partitions whose start has to be asked for."""

    def set_starts(self, starts: Mapping[int, int]) -> None:
        """Take the log start offsets of partitions."""


class Paced:
    """The part of a lane that keeps to what the broker asks for by `throttle_time_ms`."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._not_before_ns = 0

    def _throttle(self, throttle_ms: int, now_ns: int) -> None:
        """Send nothing more for a while, as Kafka's clients do on that connection (KIP-219)."""
        if throttle_ms > 0:
            self._recorder.throttled(throttle_ms)
            self._not_before_ns = max(self._not_before_ns, now_ns + throttle_ms * NS_PER_MS)


def never_sent(numbers: range, schedule: Schedule, recorder: Recorder, now_ns: int) -> None:
    """Count requests that are due by now, and were not sent."""
    if numbers:
        first_ns, last_ns = (schedule.due_ns(each) for each in (numbers[0], numbers[-1]))
        recorder.never_sent(first_ns, last_ns, len(numbers), now_ns)
