"""Fetch sessions: a consumer names its partitions once, and later only the changes (KIP-227).

A session holds the partitions of its consumer; an incremental request names those whose position
has moved. The cache is bounded: a full cache takes a new session only if it can evict one that is
idle or has a lower priority.

A difference to Kafka: the memory of all fetch sessions together is bounded by
`broker.lite.fetch.sessions.max.bytes`. A client for which there is no room sends full fetches, and
a session that grows too large begins anew. A full fetch of very many partitions counts too while it
waits; if there is no room for it, it is answered at once.

The cache is one shard, where Kafka has eight. The number of sessions is the same altogether, and a
session id does not depend on a shard.

Rule: F-40 to F-43, F-45, F-47, F-48.
See: F-44.
"""

import secrets
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from broker_lite.errors import ErrorCode
from broker_lite.handler.context import HandlerContext
from broker_lite.handler.fetch.partition import FetchPartitions

NO_SESSION: Final = 0
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
SLOTS_DEFAULT: Final = 1000
BYTES_DEFAULT: Final = 64 * 1024 * 1024
TOPIC_IDS_FROM: Final = 13
"""The first version of Fetch that names topics by their ids."""
MIN_EVICTION_MS: Final = 120_000
_INT32_MAX: Final = 2**31 - 1


def next_epoch(epoch: int) -> int:
    """Return the epoch of the request that follows a request of this epoch.

    Rule: F-42 (FetchMetadata.nextEpoch).
    """
    return 1 if epoch == _INT32_MAX else epoch + 1


def random_session_id() -> int:
    """Return a session id that cannot be guessed: 1 to 2^31 - 1."""
    return secrets.randbelow(_INT32_MAX) + 1


class FetchSession:
    """One session; `epoch` is the epoch that its next request must have.

    `_judged` tells for which client, and by which ACLs, the partitions were last looked at that are
    not looked at again.
    """

    __slots__ = (
        "_judged",
        "created_ms",
        "epoch",
        "isolation_level",
        "last_used_ms",
        "partitions",
        "session_id",
        "size",
        "size_bytes",
        "uses_topic_ids",
    )

    def __init__(
        self, session_id: int, partitions: FetchPartitions, *, uses_topic_ids: bool, now_ms: int
    ) -> None:
        self.session_id = session_id
        self.partitions = partitions
        self.uses_topic_ids = uses_topic_ids
        self.epoch = next_epoch(INITIAL_EPOCH)
        self.isolation_level = 0
        self.created_ms = now_ms
        self.last_used_ms = now_ms
        # These are from the last request: the priority of a session must not change while it idles.
        self.size = len(partitions)
        self.size_bytes = partitions.size_bytes
        self._judged: object = None

    def judge_anew(self, context: HandlerContext) -> None:
        """Look at every partition if another client uses the session, or if the ACLs have changed.

        See: X-47.
        """
        assert context.authorizer is not None, "without one, nobody judges"
        changes = context.authorizer.acls.changes
        judged = (changes, context.principal, context.client_address[0])
        if judged != self._judged:
            self._judged = judged
            self.partitions.all_pending()


def session_error(session: FetchSession | None, epoch: int, version: int) -> ErrorCode | None:
    """Return why a request cannot be the next one of a session; None if it can.

    See: F-41.
    """
    if session is None:
        return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    if session.epoch != epoch:
        return ErrorCode.INVALID_FETCH_SESSION_EPOCH
    if session.uses_topic_ids != (version >= TOPIC_IDS_FROM):
        return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    return None


class FetchSessionCache:
    """All sessions of a node, at most `slots` of them; 0 slots means no sessions at all.

    `size_bytes` is the memory of all sessions, and of the large fetches that wait without one.

    Rule: F-47 (FetchSessionCacheShard). All sessions are those of consumers: a broker alone has no
    followers, which Kafka would prefer.
    """

    def __init__(
        self,
        slots: int = SLOTS_DEFAULT,
        bytes_max: int = BYTES_DEFAULT,
        *,
        make_id: Callable[[], int] = random_session_id,
    ) -> None:
        """Start empty.

        Args:
            slots: max.incremental.fetch.session.cache.slots.
            bytes_max: broker.lite.fetch.sessions.max.bytes.
            make_id: returns a number from 1 to 2^31 - 1.
        """
        self._slots = slots
        self._bytes_max = bytes_max
        self.size_bytes = 0
        self._make_id = make_id
        # Ordered by last use, the least recently used first.
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def get(self, session_id: int) -> FetchSession | None:
        """Return the session with an id, None if there is none."""
        return self._sessions.get(session_id)

    def touch(self, session: FetchSession, now_ms: int) -> bool:
        """Note that a session is in use, and update its size.

        Returns:
            True if the session is kept. It is not if there is no room for it, or if another client
            ended it or took its slot while this request waited.
        """
        if self._sessions.get(session.session_id) is not session:
            return False
        session.last_used_ms = now_ms
        session.size = len(session.partitions)
        self._sessions.move_to_end(session.session_id)
        size_bytes = session.partitions.size_bytes
        more_bytes, session.size_bytes = size_bytes - session.size_bytes, size_bytes
        self.size_bytes += more_bytes
        if self.size_bytes > self._bytes_max and more_bytes > 0:
            self.remove(session.session_id)
            return False
        return True

    def remove(self, session_id: int) -> None:
        """End a session; it is no error if it is not there."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self.size_bytes -= session.size_bytes
            session.partitions.unwatch()

    def hold(self, size_bytes: int) -> bool:
        """Reserve memory for a fetch without a session, until give_back() is called.

        Returns:
            True if there is room for it.
        """
        if self.size_bytes + size_bytes > self._bytes_max:
            return False
        self.size_bytes += size_bytes
        return True

    def give_back(self, size_bytes: int) -> None:
        """Return the memory that hold() reserved."""
        self.size_bytes -= size_bytes

    def create(
        self, partitions: FetchPartitions, *, uses_topic_ids: bool, now_ms: int
    ) -> FetchSession | None:
        """Make a session of the partitions of a full fetch, if there is room or room can be made.

        Rule: F-42, F-47 (FetchSessionCacheShard.maybeCreateSession).
        """
        left_bytes = self._bytes_max - partitions.size_bytes
        if left_bytes < 0:
            return None
        while len(self._sessions) >= self._slots or self.size_bytes > left_bytes:
            if not self._evict(len(partitions), now_ms):
                return None
        session_id = self._make_id()
        while session_id in self._sessions:
            session_id = self._make_id()
        session = FetchSession(session_id, partitions, uses_topic_ids=uses_topic_ids, now_ms=now_ms)
        self._sessions[session_id] = session
        self.size_bytes += session.size_bytes
        return session

    def _evict(self, size: int, now_ms: int) -> bool:
        """Evict a session to make room for one with `size` partitions; return False if none may go.

        Rule: F-47 (FetchSessionCacheShard.tryEvict).
        """
        if not self._sessions:
            return False
        session = next(iter(self._sessions.values()))
        if now_ms - session.last_used_ms <= MIN_EVICTION_MS:
            old_enough = [
                each
                for each in self._sessions.values()
                if each.last_used_ms - each.created_ms > MIN_EVICTION_MS
            ]
            if not old_enough:
                return False
            session = min(old_enough, key=lambda each: (each.size, each.session_id))
            if (size, 0) < (session.size, session.session_id):
                return False
        self.remove(session.session_id)
        return True
