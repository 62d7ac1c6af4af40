"""Admin requests with the rule that each is about.

One list, run from the top on an empty broker: later requests find what earlier ones made.
"""

from broker_lite.wire import ZERO_UUID
from tests.differential.admin_requests import (
    APPEND,
    BROKER,
    DELETE,
    NO_ID,
    SET,
    SUBTRACT,
    TOPIC,
    AdminCase,
    Growth,
    Operations,
    alter,
    cluster,
    create,
    delete,
    describe,
    grow,
    log_dirs,
    metadata,
    page,
    replace,
    topic,
)

_CLEANUP = "cleanup.policy"
_RETENTION = "retention.ms"


def bad_names() -> list[AdminCase]:
    """Names that are not legal, collide or are taken."""
    names = ["", ".", "..", "x" * 250, "a b", "\u00fc", "a/b", "a\nb"]
    return [
        create("P-103", topic("a.b", 2)),
        create("P-101", topic("a_b")),
        create("P-102", topic("a.b", 0, 0, (), [("foo", "x")])),
        *[create("P-100", topic(name)) for name in names],
        create("P-102", topic("dup"), topic("dup", 2), topic("a b"), topic("a.b")),
        create("P-102", topic("__cluster_metadata")),
        create("P-101", topic("c.d"), topic("c_d")),
        create("P-100", topic("x" * 249), validate=True),
    ]


def bad_numbers() -> list[AdminCase]:
    """Partition counts, replication factors and manual assignments."""
    numbers = [(0, 1), (-2, 1), (1, 0), (1, -2), (1, 2), (0, 0), (0, 2), (-2, -2)]
    assignments: list[tuple[int, int, list[tuple[int, list[int]]]]] = [
        (1, 1, [(0, [1])]),
        (-1, 1, [(0, [1])]),
        (1, -1, [(0, [1])]),
        (-1, -1, [(1, [1])]),
        (-1, -1, [(-1, [1])]),
        (-1, -1, [(0, [1]), (0, [1])]),
        (-1, -1, [(0, [])]),
        (-1, -1, [(0, [1, 1])]),
        (-1, -1, [(0, [2])]),
        (-1, -1, [(0, [1, 2])]),
        (-1, -1, [(0, [1]), (1, [])]),
    ]
    return [
        *[create("P-103", topic("n", count, factor)) for count, factor in numbers],
        create("P-103", topic("n", -1, -1), validate=True),
        create("P-103", topic("n", -1, -1), version=2, validate=True),
        *[create("P-104", topic("n", *case)) for case in assignments],
        create("P-104", topic("n", -1, -1, [(1, [1]), (0, [1])]), validate=True),
        create("P-102", topic("big", 10001)),
        create("P-102", topic("big", 6000), topic("big2", 6000), validate=True),
    ]


def bad_topic_configs() -> list[AdminCase]:
    """Configs of a new topic."""
    configs: list[list[tuple[str, str | None]]] = [
        [("foo", "x")],
        [(_RETENTION, "x")],
        [(_RETENTION, None)],
        [(_RETENTION, "-2")],
        [(_RETENTION, "1"), (_RETENTION, "5")],
        [(_RETENTION, None), ("segment.bytes", None)],
        [("segment.bytes", "100")],
        [("min.compaction.lag.ms", "10"), ("max.compaction.lag.ms", "5")],
        [("min.cleanable.dirty.ratio", "1.5")],
        [("message.timestamp.type", "1.5")],
        [("preallocate", "yes")],
        [("min.insync.replicas", "2147483648")],
        [(_CLEANUP, "foo")],
        [(_CLEANUP, "")],
        [(_CLEANUP, "compact,compact")],
        [("remote.storage.enable", "true")],
        [("compression.gzip.level", "0")],
        [("foo", "x"), (_RETENTION, "x")],
        [(_RETENTION, "x"), ("foo", "x")],
    ]
    return [
        *[create("P-105", topic("cfg", 1, 1, (), one), validate=True) for one in configs],
        create("P-102", topic("cfg", 0, 0, (), [(_CLEANUP, "foo")])),
        create("P-102", topic("cfg", 0, 1)),
    ]


def looking() -> list[AdminCase]:
    """Metadata, pages of topics, the cluster, the log directory."""
    return [
        create("P-107", topic("m1", 3), topic("m2", 1, 1, (), [(_RETENTION, "5000")])),
        metadata("P-80", 0, []),
        metadata("P-80", 1, []),
        metadata("P-80", 1, None),
        metadata("P-81", 12, ["m1", "m1"]),
        metadata("P-84", 12, ["nope", "a b", ""]),
        metadata("P-84", 12, ["a b"], allow_auto_topic_creation=True),
        metadata("P-84", 12, ["a_b"], allow_auto_topic_creation=True),
        metadata("P-84", 12, ["__consumer_offsets"]),
        metadata("P-87", 12, [(None, NO_ID)]),
        metadata("P-88", 12, [(None, ZERO_UUID)]),
        metadata("P-88", 13, [(None, ZERO_UUID), ("m1", ZERO_UUID)]),
        metadata("P-88", 11, [("m1", NO_ID)]),
        metadata("P-88", 11, [(None, ZERO_UUID)]),
        metadata("P-88", 10, [("q", NO_ID), ("m1", ZERO_UUID)]),
        metadata("P-91", 8, [], include_cluster_authorized_operations=True),
        metadata("P-91", 9, ["m1", "nope"], include_topic_authorized_operations=True),
        page("P-93", []),
        page("P-93", [], limit=0),
        page("P-93", [], limit=-5),
        page("P-93", ["m1", "a b", "nope", "m2"], limit=1),
        page("P-93", ["m1", "m1", "nope"], limit=3),
        page("P-93", ["m1", "zz"], limit=3),
        page("P-94", ["m1", "m2"], ("m1", 1)),
        page("P-94", ["m1", "m2"], ("m1", 5)),
        page("P-94", ["m1", "m2"], ("m1", -1)),
        page("P-94", ["m1", "m2"], ("m", 0)),
        page("P-94", ["m1"], ("m1", 1), 1),
        page("P-94", ["nope"], ("nope", 0)),
        page("P-94", [], ("m1", -1)),
        page("P-94", [], ("m", 0)),
        cluster("P-140", 2, include_cluster_authorized_operations=True),
        cluster("P-140", 0),
        *[cluster("P-140", 1, endpoint_type=code) for code in (0, 2, 3)],
        log_dirs("P-141", 5, {}),
        log_dirs("P-141", 5, {"m1": [0, 7], "nope": [0]}),
        log_dirs("P-141", 1, {"m1": [0, 2]}),
    ]


def describing() -> list[AdminCase]:
    """DescribeConfigs."""
    keys = [_RETENTION, _CLEANUP, "nope", "segment.bytes", "max.message.bytes", "flush.ms"]
    broker_keys = ["log.retention.ms", "message.max.bytes", "log.cleaner.threads", "num.partitions"]
    return [
        describe("P-121", TOPIC, "m1", None),
        describe("P-121", TOPIC, "m2", []),
        *[describe("P-122", TOPIC, "m2", keys, version=version) for version in (1, 2, 3, 4)],
        describe("P-122", TOPIC, "m2", keys, synonyms=False),
        describe("P-120", TOPIC, "m2", ["nope"]),
        describe("P-120", TOPIC, "m2", [_RETENTION], times=2),
        describe("P-121", TOPIC, "a b", None),
        describe("P-121", TOPIC, "nope", None),
        describe("P-121", TOPIC, "", None),
        describe("P-123", BROKER, "1", broker_keys),
        describe("P-123", BROKER, "2", None),
        describe("P-123", BROKER, "x", None),
        describe("P-124", 99, "x", None),
        describe("P-124", 0, "x", None),
    ]


def altering() -> list[AdminCase]:
    """IncrementalAlterConfigs, a change of one key each."""
    topics: list[Operations] = [
        [(_RETENTION, SET, "7000")],
        [(_RETENTION, SET, None)],
        [(_RETENTION, DELETE, None), (_RETENTION, SET, "1")],
        [(_RETENTION, 9, "1")],
        [("nope", SET, "1")],
        [("nope", DELETE, None)],
        [(_RETENTION, SET, "x")],
        [(_RETENTION, APPEND, "1")],
        [("nope", APPEND, "1")],
        [],
    ]
    lists: list[tuple[int, str]] = [
        (APPEND, "compact"),
        (APPEND, "compact"),
        (SUBTRACT, "nope"),
        (SUBTRACT, "delete"),
        (SUBTRACT, "compact"),
        (APPEND, "foo"),
        (DELETE, ""),
    ]
    brokers: list[tuple[str, str, int, str | None]] = [
        ("1", "node.id", SET, "2"),
        ("2", "log.retention.ms", SET, "1"),
        ("x", "log.retention.ms", SET, "1"),
        ("1", "log.retention.ms", SET, "x"),
        ("1", "log.retention.ms", SET, None),
        ("1", "log.retention.hours", SET, "1"),
        ("1", "auto.create.topics.enable", SET, "false"),
        ("1", "num.partitions", SET, "5"),
        ("1", "num.partitions", DELETE, None),
        ("1", "message.max.bytes", SET, "-1"),
        ("1", "foo.bar", SET, "x"),
        ("", "message.max.bytes", SET, "2000000"),
    ]
    steps = [alter("P-127", (TOPIC, "m1", one)) for one in topics]
    for code, value in lists:
        steps.append(alter("P-126", (TOPIC, "m1", [(_CLEANUP, code, value)])))
        steps.append(describe("P-126", TOPIC, "m1", [_CLEANUP]))
    steps += [
        alter("P-127", (BROKER, name, [(key, code, value)])) for name, key, code, value in brokers
    ]
    return steps


def altering_several() -> list[AdminCase]:
    """IncrementalAlterConfigs of several keys and resources; AlterConfigs."""
    good, bad = (_RETENTION, SET, "123"), ("segment.bytes", SET, "x")
    return [
        *[alter("P-127", (TOPIC, name, [good])) for name in ("nope", "", "a b")],
        alter("P-127", (TOPIC, "nope", [bad])),
        alter("P-127", (TOPIC, "m1", [good]), (TOPIC, "m1", [good])),
        alter("P-127", (TOPIC, "m1", [good, bad]), (TOPIC, "m2", [good])),
        alter("P-129", (TOPIC, "m1", [(_RETENTION, SET, "1")]), validate=True),
        *[alter("P-127", (kind, "x", [good])) for kind in (0, 99)],
        describe("P-127", TOPIC, "m1", [_RETENTION]),
        describe("P-127", TOPIC, "m2", [_RETENTION]),
        replace("P-128", TOPIC, "m2", (_RETENTION, "1"), ("segment.ms", "60000")),
        replace("P-128", TOPIC, "m2", ("segment.ms", "70000")),
        describe("P-128", TOPIC, "m2", [_RETENTION, "segment.ms"]),
        replace("P-128", TOPIC, "m2", ("segment.ms", None)),
        replace("P-128", TOPIC, "m2", ("segment.ms", "1"), ("segment.ms", "2")),
        replace("P-128", TOPIC, "nope"),
        replace("P-128", TOPIC, "m2", ("nope", "1")),
        replace("P-128", TOPIC, "m2", (_RETENTION, "x")),
        replace("P-129", TOPIC, "m2", (_RETENTION, "1"), validate=True),
        replace("P-128", TOPIC, "m2"),
        describe("P-128", TOPIC, "m2", [_RETENTION, "segment.ms"]),
        replace("P-128", BROKER, "1", ("node.id", "3")),
        replace("P-128", BROKER, "7"),
        replace("P-128", 99, "1"),
    ]


def growing_and_deleting() -> list[AdminCase]:
    """CreatePartitions and DeleteTopics."""
    growths: list[Growth] = [
        ("nope", 3, None),
        ("m2", 1, None),
        ("m2", 0, None),
        ("m2", -1, None),
        ("m2", 3, [[1]]),
        ("m2", 3, []),
        ("m2", 2, [[2]]),
        ("m2", 2, [[]]),
        ("m2", 2, [[1, 1]]),
        ("m2", 2, [[1, 2]]),
        ("m2", -1, [[1]]),
        ("a b", 5, None),
        ("__cluster_metadata", 5, None),
    ]
    return [
        *[grow("P-111", one) for one in growths],
        grow("P-111", ("m2", 2, None), ("m2", 3, None)),
        grow("P-106", ("m2", 2, [[1]]), validate=True),
        grow("P-111", ("m2", 2, [[1]])),
        grow("P-111", ("m2", 4, None), ("m1", 4, None), ("nope", 2, None)),
        metadata("P-111", 12, ["m1", "m2"]),
        delete("P-109", 5, "nope"),
        delete("P-109", 5, "nope", "nope", "a b"),
        delete("P-109", 6, (None, ZERO_UUID)),
        delete("P-109", 6, ("m1", NO_ID)),
        delete("P-109", 6, ("nope", ZERO_UUID), (None, NO_ID)),
        delete("P-109", 6, (None, NO_ID), (None, NO_ID)),
        delete("P-109", 4, "nope", "c_d"),
        delete("P-109", 1, "nope"),
        delete("P-109", 6, ("m2", ZERO_UUID), ("a.b", ZERO_UUID)),
        metadata("P-110", 12, None),
        create("P-101", topic("a_b")),
    ]


def admin_cases() -> list[AdminCase]:
    """All of them, in order."""
    return [
        *bad_names(),
        *bad_numbers(),
        *bad_topic_configs(),
        *looking(),
        *describing(),
        *altering(),
        *altering_several(),
        *growing_and_deleting(),
    ]
