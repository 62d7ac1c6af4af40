import pytest

from broker_lite.pipeline.read.formats import FORMAT_OPTIONS, column_formats
from broker_lite.pipeline.read.option_values import Given, OptionError
from broker_lite.pipeline.registry.settings import (
    USER_INFO_VARIABLE,
    ColumnFormat,
    Format,
    RegistrySettings,
    StoredSchema,
)

AVRO = {"value.format": "avro", "schema.registry": "schemas"}


def formats(**options: str) -> dict[str, ColumnFormat]:
    names = {name.replace("_", "."): value for name, value in options.items()}
    return dict(column_formats(Given(names, (*FORMAT_OPTIONS, "subscribe"))))


def test_nothing_is_decoded_unless_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(USER_INFO_VARIABLE, "nonsense")
    assert formats() == {}
    assert formats(value_format="raw") == {}


def test_keys_and_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(USER_INFO_VARIABLE, "me:secret")
    registry = RegistrySettings(
        location="http://registry", user_info="me:secret", timeout_ms=2000, retries=0
    )
    assert formats(
        key_format="avro",
        key_schema='"long"',
        value_format="Avro",
        value_schema_id="7",
        schema_registry="http://registry",
        schema_registry_timeout="2s",
        schema_registry_retries="0",
    ) == {
        "key": ColumnFormat(
            format=Format.AVRO, registry=registry, schema=StoredSchema(Format.AVRO, '"long"')
        ),
        "value": ColumnFormat(format=Format.AVRO, registry=registry, schema_id=7),
    }


def test_the_subject_of_one_topic() -> None:
    options = {"value_format": "avro", "schema_registry": "schemas"}
    assert formats(**options, subscribe="orders")["value"].subject == "orders-value"
    assert formats(**options, subscribe="a,b", value_subject="s")["value"].subject == "s"
    for topics in ({}, {"subscribe": "a,b"}):
        with pytest.raises(OptionError, match="unless subscribe names one topic"):
            formats(**options, **topics)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"schema_registry": "schemas"}, "value.format or key.format is needed with it"),
        ({"value_schema": "x"}, "value.format is needed with it"),
        ({"key_subject": "x"}, "key.format is needed with it"),
        ({"value_format": "json"}, "one of raw, avro, protobuf is allowed"),
        ({"value_format": "avro"}, "schema.registry: the URL of a registry or a folder"),
        ({"value_format": "avro", "schema_registry": "ftp://x"}, "http, https and folders"),
        ({"value_format": "avro", "value_message": "M"}, "only value.format=protobuf has messages"),
    ],
)
def test_what_does_not_go_together(options: dict[str, str], expected: str) -> None:
    with pytest.raises(OptionError, match=expected):
        formats(**options)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"value.schema": "x", "value.subject": "y"}, "only one of them can be given"),
        ({"value.schema.id": "0"}, "a whole number above 0"),
        ({"schema.registry.retries": "101"}, "from 0 to 100"),
        ({"schema.registry.retries": "-1"}, "from 0 to 100"),
        ({"schema.registry.timeout": "soon"}, "a duration above 0"),
        ({"schema.registry.basic.auth.user.info": "secret"}, "there is no colon"),
    ],
)
def test_wrong_values(options: dict[str, str], expected: str) -> None:
    with pytest.raises(OptionError, match=expected) as caught:
        column_formats(Given({**AVRO, **options}, FORMAT_OPTIONS))
    assert "secret" not in str(caught.value)
