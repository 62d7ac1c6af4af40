"""S-75: which ids of deleted topics a start has to know."""

from pathlib import Path

from broker_lite.control.metadata.image import MetadataImage
from broker_lite.control.metadata.metadata_log import MetadataLog
from broker_lite.control.metadata.metadata_records import PARTITION, REMOVE_TOPIC, TOPIC, make
from broker_lite.control.metadata.replaying import replay
from broker_lite.log.directory.manager import LogManager

OLD_ID, NEW_ID, GONE_ID = (bytes([number]) * 16 for number in (1, 2, 3))


def test_s75_deleted_topics_whose_names_are_in_use_again(tmp_path: Path) -> None:
    logs = LogManager(tmp_path, node_id=1, now_ms=lambda: 0)
    logs.open()
    log = MetadataLog.open(logs)
    log.become_leader(now_ms=0)
    for name, topic_id in (("t", OLD_ID), ("gone", GONE_ID)):
        topic = make(TOPIC, name=name, topic_id=topic_id)
        partition = make(PARTITION, topic_id=topic_id, partition_id=0)
        log.append([topic, partition], now_ms=0)
        log.append([make(REMOVE_TOPIC, topic_id=topic_id)], now_ms=0)
    log.append([make(REMOVE_TOPIC, topic_id=b"x" * 16)], now_ms=0)
    log.append([make(TOPIC, name="t", topic_id=NEW_ID)], now_ms=0)
    image = MetadataImage()
    assert replay(log, image) == {OLD_ID}
    assert list(image.topics) == ["t"]
    logs.close()
