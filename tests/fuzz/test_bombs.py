"""Decompression bombs at a live broker: V-45, R-84."""

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from broker_lite.record.codecs.compression import Codec, decompress
from broker_lite.wire import messages
from tests.bench.growth import resident_bytes
from tests.fuzz.bombs import bombs
from tests.fuzz.well_behaved import WellBehaved
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient

LIMIT_BYTES = 134_217_728
AT_ONCE = 8
THREADS = 4
# beside what the threads decompress: the requests, up to 17 MB each, and the broker
MEMORY_BYTES_MAX = THREADS * LIMIT_BYTES + 300_000_000
# 0.5 s on an idle machine, which the machine of a test run is not
WAIT_S_MAX = 5.0


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    folder = tmp_path_factory.mktemp("bombs") / "data"
    with BrokerProcess(folder, settings=["message.max.bytes=30000000"]) as running:
        yield running


@pytest.fixture(scope="module")
def calm(broker: BrokerProcess) -> Iterator[WellBehaved]:
    client = WellBehaved(broker.port, ("bombs",))
    yield client
    client.close()


def produce(port: int, records: bytes) -> int:
    request = messages.ProduceRequest
    data = request.PartitionProduceData(index=0, records=records)
    topic = request.TopicProduceData(name="bombs", partition_data=[data])
    value = request(acks=1, timeout_ms=60_000, topic_data=[topic])
    with RawClient("127.0.0.1", port, timeout_s=60) as client:
        answer = client.request(request, value, 9).responses[0].partition_responses[0]
        return int(answer.error_code)


@pytest.mark.slow
@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD], ids=str)
def test_v45_bombs_are_refused_while_others_are_served(
    codec: Codec, broker: BrokerProcess, calm: WellBehaved
) -> None:
    bomb = bombs()[codec]
    waited_s = peak_bytes = 0.0
    with ThreadPoolExecutor(AT_ONCE) as threads:
        answers: list[Future[int]] = [
            threads.submit(produce, broker.port, bomb) for _ in range(AT_ONCE)
        ]
        while not all(answer.done() for answer in answers):
            began = time.monotonic()
            assert calm.check() is None
            waited_s = max(waited_s, time.monotonic() - began)
            peak_bytes = max(peak_bytes, resident_bytes(broker.pid))
    assert [answer.result() for answer in answers] == [10] * AT_ONCE
    assert peak_bytes < MEMORY_BYTES_MAX
    assert waited_s < WAIT_S_MAX
    assert "Traceback" not in broker.log
    print(f"{codec.name}: {len(bomb)} bytes, {peak_bytes / 1e6:.0f} MB, waited {waited_s:.2f} s")


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD], ids=str)
def test_r_84_output_is_bounded(codec: Codec) -> None:
    content = memoryview(bombs()[codec])[61:]
    result = decompress(codec, content, output_bytes_max=3_000_000)
    assert result.limit_exceeded
    assert len(result.data) <= 3_000_000
