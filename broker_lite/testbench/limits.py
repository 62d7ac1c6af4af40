"""Who was the limit of a connection: the client, the network, the broker, or nobody.

It is found from what the broker sees at two moments: how long it waited for what, and how busy its
own threads were in between. The largest part of the time decides.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from broker_lite.server.usage import Usage

_NETWORK_WINDOW_MAX: Final = 0.25
"""A client that reads slowly has closed its window for more than this part of the time."""
_NETWORK_MIN: Final = 0.8
"""On a slow network nearly all the time goes into sending; a client that is slow asks late, too."""
_AT_WORK_MIN: Final = 0.6
"""A broker that is at work for less of the time in which it has a request waits for something."""
_SMALL_BYTES_MAX: Final = 65_536
_SMALL_REQUESTS_MIN: Final = 100.0
"""A client that asks so often in a second, and moves few bytes each time, pays for round trips."""
_WAITED_MAX: Final = 0.05


class Limit(Enum):
    """What kept a connection from moving more bytes."""

    NOBODY = "nobody"
    NOT_ASKING = "client: it does not ask"
    NOT_READING = "client: it does not read"
    SMALL_REQUESTS = "client: its requests are small"
    NETWORK = "network"
    NOTHING_TO_GIVE = "nothing to give"
    THROTTLED = "quota"
    LOOP = "broker: its event loop is busy"
    THREADS = "broker: its threads are busy"
    WAITING = "broker: it waits"


class Busy(NamedTuple):
    """How busy a broker's process was, in parts of the time.

    Attributes:
        loop: its event loop, for all clients.
        threads: all others together, which rewrite records and write files; may be above 1.
    """

    loop: float
    threads: float


class Load(NamedTuple):
    """What happened on a connection between two moments; parts of the time are from 0 to 1.

    Attributes:
        seconds: between them.
        requests: in that time.
        in_bytes: received.
        out_bytes: sent.
        not_asking: no whole request was there, and the client had taken all answers.
        not_reading: the client had not taken an answer, and the broker waited for that.
        nothing_to_give: see server.usage.Usage.
        throttled: the same.
        window_closed: the client's kernel had no room for what there was to send.
    """

    seconds: float
    requests: int
    in_bytes: int
    out_bytes: int
    not_asking: float
    not_reading: float
    nothing_to_give: float
    throttled: float
    window_closed: float

    @property
    def at_broker(self) -> float:
        """The part in which a request was with the broker, and it waited for nobody."""
        waited = self.not_asking + self.not_reading + self.nothing_to_give + self.throttled
        return max(0.0, 1.0 - waited)

    @property
    def is_made_of_small_requests(self) -> bool:
        """Whether it is mostly round trips: many requests, none of which waited for records."""
        moved = self.in_bytes + self.out_bytes
        return (
            self.requests >= _SMALL_REQUESTS_MIN * self.seconds
            and moved <= _SMALL_BYTES_MAX * self.requests
            and self.nothing_to_give + self.window_closed <= _WAITED_MAX
        )


def load_between(before: Usage, after: Usage) -> Load:
    """Return what happened between two looks at a connection.

    Of an answer, some megabytes fit into the kernel. The broker then waits for the next request
    while the client has not taken that much, so this time counts as not reading.
    """
    seconds = max(after.at_s - before.at_s, 1e-9)

    def part(first: float, last: float) -> float:
        return min(max((last - first) / seconds, 0.0), 1.0)

    not_asking = part(before.not_asking_s, after.not_asking_s)
    not_reading = part(before.not_reading_s, after.not_reading_s)
    sending = part(before.tcp.sending_s, after.tcp.sending_s)
    in_kernel = min(max(sending - not_reading, 0.0), not_asking)
    return Load(
        seconds,
        after.requests - before.requests,
        after.tcp.in_bytes - before.tcp.in_bytes,
        after.tcp.out_bytes - before.tcp.out_bytes,
        not_asking - in_kernel,
        not_reading + in_kernel,
        part(before.nothing_to_give_s, after.nothing_to_give_s),
        part(before.throttled_s, after.throttled_s),
        part(before.tcp.window_closed_s, after.tcp.window_closed_s),
    )


def limit_of(load: Load, busy: Busy) -> Limit:
    """Find the limit of a connection.

    Args:
        load: what happened on it.
        busy: the broker's process in the same time.
    """
    if load.requests == 0 and load.not_asking >= 1.0 - _WAITED_MAX:
        return Limit.NOBODY
    parts: Mapping[Limit, float] = {
        Limit.NOT_ASKING: load.not_asking,
        Limit.NOT_READING: load.not_reading,
        Limit.NOTHING_TO_GIVE: load.nothing_to_give,
        Limit.THROTTLED: load.throttled,
        Limit.LOOP: load.at_broker,
    }
    most = max(parts, key=lambda limit: parts[limit])
    if most is not Limit.THROTTLED and load.is_made_of_small_requests:
        return Limit.SMALL_REQUESTS
    if most is Limit.NOT_READING:
        is_open = load.window_closed <= _NETWORK_WINDOW_MAX * load.not_reading
        is_network = is_open and load.not_reading >= _NETWORK_MIN
        return Limit.NETWORK if is_network else Limit.NOT_READING
    return _of_broker(load, busy) if most is Limit.LOOP else most


def _of_broker(load: Load, busy: Busy) -> Limit:
    """Find out what a broker does that has requests for most of the time."""
    if busy.loop >= _AT_WORK_MIN * load.at_broker:
        return Limit.LOOP
    is_at_work = busy.loop + busy.threads >= _AT_WORK_MIN * load.at_broker
    return Limit.THREADS if is_at_work else Limit.WAITING


def sentence(load: Load, busy: Busy) -> str:
    """Say who the limit was, and by which figures."""
    limit = limit_of(load, busy)
    return f"{_figures(limit, load, busy)} {_WHOSE.get(limit, 'The client is the limit.')}"


_WHOSE: Final[Mapping[Limit, str]] = {
    Limit.NOBODY: "Nobody is the limit.",
    Limit.NETWORK: "The network is the limit.",
    Limit.SMALL_REQUESTS: "The client's small requests are the limit.",
    Limit.NOTHING_TO_GIVE: "The producers are the limit.",
    Limit.THROTTLED: "A quota is the limit.",
    Limit.LOOP: "The broker is the limit.",
    Limit.THREADS: "The broker is the limit.",
    Limit.WAITING: "What the broker waits for is the limit.",
}


def _figures(limit: Limit, load: Load, busy: Busy) -> str:
    if limit is Limit.NOBODY:
        return "It asked for nothing."
    if limit is Limit.SMALL_REQUESTS:
        each = (load.in_bytes + load.out_bytes) / load.requests / 1000
        return (
            f"{load.requests / load.seconds:,.0f} requests a second moved {each:,.1f} KB each, so "
            f"most of the time went into round trips; the broker's loop was busy "
            f"{_percent(busy.loop)}."
        )
    if limit is Limit.NETWORK:
        return (
            f"{_percent(load.not_reading)} of the time the broker could not send, although the "
            "client had room."
        )
    if limit is Limit.NOTHING_TO_GIVE:
        return f"{_percent(load.nothing_to_give)} of the time its fetches waited for records."
    if limit is Limit.THROTTLED:
        return f"{_percent(load.throttled)} of the time it was above its quota."
    if limit in (Limit.NOT_ASKING, Limit.NOT_READING):
        return (
            f"{_percent(load.not_asking + load.not_reading)} of the time the broker waited for the "
            f"client ({_percent(load.not_asking)} not asking, {_percent(load.not_reading)} not "
            f"reading); its loop was busy {_percent(busy.loop)}."
        )
    return (
        f"{_percent(load.at_broker)} of the time a request was with the broker, whose loop was "
        f"busy {_percent(busy.loop)} and whose threads {_percent(busy.threads)}{_PURPOSE[limit]}."
    )


_PURPOSE: Final[Mapping[Limit, str]] = {
    Limit.LOOP: "",
    Limit.THREADS: ", which rewrite or compress records",
    Limit.WAITING: ": it waits for a disk, for replicas, or for other members",
}


def _percent(part: float) -> str:
    return f"{part * 100:.0f} %"
