"""The journal: takes a note of each request and its answer, and keeps the newest ones.

The notes of a request are taken when it arrives, as the client sent it, because the broker stamps
produced batches where they are. They are completed when its answer is made. Tokens, keys and
passwords are blotted out in them.
"""

from asyncio import CancelledError
from collections import deque
from collections.abc import Callable
from time import monotonic, time
from typing import Final

from msgspec.structs import replace

from broker_lite.handler.context import (
    CloseConnection,
    Handler,
    HandlerContext,
    Parts,
    Request,
    WireAnswer,
)
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.facts import Facts
from broker_lite.testbench.journal.entry import (
    ANSWERED,
    BY_FAULT,
    CANCELLED,
    CLOSED,
    ENTRY_BYTES,
    FAILED,
    NO_ANSWER,
    Entry,
)
from broker_lite.testbench.journal.keeping import (
    HEADERS_BYTES,
    keep_answer,
    keep_long_request,
    session_of,
)
from broker_lite.testbench.journal.recording import KEEP_MAX, Peer, Recording
from broker_lite.testbench.journal.topic_names import TopicNames
from broker_lite.testbench.selectors import api_keys
from broker_lite.wire.schema import catalog_by_api
from broker_lite.wire.secret_fields import SECRET_KEYS, without_secrets

Watcher = Callable[[Entry], object]

_KEEP_BYTES_MIN: Final = 64 * 1024
_SHARE_MAX: Final = 4
"""A body may take a quarter of all memory, so that the entries before it are not all lost."""
_FILE_SHARE_MAX: Final = 8
_FETCH: Final = 1
_DELETE_TOPICS: Final = 20
_API_VERSIONS: Final = 18
_SPECIAL: Final = frozenset((_FETCH, _DELETE_TOPICS)) | SECRET_KEYS
PEERS_MAX: Final = 10_000
"""So many connections are remembered; then all are met anew."""


class Journal:
    """What clients asked and what they were answered; it begins with recording off.

    Attributes:
        dropped: how many entries fell out because of the bounds.
        arrivals: called with each entry when its request is taken up.
        changed: called when other APIs are recorded than before.
        ends: called with each entry when its answer is made, or there will be none.
    """

    def __init__(self) -> None:
        """Begin empty, with recording off."""
        self.dropped = 0
        self._asked = Recording()
        self._needed = 0
        self.arrivals: list[Watcher] = []
        self.ends: list[Watcher] = []
        self.changed: Callable[[], object] = lambda: None
        self._entries: deque[Entry] = deque()
        self._last = 0
        self._first_kept = 1
        self._bytes = 0
        self._keep = self._asked.keep
        self._keep_bytes = self._asked.keep_bytes
        self._copied = HEADERS_BYTES
        self._read_from_files = 0
        self._rules: dict[int, str] = {}
        self._names = TopicNames()
        self._peers: dict[int, Peer] = {}

    # -- settings

    @property
    def recording(self) -> Recording:
        """How much is recorded: what was asked for, but at least all headers while need() holds."""
        asked = self._asked
        if not self._needed:
            return asked
        how = "headers" if asked.recording == "off" else asked.recording
        return replace(asked, recording=how, keys=None)

    def need(self) -> None:
        """Record at least the headers of all requests, until release() was called as often."""
        self._needed += 1
        self._apply()

    def release(self) -> None:
        """End the effect of one need()."""
        self._needed -= 1
        self._apply()

    def configure(self, recording: Recording) -> None:
        """Record as much as is asked for from now on; what is recorded already stays.

        Raises:
            ControlError: a bound is out of its range, or there is no such API.
        """
        if not 1 <= recording.keep <= KEEP_MAX:
            raise ControlError(400, f"keep is not between 1 and {KEEP_MAX}", "keep")
        if recording.keep_bytes < _KEEP_BYTES_MIN:
            raise ControlError(400, f"keep_bytes is below {_KEEP_BYTES_MIN}", "keep_bytes")
        _keys(recording)
        self._asked = recording
        self._keep, self._keep_bytes = recording.keep, recording.keep_bytes
        self._apply()

    def _apply(self) -> None:
        recording = self.recording
        whole = recording.recording == "bodies"
        self._copied = recording.keep_bytes // _SHARE_MAX if whole else HEADERS_BYTES
        self._read_from_files = recording.keep_bytes // _FILE_SHARE_MAX if whole else 0
        self._drop_oldest()
        self.changed()

    def wanted_keys(self) -> frozenset[int]:
        """Return the keys of the APIs that are recorded: those that need the journal's hook."""
        recording = self.recording
        return frozenset() if recording.recording == "off" else _keys(recording)

    def clear(self) -> None:
        """Forget all entries; numbers go on."""
        self._entries.clear()
        self._first_kept = self._last + 1
        self._bytes = 0
        self.dropped = 0

    # -- what is kept

    @property
    def known_connections(self) -> int:
        """Of how many connections it remembers what their entries have in common."""
        return len(self._peers)

    def __len__(self) -> int:
        """Return how many entries there are."""
        return len(self._entries)

    @property
    def last(self) -> int:
        """The number of the newest request; 0 if there was none."""
        return self._last

    @property
    def first(self) -> int:
        """The number of the oldest entry that is kept, or of the next one if there is none."""
        return self._first_kept

    @property
    def kept_bytes(self) -> int:
        """What the entries take in memory."""
        return self._bytes

    def entries(self, after: int = 0) -> list[Entry]:
        """Return the entries after a number, the newest last."""
        skipped = max(0, after - self._first_kept + 1)
        if not skipped:
            return list(self._entries)
        count = len(self._entries) - skipped
        if count <= 0:
            return []
        found = [entry for _, entry in zip(range(count), reversed(self._entries), strict=False)]
        found.reverse()
        return found

    def entry(self, number: int) -> Entry:
        """Return an entry.

        Raises:
            ControlError: there is none of this number, or none any more.
        """
        if not self._first_kept <= number <= self._last:
            gone = 0 < number <= self._last
            raise ControlError(404, f"r{number} is no longer kept" if gone else f"no r{number} yet")
        return self._entries[number - self._first_kept]

    def topic_names(self) -> TopicNames:
        """Return the names of topics by id: those that exist, and those that were deleted."""
        return self._names

    def end_life(self) -> None:
        """Let go of the cluster, because a reset replaces it; the names of its topics are kept."""
        self._names.change(None)

    # -- recording

    def tell_rule(self, context: HandlerContext, rule: str) -> None:
        """Note that a fault acted on the request that the connection is at."""
        told = self._rules.get(context.connection_id)
        self._rules[context.connection_id] = f"{told},{rule}" if told else rule

    async def around(self, facts: Facts, handle: Handler) -> Parts | None:
        """Do what hook_part() does, and note which faults have acted by the facts."""

        async def telling(context: HandlerContext, request: Request) -> Parts | None:
            try:
                return await handle(context, request)
            finally:
                for rule in facts.acted:
                    self.tell_rule(context, rule)

        return await self.hook_part(facts.context, facts.request, telling)

    async def hook_part(
        self, context: HandlerContext, request: Request, handle: Handler
    ) -> Parts | None:
        """Call the handler, and record the request and the answer.

        This runs for each request, so it is written for speed: few calls, few objects.
        """
        api_key, version, correlation_id, client_id, body, position, flexible = request
        frame_bytes = len(body)
        peer = self._peers.get(context.connection_id)
        if peer is None or peer.client_id != client_id or peer.software is not context.software:
            peer = self._meet(context, client_id)
        self._last = number = self._last + 1
        entry = Entry(
            number,
            monotonic(),
            peer,
            api_key,
            version,
            correlation_id,
            flexible,
            position,
            frame_bytes,
            bytes(body) if frame_bytes <= self._copied else b"",
        )
        self._entries.append(entry)
        if frame_bytes > self._copied or api_key in _SPECIAL or self._rules or self.arrivals:
            self._begin_unusual(entry, context, request)
        self._bytes += ENTRY_BYTES + len(entry.frame)
        if len(self._entries) > self._keep or self._bytes > self._keep_bytes:
            self._drop_oldest()
        try:
            parts = await handle(context, request)
        except BaseException as error:
            self._end(entry, _how(error))
            raise
        if api_key == _API_VERSIONS:  # its handler has taken down what the client is
            entry.peer = self._meet(context, client_id)
        if (
            parts is not None
            and len(parts) == 1
            and type(answer := parts[0]) is bytes
            and api_key not in SECRET_KEYS
        ):
            entry.body_bytes = size_bytes = len(answer)
            entry.body = answer if size_bytes <= self._copied else answer[: self._copied]
            self._end(entry, ANSWERED)
        else:
            self._end_unusual(entry, parts)
        return parts

    def _meet(self, context: HandlerContext, client_id: str | None) -> Peer:
        """Note what the entries of a connection have in common."""
        if context.cluster is not self._names.cluster:
            self._names.change(context.cluster)
        peers = self._peers
        if len(peers) >= PEERS_MAX:  # most of them have gone
            peers.clear()
        peer = peers[context.connection_id] = Peer(
            context.connection_id,
            context.node_id,
            context.listener.name,
            context.client_address[0],
            context.software,
            client_id,
            time() - monotonic(),
        )
        return peer

    def _begin_unusual(self, entry: Entry, context: HandlerContext, request: Request) -> None:
        """Note what is not noted of every request."""
        if entry.api_key in SECRET_KEYS:
            blotted = without_secrets(
                entry.api_key, entry.api_version, bytes(request.body), entry.position
            )
            entry.frame = blotted[: self._copied]
        elif entry.frame_bytes > self._copied:
            entry.frame, entry.skeleton = keep_long_request(request, self._copied)
        if entry.api_key == _FETCH:
            entry.session = session_of(context, request)
        elif entry.api_key == _DELETE_TOPICS:
            self._names.change(context.cluster)
        self._bytes += entry.kept_bytes - ENTRY_BYTES - len(entry.frame)
        # of a request before, whose hook was not the journal's
        self._rules.pop(context.connection_id, None)
        if self.arrivals:
            _tell(self.arrivals, entry)

    def _end(self, entry: Entry, ended: str) -> None:
        entry.duration_s = monotonic() - entry.started_s
        entry.ended = ended
        if entry.number >= self._first_kept:
            self._bytes += len(entry.body)
            if self._bytes > self._keep_bytes:
                self._drop_oldest()
        if self._rules:
            entry.rule = self._rules.pop(entry.peer.connection_id, "")
        if self.ends:
            _tell(self.ends, entry)

    def _end_unusual(self, entry: Entry, parts: Parts | None) -> None:
        if parts is None:
            self._end(entry, NO_ANSWER)
        elif isinstance(parts, WireAnswer):
            self._end(entry, BY_FAULT)
        else:
            kept = keep_answer(parts, self._copied, self._read_from_files)
            entry.body_bytes, entry.body, entry.gaps = kept
            if entry.api_key in SECRET_KEYS:
                whole = keep_answer(parts, kept.size_bytes, 0).body
                version = entry.api_version
                blotted = without_secrets(entry.api_key, version, whole, is_answer=True)
                entry.body = blotted[: self._copied]
            self._end(entry, ANSWERED)

    def _drop_oldest(self) -> None:
        """Drop the oldest entries until the bounds hold; one stays in any case."""
        entries = self._entries
        while len(entries) > 1 and (len(entries) > self._keep or self._bytes > self._keep_bytes):
            oldest = entries.popleft()
            self._first_kept = oldest.number + 1
            self._bytes -= oldest.kept_bytes
            self.dropped += 1


def _keys(recording: Recording) -> frozenset[int]:
    """Return the numbers of the APIs that a recording is about; ControlError if one is none."""
    keys = api_keys(recording.keys, "keys")
    return frozenset(catalog_by_api("protocol", "request")) if keys is None else keys


def _how(error: BaseException) -> str:
    if isinstance(error, CloseConnection):
        return CLOSED
    return CANCELLED if isinstance(error, CancelledError | GeneratorExit) else FAILED


def _tell(watchers: list[Watcher], entry: Entry) -> None:
    for watcher in tuple(watchers):
        watcher(entry)
