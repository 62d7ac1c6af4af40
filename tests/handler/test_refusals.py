"""What the broker's log tells of refusals: client, place, code, rule and reason."""

import asyncio
import json
import logging

import pytest

from broker_lite import logging_setup
from broker_lite.errors import ErrorCode, InvalidRecord
from broker_lite.handler.refusals import shown, why_of
from broker_lite.rate_limited_log import LINES_MAX
from broker_lite.wire import messages
from tests.handler.data_apis import PRODUCE, Handlers, wanted
from tests.handler.produce.test_outcomes import REJECTED
from tests.handler.transactions.transaction_requests import NEW, OLD, TRANSACTIONAL, Transactor
from tests.log.batches import batch, record
from tests.support.handler_broker import HandlerBroker

GOOD = batch(record())


@pytest.fixture(autouse=True)
def _all_levels(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "broker_lite.refusals")


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.message for each in caplog.records if each.name == "broker_lite.refusals"]


def only(caplog: pytest.LogCaptureFixture) -> str:
    (line,) = told(caplog)
    return line


@pytest.mark.parametrize("name", REJECTED)
def test_v90_every_refused_batch_is_told(
    handlers: Handlers, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    data, code, _ = REJECTED[name]
    handlers.produce(data)
    assert only(caplog).startswith(
        f"Produce refused topic=t partition=0 error={ErrorCode(code).name} client_id=c"
        " client=127.0.0.1:40000 rule=V-"
    )
    (line,) = caplog.records
    assert line.levelname == "WARNING"


def test_what_is_accepted_is_not_told(handlers: Handlers, caplog: pytest.LogCaptureFixture) -> None:
    handlers.produce(GOOD)
    handlers.fetch(wanted())
    assert told(caplog) == []


@pytest.mark.parametrize(
    ("sends", "line"),
    [
        ({"topic": "no\nsuch"}, "topic='no\\nsuch' partition=0 error=UNKNOWN_TOPIC_OR_PARTITION"),
        ({"partitions": [7]}, "topic=t partition=7 error=UNKNOWN_TOPIC_OR_PARTITION"),
        ({"version": 13, "topic_id": bytes(15) + b"\7"}, "error=UNKNOWN_TOPIC_ID"),
        ({"acks": 5}, "rule=V-11 reason=acks is none of -1, 0 and 1"),
        ({"topic": "__consumer_offsets"}, "rule=V-12 reason=only the broker writes"),
    ],
    ids=["V-08 topic", "V-08 partition", "V-08 id", "V-11", "V-12"],
)
def test_partitions_that_are_refused_at_once(
    handlers: Handlers, caplog: pytest.LogCaptureFixture, sends: dict[str, object], line: str
) -> None:
    handlers.create("__consumer_offsets")
    handlers.produce(GOOD, **sends)  # type: ignore[arg-type]
    assert line in only(caplog)


def test_v06_v07_v10_whole_requests(handlers: Handlers, caplog: pytest.LogCaptureFixture) -> None:
    handlers.produce(bytes(17))
    handlers.produce(batch(record(), attributes=TRANSACTIONAL, producer=(1, 0, 0)))
    two = [batch(record(), attributes=TRANSACTIONAL, producer=(each, 0, 0)) for each in (1, 2)]
    handlers.produce(*two, transactional_id="x")
    lines = [line.partition("rule=")[2] for line in told(caplog)]
    assert lines == [
        "V-06 reason=Record size 0 is less than the minimum record overhead (14)",
        "V-07 reason=a transactional batch in a request without a transactional id",
        *["V-06 reason=Transactional records contained more than one producer ID"] * 2,
    ]


def test_v52_v56_v57_v58_of_the_log(handlers: Handlers, caplog: pytest.LogCaptureFixture) -> None:
    handlers.create("short", segment_bytes="1048576", max_message_bytes="2000000")
    handlers.produce(batch(record(value=bytes(1_500_000))), topic="short")
    for producer in ((1000, 3, 0), (1000, 3, 7), (1000, 2, 1), (1000, 4, 5)):
        handlers.produce(batch(record(), producer=producer))
    reasons = [line.partition("rule=")[2] for line in told(caplog)]
    size_bytes = len(batch(record(value=bytes(1_500_000))))
    assert reasons == [
        f"V-52 reason=the batch of {size_bytes:,} bytes is above segment.bytes=1048576",
        "V-57 reason=sequence 7 where 1 was expected of producer 1000 epoch 3",
        "V-56 reason=producer 1000 writes with epoch 2, where 3 was expected or more: it is fenced",
        "V-57 reason=sequence 5 where 0 was expected of producer 1000 epoch 4",
    ]


def test_v58_v60_t36_transactions(
    producer: Transactor, handlers: Handlers, caplog: pytest.LogCaptureFixture
) -> None:
    producer.produce(version=OLD)
    producer.produce()
    producer_id, epoch = producer.producer
    handlers.produce(batch(record(), producer=(producer_id, epoch, 1)))
    again = Transactor(handlers)
    assert [again.init(), again.init()] == [ErrorCode.CONCURRENT_TRANSACTIONS, 0]
    producer.produce(version=NEW)
    assert producer.end() == ErrorCode.PRODUCER_FENCED
    lines = [line.partition("error=")[2] for line in told(caplog)]
    client = "client_id=c client=127.0.0.1:40000"
    assert lines == [
        f"TRANSACTION_ABORTABLE {client} rule=V-60 reason=the partition is not in the transaction,"
        " which has to be aborted",
        f"INVALID_TXN_STATE {client} rule=V-58 reason=producer {producer_id} epoch {epoch} writes"
        " outside of its transaction, which is open here since offset 0",
        f"CONCURRENT_TRANSACTIONS {client} rule=T-19 reason=the former transaction is still being"
        " ended",
        f"INVALID_PRODUCER_EPOCH {client} rule=T-36 reason=the producer's epoch is not the"
        " current one: a newer producer fenced it, or its transaction was aborted",
        f"PRODUCER_FENCED {client} rule=T-19 reason=a newer producer uses this transactional id:"
        " this one is fenced",
    ]
    assert "EndTxn refused transactional_id=x error=" in told(caplog)[-1]


def test_f05_offset_out_of_range(handlers: Handlers, caplog: pytest.LogCaptureFixture) -> None:
    handlers.produce(GOOD)
    for version in (12, 13):
        handlers.fetch(wanted(offset=5), version=version)
    handlers.fetch(wanted(offset=5), session_epoch=0)
    lines = told(caplog)
    assert len(lines) == 3
    assert set(lines) == {
        "Fetch refused topic=t partition=0 error=OFFSET_OUT_OF_RANGE client_id=c"
        " client=127.0.0.1:40000 rule=F-05 reason=offset 5 where the partition has 0 to 1"
    }
    assert {each.levelname for each in caplog.records} == {"INFO"}


def test_f05_only_what_is_refused_is_told(
    handlers: Handlers, caplog: pytest.LogCaptureFixture
) -> None:
    handlers.create("u", 3)
    handlers.fetch(wanted(0), wanted(1, offset=5), wanted(2, offset=6), topic="u")
    assert [line.partition(" error=")[0] for line in told(caplog)] == [
        "Fetch refused topic=u partition=1",
        "Fetch refused topic=u partition=2",
    ]


def test_g119_groups(broker: HandlerBroker, caplog: pytest.LogCaptureFixture) -> None:
    broker.call("Heartbeat", 3, group_id="g", generation_id=3, member_id="m")
    broker.call("JoinGroup", 3, group_id="g", session_timeout_ms=1)
    lines = [(each.levelname, each.message) for each in caplog.records]
    assert lines == [
        (
            "DEBUG",
            "Heartbeat refused group=g error=UNKNOWN_MEMBER_ID client_id=test"
            " client=127.0.0.1:50000 rule=G-119 reason=UNKNOWN_MEMBER_ID",
        ),
        (
            "WARNING",
            "JoinGroup refused group=g error=INVALID_SESSION_TIMEOUT client_id=test"
            " client=127.0.0.1:50000 rule=G-119 reason=the session timeout is outside of what the"
            " broker allows (group.min.session.timeout.ms, group.max.session.timeout.ms)",
        ),
    ]


def test_k02_share_groups(broker: HandlerBroker, caplog: pytest.LogCaptureFixture) -> None:
    fields = {"group_id": "g", "member_id": "m", "member_epoch": 5}
    broker.call("ShareGroupHeartbeat", 1, **fields)
    assert only(caplog) == (
        "ShareGroupHeartbeat refused group=g error=GROUP_ID_NOT_FOUND client_id=test"
        " client=127.0.0.1:50000 rule=K-02 reason=Share group g not found."
    )


def test_g119_offsets_are_told_by_their_first_error(
    broker: HandlerBroker, caplog: pytest.LogCaptureFixture
) -> None:
    request = messages.OffsetCommitRequest
    partitions = [request.OffsetCommitRequestPartition(partition_index=i) for i in (0, 1)]
    topics = [request.OffsetCommitRequestTopic(name="t", partitions=partitions)]
    broker.call(
        "OffsetCommit",
        5,
        group_id="g",
        generation_id_or_member_epoch=4,
        member_id="m",
        topics=topics,
    )
    assert "OffsetCommit refused group=g error=" in only(caplog)


def test_one_request_is_told_by_few_lines(
    handlers: Handlers, caplog: pytest.LogCaptureFixture
) -> None:
    request = handlers.produce_request(*[GOOD] * 1000, topic="absent")
    asyncio.run(handlers.answer(PRODUCE, 8, request))
    lines = told(caplog)
    assert len(lines) == LINES_MAX + 1
    assert lines[-1].endswith("rule=V-14 reason=995 more partitions of the same request")
    assert asyncio.run(handlers.answer(PRODUCE, 8, request)).responses[0].partition_responses[0]
    assert len(told(caplog)) == LINES_MAX + 2, "the limit of a kind is that of all requests"


def test_json_has_the_facts_as_fields(handlers: Handlers, caplog: pytest.LogCaptureFixture) -> None:
    handlers.produce(batch(record(), producer=(9, 0, 0)))
    handlers.produce(batch(record(), producer=(9, 0, 4)))
    entry = json.loads(logging_setup.JsonFormatter().format(caplog.records[-1]))
    entry.pop("time")
    assert entry == {
        "level": "warning",
        "logger": "broker_lite.refusals",
        "event": "Produce refused",
        "topic": "t",
        "partition": 0,
        "error": "OUT_OF_ORDER_SEQUENCE_NUMBER",
        "client_id": "c",
        "client": "127.0.0.1:40000",
        "rule": "V-57",
        "reason": "sequence 4 where 1 was expected of producer 9 epoch 0",
        "sequence": 4,
        "expected_sequence": 1,
        "producer_id": 9,
        "producer_epoch": 0,
    }


def test_the_rule_of_an_error_without_a_reason() -> None:
    assert why_of(InvalidRecord(), "V-13") == (
        "V-13",
        "{text}",
        {"text": "Record or batch rejected by validation (87)."},
    )
    assert str(why_of(InvalidRecord("a {text}"), "V-13")) == "a {text}"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("plain", "plain"),
        ("a\nWARNING b", "'a\\nWARNING b'"),
        ("\x1b[31m", "'\\x1b[31m'"),
        ("x" * 300, "x" * 249 + "..."),
    ],
)
def test_texts_of_clients_stay_in_their_line(text: str, line: str) -> None:
    assert shown(text) == line
