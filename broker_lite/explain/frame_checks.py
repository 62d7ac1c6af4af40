"""Asks the broker's own framing, table of APIs and decoders what they think of a frame.

The modules that know all APIs are imported at the first request: they take longer than all others.

See: P-02, P-03, P-08, P-10, P-45, V-01.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from broker_lite.errors import ErrorCode
from broker_lite.explain.explanation import Refused
from broker_lite.explain.judging import Judge, Verdict
from broker_lite.protocol.framing import ProtocolError, Request, RequestFraming
from broker_lite.wire import DecodeError, messages
from broker_lite.wire.messages import MessageType
from broker_lite.wire.produce import ManyPartitions, ProduceRequest, decode_produce_request

PRODUCE_KEY: Final = 0
API_VERSIONS_KEY: Final = 18
_TOPIC_IDS_FROM: Final = 13
_SHORTEST_HEADER_BYTES: Final = 10


class Checked(NamedTuple):
    """What became of a request.

    Attributes:
        refused: why the request is refused as a whole; None if it is not.
        is_incomplete: the broker waits for more bytes.
        verdicts: the refused record sets of a Produce, by the places of topic and partition.
    """

    refused: Refused | None = None
    is_incomplete: bool = False
    verdicts: Mapping[tuple[int, int], Verdict] = MappingProxyType({})


def check_request(data: memoryview, judge: Judge) -> Checked:
    """Check a request as a broker does that receives it.

    Args:
        data: the frame with its size, maybe less or more than the whole.
        judge: of the records.
    """
    try:
        request = _received(data)
    except ProtocolError as error:
        size = int.from_bytes(data[:4], "big", signed=True)
        rule = "P-03" if 0 <= size < _SHORTEST_HEADER_BYTES else "P-02"
        return Checked(closed(rule, str(error), "size"))
    except DecodeError as error:
        return Checked(closed("P-08", str(error)))
    if request is None:
        return Checked(is_incomplete=True)
    refused = _not_offered(request)
    if refused is not None:
        return Checked(refused)
    try:
        if request.api_key == PRODUCE_KEY:
            produce = _produce(request)
            return Checked(verdicts=judge.request(produce, request.api_version))
        _decode(
            messages.by_api(request.api_key)[0],
            request.body,
            request.api_version,
            request.position,
        )
    except DecodeError as error:
        return Checked(closed("P-08", str(error)))
    return Checked()


def check_response(message: MessageType, data: memoryview, version: int) -> Refused | None:
    """Check the body of a response with the decoder of its message."""
    try:
        message.decode(data, version)
    except DecodeError as error:
        return closed("P-08", str(error))
    return None


def closed(rule: str, text: str, path: str | None = None) -> Refused:
    """Return a refusal after which the broker closes the connection without an answer."""
    return Refused(None, None, rule, text, path)


def _decode(message: MessageType, data: memoryview, version: int, position: int) -> None:
    """Decode a request at once, or a large one in slices, as the broker does.

    Raises:
        DecodeError: the bytes are not a request of this version.
    """
    from broker_lite.handler.large import ELEMENTS_MAX, LARGE_BYTES

    if len(data) <= LARGE_BYTES:
        message.decode(data, version, position)
        return
    for _ in message.decode_slices(data, version, position, ELEMENTS_MAX):
        pass


def _received(data: memoryview) -> Request | None:
    """Return the first request of the bytes, None if it is not complete.

    Raises:
        ProtocolError: the framing is wrong.
        DecodeError: the header is wrong.
    """
    from broker_lite.handler.table import APIS
    from broker_lite.settings import Settings

    settings = Settings()
    framing = RequestFraming(
        settings.socket_request_max_bytes,
        {key: api.flexible_from for key, api in APIS.items()},
        control_bytes_max=settings.broker_lite_control_request_max_bytes,
    )
    request = None
    while data and request is None:
        space = framing.get_buffer()
        count = min(len(space), len(data))
        space[:count] = data[:count]
        framing.bytes_received(count)
        data = data[count:]
        request = framing.next_request()
    return request


def _not_offered(request: Request) -> Refused | None:
    """See: P-10, P-45."""
    from broker_lite.handler.offered import offered
    from broker_lite.handler.table import OLD_MIN_VERSIONS
    from broker_lite.settings import DEFAULT_RELEASE

    key, version = request.api_key, request.api_version
    api = offered(DEFAULT_RELEASE).get(key)
    if api is None:
        return closed("P-10", f"API key {key} is not offered", "header.request_api_key")
    first = min(api.min_version, OLD_MIN_VERSIONS.get(key, api.min_version))
    if first <= version <= api.max_version:
        return None
    refused = closed(
        "P-10", f"{api.name} version {version} is not offered", "header.request_api_version"
    )._replace(expected=f"{first} to {api.max_version}")
    if key != API_VERSIONS_KEY or version < first:
        return refused
    code = ErrorCode.UNSUPPORTED_VERSION
    return refused._replace(error=code.name, code=int(code), rule="P-45")


def _produce(request: Request) -> ProduceRequest:
    """Decode a Produce request; one of very many partitions as the broker does, too.

    Raises:
        DecodeError: the bytes are not a request of this version.
    """
    version = request.api_version
    try:
        return decode_produce_request(request.body, version, request.position)
    except ManyPartitions:
        pass
    body, _ = messages.ProduceRequest.decode(request.body, version, request.position)
    by_id = version >= _TOPIC_IDS_FROM
    return ProduceRequest(
        body.transactional_id,
        body.acks,
        body.timeout_ms,
        [
            (
                None if by_id else topic.name,
                topic.topic_id if by_id else None,
                [(each.index, _view(each.records)) for each in topic.partition_data],
            )
            for topic in body.topic_data
        ],
    )


def _view(records: bytes | memoryview | None) -> memoryview | None:
    return None if records is None else memoryview(records)
