"""SaslHandshake (17), SaslAuthenticate (36) and ApiVersions while a client authenticates.

After the exchange they are requests like others, see handler.security.sasl_requests. Hooks (faults
and the request journal) are called around these three APIs as around any other; a raw frame of the
mechanism is a SaslAuthenticate of version 0 for them.

A difference to Kafka: a re-authentication begins with a SaslHandshake of version 1 only. With
version 0 the connection closes, because raw frames cannot come between requests.
"""

import logging
import struct
from typing import Final, NamedTuple

from anyio import sleep

from broker_lite.errors import ErrorCode
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import (
    CloseConnection,
    HandlerContext,
    Hook,
    Parts,
    Request,
    WireAnswer,
)
from broker_lite.handler.dispatch import API_VERSIONS_KEY, answer_unsupported, not_offered
from broker_lite.protocol.framing import decode_header
from broker_lite.security.sasl.exchange import (
    SASL_AUTHENTICATE_KEY,
    SASL_HANDSHAKE_KEY,
    Authenticated,
    Exchange,
    Reply,
    Session,
    SessionOver,
    State,
)
from broker_lite.security.sasl.mechanism import Unanswered
from broker_lite.wire import messages
from broker_lite.wire.schema import snake_case

logger = logging.getLogger("broker_lite.server")

_ILLEGAL_STATE: Final = "Request is not valid given the current SASL state."
_HEADER: Final = struct.Struct(">hhih")
_HOOKED_KEYS: Final = frozenset((API_VERSIONS_KEY, SASL_HANDSHAKE_KEY, SASL_AUTHENTICATE_KEY))


class Answer(NamedTuple):
    """What a client gets that authenticates.

    Attributes:
        parts: the body of the answer; None for none.
        refusal: why the connection closes after the answer, for the log; empty if it goes on.
    """

    parts: Parts | None
    refusal: str = ""


class _Refused(CloseConnection):
    """The client is refused without an answer; the connection closes after the usual delay."""


async def answer(context: HandlerContext, exchange: Exchange, request: Request) -> Answer:
    """Answer one request of a client that authenticates.

    Raises:
        CloseConnection: the connection closes at once.
        DecodeError: the body cannot be decoded.
    """
    key = request.api_key
    hook = context.hooks.get(key) if context.hooks and key in _HOOKED_KEYS else None
    if hook is None:
        return await _answer(context, exchange, request)
    return await _answer_by_hook(hook, context, exchange, request)


async def answer_raw(context: HandlerContext, exchange: Exchange, message: bytes) -> Answer:
    """Answer a raw frame of the mechanism; the answer is one, too.

    Raises:
        CloseConnection: the connection closes at once.

    See: X-09.
    """
    kind = messages.SaslAuthenticateRequest
    body = kind.encode(kind(auth_bytes=message), 0)
    head = _HEADER.pack(SASL_AUTHENTICATE_KEY, 0, 0, -1)
    request = decode_header(memoryview(bytearray(head + body)), {})
    parts, refusal = await answer(context, exchange, request)
    if isinstance(parts, WireAnswer):
        return Answer(parts, refusal)
    if refusal or parts is None:
        return Answer(None, refusal)
    told, _ = messages.SaslAuthenticateResponse.decode(b"".join(map(bytes, parts)), 0)  # type: ignore[arg-type]
    return Answer([bytes(told.auth_bytes)])


async def _answer_by_hook(
    hook: Hook, context: HandlerContext, exchange: Exchange, request: Request
) -> Answer:
    """Let a hook answer, with the handler or without it.

    A client whose answer is an error by the hook's doing is refused as by the broker itself. One
    that the broker refuses stays refused, whatever its answer says.
    """
    refusal = ""

    async def handle(context: HandlerContext, request: Request) -> Parts | None:
        nonlocal refusal
        parts, refusal = await _answer(context, exchange, request)
        if refusal and parts is None:
            raise _Refused(refusal)
        return parts

    try:
        parts = await hook(context, request, handle)
    except _Refused as refused:
        return Answer(None, str(refused))
    if not refusal and request.api_key != API_VERSIONS_KEY and _tells_error(parts):
        refusal = "refused by a fault"
    return Answer(parts, refusal)


def _tells_error(parts: Parts | None) -> bool:
    """True if an answer to SaslHandshake or SaslAuthenticate begins with an error code."""
    first = parts[0] if parts else b""
    return isinstance(first, bytes) and any(first[:2])


async def _answer(context: HandlerContext, exchange: Exchange, request: Request) -> Answer:
    """Answer one request by the state of the exchange.

    Raises:
        CloseConnection: the connection closes at once.
        DecodeError: the body cannot be decoded.

    Rule: X-07, X-08.
    See: X-05, X-06.
    """
    key = request.api_key
    if exchange.state in (State.START, State.HANDSHAKE):
        if key == API_VERSIONS_KEY:
            return await _answer_versions(context, exchange, request)
        if key == SASL_HANDSHAKE_KEY:
            return _answer_handshake(context, exchange, request)
    elif exchange.state in (State.AUTHENTICATE, State.RAW):
        if key == SASL_AUTHENTICATE_KEY:
            return await _answer_token(context, exchange, request)
        return await _out_of_order(context, request)
    return Answer(None, f"a request of API {key} during SASL handshake")


async def renew(
    authenticated: Authenticated, context: HandlerContext, request: Request
) -> Answer | None:
    """Answer a request by which a client authenticates again; None if it is another request.

    Raises:
        CloseConnection: the session has ended, or see answer().
        DecodeError: the body cannot be decoded.

    See: X-03, X-04, X-33 to X-35.
    """
    try:
        if not authenticated.renews(request.api_key, context.clock.now_ms()):
            return None
    except SessionOver as over:
        raise CloseConnection(str(over)) from None
    exchange = authenticated.exchange
    assert exchange is not None
    size_bytes = len(request.body)
    if exchange.state is State.AUTHENTICATE and size_bytes > authenticated.message_bytes_max:
        raise CloseConnection(f"a frame of {size_bytes} bytes during a re-authentication")
    answered = await answer(context, exchange, request)
    if answered.refusal:
        await sleep(authenticated.refusal_delay_ms / 1000)
    else:
        authenticated.renewed()
        if authenticated.exchange is None:
            note(context, authenticated.session, "again ")
    return answered


def note(context: HandlerContext, session: Session, again: str = "") -> None:
    """Log that a client has authenticated, for the first time or again."""
    logger.debug(
        "%s has authenticated %sas %s by %s",
        context.client_address,
        again,
        session.principal,
        session.mechanism,
    )


def _reply_to(exchange: Exchange, message: bytes, now_ms: int) -> Reply:
    """Return the answer to a message of the mechanism.

    Raises:
        CloseConnection: there is none.
    """
    try:
        return exchange.take(message, now_ms)
    except Unanswered as error:
        raise CloseConnection(str(error)) from None


async def _answer_versions(context: HandlerContext, exchange: Exchange, request: Request) -> Answer:
    if exchange.state is not State.START:
        raise CloseConnection("a second ApiVersions request during SASL handshake")
    if not context.offers(request):
        return Answer(await answer_unsupported(context, request))
    parts = await context.apis[API_VERSIONS_KEY].handle(context, request)
    assert parts is not None
    first = parts[0]
    if isinstance(first, bytes) and not int.from_bytes(first[:2], "big"):
        exchange.versions_told()
    return Answer(parts)


def _answer_handshake(context: HandlerContext, exchange: Exchange, request: Request) -> Answer:
    _check_offered(context, request)
    if exchange.before is not None and request.api_version == 0:
        raise CloseConnection("a re-authentication with SaslHandshake of version 0")
    mechanism = decode(messages.SaslHandshakeRequest, request).mechanism
    is_offered = exchange.shake_hands(mechanism, request.api_version)
    if exchange.before is not None and not is_offered:
        return Answer(None, f"unsupported SASL mechanism {mechanism[:40]!r}")
    code = ErrorCode.NONE if is_offered else ErrorCode.UNSUPPORTED_SASL_MECHANISM
    response = messages.SaslHandshakeResponse(error_code=int(code), mechanisms=exchange.offered)
    parts = encode(messages.SaslHandshakeResponse, response, request)
    return Answer(parts, "" if is_offered else f"unsupported SASL mechanism {mechanism[:40]!r}")


async def _answer_token(context: HandlerContext, exchange: Exchange, request: Request) -> Answer:
    _check_offered(context, request)
    token = decode(messages.SaslAuthenticateRequest, request).auth_bytes
    await exchange.ready()
    reply = _reply_to(exchange, bytes(token), context.clock.now_ms())
    response = messages.SaslAuthenticateResponse(
        error_code=int(reply.code),
        error_message=reply.message,
        auth_bytes=reply.token,
        session_lifetime_ms=reply.lifetime_ms if request.api_version > 0 else 0,
    )
    parts = encode(messages.SaslAuthenticateResponse, response, request)
    return Answer(parts, "failed authentication" if reply.code else "")


async def _out_of_order(context: HandlerContext, request: Request) -> Answer:
    """Refuse a request that is no SaslAuthenticate.

    Raises:
        CloseConnection: its API or version is not offered, or it wants no answer.
        DecodeError: the body cannot be decoded.

    See: X-08.
    """
    from broker_lite.handler.error_answers import error_answer  # clients that work do not need it

    key, code = request.api_key, ErrorCode.ILLEGAL_SASL_STATE
    refusal = f"a request of API {key} during SASL authentication"
    if key == API_VERSIONS_KEY and request.api_version > context.apis[key].max_version:
        versions = messages.ApiVersionsResponse(error_code=int(code))
        # as for any unknown version
        return Answer([messages.ApiVersionsResponse.encode(versions, 0)], refusal)
    _check_offered(context, request)
    kind = snake_case(context.apis[key].name).upper()
    text = f"Unexpected Kafka request of type {kind} during SASL authentication."
    return Answer(await error_answer(context, request, code, text, _ILLEGAL_STATE), refusal)


def _check_offered(context: HandlerContext, request: Request) -> None:
    if not context.offers(request):
        raise not_offered(request)
