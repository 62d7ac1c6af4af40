"""The share sessions of each broker of a cluster."""

from typing import Final

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.coordinator.share_records.sessions import ShareSessions

_PARTITION_BYTES: Final = 256
"""The memory of a partition in a share session, at most."""


class NodeSessions:
    """Share sessions by broker; each broker has its share of their memory.

    See: K-16.
    """

    def __init__(self, cluster: Cluster) -> None:
        """Begin with no sessions; the cluster has to be started."""
        self._cluster = cluster
        self._sessions: dict[int, ShareSessions] = {}

    def of(self, node_id: int) -> ShareSessions:
        """Return the share sessions of a broker."""
        sessions = self._sessions.get(node_id)
        if sessions is None:
            settings = self._cluster.settings
            size_bytes = settings.broker_lite_fetch_sessions_max_bytes
            sessions = self._sessions[node_id] = ShareSessions(
                settings.group_share_max_share_sessions,
                size_bytes // len(self._cluster.node_ids) // _PARTITION_BYTES,
            )
        return sessions
