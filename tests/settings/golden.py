"""What Apache Kafka 4.3.1 says about its settings; each file names how it was got."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from broker_lite.settings import Setting

_DATA = Path(__file__).parent / "data"


def load(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((_DATA / f"{name}.json").read_text("utf-8"))
    return data


def _bounds(setting: Setting) -> str | None:
    """What a setting allows, written as Kafka writes it."""
    match setting.allowed:
        case "* or partition:broker,...":
            return "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
        case "1 to 9, or -1":
            return "[1,...,9] or -1"
    words = setting.allowed.split()
    if setting.validator is None:
        return None
    if words[:2] == ["at", "least"]:
        return f"[{words[2]},...]"
    if words[1:2] == ["to"]:
        return f"[{words[0]},...,{words[2]}]"
    return f"[{setting.allowed}]"


def assert_as_kafka(settings: Sequence[Setting], scope: str) -> None:
    """Type, default, bounds, visibility and whether it is dynamic are Kafka's."""
    known = load("config_def")[scope]
    for setting in settings:
        if setting.own:
            assert setting.name not in known
            continue
        theirs = known[setting.name]
        assert setting.kind.name == theirs["type"], setting.name
        if setting.name not in OTHER_DEFAULT:
            assert setting.default == theirs["default"], setting.name
        if setting.kafka_default is not None:
            assert setting.kafka_default == theirs["default"] != setting.default
        if setting.name not in OTHER_BOUNDS:
            assert _bounds(setting) == theirs["validator"], setting.name
        assert setting.internal == theirs["internal"], setting.name
        assert setting.dynamic == (theirs["dynamic"] and setting.name not in NOT_DYNAMIC)


OTHER_DEFAULT = {
    # for tests: at once, on one node, wherever a client finds it
    "advertised.listeners",
    "group.consumer.assignment.interval.ms",
    "group.initial.rebalance.delay.ms",
    "listener.security.protocol.map",
    "listeners",
    "log.dir",
    "offsets.topic.replication.factor",
    "transaction.state.log.min.isr",
    "transaction.state.log.replication.factor",
    # measured: what the system gives makes large fetches cheapest
    "socket.receive.buffer.bytes",
    "socket.send.buffer.bytes",
    # a load test's clients all connect at once
    "socket.listen.backlog.size",
    # Kafka has none and demands a value
    "controller.listener.names",
    "node.id",
    "process.roles",
}
OTHER_BOUNDS = {
    # the same words, which Kafka writes in another way
    "group.consumer.migration.policy",
    "group.coordinator.rebalance.protocols",
    # not checked: no effect here
    "authorizer.class.name",
    "controller.quorum.bootstrap.servers",
    "controller.quorum.voters",
    # only the class that Kafka itself has
    "replica.selector.class",
    # null is allowed there, too
    "node.id",
    # Kafka takes what the topic's config cannot be, and then never makes the topic
    "offsets.topic.compression.codec",
    "offsets.topic.segment.bytes",
    "transaction.state.log.segment.bytes",
}
NOT_DYNAMIC = {"listeners", "listener.security.protocol.map"}
