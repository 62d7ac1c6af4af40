"""Answers with an error to requests that no handler sees, in the form that Kafka has for each API.

Most answers have an error of the whole. Where there is none in a version, or where older clients do
not look at it, each element that the request names is in the answer, with the error.

A difference to Kafka: topics of Produce and WriteTxnMarkers and users of AlterUserScramCredentials
are in the order of the request. Kafka has them in that of a hash table.

See: X-08 (AbstractRequest.getErrorResponse).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from enum import Enum, auto
from itertools import chain
from typing import Any, Final, NamedTuple, TypeAlias, cast

from anyio.lowlevel import checkpoint

from broker_lite.errors import ErrorCode
from broker_lite.handler.context import CloseConnection, HandlerContext, Parts, Request
from broker_lite.handler.error_elements import ElementMaker, Key, fields_of, key_of
from broker_lite.handler.error_places import ROWS, TOP_DEFAULTS, Level, Row
from broker_lite.handler.large import decode_in_turns, encode_in_turns, in_turns, lazily
from broker_lite.handler.security.acls import check_elements
from broker_lite.wire import messages
from broker_lite.wire.codegen import Layout
from broker_lite.wire.structs import Struct

_PRODUCE: Final = 0
_USERS: Final = 50
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
        is_once: what the request names twice is in the answer once. Kafka lists such things in the
            order of a hash table, here they are in that of the request.
        last_counts: of what is named twice in the outermost array, only the last is in the answer.
        has_empty_names: a name that is null is empty in the answer.
    """

    message: Told = Told.GIVEN
    lists_until: int = -1
    rows: tuple[Row, ...] | None = None
    echoes: tuple[str, ...] = ()
    is_once: bool = False
    last_counts: bool = False
    has_empty_names: bool = False


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
    _PRODUCE: Form(is_once=True),
    1: Form(lists_until=12, echoes=("session_id",)),  # Fetch
    3: Form(lists_until=_ALWAYS, has_empty_names=True),  # Metadata
    10: _OF_THE_CODE,  # FindCoordinator
    15: _WITHOUT_MESSAGE,  # DescribeGroups
    20: _WITHOUT_MESSAGE,  # DeleteTopics
    27: Form(is_once=True, last_counts=True),  # WriteTxnMarkers
    32: _OF_THE_CODE,  # DescribeConfigs
    43: Form(lists_until=_ALWAYS),  # ElectLeaders
    45: Form(lists_until=_ALWAYS),  # AlterPartitionReassignments
    46: Form(lists_until=_ALWAYS, rows=(_REASSIGNMENTS,)),  # ListPartitionReassignments
    49: _OF_THE_CODE,  # AlterClientQuotas
    50: Form(lists_until=_ALWAYS, rows=(_NAMELESS_USERS,)),  # DescribeUserScramCredentials
    51: Form(is_once=True),  # AlterUserScramCredentials
    55: _OF_THE_CODE,  # DescribeQuorum
    61: _WITHOUT_MESSAGE,  # DescribeProducers
    68: _WITHOUT_MESSAGE,  # ConsumerGroupHeartbeat
    69: _WITHOUT_MESSAGE,  # ConsumerGroupDescribe
    76: _WITHOUT_MESSAGE,  # ShareGroupHeartbeat
    77: _WITHOUT_MESSAGE,  # ShareGroupDescribe
    78: _WITHOUT_MESSAGE,  # ShareFetch
    79: _WITHOUT_MESSAGE,  # ShareAcknowledge
    88: _WITHOUT_MESSAGE,  # StreamsGroupHeartbeat
    89: _WITHOUT_MESSAGE,  # StreamsGroupDescribe
    91: _OF_THE_CODE,  # AlterShareGroupOffsets
    92: _OF_THE_CODE,  # DeleteShareGroupOffsets
}


async def error_answer(
    context: HandlerContext, request: Request, code: ErrorCode, text: str, usual_text: str
) -> Parts:
    """Answer a request of any API with an error.

    Other connections have their turn while a large request is decoded and answered.

    Args:
        context: of the client.
        request: of an API and a version that are offered.
        code: of the error.
        text: its message, where the answer has room for one.
        usual_text: the one that the code has by itself, which a few APIs tell instead.

    Raises:
        CloseConnection: Kafka closes it at once, because a Produce wants no answer or has a
            partition without records, an ACL has an unknown element, or all users are asked for.
        DecodeError: the body cannot be decoded.
    """
    kind, response = messages.by_api(request.api_key)
    await context.lane.enter()
    try:
        body = await decode_in_turns(kind, request)
        await check_elements(request.api_key, body)
        if request.api_key == _PRODUCE:
            await _check_produce(body)
        if request.api_key == _USERS and getattr(body, "users", None) is None:
            raise CloseConnection("a request for all users during SASL authentication")
        answer = await _ErrorAnswer(request, code, text, usual_text).to(body)
        parts: Parts = [await encode_in_turns(response, answer, request.api_version)]
        # To free each of them may take a while.
        del answer
        await checkpoint()
        del body
        await checkpoint()
        return parts
    finally:
        context.lane.leave()


async def _check_produce(body: Struct) -> None:
    """Close the connection if Kafka has no answer to a Produce.

    See: X-08 (ProduceRequest.getErrorResponse, partitionSizes).
    """
    asked = cast("Any", body)
    if asked.acks == 0:
        raise CloseConnection("a Produce that wants no answer during SASL authentication")
    partitions = chain.from_iterable(topic.partition_data for topic in asked.topic_data)
    async for partition in in_turns(partitions):
        if partition.records is None:
            raise CloseConnection("a Produce without records during SASL authentication")


class _ErrorAnswer:
    """The answer to one request.

    Mostly its elements are made while they are encoded, which needs no memory.
    """

    def __init__(self, request: Request, code: ErrorCode, text: str, usual_text: str) -> None:
        kind, response = messages.by_api(request.api_key)
        asked, layout = kind.layout(request.api_version), response.layout(request.api_version)
        assert asked is not None
        assert layout is not None
        self._api_key = request.api_key
        self._form = _FORMS.get(request.api_key, _USUAL)
        self._asked: Layout = asked
        self._layout: Layout = layout
        told = {Told.GIVEN: text, Told.OF_THE_CODE: usual_text, Told.NONE: None}
        self._code, self._message = int(code), told[self._form.message]

    async def to(self, body: Struct) -> Struct:
        """Make the answer to a body."""
        root = self._layout.schema.name
        fields = dict(TOP_DEFAULTS.get(self._api_key, {}))
        fields.update((name, getattr(body, name)) for name in self._form.echoes)
        fields = self.failed(root, _ERROR, fields)
        for row in self._rows():
            listing = _Listing(self._layout, row, self._form, self.failed)
            before, more = fields.get(listing.array, ()), await listing.of(body)
            assert isinstance(before, Sized)
            assert isinstance(before, Iterable)
            elements = lazily(len(before) + len(more), chain(before, more))
            if self._form.is_once:
                elements = await listing.once(elements)
            fields[listing.array] = elements
        return self._layout.classes[root](**fields)

    def failed(self, struct: str, error: str, others: Mapping[str, object]) -> dict[str, object]:
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

    def __init__(self, layout: Layout, row: Row, form: Form, failed: "Failed") -> None:
        self._has_empty_names = form.has_empty_names
        self._last_counts = form.last_counts
        self._levels: list[tuple[Level, ElementMaker | None]] = []
        struct = layout.schema.name
        # what is compared with other elements cannot wait until it is encoded
        make_array = None if form.is_once else lazily
        for level in row.levels:
            maker = ElementMaker(layout, struct, level, make_array) if level.response else None
            struct = struct if maker is None else maker.struct
            self._levels.append((level, maker))
        self._fields = failed(struct, row.error, row.defaults)
        self.array = next(level.response for level in row.levels if level.response)

    async def of(self, body: object) -> list[Struct]:
        """Return what answers the elements of the outermost array of a request."""
        (level, maker), *inner = self._levels
        if maker is not None:
            return self._of(body, 0)
        # The answer leaves the outermost level out.
        (below, _), count, owners = inner[0], 0, list[object]()
        async for each in in_turns(getattr(body, level.request) or ()):
            if size := len(getattr(each, below.request)):
                count += size
                owners.append(each)
        return lazily(count, chain.from_iterable(self._of(each, 1) for each in owners))

    def _of(self, owner: object, depth: int) -> list[Struct]:
        """Return what answers the elements of an array of a request, and of the arrays in it.

        Args:
            owner: has the array.
            depth: how many arrays there are around it.
        """
        level, maker = self._levels[depth]
        assert maker is not None
        asked = getattr(owner, level.request) or ()
        return lazily(len(asked), self._made(asked, maker, depth))

    def _made(self, asked: Iterable[Any], maker: ElementMaker, depth: int) -> Iterator[Struct]:
        keys = self._levels[depth][0].request_keys
        if depth == len(self._levels) - 1:
            for each in asked:
                key = key_of(each, keys)
                if self._has_empty_names:
                    key = tuple("" if name is None else name for name in key)
                yield maker.make(key, self._fields)
            return
        array = self._levels[depth + 1][0].response
        for each in asked:
            yield maker.make(key_of(each, keys), {array: self._of(each, depth + 1)})

    async def once(self, elements: Iterable[Any]) -> list[Struct]:
        """Return elements of the answer with each name once, also in the arrays in them."""
        levels = [level for level, maker in self._levels if maker is not None]
        found: _Tree = {}
        if self._last_counts:
            keys, last = levels[0].response_keys, dict[Key, Any]()
            async for each in in_turns(elements):
                last[key_of(each, keys)] = each
            elements = last.values()
        await _collect(found, elements, levels)
        return await _listed(found, levels)


_Tree: TypeAlias = "dict[Key, tuple[Struct, _Tree]]"
"""Elements of an array by what names them, each with those of the array in it."""


async def _collect(found: _Tree, elements: Iterable[Any], levels: Sequence[Level]) -> None:
    level, *inner = levels
    async for element in in_turns(elements, at_least=1):
        key = key_of(element, level.response_keys)
        _, below = found.setdefault(key, (element, {}))
        if inner:
            await _collect(below, getattr(element, inner[0].response), inner)


async def _listed(found: _Tree, levels: Sequence[Level]) -> list[Struct]:
    """Return the elements of a tree, which is empty afterwards: to free it takes a while."""
    _, *inner = levels
    elements = []
    async for _ in in_turns(range(len(found)), at_least=1):
        _, (element, below) = found.popitem()
        if inner:
            setattr(element, inner[0].response, await _listed(below, inner))
        elements.append(element)
    elements.reverse()
    return elements
