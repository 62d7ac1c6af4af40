"""Requests of groups and transactions that are as large, or as hard, as they can be."""

import contextlib
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broker_lite.errors import ErrorCode
from broker_lite.wire import messages
from tests.bench.group_frames import frame, subscription
from tests.fuzz.calm_coordinators import CalmCoordinators
from tests.fuzz.crowds import run as run_crowds
from tests.fuzz.kill import create
from tests.fuzz.test_memory import peak_bytes
from tests.fuzz.well_behaved import longest_wait_s
from tests.support.broker_process import KEEP, BrokerProcess
from tests.support.raw_client import Closed, RawClient

WAIT_S_MAX = 3.0
PEAK_BYTES_MAX = 300_000_000
# a topic's name that backtracking would never be done with
MANY_AS = "a" * 200
MARK = "m4rk"
MEMBER = {"member_id": MARK, "generation_id": 1}
PRODUCER = {"producer_id": 1, "producer_epoch": 0}

NAMED: list[tuple[str, int, dict[str, Any]]] = [
    ("FindCoordinator", 4, {"key_type": 0, "coordinator_keys": [MARK]}),
    ("FindCoordinator", 4, {"key_type": 1, "coordinator_keys": [MARK]}),
    (
        "JoinGroup",
        9,
        {
            "group_id": MARK,
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 10_000,
            "member_id": "",
            "group_instance_id": MARK,
            "protocol_type": MARK,
            "protocols": [
                messages.JoinGroupRequest.JoinGroupRequestProtocol(name=MARK, metadata=b"")
            ],
        },
    ),
    ("SyncGroup", 5, {"group_id": MARK, **MEMBER}),
    ("Heartbeat", 4, {"group_id": MARK, **MEMBER}),
    ("LeaveGroup", 5, {"group_id": MARK}),
    ("OffsetCommit", 9, {"group_id": MARK, "member_id": MARK}),
    ("OffsetFetch", 7, {"group_id": MARK}),
    ("DescribeGroups", 6, {"groups": [MARK]}),
    ("DeleteGroups", 2, {"groups_names": [MARK]}),
    ("ConsumerGroupDescribe", 1, {"group_ids": [MARK]}),
    (
        "ConsumerGroupHeartbeat",
        1,
        {
            "group_id": MARK,
            "member_id": MARK,
            "member_epoch": 0,
            "instance_id": MARK,
            "rack_id": MARK,
            "rebalance_timeout_ms": 1000,
            "subscribed_topic_names": [MARK],
            "topic_partitions": [],
        },
    ),
    ("InitProducerId", 4, {"transactional_id": MARK, "transaction_timeout_ms": 1000}),
    ("EndTxn", 5, {"transactional_id": MARK, "committed": True, **PRODUCER}),
    ("AddOffsetsToTxn", 4, {"transactional_id": MARK, "group_id": MARK, **PRODUCER}),
    ("TxnOffsetCommit", 5, {"transactional_id": MARK, "group_id": MARK, **PRODUCER}),
    ("DescribeTransactions", 0, {"transactional_ids": [MARK]}),
]
REGEXES = {
    "catastrophic": "(a+)+$",
    "alternatives": "(a|aa)+b",
    "nested": "((((a*)*)*)*)*b",
    "repeated": "((a{100}){100}){100}",
    "large repeat": "a{100000}",
    "huge": "(?:" + "|".join(f"topic-{index}.*" for index in range(2_000)) + ")",
    "deep": "(" * 16_000 + ")" * 16_000,
    "classes": "[\\pL\\pN]" * 4_000,
    "look ahead": "(?=a)a*",
    "reference": r"(a)\1",
    "open": "(",
    "not text": "\ud7ff\x00",
}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("hostile") / "data", settings=[KEEP]) as running:
        with RawClient(running.host, running.port) as client:
            assert create(client, MANY_AS, 1) == 0
        yield running
        assert " ERROR " not in running.log


@pytest.fixture(scope="module")
def calm_for_all(broker: BrokerProcess) -> Iterator[CalmCoordinators]:
    with contextlib.closing(CalmCoordinators(broker.port)) as client:
        yield client


@pytest.fixture
def calm(broker: BrokerProcess, calm_for_all: CalmCoordinators) -> Iterator[CalmCoordinators]:
    yield calm_for_all
    assert peak_bytes(broker.pid) < PEAK_BYTES_MAX


def answer_to(
    broker: BrokerProcess, calm: CalmCoordinators, name: str, version: int, data: bytes
) -> Any:
    """Send a frame beside the well-behaved; give the answer, None for a closed connection."""
    with RawClient(broker.host, broker.port, timeout_s=60) as client:
        client.socket.sendall(data)
        assert longest_wait_s(calm, client.socket) < WAIT_S_MAX
        kind = getattr(messages, f"{name}Request")
        flexible = kind.flexible_from is not None and version >= kind.flexible_from
        try:
            _, body = client.receive(flexible=flexible)
        except Closed:
            return None
        return messages.by_api(kind.api_key)[1].decode(body, version)[0]


def ask(
    broker: BrokerProcess, calm: CalmCoordinators, name: str, version: int, **fields: Any
) -> Any:
    return answer_to(broker, calm, name, version, frame(name, version, **fields))


def varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*encoded, value))


@pytest.mark.parametrize(("name", "version", "fields"), NAMED, ids=[each[0] for each in NAMED])
@pytest.mark.parametrize("length", [32_767, 65_535], ids=["32 KB", "64 KB"])
def test_p34_g35_long_names(
    broker: BrokerProcess,
    calm: CalmCoordinators,
    name: str,
    version: int,
    fields: dict[str, Any],
    length: int,
) -> None:
    compact = varint(len(MARK) + 1) + MARK.encode()
    body = frame(name, version, **fields)[4:]
    assert compact in body
    body = body.replace(compact, varint(length + 1) + b"g" * length)
    answer = answer_to(broker, calm, name, version, struct.pack(">i", len(body)) + body)
    # a string's length is an int16, also where the compact form could say more
    assert (answer is None) == (length > 32_767)


def test_g75_a_subscription_to_10_000_topics_by_a_classic_member(
    broker: BrokerProcess, calm: CalmCoordinators
) -> None:
    metadata = subscription([f"topic-{index}" for index in range(10_000)])
    protocol = messages.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=metadata)
    answer = ask(
        broker,
        calm,
        "JoinGroup",
        3,
        group_id="wide",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id="",
        protocol_type="consumer",
        protocols=[protocol],
    )
    assert (answer.error_code, answer.generation_id) == (0, 1)
    # the member is described with all of it
    given = messages.SyncGroupRequest.SyncGroupRequestAssignment(
        member_id=answer.member_id, assignment=bytes(1_900_000)
    )
    synced = ask(
        broker,
        calm,
        "SyncGroup",
        3,
        group_id="wide",
        generation_id=1,
        member_id=answer.member_id,
        assignments=[given],
    )
    assert synced.error_code in {0, ErrorCode.UNKNOWN_SERVER_ERROR}
    left = ask(broker, calm, "LeaveGroup", 2, group_id="wide", member_id=answer.member_id)
    assert left.error_code == 0


def test_g84_a_subscription_to_10_000_topics_by_a_consumer_group_member(
    broker: BrokerProcess, calm: CalmCoordinators
) -> None:
    member = {"group_id": "wider", "member_id": "m"}
    joined = ask(
        broker,
        calm,
        "ConsumerGroupHeartbeat",
        1,
        member_epoch=0,
        rebalance_timeout_ms=1000,
        subscribed_topic_names=[f"topic-{index}" for index in range(10_000)],
        topic_partitions=[],
        **member,
    )
    assert joined.error_code == 0
    beat = ask(
        broker, calm, "ConsumerGroupHeartbeat", 1, member_epoch=joined.member_epoch, **member
    )
    assert beat.error_code == 0
    described = ask(broker, calm, "ConsumerGroupDescribe", 1, group_ids=["wider"])
    assert len(described.groups[0].members[0].subscribed_topic_names) == 10_000
    left = ask(broker, calm, "ConsumerGroupHeartbeat", 1, member_epoch=-1, **member)
    assert left.error_code == 0


@pytest.mark.parametrize("regex", REGEXES.values(), ids=REGEXES.keys())
def test_g100_a_hard_regular_expression(
    broker: BrokerProcess, calm: CalmCoordinators, regex: str
) -> None:
    member = {"group_id": "hard", "member_id": "m"}
    answer = ask(
        broker,
        calm,
        "ConsumerGroupHeartbeat",
        1,
        member_epoch=0,
        rebalance_timeout_ms=1000,
        subscribed_topic_names=[],
        subscribed_topic_regex=regex,
        topic_partitions=[],
        **member,
    )
    if answer.error_code == 0:
        left = ask(broker, calm, "ConsumerGroupHeartbeat", 1, member_epoch=-1, **member)
        assert left.error_code == 0
    else:
        assert answer.error_code in {
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            ErrorCode.INVALID_REQUEST,
        }
    listed = ask(broker, calm, "ListTransactions", 2, transactional_id_pattern=regex)
    assert listed.error_code in {0, ErrorCode.INVALID_REGULAR_EXPRESSION}


def test_t28_100_000_partitions_in_a_transaction(
    broker: BrokerProcess, calm: CalmCoordinators
) -> None:
    begun = ask(
        broker, calm, "InitProducerId", 4, transactional_id="wide", transaction_timeout_ms=60_000
    )
    kind = messages.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
    added = ask(
        broker,
        calm,
        "AddPartitionsToTxn",
        3,
        v3_and_below_transactional_id="wide",
        v3_and_below_producer_id=begun.producer_id,
        v3_and_below_producer_epoch=begun.producer_epoch,
        v3_and_below_topics=[kind(name=MANY_AS, partitions=list(range(100_000)))],
    )
    (topic,) = added.results_by_topic_v3_and_below
    codes = {each.partition_error_code for each in topic.results_by_partition}
    assert len(topic.results_by_partition) == 100_000
    assert codes == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.OPERATION_NOT_ATTEMPTED}


@pytest.mark.slow
def test_t50_the_end_of_a_transaction_over_1_000_partitions(
    broker: BrokerProcess, calm: CalmCoordinators
) -> None:
    with RawClient(broker.host, broker.port, timeout_s=60) as client:
        assert create(client, "many", 1_000) == 0
    begun = ask(
        broker, calm, "InitProducerId", 4, transactional_id="many", transaction_timeout_ms=60_000
    )
    producer = {"producer_id": begun.producer_id, "producer_epoch": begun.producer_epoch}
    kind = messages.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
    added = ask(
        broker,
        calm,
        "AddPartitionsToTxn",
        3,
        **{f"v3_and_below_{name}": value for name, value in producer.items()},
        v3_and_below_transactional_id="many",
        v3_and_below_topics=[kind(name="many", partitions=list(range(1_000)))],
    )
    (topic,) = added.results_by_topic_v3_and_below
    assert {each.partition_error_code for each in topic.results_by_partition} == {0}
    ended = ask(broker, calm, "EndTxn", 4, transactional_id="many", committed=False, **producer)
    assert ended.error_code == 0


@pytest.mark.slow
def test_g03_g11_g32_a_crowd_at_one_group(tmp_path: Path) -> None:
    found = run_crowds(seed=1, members=3_000, folder=tmp_path)
    assert found.faults == [], found.summary()
