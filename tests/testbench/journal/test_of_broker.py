"""What the journal tells of the handlers' own answers: files, sessions, ids of topics."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broker_lite.record.builder import BatchBuilder
from broker_lite.testbench.journal.entry_facts import EntryFacts
from broker_lite.testbench.journal.journal import Journal
from broker_lite.testbench.journal.render import line
from broker_lite.testbench.journal.shown import answer_json, request_json
from broker_lite.wire import messages
from tests.support.handler_broker import HandlerBroker, handler_broker
from tests.testbench.journal.recorded import recording

FETCH = messages.FetchRequest
BATCH = BatchBuilder()
BATCH.append(timestamp=1_700_000_000_000, key=b"k", value=b"v" * 3000)


@pytest.fixture(params=["headers", "bodies"])
def level(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[HandlerBroker]:
    with handler_broker(tmp_path / "data") as broker:
        yield broker


def journal_of(broker: HandlerBroker, level: str) -> Journal:
    """A journal of all that the broker is asked."""
    journal = recording(level)
    for key in journal.wanted_keys():
        broker.context.hooks[key] = journal.hook_part
    return journal


def create(broker: HandlerBroker) -> bytes:
    kind = messages.CreateTopicsRequest
    topic = kind.CreatableTopic(name="t", num_partitions=2, replication_factor=1)
    topic_id: bytes = (
        broker.call("CreateTopics", 7, topics=[topic], timeout_ms=1).topics[0].topic_id
    )
    return topic_id


def write(broker: HandlerBroker) -> None:
    kind = messages.ProduceRequest
    made = kind.PartitionProduceData(index=1, records=BATCH.build())
    topic = kind.TopicProduceData(name="t", partition_data=[made])
    broker.call("Produce", 9, acks=-1, timeout_ms=1, topic_data=[topic])


def fetch(broker: HandlerBroker, version: int, topic_id: bytes, **fields: Any) -> Any:
    partition = FETCH.FetchPartition(partition=1, partition_max_bytes=100_000)
    topic = FETCH.FetchTopic(topic="t", topic_id=topic_id, partitions=[partition])
    fields = {"topics": [topic], "max_bytes": 100_000, **fields}
    return broker.call("Fetch", version, **fields)


@pytest.mark.parametrize("version", [4, 11, 12, 13, 18])
def test_a_fetch_is_told_though_its_records_left_from_a_file(
    broker: HandlerBroker, level: str, version: int
) -> None:
    journal = journal_of(broker, level)
    topic_id = create(broker)
    write(broker)
    write(broker)
    fetch(broker, version, topic_id)
    facts = EntryFacts(journal.entry(4), journal.topic_names())
    assert facts.entities.partitions == {"t": {1}}
    told: Any = answer_json(facts)
    assert "missing" not in told
    [partition] = told["responses"][0]["partitions"]
    size_bytes = 2 * len(BATCH.build())
    assert (partition["error"], partition["high_watermark"]) == ("NONE", 2)
    assert partition["records"]["size_bytes"] == size_bytes
    if level == "bodies":
        assert [each["base_offset"] for each in partition["records"]["batches"]] == [0, 1]
    else:
        assert partition["records"]["not_kept"]
    assert facts.entry.answer_bytes > size_bytes
    assert f"Fetch v{version} t[1] " in line(facts)
    assert " -> OK " in line(facts)


def test_a_produce_is_told_as_it_was_sent(broker: HandlerBroker, level: str) -> None:
    journal = journal_of(broker, level)
    create(broker)
    write(broker)
    write(broker)
    told: Any = request_json(EntryFacts(journal.entry(3)))
    [partition] = told["topic_data"][0]["partition_data"]
    assert [each["base_offset"] for each in partition["records"]["batches"]] == [0]
    answer: Any = answer_json(EntryFacts(journal.entry(3)))
    assert answer["responses"][0]["partition_responses"][0]["base_offset"] == 1


@pytest.mark.parametrize("version", [12, 13])
def test_a_fetch_that_goes_on_with_a_session(
    broker: HandlerBroker, level: str, version: int
) -> None:
    journal = journal_of(broker, level)
    topic_id = create(broker)
    session_id = fetch(broker, version, topic_id, session_epoch=0).session_id
    assert session_id
    fetch(broker, version, topic_id, topics=[], session_id=session_id, session_epoch=1)
    facts = EntryFacts(journal.entry(3), journal.topic_names())
    assert facts.entities.partitions == {"t": {1}}
    assert "t[1]" in line(facts)


def test_names_of_topics_stay_when_they_are_deleted(broker: HandlerBroker, level: str) -> None:
    journal = journal_of(broker, level)
    topic_id = create(broker)
    fetch(broker, 13, topic_id)
    broker.call("DeleteTopics", 5, topic_names=["t"], timeout_ms=1)
    assert EntryFacts(journal.entry(2), journal.topic_names()).entities.topics == {"t"}
