"""The checks of a Produce before anything is written: what is in which pass, and in which order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_lite.errors import BrokerError, ErrorCode
from broker_lite.handler.produce.check import (
    Accepted,
    check,
    check_record_set,
    is_transactional,
    sort_partitions,
    unknown,
    usual_batch,
    usual_topic,
)
from broker_lite.wire.produce import (
    PartitionAnswer,
    PartitionKey,
    ProduceRequest,
    Topics,
)
from broker_lite.wire.short_produce import OnlyPartition
from tests.handler.data_apis import TOPIC, Handlers
from tests.log.batches import batch, record

TRANSACTIONAL = 0x10


def view(data: bytes) -> memoryview:
    return memoryview(bytearray(data))


GOOD = view(batch(record()))
MALFORMED = view(batch(b"", magic=3))
IN_TRANSACTION = view(batch(record(), attributes=TRANSACTIONAL, producer=(1, 0, 0)))
CUT_OFF = view(batch(b"", length=28)[:40])


def code_of(handlers: Handlers, topics: Topics, transactional_id: str | None = None) -> int:
    with pytest.raises(BrokerError) as failed:
        check(handlers.context, ProduceRequest(transactional_id, -1, 0, topics), 8)
    return failed.value.code


def test_v06_malformed_headers_come_before_all_else(handlers: Handlers) -> None:
    topics: Topics = [("absent", None, [(0, None)]), (TOPIC, None, [(0, GOOD), (1, MALFORMED)])]
    assert code_of(handlers, topics) == ErrorCode.CORRUPT_MESSAGE


def test_v07_nothing_is_looked_at_behind_a_transactional_batch(handlers: Handlers) -> None:
    topics: Topics = [(TOPIC, None, [(0, IN_TRANSACTION), (1, MALFORMED)])]
    assert is_transactional(topics)
    assert not is_transactional([(TOPIC, None, [(0, GOOD), (1, None)])])
    assert code_of(handlers, topics) == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def test_v21_a_header_that_ends_before_the_producer_id(handlers: Handlers) -> None:
    topics: Topics = [(TOPIC, None, [(0, CUT_OFF)])]
    assert code_of(handlers, topics) == ErrorCode.UNKNOWN_SERVER_ERROR


def test_v10_only_what_is_accepted_has_to_be_of_one_producer(handlers: Handlers) -> None:
    other = view(batch(record(), attributes=TRANSACTIONAL, producer=(2, 0, 0)))
    topics: Topics = [(TOPIC, None, [(0, IN_TRANSACTION), (1, other)])]
    assert code_of(handlers, topics, "x") == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    topics = [(TOPIC, None, [(0, IN_TRANSACTION), (2, other)])]
    accepted, refused = check(handlers.context, ProduceRequest("x", -1, 0, topics), 8)
    assert [each.producer for each in accepted.values()] == [(1, 0)]
    assert [each.error_code for each in refused.values()] == [3]


@pytest.mark.parametrize("topics", ["in one topic", "in two topics"])
def test_v10_a_batch_without_producer_at_the_end_hides_no_other(
    handlers: Handlers, topics: str
) -> None:
    other = view(batch(record(), attributes=TRANSACTIONAL, producer=(2, 0, 0)))
    handlers.create("u", 3)
    three: Topics = [("u", None, [(0, IN_TRANSACTION), (1, other), (2, GOOD)])]
    if topics == "in two topics":
        three = [("u", None, [(0, IN_TRANSACTION), (1, other)]), (TOPIC, None, [(0, GOOD)])]
    assert code_of(handlers, three, "x") == ErrorCode.INVALID_PRODUCER_ID_MAPPING


@pytest.mark.parametrize("records", [GOOD, None, view(b"")], ids=["V-02 good", "null", "empty"])
def test_v02_the_records_of_old_clients_are_not_looked_at(
    handlers: Handlers, records: memoryview | None
) -> None:
    accepted: dict[PartitionKey, Accepted] = {}
    refused: dict[PartitionKey, PartitionAnswer] = {}
    topics: Topics = [(TOPIC, None, [(0, records)]), ("absent", None, [(0, records)])]
    assert not sort_partitions(handlers.context, topics, 2, accepted, refused)
    assert (list(accepted), list(refused)) == ([(TOPIC, 0)], [("absent", 0)])


@pytest.mark.parametrize(("version", "code"), [(12, 3), (13, 100)])
def test_v08_an_unknown_id_has_an_error_of_its_own(
    handlers: Handlers, version: int, code: int
) -> None:
    assert unknown(None, version) == code
    assert unknown(handlers.cluster.topics[TOPIC], version) == 3


@given(
    st.integers(3, 13),
    st.sampled_from([*map(bytes, (GOOD, MALFORMED, IN_TRANSACTION, CUT_OFF)), bytes(61), b""]),
    st.lists(st.tuples(st.integers(0, 90), st.integers(0, 255)), max_size=2),
    st.binary(max_size=2),
)
def test_v09_a_usual_batch_has_passed_all_checks(
    version: int, records: bytes, edits: list[tuple[int, int]], trailing: bytes
) -> None:
    """V-06, V-07, V-09, V-21."""
    data = bytearray(records + trailing)
    for position, byte in edits:
        if position < len(data):
            data[position] = byte
    edited = memoryview(data)
    usual = usual_batch(edited, version)
    if usual is not None:
        assert usual.data == edited
        assert check_record_set(edited, version) is None
        assert not is_transactional([("t", None, [(0, edited)])])
    elif records == GOOD and not edits:
        assert trailing


def test_v09_zstd_is_usual_since_version_7() -> None:
    zstd = view(batch(record(), attributes=4))
    assert usual_batch(zstd, 6) is None
    assert usual_batch(zstd, 7) is not None


def test_v08_a_usual_topic_has_the_partition(handlers: Handlers) -> None:
    def found(topic: str | bytes, index: int) -> bool:
        request = OnlyPartition(1, 0, topic, index, GOOD, b"")
        return usual_topic(handlers.context, request) is handlers.cluster.topics[TOPIC]

    known = handlers.topic_id()
    assert [found(TOPIC, index) for index in (-1, 0, 1, 2)] == [False, True, True, False]
    assert [found(known, index) for index in (-1, 0, 1, 2)] == [False, True, True, False]
    assert not found("absent", 0)
    assert not found(bytes(16), 0)
