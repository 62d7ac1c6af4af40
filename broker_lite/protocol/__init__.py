"""Sans-IO framing of one connection.

In come bytes as they were received, out go requests with their headers decoded; in come response
bodies as parts, out go whole frames. No socket, no loop, no clock, and no request body is decoded.
"""

from broker_lite.protocol.framing import ProtocolError, Request, RequestFraming, framed

__all__ = ["ProtocolError", "Request", "RequestFraming", "framed"]
