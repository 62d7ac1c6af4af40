"""Tell in the log why connections are closed."""

import logging

from broker_lite.handler.context import HandlerContext

logger = logging.getLogger("broker_lite.server")


def note_closing(context: HandlerContext, reason: Exception, level: int, message: str) -> None:
    """Log why a connection is closed; if that happens again and again, log how often.

    An error that is not the client's fault is logged with its traceback.

    Args:
        context: of the connection.
        reason: why.
        level: of the line.
        message: has places for the client's address and the reason.
    """
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
