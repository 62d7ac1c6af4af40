"""Specifications in TOML and JSON, and the one line that a wrong one gets."""

import json

import pytest

from broker_lite.pipeline.generate import spec as generate_spec
from broker_lite.pipeline.generate.distributions import SpecError
from broker_lite.pipeline.generate.spec import GenerateSpec, read_spec
from broker_lite.record.codecs.compression import Codec

TOPIC: dict[str, object] = {"name": "t", "records": 10}


def test_the_example_of_the_module() -> None:
    docstring = generate_spec.__doc__ or ""
    example = docstring[docstring.index("    seed") : docstring.index("TopicSpec")]
    spec = GenerateSpec.parse(read_spec("\n".join(map(str.strip, example.splitlines()))))
    (topic,) = spec.topics
    assert (spec.seed, topic.name, topic.partitions) == (7, "orders", 4)
    assert (topic.bytes, topic.records) == (10 << 30, 0)
    assert topic.codecs == (Codec.LZ4, Codec.ZSTD)
    assert (topic.producers, topic.transaction_batches, topic.abort_share) == (3, 10, 0.05)


def test_json_is_the_same_as_toml() -> None:
    given = {"seed": 3, "topics": [{**TOPIC, "torn_tail": True, "payload": "zeros"}]}
    spec = GenerateSpec.parse(read_spec(json.dumps(given)))
    assert spec == GenerateSpec.parse(given)
    assert spec.topics[0].torn_tail


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "topics: a list with at least one topic"),
        ({"topics": []}, "topics: a list with at least one topic"),
        ({"topics": [TOPIC], "seeds": 1}, "seeds: only seed and topics are allowed"),
        ({"topics": [TOPIC], "seed": -1}, "seed: a whole number from 0"),
        ({"topics": [TOPIC, TOPIC]}, "a name occurs twice"),
        ({"topics": [{"records": 1}]}, "each is a table with a name"),
        ({"topics": ["t"]}, "each is a table with a name"),
    ],
)
def test_wrong_specifications(given: dict[str, object], text: str) -> None:
    with pytest.raises(SpecError, match=text):
        GenerateSpec.parse(given)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"colour": 1}, "topic t: unknown field colour; the fields are name, partitions"),
        ({"name": "a/b"}, "name = 'a/b': 1 to 249 letters"),
        ({"partitions": 0}, "partitions = 0"),
        ({"records": 0}, "topic t: either records or bytes"),
        ({"bytes": "1g"}, "topic t: either records or bytes"),
        ({"bytes": "much"}, "bytes = 'much': a size above 0"),
        ({"segment_bytes": "2g"}, "segment_bytes = '2g': a size up to 2000000000"),
        ({"null_keys": 1.5}, "null_keys = 1.5: a share from 0 to 1"),
        ({"torn_tail": 1}, "torn_tail = 1: true or false"),
        ({"payload": "noise"}, "payload = 'noise': one of text, random, zeros"),
        ({"codecs": []}, "codecs = .*: a list of codecs"),
        ({"codecs": ["br"]}, "codecs are none, gzip, snappy, lz4, zstd"),
        ({"value_bytes": "1k"}, "value_bytes = '1k': .*a whole number, or a table"),
        ({"interval_us": 1 << 50, "records": 1 << 20}, "timestamps are too far in the future"),
        ({"producers": True}, "producers = True"),
        ({"transaction_batches": 2}, "topic t: transaction_batches need producers"),
    ],
)
def test_wrong_topics(changes: dict[str, object], text: str) -> None:
    with pytest.raises(SpecError, match=text) as caught:
        GenerateSpec.parse({"topics": [{**TOPIC, **changes}]})
    assert "\n" not in str(caught.value)


def test_neither_toml_nor_json() -> None:
    for text in ("{", "= 1"):
        with pytest.raises(SpecError, match="neither TOML nor JSON"):
            read_spec(text)
