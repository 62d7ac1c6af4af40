"""`broker-lite topics`: list, create, describe, alter and delete topics.

Flags and output are those of kafka-topics.sh.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from broker_lite.client import Client
from broker_lite.client.topic_partitions import name_of
from broker_lite.commands.shared.connecting import add_connection, connect
from broker_lite.commands.shared.flags import add_actions, add_repeatable
from broker_lite.commands.shared.kafka_errors import check_told
from broker_lite.commands.topics.describe import add_describe_filters, by_id, describe
from broker_lite.commands.topics.topic_names import choice_of
from broker_lite.errors import ClientError, ErrorCode, SettingsError
from broker_lite.wire import ZERO_UUID, messages

_TIMEOUT_MS: Final = 30_000
_BY_STATE: Final = 6  # the first version of DeleteTopics that can name topics by id
_BROKERS_DEFAULT: Final = -1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    actions = {
        "list": "print the names of all topics",
        "create": "create a topic",
        "describe": "print partitions, replicas and configs of topics",
        "alter": "add partitions to topics",
        "delete": "delete topics",
    }
    add_actions(parser, actions)
    parser.add_argument("--topic", help="the name; except with --create, a regular expression")
    parser.add_argument("--topic-id", help="with --describe: the id instead of the name")
    parser.add_argument(
        "--partitions", type=int, help="number of partitions [the broker's default]"
    )
    parser.add_argument("--replication-factor", type=int, help="[the broker's default]")
    parser.add_argument(
        "--replica-assignment",
        metavar="1:2,1:2",
        help="the brokers of each partition, instead of both flags above",
    )
    add_repeatable(parser, "--config", text="a config of the new topic; repeatable")
    parser.add_argument("--if-exists", action="store_true", help="a missing topic is no error")
    parser.add_argument(
        "--if-not-exists", action="store_true", help="an existing topic is no error"
    )
    parser.add_argument("--exclude-internal", action="store_true", help="leave out internal topics")
    add_describe_filters(parser)
    add_connection(parser)


def run(options: argparse.Namespace) -> int:
    """Run the chosen action."""
    _check(options)
    with connect(options) as client:
        _ACTIONS[options.action](client, options)
    return 0


def _check(options: argparse.Namespace) -> None:
    """Raise for flags that contradict each other."""
    if options.action in {"create", "alter", "delete"} and not options.topic:
        raise SettingsError(f"--{options.action} needs --topic")
    if options.action == "alter" and options.partitions is None:
        raise SettingsError("--alter needs --partitions")
    if options.config and options.action != "create":
        raise SettingsError("--config goes with --create; broker-lite configs changes configs")
    if options.replica_assignment and options.replication_factor is not None:
        raise SettingsError("--replica-assignment and --replication-factor exclude each other")
    for flag, value in (
        ("--partitions", options.partitions),
        ("--replication-factor", options.replication_factor),
    ):
        if value is not None and value < 1:
            raise SettingsError(f"{flag} must be greater than 0")


def _list(client: Client, options: argparse.Namespace) -> None:
    for topic in _chosen(client, options):
        print(topic.name)


def _describe(client: Client, options: argparse.Namespace) -> None:
    topics = _chosen(client, options)
    if options.topic_id is None:
        _require(topics, options)
    else:
        topics = by_id(topics, options.topic_id, if_exists=options.if_exists)
    describe(client, topics, options)


def _create(client: Client, options: argparse.Namespace) -> None:
    request = messages.CreateTopicsRequest
    assignments = _assignments(options.replica_assignment)
    topic = request.CreatableTopic(
        name=options.topic,
        num_partitions=_BROKERS_DEFAULT if assignments else options.partitions or _BROKERS_DEFAULT,
        replication_factor=options.replication_factor or _BROKERS_DEFAULT,
        assignments=[
            request.CreatableReplicaAssignment(partition_index=index, broker_ids=brokers)
            for index, brokers in enumerate(assignments)
        ],
        configs=[
            request.CreatableTopicConfig(name=name, value=value)
            for name, value in map(_config, options.config)
        ],
    )
    answer = client.request(
        request(topics=[topic], timeout_ms=_TIMEOUT_MS), node_id=client.controller_id()
    )
    (result,) = answer.topics
    if result.error_code == ErrorCode.TOPIC_ALREADY_EXISTS and options.if_not_exists:
        return
    check_told(f"topic {options.topic}", result.error_code, result.error_message)
    print(f"Created topic {options.topic}.")


def _alter(client: Client, options: argparse.Namespace) -> None:
    topics = _chosen(client, options)
    _require(topics, options)
    assignments = _assignments(options.replica_assignment)
    request = messages.CreatePartitionsRequest
    changes = [
        request.CreatePartitionsTopic(
            name=name_of(topic),
            count=options.partitions,
            assignments=[
                request.CreatePartitionsAssignment(broker_ids=brokers)
                for brokers in assignments[len(topic.partitions) :]
            ]
            or None,
        )
        for topic in topics
    ]
    if not changes:
        return
    answer = client.request(
        request(topics=changes, timeout_ms=_TIMEOUT_MS), node_id=client.controller_id()
    )
    for result in answer.results:
        check_told(f"topic {result.name}", result.error_code, result.error_message)


def _delete(client: Client, options: argparse.Namespace) -> None:
    topics = _chosen(client, options)
    _require(topics, options)
    names = [*map(name_of, topics)]
    if not names:
        return
    node_id = client.controller_id()
    request = messages.DeleteTopicsRequest
    if client.connection(node_id).version_of(request) >= _BY_STATE:
        states = [request.DeleteTopicState(name=name, topic_id=ZERO_UUID) for name in names]
        value = request(topics=states, timeout_ms=_TIMEOUT_MS)
    else:
        value = request(topic_names=names, timeout_ms=_TIMEOUT_MS)
    for result in client.request(value, node_id=node_id).responses:
        check_told(f"topic {result.name}", result.error_code, result.error_message)


_ACTIONS: Final[Mapping[str, Callable[[Client, argparse.Namespace], None]]] = {
    "list": _list,
    "describe": _describe,
    "create": _create,
    "alter": _alter,
    "delete": _delete,
}


def _chosen(
    client: Client, options: argparse.Namespace
) -> list[messages.MetadataResponse.MetadataResponseTopic]:
    """Return the topics that --topic and --exclude-internal select, sorted by name."""
    chosen = choice_of(options.topic)
    topics = sorted(client.metadata().topics, key=name_of)
    return [
        topic
        for topic in topics
        if chosen(name_of(topic)) and not (options.exclude_internal and topic.is_internal)
    ]


def _require(topics: Sequence[object], options: argparse.Namespace) -> None:
    """Raise an error if no topic matches --topic, unless that is allowed."""
    if not topics and options.topic is not None and not options.if_exists:
        raise ClientError(f"Topic '{options.topic}' does not exist as expected")


def _config(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name.strip():
        raise SettingsError(f"--config {text}: not NAME=VALUE")
    return name.strip(), value.strip()


def _assignments(text: str | None) -> list[list[int]]:
    """Parse `1:2,2:1`: the brokers of partition 0 and of partition 1."""
    try:
        return [[int(each) for each in part.split(":")] for part in (text or "").split(",") if part]
    except ValueError as error:
        raise SettingsError(f"--replica-assignment {text}: not numbers of brokers") from error
