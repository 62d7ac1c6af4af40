"""Every request and answer becomes JSON.

Also tests: broker_lite.testbench.journal.entry_facts.
"""

import random
from typing import Any

import msgspec
import pytest

from broker_lite.errors import ErrorCode
from broker_lite.handler.context import CloseConnection
from broker_lite.testbench.journal.entry_facts import EntryFacts, error_name
from broker_lite.testbench.journal.render import line
from broker_lite.testbench.journal.shown import BYTES_MAX, answer_json, bytes_json, request_json
from broker_lite.wire import messages
from broker_lite.wire.schema import catalog_by_api
from tests.testbench.journal.recorded import Client, batch, produce, produced, recording
from tests.wire.samples import Sampler

API_KEYS = sorted(catalog_by_api("protocol", "request"))


def check(facts: EntryFacts) -> None:
    """The entry can be told in every way."""
    msgspec.json.encode([request_json(facts), answer_json(facts), facts.errors])
    text = line(facts)
    assert text.isprintable()
    assert len(text) < 2000


@pytest.mark.parametrize("api_key", API_KEYS)
def test_every_request_and_answer_can_be_told(api_key: int) -> None:
    request, answer = messages.by_api(api_key)
    chance = random.Random(api_key)
    clients = [Client(recording("headers")), Client(recording("bodies"))]
    for version in range(request.min_version, request.max_version + 1):
        asked = Sampler(request.name, version, 1).encoded()
        answered = Sampler(answer.name, version, 1).encoded()
        for client in clients:
            whole = EntryFacts(client.send(request, asked, version, [answered]))
            check(whole)
            assert "missing" not in (request_json(whole) or {})
            assert (request_json(whole) or {}).keys() == plain_names(request.name, version)
            check(EntryFacts(client.send(request, asked, version, [answered[:9], answered[9:]])))
            cut = asked[: chance.randint(0, len(asked))]
            check(EntryFacts(client.send(request, cut, version, CloseConnection("no"))))
            check(EntryFacts(client.send(request, chance.randbytes(90), version, [b"\xff" * 9])))


def plain_names(name: str, version: int) -> set[str]:
    layout = messages.message(name).layout(version)
    assert layout is not None
    fields = {field.attribute for field in layout.schema.structs[name] if version in field.versions}
    sampled = Sampler(name, version, 1).value()
    return fields | ({"unknown_tags"} if sampled.unknown_tags else set())


def test_an_api_that_does_not_exist() -> None:
    client = Client(recording())
    request = client.request(messages.HeartbeatRequest, b"abc", 4)._replace(api_key=999)
    facts = EntryFacts(client.carry_out(request, [b"abc"]))
    assert (request_json(facts), answer_json(facts), facts.errors) == (None, None, [])
    assert " 999 v4 " in line(facts)


def test_produce() -> None:
    client = Client(recording())
    facts = EntryFacts(client.send(messages.ProduceRequest, produce(batch(2)), 9, produced(6)))
    told: Any = request_json(facts)
    [topic] = told["topic_data"]
    [partition] = topic["partition_data"]
    assert (told["acks"], topic["name"], partition["records"]["batches"][0]["count"]) == (
        -1,
        "orders",
        2,
    )
    answer: Any = answer_json(facts)
    [partition] = answer["responses"][0]["partition_responses"]
    assert (partition["error_code"], partition["error"]) == (6, "NOT_LEADER_OR_FOLLOWER")
    assert facts.errors == ["NOT_LEADER_OR_FOLLOWER"]


def test_ids_are_as_kafka_prints_them() -> None:
    facts = EntryFacts(Client(recording()).send(messages.ProduceRequest, produce(b""), 13, None))
    told: Any = request_json(facts)
    assert told["topic_data"][0]["topic_id"] == "AAECAwQFBgcICQoLDA0ODw"


def test_what_sasl_exchanges_is_not_shown() -> None:
    kind = messages.SaslAuthenticateRequest
    facts = EntryFacts(Client(recording()).send(kind, kind(auth_bytes=b"\0me\0secret"), 2, None))
    assert request_json(facts) == {"auth_bytes": "(10 bytes, not shown)"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"", ""),
        ("größer".encode(), "größer"),
        (b"\0\1ab", "0x00016162"),
        (b"\xff", "0xff"),
        (b"a" * (BYTES_MAX + 1), "a" * BYTES_MAX + "... (4097 bytes)"),
    ],
)
def test_bytes(value: bytes, text: str) -> None:
    assert bytes_json(value) == text


def test_errors_are_told_once_and_not_all_of_them() -> None:
    kind = messages.ProduceResponse
    partitions = [
        kind.PartitionProduceResponse(index=number, error_code=number % 40) for number in range(100)
    ]
    body = kind(responses=[kind.TopicProduceResponse(partition_responses=partitions)])
    facts = EntryFacts(Client(recording()).send(messages.ProduceRequest, produce(), 9, body))
    assert len(facts.errors) == 20
    assert error_name(ErrorCode.NOT_COORDINATOR) == "NOT_COORDINATOR"
    assert error_name(9999) == "9999"


def test_the_answer_to_an_api_versions_that_is_not_offered() -> None:
    client = Client(recording())
    refusal = messages.ApiVersionsResponse(error_code=35)
    parts = [messages.ApiVersionsResponse.encode(refusal, 0)]
    facts = EntryFacts(client.send(messages.ApiVersionsRequest, b"", 4, parts))
    assert answer_json(facts) == {"error_code": 35, "error": "UNSUPPORTED_VERSION", "api_keys": []}
    assert facts.errors == ["UNSUPPORTED_VERSION"]


def test_topics_that_are_known_by_id_only() -> None:
    entry = Client(recording()).send(messages.ProduceRequest, produce(batch()), 13, produced())
    assert EntryFacts(entry).entities.topics == set()
    named = EntryFacts(entry, {bytes(range(16)): "n"})
    assert named.entities.partitions == {"n": {0}}
    assert [topic for topic, _, _ in named.records()] == ["n"]
