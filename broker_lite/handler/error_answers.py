"""Answers with an error to requests that no handler sees, in the form that Kafka has for each API.

Most answers have an error of the whole. Where there is none in a version, or where older clients do
not look at it, each element that the request names is in the answer, with the error.

See: X-08 (AbstractRequest.getErrorResponse).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from enum import Enum, auto
from itertools import chain
from typing import Any, Final, NamedTuple, TypeAlias

from broker_lite.errors import ErrorCode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.error_elements import ElementMaker, fields_of, key_of
from broker_lite.handler.error_places import ROWS, TOP_DEFAULTS, Level, Row
from broker_lite.handler.large import decode_in_turns, encode_in_turns, lazily
from broker_lite.wire import messages
from broker_lite.wire.codegen import Layout
from broker_lite.wire.structs import Struct

_ERROR: Final = "error_code"
_MESSAGE: Final = "error_message"


Failed: TypeAlias = "Callable[[str, str, Mapping[str, object]], dict[str, object]]"
"""Returns the fields of a failed struct by its name, the name of its error, and other fields."""


class Told(Enum):
    """Which message goes with the error, where the answer has room for one."""

    GIVEN = auto()
    OF_THE_CODE = auto()
    NONE = auto()


class Form(NamedTuple):
    """What is special about the answers of an API.

    Attributes:
        message: which one they have.
        lists_until: the last version whose answer lists what the request names although it has an
            error of the whole.
        rows: what is listed, if it is not what the table of places has.
        echoes: fields of the answer that have the value of the request's.
    """

    message: Told = Told.GIVEN
    lists_until: int = -1
    rows: tuple[Row, ...] | None = None
    echoes: tuple[str, ...] = ()


_ALWAYS: Final = 32767
_OF_THE_CODE: Final = Form(Told.OF_THE_CODE)
_WITHOUT_MESSAGE: Final = Form(Told.NONE)
_REASSIGNMENTS: Final = Row(
    (
        Level("topic", "topics", "topics", ("name",), ("name",)),
        Level("partition", "partition_indexes", "partitions", (), ("partition_index",)),
    ),
    error="",
)
_NAMELESS_USERS: Final = Row((Level("resource", "users", "results", (), ()),))

_USUAL: Final = Form()
_FORMS: Final[Mapping[int, Form]] = {
    1: Form(lists_until=12, echoes=("session_id",)),  # Fetch
    3: Form(lists_until=_ALWAYS),  # Metadata
    10: _OF_THE_CODE,  # FindCoordinator
    15: _WITHOUT_MESSAGE,  # DescribeGroups
    20: _WITHOUT_MESSAGE,  # DeleteTopics
    32: _OF_THE_CODE,  # DescribeConfigs
    43: Form(lists_until=_ALWAYS),  # ElectLeaders
    45: Form(lists_until=_ALWAYS),  # AlterPartitionReassignments
    46: Form(lists_until=_ALWAYS, rows=(_REASSIGNMENTS,)),  # ListPartitionReassignments
    49: _OF_THE_CODE,  # AlterClientQuotas
    50: Form(lists_until=_ALWAYS, rows=(_NAMELESS_USERS,)),  # DescribeUserScramCredentials
    55: _OF_THE_CODE,  # DescribeQuorum
    61: _WITHOUT_MESSAGE,  # DescribeProducers
    68: _WITHOUT_MESSAGE,  # ConsumerGroupHeartbeat
    69: _WITHOUT_MESSAGE,  # ConsumerGroupDescribe
}


async def error_answer(
    context: HandlerContext, request: Request, code: ErrorCode, text: str
) -> Parts:
    """Answer a request of any API with an error.

    Other connections have their turn while a large request is decoded and answered.

    Args:
        context: of the client.
        request: of an API and a version that are offered.
        code: of the error.
        text: its message, where the answer has room for one.

    Raises:
        DecodeError: the body cannot be decoded.
    """
    kind, response = messages.by_api(request.api_key)
    await context.lane.enter()
    try:
        body = await decode_in_turns(kind, request)
        answer = _ErrorAnswer(request, code, text).to(body)
        return [await encode_in_turns(response, answer, request.api_version)]
    finally:
        context.lane.leave()


class _ErrorAnswer:
    """The answer to one request.

    Its elements are made while they are encoded, so it needs no memory besides that of the request.
    """

    def __init__(self, request: Request, code: ErrorCode, text: str) -> None:
        kind, response = messages.by_api(request.api_key)
        asked, layout = kind.layout(request.api_version), response.layout(request.api_version)
        assert asked is not None
        assert layout is not None
        self._api_key = request.api_key
        self._form = _FORMS.get(request.api_key, _USUAL)
        self._asked: Layout = asked
        self._layout: Layout = layout
        told = {Told.GIVEN: text, Told.OF_THE_CODE: message_of(code), Told.NONE: None}
        self._code, self._message = int(code), told[self._form.message]

    def to(self, body: Struct) -> Struct:
        """Make the answer to a body."""
        root = self._layout.schema.name
        fields = dict(TOP_DEFAULTS.get(self._api_key, {}))
        fields.update((name, getattr(body, name)) for name in self._form.echoes)
        fields = self.failed(root, _ERROR, fields)
        for row in self._rows():
            listing = _Listing(self._layout, row, self.failed)
            before, more = fields.get(listing.array, ()), listing.of(body)
            assert isinstance(before, Sized) and isinstance(before, Iterable)
            fields[listing.array] = lazily(len(before) + len(more), chain(before, more))
        return self._layout.classes[root](**fields)

    def failed(
        self, struct: str, error: str, others: Mapping[str, object]
    ) -> dict[str, object]:
        """Return the fields of a struct with the error, as far as this version has them."""
        values = {**others, error: self._code, _MESSAGE: self._message}
        return fields_of(self._layout, struct, values)

    def _rows(self) -> list[Row]:
        """Return the rows of the table whose elements are in the answer."""
        layout, asked, form = self._layout, self._asked, self._form
        root = layout.schema.name
        if layout.has_field(root, _ERROR) and layout.version > form.lists_until:
            return []
        return [
            row
            for row in (ROWS.get(self._api_key, ()) if form.rows is None else form.rows)
            if not row.needs
            and asked.has_field(asked.schema.name, row.levels[0].request)
            and layout.has_field(root, next(each.response for each in row.levels if each.response))
        ]


class _Listing:
    """Makes the elements of an answer that name what a request names, by a row of the table.

    Attributes:
        array: of the answer.
    """

    def __init__(self, layout: Layout, row: Row, failed: "Failed") -> None:
        self._levels: list[tuple[Level, ElementMaker | None]] = []
        struct = layout.schema.name
        for level in row.levels:
            maker = ElementMaker(layout, struct, level) if level.response else None
            struct = struct if maker is None else maker.struct
            self._levels.append((level, maker))
        self._fields = failed(struct, row.error, row.defaults)
        self.array = next(level.response for level in row.levels if level.response)

    def of(self, owner: object, depth: int = 0) -> list[Struct]:
        """Return what answers the elements of an array of a request, and of the arrays in it.

        Args:
            owner: has the array.
            depth: how many arrays there are around it.
        """
        level, maker = self._levels[depth]
        asked = getattr(owner, level.request) or ()
        if maker is not None:
            return lazily(len(asked), self._made(asked, maker, depth))
        inner_level, _ = self._levels[depth + 1]
        count = sum(len(getattr(each, inner_level.request)) for each in asked)
        inner = (self.of(each, depth + 1) for each in asked)
        return lazily(count, chain.from_iterable(inner))

    def _made(self, asked: Iterable[Any], maker: ElementMaker, depth: int) -> Iterator[Struct]:
        keys = self._levels[depth][0].request_keys
        if depth == len(self._levels) - 1:
            for each in asked:
                yield maker.make(key_of(each, keys), self._fields)
            return
        array = self._levels[depth + 1][0].response
        for each in asked:
            yield maker.make(key_of(each, keys), {array: self.of(each, depth + 1)})
