"""Explains request and response frames.

A request is judged as the broker does it: by its framing, the table of the APIs that it offers, the
decoder of the message and, for the records of a Produce, the validator. Of a response only the
decoder knows something; the batches in it are judged as a reader of the log does.

See: P-01, P-09, P-40 to P-43.
"""

import re
from struct import Struct
from typing import Final, NamedTuple

from broker_lite.explain.batches import NO_LIMITS, Bytes, judge_of, tell_limit
from broker_lite.explain.explanation import CannotExplain, Explanation, Limits, Refused, State
from broker_lite.explain.frame_checks import (
    API_VERSIONS_KEY,
    PRODUCE_KEY,
    Checked,
    check_request,
    check_response,
)
from broker_lite.explain.judging import NOTHING_ANSWERED, Judge
from broker_lite.explain.listing import Budget, ListFull, Reader, Unreadable, refuse, refuse_one
from broker_lite.explain.message_walk import MessageWalk, OnRecords, list_records_as_bytes
from broker_lite.explain.places import Scene, refused_of
from broker_lite.explain.record_sets import list_produced, list_stored
from broker_lite.handler.context import RefusedPartitions
from broker_lite.log.validate.validated import ValidationConfig
from broker_lite.wire import messages
from broker_lite.wire.codegen import Layout
from broker_lite.wire.messages import MessageType
from broker_lite.wire.schema import catalog_by_api

SIZE_BYTES: Final = 4
_SIZE: Final = Struct(">i")
_KEY_AND_VERSION: Final = Struct(">hh")
_INDEXES: Final = re.compile(r"\[(\d+)\]")
_REFUSALS_MAX: Final = 100
_REQUEST_HEADER: Final = "RequestHeader"
_RESPONSE_HEADER: Final = "ResponseHeader"


class Api(NamedTuple):
    """An API and a version of it."""

    key: int
    version: int


def explain_frame(
    data: Bytes,
    *,
    response_of: tuple[int, int] | None = None,
    config: ValidationConfig | None = None,
    answered: RefusedPartitions = NOTHING_ANSWERED,
    has_size: bool | None = None,
    now_ms: int | None = None,
    limits: Limits = NO_LIMITS,
) -> Explanation:
    """Explain a request, or a response.

    Args:
        data: the frame, with its size or without.
        response_of: for a response: API key and version of the request.
        config: of the topics of a Produce; that of a topic without configs unless given.
        answered: the partitions of a Produce that a broker has refused. No others are judged, and
            these with the configs of their topics.
        has_size: whether the first 4 bytes are the size of the frame; guessed unless given.
        now_ms: the time of an append; that of the clock unless given.
        limits: how much is told.

    Raises:
        CannotExplain: there are no bytes, or there is no such API or version.
    """
    if not data:
        raise CannotExplain("there are no bytes")
    view = memoryview(bytes(data))
    if has_size is None:
        has_size = _begins_with_size(view, is_response=response_of is not None)
    explanation = Explanation("request" if response_of is None else "response")
    reader = Reader(view, Budget(limits))
    judge = judge_of(config, now_ms)._replace(answered=answered)
    frame = _Frame(reader, judge, explanation)
    try:
        if has_size:
            _size(reader)
        if response_of is None:
            frame.request(view, has_size=has_size)
        else:
            frame.response(Api(*response_of))
    except Unreadable:
        reader.rest("rest", "what comes after the unreadable field")
    except ListFull:
        reader.rest("rest", "the list is full", State.NOT_LISTED)
    reader.rest("rest", "left over; ignored after the last field")
    after = Reader(view, reader.budget, start=reader.end)
    after.rest("after", "after the frame")
    explanation.fields = reader.fields + after.fields
    frame.tell_refusals()
    tell_limit(explanation, reader.budget)
    return explanation


def message_of(api_key: int, *, is_response: bool) -> MessageType | None:
    """Return the request or response of an API, None if there is no such API."""
    names = catalog_by_api("protocol", "response" if is_response else "request")
    name = names.get(api_key)
    return None if name is None else messages.message(name)


def is_known(api_key: int, version: int) -> bool:
    """Return whether there is a request of this API and version."""
    message = message_of(api_key, is_response=False)
    return message is not None and message.layout(version) is not None


def _begins_with_size(view: memoryview, *, is_response: bool) -> bool:
    """Guess whether a frame has its size: yes if it is right; no if an API is there instead."""
    if len(view) < SIZE_BYTES:
        return False
    if _SIZE.unpack_from(view)[0] == len(view) - SIZE_BYTES:
        return True
    return not is_response and not is_known(*_KEY_AND_VERSION.unpack_from(view))


def _size(reader: Reader) -> None:
    """List the size of a frame, and let the reader end with the frame.

    Raises:
        Unreadable: there are fewer than 4 bytes.
    """
    size = reader.fixed("int32", "size")
    there = reader.end - SIZE_BYTES
    if size != there:
        reader.annotate(f"{there} bytes follow")
    if 0 <= size < there:
        reader.end = SIZE_BYTES + size
        reader.data = reader.data[: reader.end]


class _Frame:
    """Lists the header and the body of one frame."""

    def __init__(self, reader: Reader, judge: Judge, explanation: Explanation) -> None:
        self._reader = reader
        self._judge = judge
        self._explanation = explanation
        self._checked = Checked()
        self._refused: dict[tuple[int, int], Refused] = {}

    def request(self, view: memoryview, *, has_size: bool) -> None:
        """List a request.

        Raises:
            Unreadable: it ends before.
            ListFull: there are too many fields.
        """
        sized = view if has_size else memoryview(_SIZE.pack(len(view)) + view)
        self._checked = checked = check_request(sized, self._judge)
        if checked.is_incomplete:
            self._explanation.notes.append("the frame is not complete: the broker waits for more")
        reader = self._reader
        reader.need(_KEY_AND_VERSION.size, "int32", "header.request_api_key")
        api = Api(*_KEY_AND_VERSION.unpack_from(reader.data, reader.position))
        message = message_of(api.key, is_response=False)
        layout = None if message is None else message.layout(api.version)
        header = 2 if _is_flexible(message, api.version) else 1
        self._walk(_layout(_REQUEST_HEADER, header), "header.")
        self._name_api(message)
        on_records = self._on_produced if api.key == PRODUCE_KEY else self._on_stored
        if layout is not None:
            self._walk(layout, "", on_records)
        else:
            reader.rest("body", "no fields are known of this API and version")

    def response(self, api: Api) -> None:
        """List a response.

        Raises:
            CannotExplain: there is no such API or version.
            Unreadable: it ends before.
            ListFull: there are too many fields.
        """
        message = message_of(api.key, is_response=True)
        layout = None if message is None else message.layout(api.version)
        if message is None or layout is None:
            raise CannotExplain(f"there is no response of API {api.key} version {api.version}")
        is_flexible = layout.flexible and api.key != API_VERSIONS_KEY
        self._walk(_layout(_RESPONSE_HEADER, int(is_flexible)), "header.")
        body = self._reader.data[self._reader.position :]
        self._checked = Checked(check_response(message, body, api.version))
        self._walk(layout, "", self._on_stored)

    def tell_refusals(self) -> None:
        """Put the refusal of the whole frame in front of those of record sets, and mark it."""
        explanation = self._explanation
        refused = self._checked.refused
        if refused is not None:
            found = refuse(explanation.fields, refused)
            explanation.refusals.insert(0, refused._replace(path=None) if found is None else found)
        verdicts = self._checked.verdicts
        for key in sorted(verdicts)[:_REFUSALS_MAX]:
            explanation.refusals.append(self._refused.get(key) or self._not_listed(key))
        if len(verdicts) > _REFUSALS_MAX:
            explanation.notes.append(f"{len(verdicts) - _REFUSALS_MAX} more are refused")

    def _not_listed(self, key: tuple[int, int]) -> Refused:
        """Mark a record set without fields: it is null, or the list is full."""
        path = "topic_data[{}].partition_data[{}].records".format(*key)
        verdict = self._checked.verdicts[key]
        scene = Scene(memoryview(b""), f"{path}.", self._judge.of(verdict), {})
        refused = refused_of(verdict, scene)._replace(path=path)
        return refuse_one(self._explanation.fields, refused)

    def _walk(
        self, layout: Layout, prefix: str, on_records: OnRecords = list_records_as_bytes
    ) -> None:
        MessageWalk(layout, self._reader, on_records).walk(prefix)

    def _name_api(self, message: MessageType | None) -> None:
        fields = self._reader.fields
        for index, each in enumerate(fields):
            if each.path == "header.request_api_key":
                name = "unknown" if message is None else message.name.removesuffix("Request")
                fields[index] = each._replace(note=name)

    def _on_produced(self, reader: Reader, path: str, end: int) -> None:
        """List the records of a Produce, and mark what is refused in them."""
        topic, partition = (int(index) for index in _INDEXES.findall(path))
        verdict = self._checked.verdicts.get((topic, partition))
        judge = self._judge.of(verdict)
        refused = list_produced(reader, end, f"{path}.", judge, verdict, self._explanation)
        if refused is not None:
            self._refused[topic, partition] = refused

    def _on_stored(self, reader: Reader, path: str, end: int) -> None:
        list_stored(reader, end, f"{path}.", self._explanation)


def _is_flexible(message: MessageType | None, version: int) -> bool:
    first = None if message is None else message.flexible_from
    return first is not None and version >= first


def _layout(name: str, version: int) -> Layout:
    found = messages.message(name).layout(version)
    assert found is not None, name
    return found
