import json

import pytest

from broker_lite.pipeline.registry.errors import RegistryDown, UnknownSchema
from broker_lite.pipeline.registry.settings import (
    ColumnFormat,
    Format,
    RegistrySettings,
    StoredSchema,
)
from broker_lite.pipeline.registry.wanted import NoResultSchema, with_schema

NOWHERE = RegistrySettings(location="nowhere")
LONG = StoredSchema(Format.AVRO, '"long"')


class Source:
    def by_id(self, schema_id: int) -> StoredSchema:
        if schema_id != 7:
            raise UnknownSchema("there is none")
        return LONG

    def latest(self, subject: str) -> StoredSchema:
        if subject == "of-protobuf":
            return StoredSchema(Format.PROTOBUF, "")
        raise RegistryDown("it sleeps")


def wanted(**how: object) -> ColumnFormat:
    return ColumnFormat(format=Format.AVRO, registry=NOWHERE, **how)  # type: ignore[arg-type]


def test_a_schema_is_asked_for_where_none_is_given() -> None:
    assert with_schema(wanted(schema_id=7), Source()).schema == LONG
    given = wanted(schema=StoredSchema(Format.AVRO, json.dumps({"type": "int"})))
    assert with_schema(given) is given


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({"schema_id": 8}, "schema 8: there is none"),
        ({"subject": "s"}, "the latest schema of the subject s: it sleeps"),
        ({"subject": "of-protobuf"}, "the schema of the result is no avro schema"),
        (
            {"schema": StoredSchema(Format.AVRO, "{")},
            "the schema of the result: the schema is no J",
        ),
        ({}, "a schema of the result is needed"),
    ],
)
def test_without_a_schema_there_is_no_column(how: dict[str, object], expected: str) -> None:
    with pytest.raises(NoResultSchema, match=f"^{expected}"):
        with_schema(wanted(**how), Source())
