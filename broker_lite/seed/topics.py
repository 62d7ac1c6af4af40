"""Creates the topics that the settings ask for, with the checks of CreateTopics.

All are created or none. An existing topic, as after a restart on a volume, is left alone; a log
line reports how it differs from the wanted one.
"""

import logging
from collections.abc import Sequence
from pathlib import Path

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.metadata.topic import Topic
from broker_lite.control.metadata.topic_names import collision_key
from broker_lite.control.topics.topic_rules import USE_DEFAULT, TopicPlan, check_partition_total
from broker_lite.errors import BrokerError, SettingsError
from broker_lite.seed.topic_spec import TopicSpec, parse_spec_lines, parse_specs
from broker_lite.settings import Settings

_log = logging.getLogger("broker_lite.seed")


def read_topics(settings: Settings) -> list[TopicSpec]:
    """Parse all topics of the settings.

    Raises:
        SettingsError: the file cannot be read, or a topic is wrong.
    """
    origin = settings.origin_of("broker.lite.topics")
    specs = parse_specs(settings.broker_lite_topics, origin)
    path: str = settings.broker_lite_topics_file
    if path:
        specs += parse_spec_lines(_read(path), path)
    return specs


def _read(path: str) -> str:
    try:
        return Path(path).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SettingsError(f"{path}: cannot be read: {reason}") from error


def create_topics(cluster: Cluster, specs: Sequence[TopicSpec]) -> None:
    """Create the missing topics.

    Raises:
        SettingsError: a topic cannot be created; none was.
        KafkaStorageError: the metadata cannot be written; none was created.
    """
    plans: list[TopicPlan] = []
    seen: dict[str, TopicSpec] = {}
    for spec in specs:
        name = spec.topic.name
        other = seen.setdefault(collision_key(name), spec)
        if other is not spec:
            how = "is given twice" if other.topic.name == name else f"and {other.topic.name} clash"
            raise SettingsError(f"{spec.origin}: topic {name} {how}, see {other.origin}")
        existing = cluster.topics.get(name)
        if existing is not None:
            _tell_differences(existing, spec)
        else:
            try:
                plans.append(cluster.plan_topic(spec.topic))
                check_partition_total([plan.partition_count for plan in plans])
            except BrokerError as error:
                raise SettingsError(f"{spec.origin}: topic {name}: {error.message}") from error
    if plans:
        for topic in cluster.create_topics(plans):
            cluster.make_logs(topic)
        _log.info("topics created count=%d", len(plans))


def _tell_differences(topic: Topic, spec: TopicSpec) -> None:
    asked = spec.topic
    if asked.partition_count not in (USE_DEFAULT, topic.partition_count):
        _log.warning(
            "topic left as it is topic=%s partitions=%d asked=%d",
            topic.name,
            topic.partition_count,
            asked.partition_count,
        )
    for name, value in dict(asked.configs).items():
        if topic.overrides.get(name) != value:
            _log.warning(
                "topic left as it is topic=%s config=%s value=%s asked=%s",
                topic.name,
                name,
                topic.overrides.get(name, "default"),
                value,
            )
