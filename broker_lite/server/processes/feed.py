"""Sends the metadata log to the other processes: all of it at their start, then each change."""

import logging
from typing import Final

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.metadata.metadata_feed import MetadataReader
from broker_lite.server.processes.channel import Channel, ChannelClosed, Kind

logger = logging.getLogger("broker_lite.server")

_UNREADABLE: Final = "metadata log cannot be read for other processes reason=%s"


class Feed:
    """Keeps the other processes up to date; used by the event loop."""

    def __init__(self, cluster: Cluster) -> None:
        """Follow the metadata log of a started cluster from now on."""
        self._cluster = cluster
        self._reader = MetadataReader(cluster.metadata_log, cluster.metadata_version)
        self._reader.go_to_end()
        self._live: set[Channel] = set()
        cluster.written = self._written

    async def catch_up(self, channel: Channel) -> None:
        """Send all that there is, and go on with each change; BEGIN is sent in between.

        Raises:
            ChannelClosed: the other process has ended, or has to, as the log cannot be read.
        """
        reader = MetadataReader(self._cluster.metadata_log, self._cluster.metadata_version)
        try:
            while data := reader.read():
                channel.tell(Kind.METADATA, data)
                await channel.drain()
        except OSError as error:
            logger.error(_UNREADABLE, error)
            channel.close()
            raise ChannelClosed from error
        # There was no pause since the end of the log was reached.
        channel.tell(Kind.BEGIN)
        self._live.add(channel)

    def forget(self, channel: Channel) -> None:
        """Send no more changes there."""
        self._live.discard(channel)

    def _written(self) -> None:
        """Send a change right after it was written, so before the answer to who has asked for it.

        Without it the other processes would be wrong, so they start anew.
        """
        try:
            while data := self._reader.read():
                for channel in self._live:
                    channel.tell(Kind.METADATA, data)
        except OSError as error:
            logger.error(_UNREADABLE, error)
            for channel in self._live:
                channel.close()
