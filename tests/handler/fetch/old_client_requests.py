"""What the tests of old clients share: messages, and requests of versions 0 to 3."""

from typing import Any

from broker_lite.handler.offered import offered
from broker_lite.record.framing import walk
from broker_lite.record.legacy.message_builder import encode_message
from broker_lite.record.legacy.messages import LegacyMessage, iterate_legacy
from broker_lite.wire import messages
from tests.handler.data_apis import FETCH, PRODUCE, TOPIC, Handlers, fetched, wanted

T0 = 1_700_000_000_000


def stand_in_for_3_9(handlers: Handlers) -> Handlers:
    """Serve old messages."""
    handlers.context.apis = offered("3.9")
    return handlers


def message(value: bytes = b"v", *, magic: int = 1, bits: int = 0, offset: int = 0) -> bytes:
    return encode_message(offset, magic, bits, T0, b"k", value)


async def produce(
    handlers: Handlers, data: bytes | None, version: int = 2, topic: str = TOPIC, acks: int = -1
) -> Any:
    kind = messages.ProduceRequest
    partition = kind.PartitionProduceData(index=0, records=data)
    value = kind(
        acks=acks,
        timeout_ms=1000,
        topic_data=[kind.TopicProduceData(name=topic, partition_data=[partition])],
    )
    answer = await handlers.answer(PRODUCE, version, value)
    return answer if answer is None else answer.responses[0].partition_responses[0]


async def fetch(handlers: Handlers, version: int, *, topic: str = TOPIC, **fields: Any) -> Any:
    limits = {} if version >= 3 else {"max_bytes": 2**31 - 1}
    request = handlers.fetch_request(wanted(**fields), topic=topic, **limits)
    (answer,) = fetched(await handlers.answer(FETCH, version, request))
    return answer


def read(answer: Any) -> list[tuple[int, int, bytes | None]]:
    """Offset, magic and value of the records of an answer."""
    view = memoryview(bytes(answer.records))
    return [
        (each.offset, entry.magic, each.value)
        for entry in walk(view)
        for each in iterate_legacy(LegacyMessage(view, entry.position, entry.size_bytes))
    ]
