"""Decode the body of a request, encode the body of a response."""

from typing import Any, TypeVar, cast

from broker_lite.errors import BrokerError
from broker_lite.handler.context import Parts, Request
from broker_lite.handler.large import LargeRequest, encode_in_turns
from broker_lite.wire import messages

T = TypeVar("T", bound="messages.Message")


def decode(message: type[T], request: Request) -> T:
    """Decode the request's body; bytes after the body are ignored (P-09).

    Raises:
        DecodeError: the bytes are not a body of this version (P-08).
    """
    if isinstance(request, LargeRequest):
        return cast("T", request.decoded)
    value, _ = message.decode(request.body, request.api_version, request.position)
    return value


def encode(message: type[T], value: T, request: Request) -> Parts:
    """Encode the response's body in the version of the request.

    The response of a large request is only kept here; `handle_large` encodes it later.

    Raises:
        EncodeError: this version cannot express the value.
    """
    if isinstance(request, LargeRequest):
        request.answer = message, value
        return []
    return [message.encode(value, request.api_version)]


async def encode_long(message: type[T], value: T, request: Request) -> Parts:
    """Encode as encode() does, for an answer that may be long though the request is short.

    Raises:
        EncodeError: see encode().
    """
    if isinstance(request, LargeRequest):
        return encode(message, value, request)
    return [await encode_in_turns(message, value, request.api_version)]


def code_and_message(error: BrokerError | None) -> dict[str, Any]:
    """Return the error code and message of a result, as arguments of its struct."""
    if error is None:
        return {"error_code": 0, "error_message": None}
    return {"error_code": int(error.code), "error_message": error.message}
