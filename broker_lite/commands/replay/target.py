"""The topics of a broker that a replay writes to."""

from collections.abc import Iterable, Mapping
from typing import Final

from broker_lite.client import Client
from broker_lite.client.topic_partitions import find_topics
from broker_lite.commands.configs.entries import TOPIC, describe_configs
from broker_lite.commands.shared.kafka_errors import check_told
from broker_lite.errors import SettingsError
from broker_lite.wire import messages

_BROKERS_DEFAULT: Final = -1
_TIMEOUT_MS: Final = 30_000
_TIMESTAMP_TYPE: Final = "message.timestamp.type"
_CONFIGS: Final[Mapping[str, str]] = {
    _TIMESTAMP_TYPE: "CreateTime",
    "retention.ms": "-1",  # else records of long ago would be deleted at once
}
CREATED_WITH: Final = ", ".join(f"{name}={value}" for name, value in _CONFIGS.items())


def parse_renames(texts: Iterable[str]) -> dict[str, str]:
    """Parse OLD=NEW.

    Raises:
        SettingsError: one of them is not of this form, or two are for one topic.
    """
    found: dict[str, str] = {}
    for text in texts:
        old, sign, new = text.partition("=")
        if not (old and sign and new):
            raise SettingsError(f"--rename {text}: OLD=NEW is expected")
        if old in found:
            raise SettingsError(f"--rename {text}: there is another one for {old}")
        found[old] = new
    return found


def target_names(topics: Iterable[str], renames: Mapping[str, str]) -> dict[str, str]:
    """Return the topic to write to of each topic of the log.

    Raises:
        SettingsError: the log has no such topic to rename, or two get one name.
    """
    names = {topic: renames.get(topic, topic) for topic in topics}
    for missing in sorted(renames.keys() - names.keys()):
        raise SettingsError(f"--rename {missing}={renames[missing]}: the log has no such topic")
    taken: dict[str, str] = {}
    for old, new in names.items():
        if new in taken:
            raise SettingsError(f"{taken[new]} and {old} would both be written to {new}")
        taken[new] = old
    return names


def prepare_topics(client: Client, partition_counts: Mapping[str, int]) -> list[str]:
    """Create the topics that are missing.

    Args:
        client: of the cluster.
        partition_counts: how many partitions each topic needs.

    Returns:
        The names of those that were created; they have CREATED_WITH.

    Raises:
        SettingsError: a topic has too few partitions.
        ClientError: the broker refused.
    """
    existing = find_topics(client, partition_counts)
    for name, topic in existing.items():
        if topic.partition_count < partition_counts[name]:
            raise SettingsError(
                f"topic {name} has {topic.partition_count} partitions in the broker, and"
                f" {partition_counts[name]} are needed"
            )
    missing = sorted(partition_counts.keys() - existing.keys())
    if missing:
        _create(client, {name: partition_counts[name] for name in missing})
    return missing


def _create(client: Client, partition_counts: Mapping[str, int]) -> None:
    request = messages.CreateTopicsRequest
    topics = [
        request.CreatableTopic(
            name=name,
            num_partitions=count,
            replication_factor=_BROKERS_DEFAULT,
            configs=[
                request.CreatableTopicConfig(name=config, value=value)
                for config, value in _CONFIGS.items()
            ],
        )
        for name, count in partition_counts.items()
    ]
    answer = client.request(
        request(topics=topics, timeout_ms=_TIMEOUT_MS), node_id=client.controller_id()
    )
    for result in answer.topics:
        check_told(f"topic {result.name}", result.error_code, result.error_message)


def stamped_topics(client: Client, topics: Iterable[str]) -> list[str]:
    """Return the topics whose records get the broker's time.

    Raises:
        ClientError: the broker refused.
    """
    resources = [(TOPIC, name) for name in topics]
    found = describe_configs(client, resources) if resources else {}
    return sorted(
        name
        for (_, name), entries in found.items()
        if any(each.name == _TIMESTAMP_TYPE and each.value == "LogAppendTime" for each in entries)
    )
