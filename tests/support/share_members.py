"""Members of a share group by hand, who need not wait until a broker has begun to share records."""

from tests.differential.share_side import TIMEOUT_S, ShareSide, id_of, until
from tests.support.raw_client import RawClient

__all__ = ["ShareMembers", "id_of"]


class ShareMembers(ShareSide):
    """A ShareSide whose members have read nothing when they have joined."""

    def join(self, member: str) -> None:
        """Let a member join, and open its session, which acquires nothing yet."""
        self._clients[member] = RawClient("127.0.0.1", self._port, timeout_s=TIMEOUT_S)

        def is_assigned() -> bool:
            assigned = self._beat(member, 0).assignment
            return bool(assigned and assigned.topic_partitions)

        until(is_assigned)
        self.epochs[member] = 0
        self.fetch(member, 0, 1, False)
