import json
from collections.abc import Generator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from broker_lite.wire import DecodeError, EncodeError, messages, schema
from broker_lite.wire.structs import EncodedElements
from tests.wire.samples import message_versions, samples

T = TypeVar("T")
# the lowest versions that P-60 serves and Kafka 4 does not have
SERVED_MIN = {"ListOffsets": 0, "DescribeConfigs": 0, "Produce": 2, "Fetch": 2, "CreateTopics": 0}


def test_facts_of_a_message_p60() -> None:
    request = messages.MetadataRequest
    assert (request.name, request.api_key) == ("MetadataRequest", 3)
    assert (request.min_version, request.max_version, request.flexible_from) == (0, 13, 9)
    assert request.listeners == ("broker",)
    assert messages.CreateTopicsRequest.listeners == ("broker", "controller")
    assert repr(request) == "<MessageType MetadataRequest>"
    assert messages.SaslHandshakeRequest.flexible_from is None  # P-44
    assert messages.OffsetDeleteRequest.flexible_from is None  # P-44
    assert messages.LeaderAndIsrRequest.max_version < messages.LeaderAndIsrRequest.min_version


@pytest.mark.parametrize("name", ["NoSuchStruct", "nonsense"])
def test_unknown_struct(name: str) -> None:
    with pytest.raises(AttributeError):
        getattr(messages.MetadataRequest, name)


@pytest.mark.parametrize("version", [-1, 14, 99])
def test_version_without_layout_p10(version: int) -> None:
    with pytest.raises(DecodeError, match="no version"):
        messages.MetadataRequest.decode(b"", version)
    with pytest.raises(EncodeError, match="no version"):
        messages.MetadataRequest.encode(messages.MetadataRequest(), version)


@pytest.mark.parametrize("api", SERVED_MIN)
def test_versions_that_kafka_4_dropped_p171(api: str) -> None:
    for name in (f"{api}Request", f"{api}Response"):
        message = messages.message(name)
        assert message.min_version <= SERVED_MIN[api]
        value = message()
        assert message.decode(message.encode(value, SERVED_MIN[api]), SERVED_MIN[api])[0] == value


def test_list_offsets_v0_p171() -> None:
    request = messages.ListOffsetsRequest
    partition = request.ListOffsetsPartition(partition_index=3, timestamp=-1, max_num_offsets=7)
    value = request(
        replica_id=-1, topics=[request.ListOffsetsTopic(name="t", partitions=[partition])]
    )
    body = request.encode(value, 0)
    assert body.hex() == "ffffffff0000000100017400000001" + ("00000003ffffffffffffffff00000007")
    assert request.decode(body, 0) == (value, len(body))
    with pytest.raises(EncodeError, match="MaxNumOffsets"):
        request.encode(value, 1)
    response = messages.ListOffsetsResponse
    answer = response.ListOffsetsPartitionResponse(partition_index=3, old_style_offsets=[5, 0])
    topic = response.ListOffsetsTopicResponse(name="t", partitions=[answer])
    assert response.encode(response(topics=[topic]), 0).hex() == (
        "00000001000174000000010000000300000000000200000000000000050000000000000000"
    )


def test_describe_configs_v0_p171() -> None:
    response = messages.DescribeConfigsResponse
    config = response.DescribeConfigsResourceResult(name="k", value=None, is_default=True)
    result = response.DescribeConfigsResult(
        error_message=None, resource_type=2, resource_name="t", configs=[config]
    )
    body = response.encode(response(results=[result]), 0)
    assert body.hex() == ("00000000000000010000ffff020001740000000100016bffff000100")


def test_api_versions_unsupported_version_p45() -> None:
    response = messages.ApiVersionsResponse
    value = response(
        error_code=35, api_keys=[response.ApiVersion(api_key=18, min_version=0, max_version=5)]
    )
    assert response.encode(value, 0).hex() == "002300000001001200000005"


def test_every_version_round_trips_p20_to_p33() -> None:
    for message, version, value in samples(seed=1):
        body = message.encode(value, version)
        decoded, end = message.decode(b"\xff" + body + b"trailing", version, 1)
        assert end == len(body) + 1, (message, version)  # P-09
        assert decoded == value, (message, version)
        assert message.decode(memoryview(body), version) == (value, len(body))
        assert message.encode(decoded, version) == body


def test_all_versions_are_known() -> None:
    versions = message_versions()
    assert len(versions) > 800
    assert len({name for name, _ in versions}) > 250


VECTORS = Path(__file__).parents[1] / "vectors" / "wire_records.jsonl"


def load_vectors() -> list[dict[str, Any]]:
    origin, *vectors = map(json.loads, VECTORS.read_text("ascii").splitlines())
    assert "Apache Kafka" in origin["origin"]
    return vectors


@pytest.mark.parametrize("number", range(len(load_vectors())))
def test_records_as_kafka_writes_them(number: int) -> None:
    """Golden bytes of Kafka itself for what kio does not know: metadata, coordinators, raft."""
    vector = load_vectors()[number]
    message = messages.message(vector["name"])
    body = bytes.fromhex(vector["hex"])
    value, end = message.decode(body, vector["version"])
    assert end == len(body)
    assert message.encode(value, vector["version"]) == body
    assert json_form(message, vector["version"], message.name, value) == vector["value"]


def json_form(message: messages.MessageType, version: int, struct: str, value: Any) -> Any:
    """The value as Kafka's JsonConverter writes it."""
    from base64 import b64encode, urlsafe_b64encode

    layout = message.layout(version)
    assert layout is not None

    def element(field: schema.Field, item: Any) -> Any:
        if field.is_struct:
            return json_form(message, version, field.element_type, item)
        if field.element_type == "uuid":
            return urlsafe_b64encode(item).decode().rstrip("=")
        return b64encode(item).decode() if isinstance(item, bytes | memoryview) else item

    form = {}
    for field in (*layout.plain_fields(struct), *layout.tagged_fields(struct)):
        item = getattr(value, field.attribute)
        if field.is_array and item is not None:
            item = [element(field, each) for each in item]
        elif item is not None:
            item = element(field, item)
        form[field.name[0].lower() + field.name[1:]] = item
    return form


def test_slices_decode_and_encode_the_same_p33_p172() -> None:
    """A large message in slices is what it is at once, for every message and version."""
    for message, version, value in samples(4):
        body = message.encode(value, version)
        assert b"".join(message.encode_slices(value, version)) == body
        decoded = finish(message.decode_slices(memoryview(b"x" + body), version, 1, 1000))
        assert decoded == (value, 1 + len(body))


def test_elements_that_are_encoded_already_are_taken_as_they_are_p33() -> None:
    """For each array of structs of each message and version."""
    found = 0
    for message, version, value in samples(4):
        body = message.encode(value, version)
        layout = message.layout(version)
        assert layout is not None
        for field in layout.plain_fields(message.name):
            elements = getattr(value, field.attribute)
            if not (field.is_array and field.is_struct and elements):
                continue
            pieces = [b"".join(message.struct_slices(each, version)) for each in elements]
            setattr(value, field.attribute, EncodedElements(pieces))
            assert message.encode(value, version) == body
            slices = list(message.encode_slices(value, version))
            assert b"".join(slices) == body
            assert all(any(one is piece for one in slices) for piece in pieces)
            setattr(value, field.attribute, elements)
            found += 1
    assert found > 100


def finish(slices: Generator[None, None, T]) -> T:
    """The result of a generator."""
    while True:
        try:
            next(slices)
        except StopIteration as end:
            result: T = end.value
            return result


def many_names(count: int) -> Any:
    kind = messages.MetadataRequest
    return kind(topics=[kind.MetadataRequestTopic(name=f"{n}") for n in range(count)])


def test_many_elements_make_many_slices() -> None:
    body = messages.MetadataRequest.encode(many_names(1000), 1)
    assert len(list(messages.MetadataRequest.decode_slices(body, 1, 0, 1000))) > 10
    assert len(list(messages.MetadataRequest.encode_slices(many_names(1000), 1))) > 3


@pytest.mark.parametrize("inner", range(5))
def test_what_elements_hold_themselves_does_not_hide_the_pauses(inner: int) -> None:
    """Each counts as one more than it holds, so that the count may pass any number unseen."""
    kind = messages.FetchRequest
    forgotten = [kind.ForgottenTopic(topic=f"{n}", partitions=[0] * inner) for n in range(1000)]
    body = kind.encode(kind(forgotten_topics_data=forgotten), 12)
    assert len(list(kind.decode_slices(body, 12, 0, 10_000))) > 10


def test_p34_more_elements_than_allowed_are_refused() -> None:
    body = messages.MetadataRequest.encode(many_names(1000), 1)
    with pytest.raises(DecodeError, match="Topics: 1000 are more than one request may have"):
        finish(messages.MetadataRequest.decode_slices(body, 1, 0, 999))


def test_p08_slices_refuse_what_is_not_a_message() -> None:
    body = messages.MetadataRequest.encode(many_names(1000), 1)
    with pytest.raises(DecodeError, match="MetadataRequest v1 ends too early"):
        finish(messages.MetadataRequest.decode_slices(body[:3], 1, 0, 9999))
    with pytest.raises(DecodeError, match="no version 99"):
        finish(messages.MetadataRequest.decode_slices(body, 99, 0, 9999))


@pytest.mark.parametrize(
    ("value", "version", "text"),
    [
        pytest.param(None, 1, "NoneType", id="P-33 a wrong type"),
        pytest.param("x" * 40_000, 9, "Name cannot be", id="P-33 a text too long"),
        pytest.param("x", 99, "no version 99", id="P-33 no version"),
    ],
)
def test_slices_refuse_what_cannot_be_encoded(value: Any, version: int, text: str) -> None:
    kind = messages.MetadataRequest
    request = kind(topics=[kind.MetadataRequestTopic(name=value)])
    with pytest.raises(EncodeError, match=text):
        b"".join(kind.encode_slices(request, version))


@pytest.mark.parametrize(
    ("name", "version", "fields"),
    [
        pytest.param("DeleteGroups", 1, {"groups_names": ["n" * 11_000]}, id="P-23"),
        pytest.param("DeleteGroups", 2, {"groups_names": ["n" * 11_000]}, id="P-24"),
        pytest.param("InitProducerId", 1, {"transactional_id": "n" * 11_000}, id="P-23 nullable"),
    ],
)
def test_slices_refuse_a_text_that_grows_too_long(
    name: str, version: int, fields: dict[str, Any]
) -> None:
    kind = getattr(messages, f"{name}Request")
    body = kind.encode(kind(**fields), version)
    value, _ = finish(kind.decode_slices(body, version, 0, 9))
    assert all(getattr(value, key) == field for key, field in fields.items())
    with pytest.raises(DecodeError, match="not UTF-8, and too long"):
        finish(kind.decode_slices(body.replace(b"n", b"\xff"), version, 0, 9))
