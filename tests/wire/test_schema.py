import subprocess
import sys

import pytest

from broker_lite.wire import schema
from broker_lite.wire.schema import FOREVER, Versions


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("3", 3, 3),
        ("3-5", 3, 5),
        ("3+", 3, FOREVER),
        ("none", 0, -1),
        (None, 0, -1),
    ],
)
def test_versions(text: str | None, first: int, last: int) -> None:
    versions = Versions.parse(text)
    assert versions == Versions(first=first, last=last)
    assert bool(versions) is (first <= last)
    assert (first in versions) is bool(versions)
    assert first - 1 not in versions
    assert last + 1 not in versions


@pytest.mark.parametrize(
    ("name", "attribute"),
    [
        ("ThrottleTimeMs", "throttle_time_ms"),
        ("currentStateTimestamp", "current_state_timestamp"),
        ("KRaftVersionFeature", "k_raft_version_feature"),
        ("V3AndBelowTopics", "v3_and_below_topics"),
    ],
)
def test_snake_case(name: str, attribute: str) -> None:
    assert schema.snake_case(name) == attribute


def test_catalog_p170() -> None:
    entries = schema.catalog()
    assert entries["ProduceRequest"].api_key == 0
    assert entries["ProduceRequest"].type == "request"
    assert entries["RequestHeader"].api_key is None
    requests = schema.catalog_by_api("protocol", "request")
    responses = schema.catalog_by_api("protocol", "response")
    assert set(requests) == set(responses)
    for api_key, name in requests.items():
        assert responses[api_key] == name.removesuffix("Request") + "Response"
    assert set(schema.removed_catalog()) < set(entries)


def test_every_schema_parses_p170() -> None:
    for entry in (*schema.catalog().values(), *schema.removed_catalog().values()):
        message = schema.parse(entry)
        assert entry.name in message.structs
        for fields in message.structs.values():
            for field in fields:
                assert field.versions
                assert not field.is_struct or field.element_type in message.structs
                assert (field.tag >= 0) is bool(field.tagged)


def field_of(message: str, struct: str, name: str) -> schema.Field:
    fields = schema.parse(schema.catalog()[message]).structs[struct]
    return next(field for field in fields if field.name == name)


@pytest.mark.parametrize(
    ("message", "struct", "name", "default"),
    [
        ("FetchRequest", "FetchRequest", "MaxBytes", 0x7FFFFFFF),
        ("FetchRequest", "FetchRequest", "ClusterId", None),
        ("FetchRequest", "FetchRequest", "ReplicaState", ()),
        ("FetchRequest", "FetchRequest", "Topics", ()),
        ("FetchRequest", "FetchTopic", "TopicId", bytes(16)),
        ("FetchRequest", "FetchRequest", "RackId", ""),
        ("TransactionLogValue", "TransactionLogValue", "PreviousProducerId", -1),
        ("MetadataRequest", "MetadataRequest", "AllowAutoTopicCreation", True),
        ("AlterClientQuotasRequest", "OpData", "Value", 0.0),
        ("ConsumerGroupMemberMetadataValue", "ClassicProtocol", "Metadata", b""),
        # a JSON null is no default, only the text "null" is (measured against 4.3.1)
        ("ConsumerGroupMemberMetadataValue",) * 2 + ("ClassicMemberMetadata", ()),
    ],
)
def test_defaults_p33(message: str, struct: str, name: str, default: object) -> None:
    assert field_of(message, struct, name).default == default


def test_a_field_with_only_tagged_versions_exists_in_those() -> None:
    field = field_of("TransactionLogValue", "TransactionLogValue", "PreviousProducerId")
    assert field.versions == field.tagged == Versions.parse("1+")


def test_nothing_is_read_at_import_time() -> None:
    program = (
        "from broker_lite.wire import messages, produce, fetch, schema\n"
        "assert not schema.catalog.cache_info().currsize\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
