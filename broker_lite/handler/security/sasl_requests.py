"""SaslHandshake (17), SaslAuthenticate (36) where there is nothing to authenticate.

That is on a plain listener, and after the exchange on another one. The exchange itself is in
handler.authentication.

Like ApiVersions, they need no right.

Not done: GSSAPI.
"""

from broker_lite.errors import ErrorCode
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.wire import messages


async def handle_handshake(context: HandlerContext, request: Request) -> Parts:
    """Refuse a handshake; the connection goes on.

    Rule: X-02, X-12, X-62 (KafkaApis.handleSaslHandshakeRequest).
    """
    decode(messages.SaslHandshakeRequest, request)
    response = messages.SaslHandshakeResponse(error_code=int(ErrorCode.ILLEGAL_SASL_STATE))
    return encode(messages.SaslHandshakeResponse, response, request)


async def handle_authenticate(context: HandlerContext, request: Request) -> Parts:
    """Refuse a message of a mechanism; the connection goes on.

    See: X-02, X-12 (KafkaApis.handleSaslAuthenticateRequest).
    """
    decode(messages.SaslAuthenticateRequest, request)
    response = messages.SaslAuthenticateResponse(
        error_code=int(ErrorCode.ILLEGAL_SASL_STATE),
        error_message="SaslAuthenticate request received after successful authentication",
    )
    return encode(messages.SaslAuthenticateResponse, response, request)
