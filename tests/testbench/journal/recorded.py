"""Requests that a journal records, without a broker."""

import struct
from types import SimpleNamespace
from typing import Any

from broker_lite.handler.context import Handler, Parts, Request
from broker_lite.testbench.journal.entry import Entry
from broker_lite.testbench.journal.journal import Journal
from broker_lite.testbench.journal.recording import Recording
from broker_lite.wire import messages

TOPIC_ID = bytes(range(16))


def recording(level: Any = "headers", **bounds: Any) -> Journal:
    """A journal that records."""
    journal = Journal()
    journal.configure(Recording(recording=level, **bounds))
    return journal


def frame(
    kind: Any, body: Any, version: int, *, correlation_id: int = 7, client_id: str = "rdkafka"
) -> Request:
    """A request as the framing gives it, from a struct or from encoded bytes."""
    encoded = body if isinstance(body, bytes) else kind.encode(body, version)
    flexible = kind.flexible_from is not None and version >= kind.flexible_from
    name = client_id.encode()
    head = struct.pack(">hhih", kind.api_key, version, correlation_id, len(name)) + name
    head += b"\0" * flexible
    data = memoryview(bytearray(head + encoded))
    return Request(kind.api_key, version, correlation_id, client_id, data, len(head), flexible)


def run(running: Any) -> Any:
    """The result of a coroutine that does not wait."""
    try:
        running.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waits")


class Client:
    """One connection whose requests are recorded."""

    def __init__(
        self, journal: Journal, connection: int = 5, name: str = "rdkafka", software: str = ""
    ) -> None:
        self.journal = journal
        self.name = name
        self.correlation_id = 0
        self.context: Any = SimpleNamespace(
            node_id=2,
            listener=SimpleNamespace(name="PLAINTEXT"),
            client_address=("127.0.0.9", 1234),
            software=software,
            connection_id=connection,
            cluster=SimpleNamespace(topics_by_id={TOPIC_ID: SimpleNamespace(name="by-id")}),
            fetch_sessions={},
        )

    def request(self, kind: Any, body: Any, version: int) -> Request:
        """The next request of the connection."""
        self.correlation_id += 1
        return frame(kind, body, version, correlation_id=self.correlation_id, client_id=self.name)

    def send(
        self, kind: Any, body: Any, version: int, answer: Any = None, *, at_s: float | None = None
    ) -> Entry:
        """Record a request that is answered at once.

        Args:
            kind: of the request.
            body: its struct, or its bytes.
            version: of the API.
            answer: a struct, the parts of the answer, or an exception; None for no answer.
            at_s: when the request is said to have come.
        """
        return self.carry_out(self.request(kind, body, version), answer, at_s=at_s)

    def carry_out(self, request: Request, answer: Any, *, at_s: float | None = None) -> Entry:
        """Record a request that is answered at once."""
        try:
            run(self.journal.hook_part(self.context, request, self.handler(answer)))
        except BaseException as raised:
            if raised is not answer:
                raise
        entry = self.journal.entry(self.journal.last)
        if at_s is not None:
            entry.started_s = at_s
        return entry

    def handler(self, answer: Any) -> Handler:
        async def handle(context: Any, request: Request) -> Parts | None:
            if isinstance(answer, BaseException):
                raise answer
            if answer is None or isinstance(answer, list):
                return answer
            _, kind = messages.by_api(request.api_key)
            return [kind.encode(answer, request.api_version)]

        return handle


def produce(
    *records: bytes,
    topic: str = "orders",
    partition: int = 0,
    acks: int = -1,
    transactional_id: str | None = None,
) -> Any:
    """A Produce request with one partition."""
    kind = messages.ProduceRequest
    made = kind.PartitionProduceData(index=partition, records=b"".join(records))
    topics = [kind.TopicProduceData(name=topic, topic_id=TOPIC_ID, partition_data=[made])]
    return kind(acks=acks, timeout_ms=1, transactional_id=transactional_id, topic_data=topics)


def produced(error_code: int = 0) -> Any:
    """The answer to it."""
    kind = messages.ProduceResponse
    partition = kind.PartitionProduceResponse(index=0, error_code=error_code)
    return kind(
        responses=[kind.TopicProduceResponse(name="orders", partition_responses=[partition])]
    )


def batch(
    count: int = 1,
    *,
    producer_id: int = -1,
    epoch: int = 0,
    sequence: int = 0,
    content: bytes = b"x" * 40,
    attributes: int = 0,
) -> bytes:
    """A v2 batch whose head is right and whose records nobody reads."""
    head = struct.pack(
        ">iBIhiqqqhii",
        -1, 2, 0, attributes, count - 1, 1_000, 2_000, producer_id, epoch, sequence, count,
    )  # fmt: skip
    return struct.pack(">qi", 0, len(head) + len(content)) + head + content
