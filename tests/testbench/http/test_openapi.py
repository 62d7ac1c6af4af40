"""The OpenAPI document: valid, complete, and as the resources are.

Also tests: broker_lite.testbench.control.routes.openapi.
"""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from openapi_spec_validator import validate

from broker_lite.testbench.control.resource import Call, Done, OneOrMany, Raw, Resource
from broker_lite.testbench.control.table import RESOURCES
from broker_lite.testbench.http.openapi import document


class Thing(msgspec.Struct):
    """A thing."""

    size: int = 3


class Things(msgspec.Struct):
    """Things."""

    things: list[Thing]


class Paging(msgspec.Struct):
    """A part."""

    limit: int
    start: int = msgspec.field(default=0, name="from")


async def handle(_call: Call) -> Done:
    """Do it.

    It takes
    a while.
    """
    return Done()


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    return json.loads(msgspec.json.encode(document(RESOURCES)))


def test_the_document_is_valid(whole: dict[str, Any]) -> None:
    validate(whole)


def test_each_resource_is_in_it(whole: dict[str, Any]) -> None:
    told = {(method.upper(), path) for path, some in whole["paths"].items() for method in some}
    assert told == {(each.method, each.path) for each in RESOURCES}


def operations(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for some in whole["paths"].values():
        yield from some.values()


def test_operations_have_names_of_their_own_and_summaries(whole: dict[str, Any]) -> None:
    names = [each["operationId"] for each in operations(whole)]
    assert len(set(names)) == len(names)
    assert [each["operationId"] for each in operations(whole) if not each["summary"]] == []


def test_no_schema_is_without_use(whole: dict[str, Any]) -> None:
    text = json.dumps(whole)
    unused = [
        name
        for name in whole["components"]["schemas"]
        if f'"#/components/schemas/{name}"' not in text
    ]
    assert unused == []


def operation(resource: Resource) -> dict[str, Any]:
    whole: Any = document([resource])
    validate(whole)
    found: dict[str, Any] = whole["paths"][resource.path][resource.method.lower()]
    return found


def test_parameters() -> None:
    told = operation(Resource("GET", "/v1/a/{b}/{c}", handle, query=Paging))
    assert [(each["name"], each["in"], each["required"]) for each in told["parameters"]] == [
        ("b", "path", True),
        ("c", "path", True),
        ("limit", "query", True),
        ("from", "query", False),
    ]
    assert told["parameters"][3]["schema"] == {"type": "integer", "default": 0}
    assert (told["summary"], told["description"]) == ("Do it.", "It takes a while.")
    assert "requestBody" not in told


@pytest.mark.parametrize(
    ("body", "content"),
    [
        (Thing, {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}),
        (bytes, {"application/octet-stream": {}}),
        (
            OneOrMany("things", Things, Thing),
            {
                "application/json": {
                    "schema": {
                        "anyOf": [
                            {"$ref": "#/components/schemas/Things"},
                            {"$ref": "#/components/schemas/Thing"},
                        ]
                    }
                }
            },
        ),
    ],
)
def test_bodies(body: object, content: object) -> None:
    told = operation(Resource("POST", "/v1/a", handle, body=body))
    assert told["requestBody"]["content"] == content


def test_answers() -> None:
    told = operation(Resource("GET", "/v1/a", handle, answer=list[Thing]))
    schema = told["responses"]["200"]["content"]["application/json"]["schema"]
    assert schema == {"type": "array", "items": {"$ref": "#/components/schemas/Thing"}}
    told = operation(Resource("GET", "/v1/a", handle, answer=Raw))
    assert told["responses"]["200"]["content"] == {"*/*": {}}


@pytest.mark.anyio
async def test_the_resource() -> None:
    call: Any = None
    (resource,) = [each for each in RESOURCES if each.path == "/openapi.json"]
    answer = await resource.handle(call)
    assert isinstance(answer, Raw)
    assert isinstance(answer.data, bytes)
    assert json.loads(answer.data)["openapi"] == "3.1.0"
