"""`kafka-reassign-partitions`: move partitions to other brokers and log directories.

Flags and output are those of kafka-reassign-partitions.sh. It sets no throttles, and --generate
ignores the racks of brokers.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Final

from broker_lite.client import Client, check
from broker_lite.client.partition_offsets import by_topic
from broker_lite.client.topic_partitions import TopicPartition, name_of
from broker_lite.commands.configs.changes import alter
from broker_lite.commands.configs.entries import BROKER, TOPIC
from broker_lite.commands.kafka.json_file import member, read_partitions
from broker_lite.commands.kafka.reassignment_plan import (
    Assignment,
    Plan,
    as_json,
    duplicates,
    joined,
    name,
    propose,
)
from broker_lite.commands.kafka.replica_dirs import Place, move, places, state_line
from broker_lite.commands.shared.connecting import add_connection, connect
from broker_lite.commands.shared.flags import add_actions
from broker_lite.commands.shared.kafka_errors import exception_text
from broker_lite.errors import ClientError, ErrorCode, SettingsError
from broker_lite.wire import messages

_TIMEOUT_MS: Final = 60_000
_BROKER_THROTTLES: Final = (
    "leader.replication.throttled.rate",
    "follower.replication.throttled.rate",
    "replica.alter.log.dirs.io.max.bytes.per.second",
)
_TOPIC_THROTTLES: Final = (
    "leader.replication.throttled.replicas",
    "follower.replication.throttled.replicas",
)
# The required and the optional flags of each action.
_NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "verify": ("reassignment_json_file",),
    "generate": ("topics_to_move_json_file", "broker_list"),
    "execute": ("reassignment_json_file",),
    "cancel": ("reassignment_json_file",),
    "list": (),
}
_ALLOWED: Final[Mapping[str, tuple[str, ...]]] = {
    "verify": ("preserve_throttles",),
    "generate": ("disable_rack_aware",),
    "execute": ("additional", "throttle", "replica_alter_log_dirs_throttle", "timeout"),
    "cancel": ("preserve_throttles", "timeout"),
    "list": (),
}
_FLAGS: Final = dict.fromkeys(
    flag for flags in (*_NEEDED.values(), *_ALLOWED.values()) for flag in flags
)
_MOVE_TIMEOUT_MS: Final = 10_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the tool."""
    actions = {
        "verify": "print the progress of a reassignment",
        "generate": "print a proposal",
        "execute": "start a reassignment",
        "cancel": "cancel a reassignment",
        "list": "print the ongoing reassignments",
    }
    add_actions(parser, actions)
    for flag in ("--reassignment-json-file", "--topics-to-move-json-file"):
        parser.add_argument(flag, type=Path, metavar="FILE")
    parser.add_argument("--broker-list", metavar="N,N", help="with --generate: the target brokers")
    for flag in ("--disable-rack-aware", "--additional", "--preserve-throttles"):
        parser.add_argument(flag, action="store_true", default=None)
    for flag in ("--throttle", "--replica-alter-log-dirs-throttle"):
        parser.add_argument(flag, type=int, metavar="BYTES", help="not supported")
    parser.add_argument(
        "--timeout", type=int, metavar="MS", help="timeout of moves between directories"
    )
    add_connection(parser)


def run(options: argparse.Namespace) -> int:
    """Run the chosen action."""
    _check(options)
    with connect(options) as client:
        _ACTIONS[options.action](client, options)
    return 0


def _check(options: argparse.Namespace) -> None:
    """Refuse a missing flag, or one that does not belong to the action.

    Raises:
        SettingsError: names the first such flag.
    """
    action = options.action
    for flag in _FLAGS:
        given = getattr(options, flag) is not None
        text = flag.replace("_", "-")
        if flag in _NEEDED[action] and not given:
            raise SettingsError(f'Missing required argument "[{text}]"')
        if given and flag not in (*_NEEDED[action], *_ALLOWED[action]):
            raise SettingsError(f'Option "[{text}]" can\'t be used with action "[{action}]"')
    if options.throttle is not None or options.replica_alter_log_dirs_throttle is not None:
        raise SettingsError("throttles are not supported: leave them out")


def _list(client: Client, options: argparse.Namespace) -> None:
    ongoing = _ongoing(client)
    if not ongoing:
        print("No partition reassignments found.")
        return
    print("Current partition reassignments:")
    for partition, each in sorted(ongoing.items()):
        adding = f" adding: {joined(each.adding_replicas)}." if each.adding_replicas else ""
        removing = f" removing: {joined(each.removing_replicas)}." if each.removing_replicas else ""
        print(f"{name(partition)}: replicas: {joined(each.replicas)}.{adding}{removing}")


def _verify(client: Client, options: argparse.Namespace) -> None:
    plan = Plan(options.reassignment_json_file)
    ongoing = _ongoing(client)
    current = _replicas(client, {topic for topic, _ in plan.replicas})
    print("Status of partition reassignment:")
    for partition, target in sorted(plan.replicas.items()):
        has = [*current.get(partition, ())]
        if partition in ongoing:
            print(f"Reassignment of partition {name(partition)} is still in progress.")
        elif has == target:
            print(f"Reassignment of partition {name(partition)} is completed.")
        else:
            print(
                f"There is no active reassignment of partition {name(partition)}, but replica set"
                f" is {joined(has)} rather than {joined(target)}."
            )
    where = places(client, {each.broker for each in plan.directories})
    lines = [
        state_line(replica, where.get(replica, Place()), target)
        for replica, target in sorted(plan.directories.items())
    ]
    print("\n".join(lines))
    is_moving = any(where.get(replica, Place()).future for replica in plan.directories)
    if not (ongoing or is_moving or options.preserve_throttles):
        _clear_throttles(client, plan)


def _generate(client: Client, options: argparse.Namespace) -> None:
    try:
        brokers = [int(word) for word in options.broker_list.split(",")]
    except ValueError:
        raise SettingsError(f"--broker-list {options.broker_list}: not numbers") from None
    if repeated := duplicates(brokers):
        raise ClientError(f"Broker list contains duplicate entries: {repeated}")
    path = options.topics_to_move_json_file
    topics = [member(each, "topic", str) for each in read_partitions(path, field="topics")]
    if twice := duplicates(topics):
        text = f"List of topics to reassign contains duplicate entries: [{', '.join(twice)}]"
        raise ClientError(text)
    current = _known(client, topics)
    print(f"Current partition replica assignment\n{_with_directories(client, current)}\n")
    proposed = propose(current, set(brokers) & set(client.nodes()))
    print(f"Proposed partition reassignment configuration\n{as_json(proposed, {})}")


def _execute(client: Client, options: argparse.Namespace) -> None:
    plan = Plan(options.reassignment_json_file)
    plan.check()
    if _ongoing(client) and not options.additional:
        raise ClientError(
            "Cannot execute because there is an existing partition assignment.  Use --additional to"
            " override this and create a new partition assignment in addition to the existing one."
            " The --additional flag can also be used to change the throttle by resubmitting the"
            " current reassignment."
        )
    wanted = {broker for replicas in plan.replicas.values() for broker in replicas}
    if unknown := sorted(wanted - set(client.nodes())):
        raise ClientError(f"Unknown broker id {unknown[0]}")
    known = _known(client, {topic for topic, _ in plan.replicas})
    if missing := sorted(plan.replicas.keys() - known.keys()):
        raise ClientError(f"Unable to find partition: {', '.join(map(name, missing))}")
    text = _with_directories(client, {each: known[each] for each in plan.replicas})
    print(f"Current partition replica assignment\n\n{text}\n")
    print("Save this to use as the --reassignment-json-file option during rollback", flush=True)
    _alter(client, plan.replicas, "Error reassigning partition(s):")
    names, ending = _names(plan.replicas)
    print(f"Successfully started partition reassignment{ending} for {names}", flush=True)
    if plan.directories:
        move(client, plan.directories, _timeout_ms(options))


def _cancel(client: Client, options: argparse.Namespace) -> None:
    plan = Plan(options.reassignment_json_file)
    ongoing = [each for each in _ongoing(client) if each in plan.replicas]
    if ongoing:
        names, ending = _names(ongoing)
        what = f"Error cancelling partition reassignment{ending} for:"
        _alter(client, dict.fromkeys(ongoing), what)
        print(f"Successfully cancelled partition reassignment{ending} for: {names}")
    else:
        print("None of the specified partition reassignments are active.")
    where = places(client, {each.broker for each in plan.directories})
    moving = {
        replica: where[replica].current or ""
        for replica in plan.directories
        if where.get(replica, Place()).future
    }
    if moving:
        move(client, moving, _timeout_ms(options))
    else:  # without a line end, as Kafka's tool
        print("None of the specified partition moves are active.", end="")
    if not options.preserve_throttles:
        _clear_throttles(client, plan)


_ACTIONS: Final[Mapping[str, Callable[[Client, argparse.Namespace], None]]] = {
    "verify": _verify,
    "generate": _generate,
    "execute": _execute,
    "cancel": _cancel,
    "list": _list,
}


def _timeout_ms(options: argparse.Namespace) -> int:
    return _MOVE_TIMEOUT_MS if options.timeout is None else int(options.timeout)


def _names(partitions: Collection[TopicPartition]) -> tuple[str, str]:
    """Format partitions; return the text, and the plural ending for the word in front of it."""
    return ",".join(map(name, sorted(partitions))), "" if len(partitions) == 1 else "s"


def _ongoing(
    client: Client,
) -> dict[TopicPartition, messages.ListPartitionReassignmentsResponse.OngoingPartitionReassignment]:
    """Ask for the ongoing reassignments."""
    make = messages.ListPartitionReassignmentsRequest
    value = make(topics=None, timeout_ms=_TIMEOUT_MS)
    answer = client.request(value, node_id=client.controller_id())
    check("reassignments", answer.error_code, answer.error_message)
    return {
        (topic.name, each.partition_index): each
        for topic in answer.topics
        for each in topic.partitions
    }


def _replicas(client: Client, topics: Iterable[str]) -> Assignment:
    """Return the replicas of every partition of topics; missing topics are left out."""
    return {
        (name_of(topic), each.partition_index): each.replica_nodes
        for topic in client.metadata(topics).topics
        for each in topic.partitions
    }


def _known(client: Client, topics: Collection[str]) -> Assignment:
    """Return the replicas of every partition of topics that must exist.

    Raises:
    ClientError: a topic does not exist.
    """
    found = _replicas(client, topics)
    missing = sorted(set(topics) - {topic for topic, _ in found})
    if missing:
        raise ClientError(f"Topic {missing[0]} not found.")
    return found


def _with_directories(client: Client, assignment: Assignment) -> str:
    brokers = {broker for replicas in assignment.values() for broker in replicas}
    found = places(client, brokers)
    return as_json(
        assignment, {replica: place.current for replica, place in found.items() if place.current}
    )


def _alter(client: Client, wanted: Mapping[TopicPartition, list[int] | None], what: str) -> None:
    """Start reassignments; None cancels one.

    Raises:
        ClientError: some are refused; the text has the reason of each.
    """
    make = messages.AlterPartitionReassignmentsRequest
    topics = [
        make.ReassignableTopic(
            name=topic,
            partitions=[
                make.ReassignablePartition(partition_index=each, replicas=wanted[topic, each])
                for each in numbers
            ],
        )
        for topic, numbers in by_topic(wanted).items()
    ]
    value = make(topics=topics, timeout_ms=_TIMEOUT_MS)
    answer = client.request(value, node_id=client.controller_id())
    check("reassignment", answer.error_code, answer.error_message)
    refused = [
        f"{name((topic.name, each.partition_index))}:"
        f" {exception_text(each.error_code, each.error_message)}"
        for topic in answer.responses
        for each in topic.partitions
        if each.error_code != ErrorCode.NONE
    ]
    if refused:
        raise ClientError("\n".join((what, *refused)))


def _clear_throttles(client: Client, plan: Plan) -> None:
    """Remove the throttles of reassignments."""
    wanted = {broker for replicas in plan.replicas.values() for broker in replicas}
    brokers = sorted(wanted | set(client.nodes()))
    ending = "" if len(brokers) == 1 else "s"
    print(f"Clearing broker-level throttles on broker{ending} {joined(brokers)}", flush=True)
    for broker in brokers:
        alter(client, (BROKER, str(broker)), dict.fromkeys(_BROKER_THROTTLES))
    topics = sorted({topic for topic, _ in plan.replicas})
    ending = "" if len(topics) == 1 else "s"
    print(f"Clearing topic-level throttles on topic{ending} {','.join(topics)}", flush=True)
    for topic in topics:
        alter(client, (TOPIC, topic), dict.fromkeys(_TOPIC_THROTTLES))
