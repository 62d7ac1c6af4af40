"""The lanes of `bench idle`: connections that stay, and ask little.

Each asks for the metadata of the topic at even distances, and its turn comes at another moment than
that of the others; or only for that of the brokers, as the leaders of 10,000 partitions are known
to all from one answer. It may fetch from one partition, too. Answers of the same size as one that
was read before are not decoded: the metadata of 10,000 partitions takes longer to decode than to
make.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from broker_lite.client.broker_connection import Connection
from broker_lite.client.errors import error_name
from broker_lite.errors import ErrorCode
from broker_lite.load.frames import FETCH_VERSION_MAX, frame_head, is_flexible
from broker_lite.load.lane import Paced, Request
from broker_lite.load.recorder import Recorder
from broker_lite.wire import messages

_METADATA_VERSION_MAX: Final = 12
_MAX_BYTES: Final = 1 << 20
_NO_SESSION: Final = -1
_NEVER_NS: Final = 2**63


class IdleWork:
    """What all lanes of a process share.

    Attributes:
        metadata: counts the answers to Metadata.
        fetches: counts the answers to Fetch.
        partitions_told: of the topic, by the last answer that was decoded.
    """

    def __init__(
        self,
        *,
        topic: str,
        ends: dict[int, int],
        client_id: str,
        ask_every_ns: int,
        fetch_every_ns: int | None,
        metadata: Recorder,
        fetches: Recorder,
        asks_for_topic: bool = True,
    ) -> None:
        """Keep what is to be asked.

        Args:
            topic: its name.
            ends: where to fetch, by partition.
            client_id: of all requests.
            ask_every_ns: how often each connection asks for metadata.
            fetch_every_ns: how often it fetches; None for never.
            metadata: counts the answers to Metadata.
            fetches: counts the answers to Fetch.
            asks_for_topic: whether metadata is that of the topic, else that of the brokers only.
        """
        self.topic = topic
        self._asks_for_topic = asks_for_topic
        self.ends = ends
        self.client_id = client_id.encode()
        self.ask_every_ns = ask_every_ns
        self.fetch_every_ns = fetch_every_ns
        self.metadata = metadata
        self.fetches = fetches
        self.partitions_told = 0
        self._bodies: dict[int, bytes] = {}  # of Metadata by version
        self._known: set[tuple[int, int]] = set()  # version and size of answers without an error

    def metadata_body(self, version: int) -> bytes:
        """Return the body of a Metadata request."""
        found = self._bodies.get(version)
        if found is None:
            make = messages.MetadataRequest
            names = [self.topic] if self._asks_for_topic else []
            topics = [make.MetadataRequestTopic(name=name) for name in names]
            value = make(topics=topics, allow_auto_topic_creation=False)
            found = self._bodies[version] = make.encode(value, version)
        return found

    def read_metadata(self, body: memoryview, version: int) -> int:
        """Return the error code of the topic in an answer.

        Raises:
            DecodeError: it cannot be read.
        """
        if (version, len(body)) in self._known:
            return ErrorCode.NONE
        start = is_flexible(messages.MetadataRequest, version)
        answer, _ = messages.MetadataResponse.decode(body[start:], version)
        for topic in answer.topics:
            if topic.error_code != ErrorCode.NONE:
                return topic.error_code
            self.partitions_told = len(topic.partitions)
        self._known = {(version, len(body))}
        return ErrorCode.NONE


class IdleLane(Paced):
    """The requests of one connection; see Lane."""

    is_answered = True

    def __init__(self, work: IdleWork, partition: int) -> None:
        """Have no turn yet; begin() gives one."""
        super().__init__(work.metadata)
        self._work = work
        self._partition = partition
        self._ask_ns = self._fetch_ns = _NEVER_NS
        self._number = 0
        self._metadata_version = self._fetch_version = 0

    def begin(self, now_ns: int, turn: float) -> None:
        """Ask from now on.

        Args:
            now_ns: when all begin.
            turn: 0 to 1, the part of the distance after which this one begins.
        """
        self._ask_ns = now_ns + int(turn * self._work.ask_every_ns)
        if self._work.fetch_every_ns is not None:
            self._fetch_ns = now_ns + int(turn * self._work.fetch_every_ns)

    def speak_to(self, connection: Connection) -> None:
        """Use the highest versions of the broker."""
        of = connection.version_of
        self._metadata_version = of(messages.MetadataRequest, _METADATA_VERSION_MAX)
        if self._work.fetch_every_ns is not None:
            self._fetch_version = of(messages.FetchRequest, FETCH_VERSION_MAX)

    def next_due_ns(self) -> int | None:
        """Return when the next request is due."""
        return max(min(self._ask_ns, self._fetch_ns), self._not_before_ns)

    def take(self, now_ns: int, correlation_id: int) -> Request:
        """Return the next request, which is due."""
        self._number += 1
        if self._ask_ns <= self._fetch_ns:
            due_ns = self._ask_ns
            self._ask_ns += self._work.ask_every_ns
            body = self._work.metadata_body(self._metadata_version)
            return self._framed(messages.MetadataRequest, due_ns, body, correlation_id)
        due_ns = self._fetch_ns
        assert self._work.fetch_every_ns is not None
        self._fetch_ns += self._work.fetch_every_ns
        return self._framed(messages.FetchRequest, due_ns, self._fetch_body(), correlation_id)

    def on_sent(self, request: Request, now_ns: int) -> None:
        """Do nothing: every request is answered."""

    def on_answer(self, request: Request, body: memoryview, now_ns: int) -> None:
        """Count an answer."""
        if request.number:
            self._on_fetched(request, body, now_ns)
            return
        code = self._work.read_metadata(body, self._metadata_version)
        if code == ErrorCode.NONE:
            self._work.metadata.answered(now_ns, request.due_ns, 0, len(body))
        else:
            self._work.metadata.error(error_name(code))

    def on_lost(self, requests: Iterable[Request], now_ns: int) -> None:
        """Count the requests of a connection that ended; nothing is sent again."""
        for request in requests:
            self.recorder_of(request).open_for(now_ns - request.due_ns)

    def end(self, now_ns: int) -> None:
        """Count the requests that are due and were not sent."""
        work = self._work
        for next_ns, every_ns, recorder in (
            (self._ask_ns, work.ask_every_ns, work.metadata),
            (self._fetch_ns, work.fetch_every_ns, work.fetches),
        ):
            if every_ns is not None and next_ns < now_ns:
                more = (now_ns - 1 - next_ns) // every_ns
                recorder.never_sent(next_ns, next_ns + more * every_ns, more + 1, now_ns)

    def recorder_of(self, request: Request) -> Recorder:
        """Return who counts a request."""
        return self._work.fetches if request.number else self._work.metadata

    def _on_fetched(self, request: Request, body: memoryview, now_ns: int) -> None:
        start = is_flexible(messages.FetchRequest, self._fetch_version)
        answer, _ = messages.FetchResponse.decode(body[start:], self._fetch_version)
        self._throttle(answer.throttle_time_ms, now_ns)
        codes = [answer.error_code]
        for topic in answer.responses:
            for partition in topic.partitions:
                codes.append(partition.error_code)
                if partition.high_watermark >= 0 and partition.partition_index in self._work.ends:
                    self._work.ends[partition.partition_index] = partition.high_watermark
        failed = [code for code in codes if code != ErrorCode.NONE]
        for code in failed:
            self._work.metadata.error(error_name(code))
        if not failed:
            self._work.fetches.answered(now_ns, request.due_ns, 0, len(body))

    def _fetch_body(self) -> bytes:
        make = messages.FetchRequest
        partition = make.FetchPartition(
            partition=self._partition,
            current_leader_epoch=-1,
            fetch_offset=self._work.ends.get(self._partition, 0),
            last_fetched_epoch=-1,
            log_start_offset=-1,
            partition_max_bytes=_MAX_BYTES,
        )
        value = make(
            replica_id=-1,
            max_wait_ms=0,
            min_bytes=1,
            max_bytes=_MAX_BYTES,
            session_epoch=_NO_SESSION,
            topics=[make.FetchTopic(topic=self._work.topic, partitions=[partition])],
        )
        return make.encode(value, self._fetch_version)

    def _framed(
        self, api: messages.MessageType, due_ns: int, body: bytes, correlation_id: int
    ) -> Request:
        is_fetch = api is messages.FetchRequest
        version = self._fetch_version if is_fetch else self._metadata_version
        head = frame_head(api, version, correlation_id, self._work.client_id, len(body))
        return Request(due_ns, int(is_fetch), (head, body), len(head) + len(body))
