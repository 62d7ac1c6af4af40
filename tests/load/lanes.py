"""Lanes without connections: what a broker would answer, as bytes."""

from collections.abc import Sequence

from broker_lite.client.broker_connection import ApiVersion, Connection
from broker_lite.load.produce import ProduceWork
from broker_lite.load.recorder import Recorder
from broker_lite.load.schedule import Schedule
from broker_lite.load.stamped import Batch, Producer
from broker_lite.wire import messages

TOPIC = "load"
MS = 1_000_000
SECOND = 1_000_000_000


class Spoken(Connection):
    """A connection that is none: it only knows versions."""

    def __init__(self, version: int) -> None:
        apis = (messages.ProduceRequest, messages.FetchRequest, messages.MetadataRequest)
        self.versions = {api.api_key: ApiVersion(0, version) for api in apis}


def produce_answer(code: int = 0, *, version: int = 9, throttle_ms: int = 0) -> memoryview:
    """The answer for one partition, as it follows the correlation id."""
    make = messages.ProduceResponse
    partition = make.PartitionProduceResponse(index=3, error_code=code, base_offset=7)
    topic = make.TopicProduceResponse(name=TOPIC, partition_responses=[partition])
    body = make.encode(make(responses=[topic], throttle_time_ms=throttle_ms), version)
    return memoryview(bytes(version >= 9) + body)


def recorder(*, warmup_s: float = 0) -> Recorder:
    """A recorder whose clock stands at 1 s."""
    found = Recorder(warmup_s=warmup_s)
    found.begin(SECOND)
    return found


def produce_work(
    counts: Recorder,
    *,
    per_second: float | None = None,
    partitions: int = 1,
    acks: int = -1,
    producer: Producer | None = None,
    batches: Sequence[Batch] = (Batch(b"batch-1", 10), Batch(b"batch-2", 10)),
) -> ProduceWork:
    """A work of small batches, whose schedule begins at 1 s."""
    schedule = Schedule(per_second)
    schedule.begin(SECOND)
    return ProduceWork(
        topic=TOPIC,
        partitions=range(partitions),
        batches=batches,
        acks=acks,
        timeout_ms=1000,
        client_id="me",
        schedule=schedule,
        recorder=counts,
        producer=producer,
    )
