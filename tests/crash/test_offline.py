"""S-32, V-72: a broker whose disk fails at an fsync, as its clients see it, and after a restart."""

import sys
from pathlib import Path

from tests.fuzz.full_disk import STORAGE_ERROR, TOPIC, DiskClient, offsets_on_disk, value_of
from tests.support.broker_process import BrokerProcess

SETTINGS = ["log.flush.interval.messages=1"]
OTHER = "other"


def test_s32_a_partition_is_offline_from_a_failed_fsync_to_the_next_start(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    fault = f"flush.sync.log:4:EIO:{TOPIC}-0/"
    program = (sys.executable, "-m", "tests.crash.serve", "--crash", fault, "--")
    with BrokerProcess(data_dir, settings=SETTINGS, program=program) as broker:
        client = DiskClient(broker.port)
        assert client.create_topic(TOPIC) == client.create_topic(OTHER) == 0
        answers = [client.produce(number) for number in range(6)]
        assert answers == [(0, 0), (0, 1), (0, 2), *[(STORAGE_ERROR, -1)] * 3]
        assert client.end_offset() == -1
        client.close()
    assert "partition offline" in broker.log
    assert not (data_dir / ".kafka_cleanshutdown").exists()
    with BrokerProcess(data_dir, settings=SETTINGS) as broker:
        client = DiskClient(broker.port)
        values = client.read_all()
        assert values[:3] == [value_of(number) for number in range(3)]
        assert values[3:] in ([], [value_of(3)])  # nobody knows before whether it came through
        assert client.produce(6) == (0, len(values))
        client.close()
    assert offsets_on_disk(data_dir / f"{TOPIC}-0") == list(range(len(values) + 1))
    assert (data_dir / ".kafka_cleanshutdown").exists()
