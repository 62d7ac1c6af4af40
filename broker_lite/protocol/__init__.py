"""Sans-IO framing of one connection.

It turns received bytes into requests with decoded headers, and response bodies, given as parts,
into whole frames. It has no socket, no loop and no clock, and it decodes no request body.
"""

from broker_lite.protocol.framing import ProtocolError, Request, RequestFraming, framed

__all__ = ["ProtocolError", "Request", "RequestFraming", "framed"]
