"""Which requests selectors choose, and in words why not."""

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import msgspec
import pytest

from broker_lite.handler.context import Request
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.facts import Facts
from broker_lite.testbench.selectors import Matcher, Mismatch, Named, Selectors, topic_id_text
from broker_lite.wire import messages

TOPIC_ID = bytes(range(16))
ID_TEXT = topic_id_text(TOPIC_ID)


def facts(kind: Any, version: int, client_id: str | None = "me", **fields: Any) -> Facts:
    context: Any = SimpleNamespace(
        node_id=2,
        listener=SimpleNamespace(name="PLAINTEXT"),
        software="lib 1.0",
        connection_id=5,
        client_address=("127.0.0.1", 50000),
        cluster=SimpleNamespace(
            topics_by_id={TOPIC_ID: SimpleNamespace(name="by-id")},
            topics={"by-id": SimpleNamespace(topic_id=TOPIC_ID)},
        ),
        fetch_sessions=SimpleNamespace(
            get=lambda number: (
                SimpleNamespace(
                    partitions=SimpleNamespace(keys=lambda: [("kept", 4), (TOPIC_ID, 5)])
                )
                if number == 77
                else None
            )
        ),
    )
    body = kind.encode(kind(**fields), version)
    return Facts(context, Request(kind.api_key, version, 1, client_id, memoryview(body), 0, False))


def produce(version: int = 9) -> Facts:
    kind = messages.ProduceRequest
    topics = [
        kind.TopicProduceData(
            name=name if version < 13 else "",
            topic_id=TOPIC_ID if version >= 13 else bytes(16),
            partition_data=[kind.PartitionProduceData(index=index) for index in indexes],
        )
        for name, indexes in (("orders", (0, 1)), ("other", (7,)))
    ]
    return facts(kind, version, transactional_id="tx", acks=-1, timeout_ms=1, topic_data=topics)


def test_an_unknown_selector_is_an_error_that_names_it() -> None:
    with pytest.raises(msgspec.ValidationError, match="apii"):
        msgspec.convert({"apii": 1}, Selectors)


@pytest.mark.parametrize(
    ("selectors", "words"),
    [
        ({}, ""),
        ({"keys": ["Produce"]}, ""),
        ({"keys": [0]}, ""),
        ({"keys": ["0", "PRODUCEREQUEST"]}, ""),
        ({"keys": ["produce", "Fetch"]}, ""),
        ({"keys": ["Fetch", "FetchRequest"]}, "API 'Produce' is not Fetch"),
        ({"versions": [0, 9]}, ""),
        ({"versions": [10, 13]}, "version 9 is not '10 to 13'"),
        ({"nodes": [1, 2]}, ""),
        ({"nodes": [1]}, "node 2 is not 1"),
        ({"listener": "PLAINTEXT"}, ""),
        ({"listener": "PLAIN*"}, "listener 'PLAINTEXT' is not 'PLAIN*'"),
        ({"client_id": "m?"}, ""),
        ({"client_id": "you"}, "client_id 'me' is not 'you'"),
        ({"client_address": "127.*"}, ""),
        ({"software": "lib *"}, ""),
        ({"connection": "c5"}, ""),
        ({"connection": "c1"}, "connection 'c5' is not 'c1'"),
        ({"topic": "orders"}, ""),
        ({"topic": "o*"}, ""),
        ({"topic": "order"}, "topic 'orders', 'other' is not 'order'"),
        ({"topic": "[o]rders"}, "topic 'orders', 'other' is not '[o]rders'"),
        ({"topic_id": ID_TEXT}, "it names no topic_id"),
        ({"partitions": [1, 2]}, ""),
        ({"topic": "orders", "partitions": [1]}, ""),
        ({"topic": "orders", "partitions": [7]}, "partition 0, 1 is not 7"),
        ({"topic": "other", "partitions": [7]}, ""),
        ({"group": "*"}, "it names no group"),
        ({"txn_id": "t*"}, ""),
        ({"txn_id": "ta*"}, "txn_id 'tx' is not 'ta*'"),
        ({"resource": "orders"}, "it names no resource"),
        ({"where": {"acks": -1, "topic_data[].name": "other"}}, ""),
        ({"where": {"acks": 1}}, "acks -1 is not 1"),
        ({"where": {"topic_data[].partition_data[].index": 7}}, ""),
        ({"where": {"session_id": 1}}, "it names no session_id"),
    ],
)
def test_what_is_chosen(selectors: dict[str, Any], words: str) -> None:
    matcher = Matcher(msgspec.convert(selectors, Selectors))
    found = produce()
    assert matcher.matches(found) == (not words)
    assert "; ".join(each.in_words() for each in matcher.mismatches(found)) == words


def test_all_that_is_missing_is_told() -> None:
    matcher = Matcher(Selectors(nodes=[7], group="g", topic="orders"))
    assert [each.selector for each in matcher.mismatches(produce())] == ["nodes", "group"]


def test_partitions_are_those_of_the_topic_that_is_meant() -> None:
    other = topic_id_text(bytes(range(1, 17)))
    assert not Matcher(Selectors(topic_id=other, partitions=[1])).matches(produce(13))
    named = Matcher(Selectors(topic="orders", topic_id=ID_TEXT, partitions=[1]))
    assert not named.matches(produce(13))


def test_by_topic_id() -> None:
    assert Matcher(Selectors(topic_id=ID_TEXT, partitions=[1])).matches(produce(13))
    assert Matcher(Selectors(topic="by-id")).matches(produce(13))
    other = Matcher(Selectors(topic_id=topic_id_text(bytes(16))))
    assert not other.matches(produce(13))
    for text in (TOPIC_ID.hex(), str(UUID(bytes=TOPIC_ID)).upper()):
        assert Matcher(Selectors(topic_id=text)).matches(produce(13))
    where = Matcher(Selectors(where={"topic_data[].topic_id": ID_TEXT}))
    assert where.matches(produce(13))
    assert not where.matches(produce(9))


def test_the_partitions_of_a_fetch_session() -> None:
    kind = messages.FetchRequest
    for session_id, expected in ((77, True), (78, False), (0, False)):
        found = facts(kind, 12, max_wait_ms=1, min_bytes=1, session_id=session_id, topics=[])
        assert Matcher(Selectors(topic="kept", partitions=[4])).matches(found) == expected
        assert Matcher(Selectors(topic="by-id", partitions=[5])).matches(found) == expected


def test_what_a_client_does_not_say_matches_nothing() -> None:
    found = facts(messages.HeartbeatRequest, 4, None, group_id="g")
    assert [each.in_words() for each in Matcher(Selectors(client_id="*a")).mismatches(found)] == [
        "it names no client_id"
    ]
    assert Matcher(Selectors(group="g")).matches(found)


def test_values_that_look_alike_are_not_the_same() -> None:
    found = facts(messages.EndTxnRequest, 3, transactional_id="1", committed=True)
    assert Matcher(Selectors(where={"committed": True})).matches(found)
    assert not Matcher(Selectors(where={"committed": 1})).matches(found)
    assert not Matcher(Selectors(where={"transactional_id": 1})).matches(found)


@pytest.mark.parametrize(
    ("selectors", "text"),
    [
        ({"keys": ["Fetsch"]}, "rules[0].keys[0]: there is no API 'Fetsch'; did you mean 'Fetch'?"),
        ({"keys": [4711]}, "rules[0].keys[0]: there is no API 4711"),
        ({"topic_id": "!"}, "rules[0].topic_id: '!' is no topic id as Kafka prints it"),
        ({"where": {"a..b": 1}}, "rules[0].where: 'a..b' is no path"),
        (
            {"keys": ["Produce"], "where": {"topics": 1}},
            "rules[0].where['topics']: ProduceRequest has no field 'topics'",
        ),
        ({"where": {"a": 1}}, "rules[0].where['a']: no request has such a field"),
        ({"keys": []}, "rules[0].keys: it is empty, so no request meets it"),
        ({"partitions": []}, "rules[0].partitions: it is empty"),
        ({"nodes": []}, "rules[0].nodes: it is empty"),
        ({"where": {}}, "rules[0].where: it is empty"),
        ({"where": {f"topics[{n}].name": "" for n in range(101)}}, "rules[0].where: it names more"),
        ({"versions": [9, 3]}, "rules[0].versions: 9 is above 3"),
        ({"keys": ["9" * 5000]}, f"rules[0].keys[0]: there is no API '{'9' * 100}...'"),
        ({"keys": ["x" * 900_000]}, f"rules[0].keys[0]: there is no API '{'x' * 100}...'"),
        ({"topic": "?" * 1001}, "rules[0].topic: it has more than 1000 characters"),
        ({"client_id": "*" * 1001}, "rules[0].client_id: it has more than 1000 characters"),
    ],
)
def test_selectors_that_cannot_match(selectors: dict[str, Any], text: str) -> None:
    with pytest.raises(ControlError) as caught:
        Matcher(msgspec.convert(selectors, Selectors), "rules[0]")
    assert f"{caught.value.at}: {caught.value.text}".startswith(text)


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        (Named(), True),
        (Named(topic="orders"), True),
        (Named(topic="orders", partition=1), True),
        (Named(topic="orders", partition=2), False),
        (Named(topic="", partition=1), False),
        (Named(group="g"), True),
    ],
)
def test_parts_of_a_request(named: Named, expected: bool) -> None:
    matcher = Matcher(Selectors(topic="orders", partitions=[1]))
    assert matcher.chooses(named) == expected
    assert matcher.names_topics
    assert not Matcher(Selectors(group="g")).names_topics


def test_long_lists_are_told_in_part() -> None:
    assert Mismatch("partitions", [9], tuple(range(6))).in_words() == (
        "partition 0, 1, 2, 3, ... is not 9"
    )
    assert Mismatch("x", b"ab", (TOPIC_ID,)).in_words() == f"x {ID_TEXT} is not 2 bytes"
