"""Share sessions: which partitions a member reads from, so that it need not name them each time.

A session belongs to the connection on which it began.

A difference to Kafka: the partitions of all share sessions of a broker are bounded together, by the
memory of `broker.lite.fetch.sessions.max.bytes`. A request that would exceed it is answered as if
there were too many sessions.

Rule: G-114 (ShareSessionCache).
"""

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from broker_lite.errors import (
    InvalidRequest,
    InvalidShareSessionEpoch,
    ShareSessionLimitReached,
    ShareSessionNotFound,
)

INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
_EPOCH_MAX: Final = 2**31 - 1


class SharedPartition(NamedTuple):
    """A partition of a session: the id of its topic, and its index."""

    topic_id: bytes
    partition: int


class ShareSession:
    """The session of one member.

    Attributes:
        group_id: of the member.
        member_id: whose it is.
        connection_id: of the connection on which it began.
        epoch: that the next request has to have.
        partitions: that the member reads from, in the order in which it named them; True for those
            that the next answer has to tell of, even without news.
    """

    __slots__ = ("connection_id", "epoch", "group_id", "member_id", "partitions")

    def __init__(self, group_id: str, member_id: str, connection_id: int) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.connection_id = connection_id
        self.epoch = 1
        self.partitions: dict[SharedPartition, bool] = {}

    def update(
        self, added: Iterable[SharedPartition], forgotten: Iterable[SharedPartition]
    ) -> None:
        """Add partitions that a request names, then remove those that it no longer wants."""
        is_later = self.epoch > 1  # the answer to the first request leaves out none
        for each in added:
            self.partitions.setdefault(each, is_later)
        for each in forgotten:
            self.partitions.pop(each, None)

    def in_turn(self) -> list[SharedPartition]:
        """Return the partitions; another one is first in each request, so that all have their turn.

        See: K-33 (PartitionRotateStrategy).
        """
        listed = [*self.partitions]
        turn = (self.epoch - 1) % len(listed) if listed else 0
        return listed[turn:] + listed[:turn]


class ShareSessions:
    """The sessions of a broker.

    Attributes:
        partition_count: how many partitions they have together.
    """

    def __init__(self, count_max: int, partitions_max: int) -> None:
        """Begin without any.

        Args:
            count_max: how many there may be.
            partitions_max: how many partitions they may have together.
        """
        self.partition_count = 0
        self._count_max = count_max
        self._partitions_max = partitions_max
        self._by_key: dict[tuple[str, str], ShareSession] = {}
        self._by_connection: dict[int, dict[tuple[str, str], ShareSession]] = {}
        self._by_group: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._by_key)

    def get(self, group_id: str, member_id: str) -> ShareSession | None:
        """Return the session of a member, if there is one."""
        return self._by_key.get((group_id, member_id))

    def of_connection(self, connection_id: int) -> list[ShareSession]:
        """Return the sessions that began on a connection."""
        return [*self._by_connection.get(connection_id, {}).values()]

    def has_group(self, group_id: str) -> bool:
        """Return whether a member of the group has a session."""
        return group_id in self._by_group

    def begin(self, group_id: str, member_id: str, connection_id: int) -> ShareSession:
        """Begin a session; it replaces the member's old one.

        Raises:
            ShareSessionLimitReached: there are as many as may be.
        """
        key = group_id, member_id
        replaced = self._by_key.get(key)
        if replaced is not None:
            self.end(replaced)
        if len(self._by_key) >= self._count_max:
            raise ShareSessionLimitReached
        session = self._by_key[key] = ShareSession(group_id, member_id, connection_id)
        self._by_connection.setdefault(connection_id, {})[key] = session
        self._by_group[group_id] += 1
        return session

    def update(
        self,
        session: ShareSession,
        added: Collection[SharedPartition],
        forgotten: Collection[SharedPartition],
    ) -> None:
        """Add partitions to a session, then remove others.

        Raises:
            ShareSessionLimitReached: all sessions together would have too many; nothing changes.
        """
        count = len(session.partitions)
        # To count exactly takes long, and is needed near the limit only.
        if added and self.partition_count + len(added) > self._partitions_max:
            after = session.partitions.keys() | set(added)
            after.difference_update(forgotten)
            more = len(after) - count
            if more > 0 and self.partition_count + more > self._partitions_max:
                raise ShareSessionLimitReached
        session.update(added, forgotten)
        if self._is_current(session):
            self.partition_count += len(session.partitions) - count

    def _is_current(self, session: ShareSession) -> bool:
        return self._by_key.get((session.group_id, session.member_id)) is session

    def go_on(self, group_id: str, member_id: str, epoch: int) -> ShareSession:
        """Return the session of a member, whose epoch goes up.

        Raises:
            ShareSessionNotFound: there is none.
            InvalidShareSessionEpoch: the request is not the next one of the session.
        """
        session = self.find(group_id, member_id)
        if session.epoch != epoch:
            raise InvalidShareSessionEpoch
        session.epoch = 1 if epoch == _EPOCH_MAX else epoch + 1
        return session

    def find(self, group_id: str, member_id: str) -> ShareSession:
        """Return the session of a member.

        Raises:
            ShareSessionNotFound: there is none.
        """
        session = self._by_key.get((group_id, member_id))
        if session is None:
            raise ShareSessionNotFound
        return session

    def end(self, session: ShareSession) -> bool:
        """End a session; return False if it has ended already, or another one has replaced it."""
        if not self._is_current(session):
            return False
        key = session.group_id, session.member_id
        del self._by_key[key]
        began_there = self._by_connection[session.connection_id]
        del began_there[key]
        if not began_there:
            del self._by_connection[session.connection_id]
        self._by_group[session.group_id] -= 1
        if not self._by_group[session.group_id]:
            del self._by_group[session.group_id]
        self.partition_count -= len(session.partitions)
        return True


def check_member(member_id: str | None) -> str:
    """Return a member id, which must not be empty.

    Raises:
        InvalidRequest: it is.
    """
    if not member_id:
        raise InvalidRequest
    return member_id
