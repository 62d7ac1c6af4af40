"""Handle requests that take long in slices, so that other connections get their turn between them.

A request of many elements is decoded in slices of a few milliseconds, and so is its answer encoded;
after each slice the event loop goes on with other connections. If the parts of the request are
independent of each other, they are handled in slices, too (see split); other handlers go through
their elements with in_turns(). Only one large request is worked on at a time, the others wait for
it. So however many come at once, together they take one slice of each round of the loop, and the
memory of one request.

A difference to Kafka: a request of more than 131,072 elements closes the connection.

A difference to Kafka: a request that changes very many things is carried out in parts. Other
clients can see it half done, and if the broker is killed, it stays half done. In Kafka such a
request is one change of the metadata, or of a group.
"""

from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator
from contextlib import asynccontextmanager
from heapq import merge as merge_runs
from itertools import islice
from time import perf_counter
from typing import Any, Final, Generic, Self, TypeVar, cast

from anyio.lowlevel import checkpoint

from broker_lite.handler.context import Handler, HandlerContext, Parts, Request
from broker_lite.handler.lane import Lane
from broker_lite.handler.split import Split, merge, parts, split_of
from broker_lite.wire import messages
from broker_lite.wire.messages import MessageType
from broker_lite.wire.produce import ManyPartitions
from broker_lite.wire.structs import Struct

LARGE_BYTES: Final = 8192
"""A request above this size is a large one; a smaller one holds the loop for a few milliseconds."""
ELEMENTS_MAX: Final = 131_072
TURN_S: Final = 0.004
"""How long one slice may take before other connections have their turn."""

_SORTED_AT_A_TIME: Final = 4096
_LET_GO_AT_A_TIME: Final = 256

# A large Produce is mostly large because of its records. Its handler decodes it without slices.
_PRODUCE: Final = 0

T = TypeVar("T")


class LargeRequest(Request):
    """A request that is decoded before its handler is called, and encoded when the handler is done.

    Attributes:
        decoded: the request's body, or a part of it.
        answer: the type and value of the response, once the handler has made it.
    """

    decoded: Any
    answer: tuple[MessageType, Any] | None
    _lane: Lane | None

    @classmethod
    def of(cls, request: Request) -> Self:
        """Make a large request from one that is not decoded yet."""
        large = cls._make(request)
        large.decoded = large.answer = large._lane = None
        return large

    async def enter(self, lane: Lane) -> None:
        """Wait for a lane and enter it, unless this request is already in it."""
        if self._lane is None:
            await lane.enter()
            self._lane = lane

    def leave(self) -> None:
        """Leave the lane. Call it at the end, and before the request waits for another client."""
        if self._lane is not None:
            self._lane.leave()
            self._lane = None


@asynccontextmanager
async def in_lane(context: HandlerContext, request: Request) -> AsyncIterator[None]:
    """Work on a request in the lane, although its bytes may be few, because of what it asks for."""
    large = request if isinstance(request, LargeRequest) else LargeRequest.of(request)
    await large.enter(context.lane)
    try:
        yield
    finally:
        large.leave()


def leave_lane(request: Request) -> None:
    """Let other large requests go on while this request, if it is large, waits for a client."""
    if isinstance(request, LargeRequest):
        request.leave()


async def enter_lane(context: HandlerContext, request: Request) -> None:
    """Enter the lane again, if the request is a large one that has left it."""
    if isinstance(request, LargeRequest):
        await request.enter(context.lane)


def lazily(count: int, make: Iterable[T]) -> list[T]:
    """Return an array of a response whose elements are made one by one while they are encoded.

    It is a list for the type checker only: it has a length and can be iterated once, which is all
    that encoding does with it.

    Args:
        count: the number of elements in `make`.
        make: an iterable of the elements; it is iterated once.
    """
    return cast("list[T]", _Lazily(count, make))


class _Lazily(Generic[T]):
    __slots__ = ("_count", "_make")

    def __init__(self, count: int, make: Iterable[T]) -> None:
        self._count = count
        self._make = make

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[T]:
        return iter(self._make)


async def in_turns(items: Iterable[T], *, at_least: int = 16) -> AsyncIterator[T]:
    """Go through items, and let other connections have their turn every few milliseconds.

    Args:
        items: the items; the caller needs microseconds for each.
        at_least: the time is checked only after this many items. It is 1 for items with parts that
            the caller goes through, also if it does so in turns: these begin anew with each item.
    """
    began = perf_counter()
    for number, item in enumerate(items, 1):
        yield item
        if number % at_least == 0 and perf_counter() - began > TURN_S:
            await checkpoint()
            began = perf_counter()


class Turns:
    """Lets other connections have their turn in a loop that may end early.

    in_turns() does the same for loops that go to the end: a generator that is left early is only
    closed by the event loop, later.
    """

    __slots__ = ("_began",)

    def __init__(self) -> None:
        """Begin the first turn."""
        self._began = perf_counter()

    async def turn(self) -> None:
        """Return at once, or after others had their turn if the last one is some time ago."""
        if perf_counter() - self._began > TURN_S:
            await checkpoint()
            self._began = perf_counter()


def some_at_a_time(items: Iterable[T], count: int) -> Iterator[list[T]]:
    """Split items into lists of at most `count`, which are made one by one."""
    rest = iter(items)
    while some := list(islice(rest, count)):
        yield some


async def sorted_in_turns(items: Iterable[T], key: Callable[[T], Any]) -> Iterator[T]:
    """Sort items some at a time, and let other connections have their turn in between.

    Args:
        items: the items to sort.
        key: returns the sort key of an item.
    """
    every = list(items)
    starts = range(0, len(every), _SORTED_AT_A_TIME)
    runs = [
        sorted(every[start : start + _SORTED_AT_A_TIME], key=key)
        async for start in in_turns(starts, at_least=1)
    ]
    return iter(runs[0]) if len(runs) == 1 else merge_runs(*runs, key=key)


async def let_go(items: list[Any]) -> None:
    """Empty a list in slices: to free 100,000 elements of a large request at once takes 40 ms."""
    starts = range(0, len(items), _LET_GO_AT_A_TIME)
    async for start in in_turns(reversed(starts), at_least=1):
        del items[start:]


class TakesWhole:
    """A handler that takes a large request as it arrived, because another process handles it."""

    async def __call__(self, context: HandlerContext, request: Request) -> Parts | None:
        """Answer the request."""
        raise NotImplementedError


async def handle_large(handle: Handler, context: HandlerContext, request: Request) -> Parts | None:
    """Decode a large request, call its handler and encode the answer, in slices.

    Raises:
        DecodeError: the bytes are not a body of this version, or it has too many elements.
        EncodeError: this version cannot express the answer.

    See: P-08, P-34.
    """
    if isinstance(handle, TakesWhole):
        return await handle(context, request)
    if request.api_key == _PRODUCE:
        try:
            return await handle(context, request)
        except ManyPartitions:
            pass  # decode it here in slices, and call the handler again
    large = LargeRequest.of(request)
    try:
        await large.enter(context.lane)
        message, _ = messages.by_api(request.api_key)
        large.decoded = await decode_in_turns(message, request)
        split = split_of(request.api_key, request.api_version)
        if split is None:
            body = await handle(context, large)
        else:
            body = await _handle_parts(handle, context, large, split)
        large.decoded = None
        # To free the request took a while; let others have a turn before the answer is encoded.
        await checkpoint()
        if large.answer is None:
            return body
        return [await encode_in_turns(*large.answer, request.api_version)]
    finally:
        large.leave()


async def _handle_parts(
    handle: Handler, context: HandlerContext, large: LargeRequest, split: Split
) -> Parts | None:
    whole: tuple[MessageType, Any] | None = None
    body = None
    async for part in in_turns(parts(large.decoded, split), at_least=1):
        await large.enter(context.lane)
        large.decoded = part
        body = await handle(context, large)
        assert large.answer is not None
        if whole is None:
            whole = large.answer
        elif not merge(whole[1], large.answer[1], split):
            return body
    large.answer = whole
    return body


async def decode_in_turns(message: MessageType, request: Request) -> Struct:
    """Decode the body of a request of many elements.

    Raises:
        DecodeError: see MessageType.decode_slices(); or it has too many elements.
    """
    slices = message.decode_slices(
        request.body, request.api_version, request.position, ELEMENTS_MAX
    )
    value, _ = await in_slices(slices)
    return value


async def in_slices(slices: Generator[None, None, T]) -> T:
    """Run a generator in slices and return its result."""
    began = perf_counter()
    while True:
        try:
            next(slices)
        except StopIteration as end:
            result: T = end.value
            return result
        if perf_counter() - began > TURN_S:
            await checkpoint()
            began = perf_counter()


async def encode_in_turns(message: MessageType, value: Struct, version: int) -> bytes:
    """Encode a message of many elements.

    Raises:
        EncodeError: see MessageType.encode().
    """
    pieces = in_turns(message.encode_slices(value, version), at_least=1)
    return b"".join([piece async for piece in pieces])
