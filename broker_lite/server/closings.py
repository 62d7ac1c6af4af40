"""Tell in the log why connections are closed."""

import logging

from broker_lite.handler.context import CloseConnection, HandlerContext
from broker_lite.protocol.framing import ProtocolError
from broker_lite.server.sendfile import TruncatedFile
from broker_lite.wire.primitives import DecodeError, EncodeError

logger = logging.getLogger("broker_lite.server")


def note_closing(context: HandlerContext, reason: Exception) -> None:
    """Log why a connection is closed; if that happens again and again, log how often.

    An error that nobody expects is logged with its traceback.
    """
    match reason:
        case ProtocolError() | DecodeError() | CloseConnection() | TruncatedFile():
            level, message = logging.INFO, "closing %s: %s"
        case EncodeError():
            level, message = logging.WARNING, "closing %s: its answer cannot be encoded: %s"
        case _:
            level, message = logging.ERROR, "closing %s after an error: %r"
    address = context.client_address
    key = "closing", type(reason).__name__, address[0]
    context.client_log.write(
        logger,
        level,
        key,
        message,
        address,
        reason,
        exc_info=reason if level == logging.ERROR else None,
    )
