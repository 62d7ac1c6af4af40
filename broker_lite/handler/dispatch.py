"""Find the handler of a request in the table and call it.

Faults and the request journal use the one hook point here: `context.hooks`, which has the hook of
an API under its key. It is called around the handler.

Rule: E-07.
"""

import struct
from collections.abc import Awaitable
from functools import partial
from typing import Final

from broker_lite.errors import ErrorCode
from broker_lite.handler.context import (
    CloseConnection,
    Handler,
    HandlerContext,
    Parts,
    Request,
    Rest,
)
from broker_lite.handler.large import LARGE_BYTES, handle_large
from broker_lite.wire.produce import ManyPartitions

API_VERSIONS_KEY: Final = 18


_FALLBACK: Final = struct.Struct(">hihhh")


def dispatch(context: HandlerContext, request: Request) -> Awaitable[Parts | None]:
    """Find the handler of one request and call it.

    This is a plain function that returns the handler's own awaitable, which saves one coroutine per
    request.

    Returns:
        The response body when awaited, None for no answer.

    Raises:
        CloseConnection: the API or this version of it is not offered; raised when awaited.

    Rule: P-10, P-45.
    """
    api = context.apis.get(request.api_key)
    if api is None or not api.min_version <= request.api_version <= api.max_version:
        handle: Handler = answer_unsupported
    else:
        handle = api.handle
        if len(request.body) > LARGE_BYTES:
            handle = partial(handle_large, handle)
    hook = context.hooks.get(request.api_key) if context.hooks else None
    if context.quotas is not None:
        return context.quotas.handle(context, request, handle, hook)
    if hook is not None:
        return hook(context, request, handle)
    return handle(context, request)


def begin(context: HandlerContext, request: Request) -> Parts | Rest | None:
    """Answer a request now if its API can and nothing has to be waited for; see context.Begin.

    This does what dispatch() does, without a coroutine and a switch of tasks.

    Returns:
        The response body; or what is left to do; or None, if the request has to be dispatched.

    Raises:
        DecodeError: the bytes are not a request of this version.

    Rule: P-10.
    """
    api = context.apis.get(request.api_key)
    if api is None or api.begin is None or context.quotas is not None:
        return None
    if not api.min_version <= request.api_version <= api.max_version:
        return None
    if context.hooks and request.api_key in context.hooks:
        return None
    try:
        return api.begin(context, request)
    except ManyPartitions:
        return None


def not_offered(request: Request) -> CloseConnection:
    """Return what closes the connection of a request whose API or version is not offered."""
    return CloseConnection(
        f"API key {request.api_key} version {request.api_version} is not offered"
    )


async def answer_unsupported(context: HandlerContext, request: Request) -> Parts | None:
    """Answer a request whose API or version is not offered.

    An ApiVersions request above the offered versions is answered with a body of version 0 that
    tells the range, whatever the request's body holds. Any other request closes the connection.

    Rule: P-10, P-45.
    """
    api = context.apis.get(API_VERSIONS_KEY)
    if request.api_key != API_VERSIONS_KEY or api is None or request.api_version < api.min_version:
        raise not_offered(request)
    return [
        _FALLBACK.pack(
            ErrorCode.UNSUPPORTED_VERSION, 1, API_VERSIONS_KEY, api.min_version, api.max_version
        )
    ]
