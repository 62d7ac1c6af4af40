"""What a client does too often."""

from typing import Any

import pytest

from broker_lite.handler.context import CloseConnection
from broker_lite.log.files.open_file import FileSlice
from broker_lite.testbench.journal.entry_facts import EntryFacts
from broker_lite.testbench.journal.lint.finding import RateRule
from broker_lite.testbench.journal.lint.rates import (
    COMMIT_TIMES,
    EMPTY_FETCH_TIMES,
    METADATA_TIMES,
    SINGLE_TIMES,
    commits,
    empty_fetches,
    metadata_storm,
    single_records,
)
from broker_lite.wire import messages
from tests.testbench.journal.recorded import Client, batch, produce, produced, recording

FETCH = messages.FetchRequest


def counted(rule: RateRule, kind: Any, body: Any, version: int, answer: Any, count: int) -> int:
    """How often the rule sees it if it is sent so many times within 0.9 s."""
    client = Client(recording())
    for number in range(count):
        entry = client.send(kind, body, version, answer, at_s=100 + number * 0.9 / count)
        rule.see(EntryFacts(entry))
    found = list(rule.findings())
    assert all(each.client == "rdkafka" for each in found)
    return sum(each.count for each in found)


def test_metadata_storms() -> None:
    body = messages.MetadataRequest(topics=[])
    arguments = (messages.MetadataRequest, body, 9, messages.MetadataResponse())
    assert counted(metadata_storm(), *arguments, METADATA_TIMES - 1) == 0
    assert counted(metadata_storm(), *arguments, METADATA_TIMES + 4) == 5


def test_examples_are_few_and_clients_are_told_apart() -> None:
    rule = metadata_storm()
    journal = recording()
    clients = [Client(journal, name=name) for name in ("a", "b")]
    for number in range(2 * METADATA_TIMES + 20):
        body = messages.MetadataRequest(topics=[])
        client = clients[number % 2]
        rule.see(EntryFacts(client.send(messages.MetadataRequest, body, 9, at_s=number / 1000)))
    found = list(rule.findings())
    assert [(each.client, each.count, len(each.requests)) for each in found] == [
        ("a", 11, 5),
        ("b", 11, 5),
    ]


def test_a_slow_client_is_no_storm() -> None:
    rule = metadata_storm()
    client = Client(recording())
    for number in range(100):
        body = messages.MetadataRequest(topics=[])
        rule.see(EntryFacts(client.send(messages.MetadataRequest, body, 9, at_s=number / 5)))
    assert not list(rule.findings())


@pytest.mark.parametrize(
    ("kind", "version"), [(messages.OffsetCommitRequest, 8), (messages.TxnOffsetCommitRequest, 3)]
)
def test_commits(kind: Any, version: int) -> None:
    assert kind.api_key in (commits().keys or ())
    assert counted(commits(), kind, kind(group_id="g"), version, None, COMMIT_TIMES) == 1


def fetched(records: bytes) -> Any:
    kind = messages.FetchResponse
    partition = kind.PartitionData(records=records)
    return kind(responses=[kind.FetchableTopicResponse(topic="t", partitions=[partition])])


@pytest.mark.parametrize(
    ("request_fields", "answer", "count"),
    [
        ({"max_wait_ms": 0, "min_bytes": 1}, fetched(b""), 1),
        ({"max_wait_ms": 500, "min_bytes": 0}, messages.FetchResponse(), 1),
        ({"max_wait_ms": 500, "min_bytes": 1}, fetched(b""), 0),
        ({"max_wait_ms": 0, "min_bytes": 1}, fetched(batch()), 0),
        ({"max_wait_ms": 0, "min_bytes": 1}, messages.FetchResponse(error_code=70), 0),
        ({"max_wait_ms": 0, "min_bytes": 1}, CloseConnection("no"), 0),
        ({"max_wait_ms": 0, "min_bytes": 1}, [b"head", FileSlice(-1, 0, 9, None)], 0),
    ],
)
def test_empty_fetches(request_fields: Any, answer: Any, count: int) -> None:
    body = FETCH(**request_fields)
    assert counted(empty_fetches(), FETCH, body, 12, answer, EMPTY_FETCH_TIMES) == count


def test_a_fetch_that_cannot_be_decoded() -> None:
    assert counted(empty_fetches(), FETCH, b"", 12, [b""], EMPTY_FETCH_TIMES) == 0


@pytest.mark.parametrize(
    ("records", "count"), [((batch(1),), 1), ((batch(2),), 0), ((batch(1), batch(1)), 0), ((), 0)]
)
def test_batches_of_one_record(records: Any, count: int) -> None:
    kind, body = messages.ProduceRequest, produce(*records)
    assert counted(single_records(), kind, body, 9, produced(), SINGLE_TIMES) == count
