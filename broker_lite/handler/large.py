"""Requests that take long: one at a time, and others have their turn meanwhile.

A request of many elements is decoded and its answer encoded in slices of a few milliseconds, after
each of which the event loop goes on with other connections. Where its parts are independent of each
other, they are handled in slices, too (see split); other handlers go through their elements with
in_turns(). Only one such request is worked on at a time, the others wait for it: however many come
at once, all together take one slice of each round of the loop, and the memory of one.

A difference to Kafka: a request of more than 131,072 elements closes the connection.

A difference to Kafka: a request that changes very many things is carried out in parts. Others see
it half done, and a kill can leave it so. In Kafka a request is one change of the metadata, or of a
group.
"""

from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator
from heapq import merge as merge_runs
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
"""A request above this size is a large one; smaller ones hold the loop for some milliseconds."""
ELEMENTS_MAX: Final = 131_072
TURN_S: Final = 0.004
"""How long one slice takes before others have their turn."""

_SORTED_AT_A_TIME: Final = 4096
_LET_GO_AT_A_TIME: Final = 256

# It is mostly large for its records only, and decodes itself then.
_PRODUCE: Final = 0

T = TypeVar("T")


class LargeRequest(Request):
    """A request that is decoded already, and whose answer is encoded when its handler is done.

    Attributes:
        decoded: its body, or a part of it.
        answer: the type and value of the response, once the handler has made it.
    """

    decoded: Any
    answer: tuple[MessageType, Any] | None
    _lane: Lane | None

    @classmethod
    def of(cls, request: Request) -> Self:
        """Take over a request that is not decoded yet."""
        large = cls._make(request)
        large.decoded = large.answer = large._lane = None
        return large

    async def enter(self, lane: Lane) -> None:
        """Go into a lane, unless this request is in it."""
        if self._lane is None:
            await lane.enter()
            self._lane = lane

    def leave(self) -> None:
        """Leave the lane: before waiting for anybody else, and at the end."""
        if self._lane is not None:
            self._lane.leave()
            self._lane = None


def leave_lane(request: Request) -> None:
    """Let other large requests go on while this one, if it is large, waits for somebody."""
    if isinstance(request, LargeRequest):
        request.leave()


def lazily(count: int, make: Iterable[T]) -> list[T]:
    """The elements of an array of a response, each made when it is encoded and dropped then.

    It is a list to its type only: it can be counted and gone through once, as encoding does.

    Args:
        count: how many make gives.
        make: gives them, once.
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
        items: each takes microseconds.
        at_least: so many are done in any case before others have their turn.
    """
    began = perf_counter()
    for number, item in enumerate(items, 1):
        yield item
        if number % at_least == 0 and perf_counter() - began > TURN_S:
            await checkpoint()
            began = perf_counter()


async def sorted_in_turns(items: Iterable[T], key: Callable[[T], Any]) -> Iterator[T]:
    """Sort items some at a time, and let other connections have their turn between.

    Args:
        items: all of them.
        key: tells their order.
    """
    every = list(items)
    starts = range(0, len(every), _SORTED_AT_A_TIME)
    runs = [
        sorted(every[start : start + _SORTED_AT_A_TIME], key=key)
        async for start in in_turns(starts, at_least=1)
    ]
    return iter(runs[0]) if len(runs) == 1 else merge_runs(*runs, key=key)


async def let_go(items: list[Any]) -> None:
    """Empty a list some at a time: all 100,000 of a large request at once take 40 ms."""
    starts = range(0, len(items), _LET_GO_AT_A_TIME)
    async for start in in_turns(reversed(starts), at_least=1):
        del items[start:]


async def handle_large(handle: Handler, context: HandlerContext, request: Request) -> Parts | None:
    """Have a handler answer a large request.

    Raises:
        DecodeError: not a body of this version, or one of too many elements.
        EncodeError: the answer cannot be told in this version.

    See: P-08, P-34.
    """
    if request.api_key == _PRODUCE:
        try:
            return await handle(context, request)
        except ManyPartitions:
            pass  # so it is decoded here, and handled again
    large = LargeRequest.of(request)
    try:
        await large.enter(context.lane)
        message, _ = messages.by_api(request.api_key)
        large.decoded = await _decode(message, request)
        split = split_of(request.api_key, request.api_version)
        if split is None:
            body = await handle(context, large)
        else:
            body = await _handle_parts(handle, context, large, split)
        large.decoded = None
        # what the handler held is gone now, and to look at what is left for garbage takes as long
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


async def _decode(message: MessageType, request: Request) -> Struct:
    slices = message.decode_slices(
        request.body, request.api_version, request.position, ELEMENTS_MAX
    )
    value, _ = await _result(slices)
    return value


async def _result(slices: Generator[None, None, T]) -> T:
    """What a generator returns in the end."""
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
