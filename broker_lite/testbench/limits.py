"""Who was the limit of a connection: the client, the network, the broker, or nobody.

It is found from what the broker sees at two moments: how long it waited for what, and how busy its
own threads were in between. The largest part of the time decides.

A client that does not read closes the window of its connection: its kernel says that it has no
room. A network that is slow takes bytes one after the other while the window is open. A proxy has
the client's connection, and the broker has one with the proxy: where it is slow to read, it looks
like a client that is. But where it is slow to write, a request that it passes on arrives slowly,
which no client's does that has it ready.

Where the loop is at work all the time, requests wait in the kernel until it reads them. The broker
then believes that nobody asks, so that time is told apart by how long a byte waits for the loop.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from broker_lite.server.usage import Usage

_NETWORK_WINDOW_MAX: Final = 0.5
"""The window is closed for less of the time in which bytes are on their way over a network.

Measured: 0.65 to 1 for clients that read slowly, in whatever pieces; 0 for a network that is slow,
and up to 0.3 where the client's buffer is too small for it.
"""
_WITHIN_HOST_MIN: Final = 0.8
"""Within a host bytes are on their way, too, while they are copied; but not for so much of it."""
_SATURATED_MIN: Final = 0.8
"""A loop that is at work for more than this part of the time keeps requests waiting."""
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
        wait_s: how long a byte that arrives waits for the loop, on average.
        requests: of all clients.
    """

    loop: float
    threads: float
    wait_s: float = 0.0
    requests: int = 0

    def is_busy_with_others(self, requests: int) -> bool:
        """Whether the loop has no time left for a client that sent so many of the requests.

        One client alone keeps the loop at work, too, with one small request after the other.
        """
        return self.loop >= _SATURATED_MIN and 2 * requests <= self.requests


class Load(NamedTuple):
    """What happened on a connection between two moments; parts of the time are from 0 to 1.

    Attributes:
        seconds: between them.
        requests: in that time.
        in_bytes: received.
        out_bytes: sent.
        not_asking: nothing of a request was there, and the client had taken all answers.
        not_reading: the client had no room for the rest of an answer.
        on_network: a request or an answer was on its way.
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
    on_network: float
    nothing_to_give: float
    throttled: float
    window_closed: float

    @property
    def at_broker(self) -> float:
        """The part in which a request was with the broker, and it waited for nobody."""
        waited = self.not_asking + self.not_reading + self.on_network
        return max(0.0, 1.0 - waited - self.nothing_to_give - self.throttled)

    @property
    def is_made_of_small_requests(self) -> bool:
        """Whether it is mostly round trips: many requests, none of which waited for records."""
        moved = self.in_bytes + self.out_bytes
        return (
            self.requests >= _SMALL_REQUESTS_MIN * self.seconds
            and moved <= _SMALL_BYTES_MAX * self.requests
            and self.nothing_to_give + self.window_closed <= _WAITED_MAX
        )


def load_between(before: Usage, after: Usage, busy: Busy) -> Load:
    """Return what happened between two looks at a connection.

    Of an answer, some megabytes fit into the kernel. The broker then waits for the next request
    while the client has not taken that much, so this time counts as not reading.

    Args:
        before: the first look.
        after: the second one.
        busy: the broker's process in between.
    """
    seconds = max(after.at_s - before.at_s, 1e-9)

    def part(first: float, last: float) -> float:
        return min(max((last - first) / seconds, 0.0), 1.0)

    requests = after.requests - before.requests
    arriving = part(before.arriving_s, after.arriving_s)
    not_asking = max(part(before.not_asking_s, after.not_asking_s) - arriving, 0.0)
    if busy.is_busy_with_others(requests):  # what arrives waits until the loop reads it
        waited = (after.events - before.events) * busy.wait_s / seconds
        rest = 1.0 - min(waited / max(not_asking + arriving, 1e-9), 1.0)
        not_asking, arriving = not_asking * rest, arriving * rest
    not_reading = part(before.not_reading_s, after.not_reading_s)
    in_kernel = part(before.tcp.sending_s, after.tcp.sending_s) - not_reading
    in_kernel = min(max(in_kernel, 0.0), not_asking)
    window_closed = part(before.tcp.window_closed_s, after.tcp.window_closed_s)
    unread = not_reading + in_kernel
    waits = _Waits(not_asking - in_kernel, unread, arriving)
    if before.link is not None and after.link is not None:
        waits = waits.over_link(*map(part, before.link, after.link))
    else:
        if window_closed <= _NETWORK_WINDOW_MAX * unread:
            waits = _Waits(waits.not_asking, 0.0, arriving + unread)
        if after.is_within_host and waits.on_network < _WITHIN_HOST_MIN:
            waits = _Waits(not_asking - in_kernel + arriving, unread, 0.0)
    return Load(
        seconds,
        requests,
        after.tcp.in_bytes - before.tcp.in_bytes,
        after.tcp.out_bytes - before.tcp.out_bytes,
        *waits,
        part(before.nothing_to_give_s, after.nothing_to_give_s),
        part(before.throttled_s, after.throttled_s),
        window_closed,
    )


class _Waits(NamedTuple):
    """For what a broker has waited; see Load."""

    not_asking: float
    not_reading: float
    on_network: float

    def over_link(self, on_way: float, not_read: float) -> "_Waits":
        """Return the same where it is known what the link has done.

        The broker itself only sees that the link does not read, or that nothing comes out of it.
        """
        whole = sum(self)
        on_network = min(max(on_way, self.on_network), whole)
        not_reading = min(not_read, whole - on_network)
        return _Waits(whole - on_network - not_reading, not_reading, on_network)


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
        Limit.NETWORK: load.on_network,
        Limit.NOTHING_TO_GIVE: load.nothing_to_give,
        Limit.THROTTLED: load.throttled,
        Limit.LOOP: load.at_broker,
    }
    most = max(parts, key=lambda limit: parts[limit])
    is_overloaded = most is Limit.LOOP and busy.is_busy_with_others(load.requests)
    if most is not Limit.THROTTLED and not is_overloaded and load.is_made_of_small_requests:
        return Limit.SMALL_REQUESTS
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
    Limit.NOT_READING: "The client is the limit, or a proxy in front of it.",
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
        return (
            f"{_requests(load)}, so most of the time went into round trips; the broker's loop was "
            f"busy {_percent(busy.loop)}."
        )
    if limit is Limit.NETWORK:
        return (
            f"{_percent(load.on_network)} of the time a request was on its way, or an answer for "
            "which the client had room."
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
    why = _PURPOSE[limit]
    if limit is Limit.LOOP and load.is_made_of_small_requests:
        why = f"; {_requests(load)}, and larger ones would cost it less"
    return (
        f"{_percent(load.at_broker)} of the time a request was with the broker, whose loop was "
        f"busy {_percent(busy.loop)} and whose threads {_percent(busy.threads)}{why}."
    )


_PURPOSE: Final[Mapping[Limit, str]] = {
    Limit.LOOP: "",
    Limit.THREADS: ", which rewrite or compress records",
    Limit.WAITING: ": it waits for a disk, for replicas, or for other members",
}


def _requests(load: Load) -> str:
    each = (load.in_bytes + load.out_bytes) / load.requests / 1000
    return f"{load.requests / load.seconds:,.0f} requests a second moved {each:,.1f} KB each"


def _percent(part: float) -> str:
    return f"{part * 100:.0f} %"
