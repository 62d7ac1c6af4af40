"""Sends the requests that are not about a broker's own logs to the first process.

So the handlers of these requests, and what they work on, are only there. KRaft's brokers do the
same with the requests for the controller (Envelope, KIP-590).
"""

from collections.abc import Mapping
from typing import Final

from broker_lite.control.clock import Clock
from broker_lite.handler.context import Api, CloseConnection, HandlerContext, Parts, Request
from broker_lite.handler.large import TakesWhole
from broker_lite.server.processes.calls import Call
from broker_lite.server.processes.channel import CallFailed, Channel, ChannelClosed
from broker_lite.server.processes.forwarded import client_of, decode_outcome, encode_forwarded

# Produce, Fetch, ListOffsets, SaslHandshake, ApiVersions, DeleteRecords, OffsetForLeaderEpoch,
# WriteTxnMarkers, AlterReplicaLogDirs, DescribeLogDirs, SaslAuthenticate, DescribeProducers,
# ShareFetch, ShareAcknowledge
OWN_APIS: Final = frozenset((0, 1, 2, 17, 18, 21, 23, 27, 34, 35, 36, 61, 78, 79))
"""The APIs that each process serves itself: those about its logs and connections."""


class Forwarding(TakesWhole):
    """The handler of all APIs that the first process serves."""

    def __init__(self, channel: Channel, clock: Clock) -> None:
        """Remember the way there, and by which clock throttled clients wait."""
        self._channel = channel
        self._clock = clock

    async def __call__(  # type: ignore[explicit-override]
        self, context: HandlerContext, request: Request
    ) -> Parts | None:
        """Let the first process answer.

        Raises:
            CloseConnection: the request ends the connection, or the first process is gone.
        """
        try:
            payload = await self._channel.call(
                bytes((Call.FORWARD,)), encode_forwarded(client_of(context), request)
            )
        except ChannelClosed:
            raise CloseConnection("the process with the controller has ended") from None
        except CallFailed as error:
            raise CloseConnection(f"the process with the controller failed: {error}") from None
        return decode_outcome(payload, self._clock.monotonic_ms())

    def among(self, apis: Mapping[int, Api]) -> dict[int, Api]:
        """Return a table of APIs in which those of the first process are forwarded."""
        return {
            key: api if key in OWN_APIS else api._replace(handle=self, begin=None)
            for key, api in apis.items()
        }
