"""A disk that fills up under a live broker: V-72, S-13, S-31, S-47."""

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_lite.wire import messages
from tests.fuzz.full_disk import (
    STORAGE_ERROR,
    TOPIC,
    DiskClient,
    offsets_on_disk,
    value_of,
)
from tests.support.broker_process import KEEP, BrokerProcess
from tests.support.small_disk import small_disk

_ERROR = re.compile(r"^([\w.]+(?:Error|Exception|Warning))\b", re.MULTILINE)

DISK_BYTES = 6_000_000
BALLAST_BYTES = 2_000_000
SETTINGS = (
    KEEP,
    "log.segment.bytes=1048576",
    "log.index.interval.bytes=0",
    # both fail again and again while there is no room
    "log.flush.offset.checkpoint.interval.ms=50",
    "producer.id.expiration.check.interval.ms=50",
)


def unforeseen(log: str) -> set[str]:
    """Errors in a log that are not those of a disk."""
    return set(_ERROR.findall(log)) - {"OSError", "broker_lite.errors.exceptions.KafkaStorageError"}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", DISK_BYTES) as folder:
        (folder / "ballast").write_bytes(bytes(BALLAST_BYTES))
        yield folder


def broker_on(disk: Path, tmp_path: Path) -> BrokerProcess:
    return BrokerProcess(disk / "data", settings=SETTINGS, log_path=tmp_path / "broker.out")


def fill(client: DiskClient, acknowledged: int, codec: int = 0) -> int:
    """Produce until ten produces in a row were refused; give how many records there are."""
    refused = 0
    while refused < 10:
        code, offset = client.produce(acknowledged, codec)
        if code:
            assert (code, offset) == (STORAGE_ERROR, -1)
            refused += 1
        else:
            assert offset == acknowledged
            acknowledged += 1
            refused = 0
    return acknowledged


def check(client: DiskClient, disk: Path, acknowledged: int) -> None:
    """Everything acknowledged can be read, and nothing else is in the files."""
    assert client.read_all() == [value_of(number) for number in range(acknowledged)]
    assert offsets_on_disk(disk / "data" / f"{TOPIC}-0") == list(range(acknowledged))


def try_everything(client: DiskClient) -> None:
    """Ask for changes of the metadata: each is done or refused, and the connection stays."""
    codes = [client.create_topic(f"new-{number}", 20) for number in range(5)]
    assert set(codes) <= {0, STORAGE_ERROR}
    types = messages.IncrementalAlterConfigsRequest
    config = types.AlterableConfig(name="retention.ms", config_operation=0, value="1" * 9)
    resource = types.AlterConfigsResource(resource_type=2, resource_name=TOPIC, configs=[config])
    for _ in range(5):
        answer = client.call("IncrementalAlterConfigs", 1, resources=[resource])
        assert answer.responses[0].error_code in {0, STORAGE_ERROR}
    count = messages.CreatePartitionsRequest.CreatePartitionsTopic(
        name="new-0", count=40, assignments=None
    )
    answer = client.call("CreatePartitions", 2, topics=[count], timeout_ms=1000)
    assert answer.results[0].error_code in {0, 3, STORAGE_ERROR}
    answer = client.call("InitProducerId", 3, transactional_id=None, transaction_timeout_ms=1)
    assert answer.error_code in {0, STORAGE_ERROR}
    answer = client.call("DeleteTopics", 4, topic_names=["new-1"], timeout_ms=1000)
    assert answer.responses[0].error_code in {0, 3, STORAGE_ERROR}
    assert client.call("Metadata", 9, topics=None).brokers


@pytest.mark.slow
@pytest.mark.parametrize("codec", [0, 4], ids=["V-72 plain", "V-72 zstd"])
def test_refused_while_full_and_written_again_with_room(
    disk: Path, tmp_path: Path, codec: int
) -> None:
    with broker_on(disk, tmp_path) as broker:
        client = DiskClient(broker.port)
        assert client.create_topic(TOPIC) == 0
        count = fill(client, 0)
        assert count > 100
        check(client, disk, count)
        try_everything(client)
        count = fill(client, count, codec)
        check(client, disk, count)
        (disk / "ballast").unlink()
        for number in range(count, count + 30):
            assert client.produce(number, codec) == (0, number)
        assert client.create_topic("with-room") == 0
        client.close()
    with broker_on(disk, tmp_path) as broker:
        client = DiskClient(broker.port)
        check(client, disk, count + 30)
        client.close()
    assert unforeseen(broker.log) == set()


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL], ids=["S-47 stop", "S-44 kill"])
def test_an_end_while_full_loses_nothing(disk: Path, tmp_path: Path, end: signal.Signals) -> None:
    broker = broker_on(disk, tmp_path).start()
    client = DiskClient(broker.port)
    assert client.create_topic(TOPIC) == 0
    count = fill(client, 0)
    try_everything(client)
    count = fill(client, count)
    client.close()
    if end == signal.SIGTERM:
        assert broker.stop() == 0
    else:
        broker.kill()
    (disk / "ballast").unlink()
    with broker_on(disk, tmp_path) as broker:
        client = DiskClient(broker.port)
        check(client, disk, count)
        assert client.produce(count) == (0, count)
        client.close()
    assert unforeseen(broker.log) == set()
