"""The walk over a message lists what its decoder reads: the same values, and every byte once."""

import random
import re
from typing import Any

import pytest

from broker_lite.explain import Field, Limits, State
from broker_lite.explain.listing import Budget, ListFull, Reader, Unreadable
from broker_lite.explain.message_walk import HIDDEN, MessageWalk
from broker_lite.wire import DecodeError, messages
from tests.explain.fields import EVERYTHING, assert_whole, content
from tests.wire.samples import Sampler, SmallSampler, layout_of, message_versions

VERSIONS = message_versions()
TOKENS = re.compile(r"(\w+)|\[(\d+)\]")


def walked(name: str, version: int, data: bytes, limits: Limits = EVERYTHING) -> Reader:
    """A reader behind a message, with the fields up to the unreadable one if there is one."""
    reader = Reader(memoryview(data), Budget(limits))
    walk = MessageWalk(layout_of(messages.message(name), version), reader)
    try:
        walk.walk()
    except Unreadable:
        assert State.UNREADABLE in {each.state for each in reader.fields}
        reader.rest("rest", "")
    else:
        assert {each.state for each in reader.fields} <= {State.READ}
    return reader


def at(value: Any, path: str) -> Any:
    """What a decoded message has at the path of a field."""
    for name, index in TOKENS.findall(path.removesuffix(".bytes")):
        value = getattr(value, name) if name else value[int(index)]
    return value


def assert_equal(field: Field, value: Any) -> None:
    if field.value == HIDDEN:
        assert field.path.split(".")[-2] in ("auth_bytes", "hmac", "salted_password")
        return
    decoded = at(value, field.path)
    if field.path.endswith(".bytes"):
        assert content(field) == bytes(decoded)
    elif decoded is None:
        assert field.value is None or field.note == "null"
    elif isinstance(decoded, list | memoryview) or field.note == "length":
        assert field.value == len(decoded)
    elif field.type == "uuid":
        assert field.value == decoded.hex()
    elif field.note != "a struct follows":
        assert field.value == decoded
        assert type(field.value) is type(decoded)


@pytest.mark.parametrize("seed", range(2))
def test_values_and_sizes_are_those_of_the_decoder(seed: int) -> None:
    for name, version in VERSIONS:
        body = Sampler(name, version, seed).encoded()
        value, end = messages.message(name).decode(body, version)
        reader = walked(name, version, body)
        assert (reader.position, end) == (len(body), len(body))
        assert_whole(reader.fields, len(body))
        for field in reader.fields:
            if "_tagged_fields" not in field.path:
                assert_equal(field, value)


def decodes(name: str, version: int, data: bytes) -> int | None:
    try:
        return messages.message(name).decode(data, version)[1]
    except DecodeError:
        return None


def test_a_walk_fails_where_the_decoder_does() -> None:
    edits = random.Random(7)
    for name, version in VERSIONS:
        body = SmallSampler(name, version, 1).encoded()
        cuts = [body[:length] for length in range(min(len(body), 40))]
        for _ in range(12):
            edited = bytearray(body)
            for _ in range(edits.randint(1, 2)):
                if edited:
                    edited[edits.randrange(len(edited))] = edits.choice((0, 1, 127, 128, 255))
            cuts.append(bytes(edited))
        for data in cuts:
            reader = walked(name, version, data)
            is_whole = all(each.state is State.READ for each in reader.fields)
            end = decodes(name, version, data)
            assert is_whole == (end is not None), (name, version, data.hex())
            assert_whole(reader.fields, len(data) if end is None else end)


@pytest.mark.parametrize(
    ("name", "version", "data", "path", "expected"),
    [
        ("MetadataRequest", 0, "00000001 0005 74", "topics[0].name", "at most 1 bytes"),
        ("MetadataRequest", 0, "0000", "topics", "4 bytes, and 2 are left"),
        ("MetadataRequest", 0, "ffffffff", "topics", "no more elements than 0 bytes can hold"),
        ("MetadataRequest", 1, "00000001 ffff", "topics[0].name", "0 bytes or more"),
        ("MetadataRequest", 9, "808080808000 74", "topics", "at most 5 bytes"),
        ("MetadataRequest", 9, "80", "topics", "a length that ends before the bytes do"),
        ("MetadataRequest", 9, "01 000000 12", "_tagged_fields", "at most 16"),
        ("MetadataRequest", 9, "01 000000 01 05 02 ab", "_tagged_fields[0].size", "at most 1"),
        (
            "MetadataRequest",
            9,
            "02 818002" + "61" * 32768,
            "topics[0].name",
            "at most 32767 bytes",
        ),
        (
            "ApiVersionsResponse",
            3,
            "0000 01 00000000 01 01 09 0000000000000000ff",
            "_tagged_fields[0].size",
            "8, as the field has",
        ),
    ],
)
def test_what_was_expected(name: str, version: int, data: str, path: str, expected: str) -> None:
    reader = walked(name, version, bytes.fromhex(data))
    wrong = next(each for each in reader.fields if each.state is State.UNREADABLE)
    assert (wrong.path, wrong.note) == (path, expected)


def test_types_are_called_as_in_the_schemas() -> None:
    body = Sampler("FetchResponse", 13, 3).encoded()
    types = {each.type for each in walked("FetchResponse", 13, body).fields}
    assert types >= {"int32", "int16", "compact array", "uvarint", "uuid"}
    body = messages.FetchResponse.encode(messages.FetchResponse(), 4)
    assert [each.type for each in walked("FetchResponse", 4, body).fields] == ["int32", "array"]


def test_text_that_is_not_utf8_and_text_that_is_cut() -> None:
    data = bytes.fromhex("00000002 0002 ff61 0005 6162636465")
    reader = walked("MetadataRequest", 0, data, Limits(value_bytes_max=3))
    assert [(each.value, each.note, each.left_out) for each in reader.fields[1:]] == [
        ("\N{REPLACEMENT CHARACTER}a", "not UTF-8", 0),
        ("abc", "", 2),
    ]


def test_unknown_tagged_fields_are_listed() -> None:
    data = bytes.fromhex("01 000000 01 5a 02 abcd")
    fields = walked("MetadataRequest", 9, data).fields[-3:]
    assert [(each.path, each.value, each.note) for each in fields] == [
        ("_tagged_fields[0].tag", 90, ""),
        ("_tagged_fields[0].size", 2, ""),
        ("_tagged_fields[0].bytes", "abcd", "unknown tagged field 90"),
    ]


def test_the_list_is_bounded() -> None:
    data = (1000).to_bytes(4, "big") + b"\0\0" * 1000
    with pytest.raises(ListFull):
        walked("MetadataRequest", 0, data, Limits(fields_max=10))


def test_secrets_are_not_shown() -> None:
    kind = messages.IncrementalAlterConfigsRequest
    configs = [
        kind.AlterableConfig(name="ssl.keystore.password", value="hush"),
        kind.AlterableConfig(name="num.partitions", value="3"),
    ]
    resource = kind.AlterConfigsResource(resource_type=4, resource_name="1", configs=configs)
    told = walked(kind.name, 1, kind.encode(kind(resources=[resource]), 1)).fields
    values = [each.value for each in told if each.path.endswith("].value")]
    assert values == [HIDDEN, "3"]
