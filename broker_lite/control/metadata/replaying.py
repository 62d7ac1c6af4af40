"""Replays the metadata log into the image of the cluster, when the broker starts."""

from broker_lite.control.metadata.image import MetadataImage
from broker_lite.control.metadata.metadata_log import MetadataLog
from broker_lite.control.metadata.metadata_records import REMOVE_TOPIC


def replay(log: MetadataLog, image: MetadataImage) -> set[bytes]:
    """Apply all records of the metadata log to an image.

    Returns:
        The ids of deleted topics whose names new topics have now. After a crash the directories of
        a deleted topic may still be in the place of those of the new topic.

    Raises:
        KafkaStorageError: a record cannot be read, or a part of the log is missing.
    """
    deleted: dict[bytes, str] = {}
    for records in log.replay():
        for record in records:
            if record.api_key == REMOVE_TOPIC:
                topic = image.topics_by_id.get(bytes(record.value.topic_id))
                if topic is not None:
                    deleted[topic.topic_id] = topic.name
        image.apply(records)
    return {topic_id for topic_id, name in deleted.items() if name in image.topics}
