"""The OpenAPI 3.1 document of the control API, made from its table."""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from broker_lite import __version__
from broker_lite.testbench.control.resource import Nothing, OneOrMany, Raw, Resource

_REF: Final = "#/components/schemas/{name}"
_JSON: Final = "application/json"
_OCTETS: Final = "application/octet-stream"
_PLACE_HOLDER: Final = re.compile(r"\{(\w+)\}")
_WORDS: Final = re.compile(r"\s+")

Schema = dict[str, object]


class Refusal(msgspec.Struct, kw_only=True):
    """Why a request was not carried out.

    Attributes:
        error: one line for a person.
        at: the place in the request that is wrong, such as "rules[0].error".
        found: what is there now, for a wait that timed out.
    """

    error: str
    at: str = ""
    found: object = None


def document(resources: Sequence[Resource]) -> Schema:
    """Return the document.

    Args:
        resources: all of the control API.
    """
    types = list(dict.fromkeys(each for one in resources for each in _types(one)))
    schemas, components = _schemas([*types, Refusal])
    by_type = dict(zip(types, schemas, strict=False))
    components = dict(components)
    for kind in {one.query for one in resources} - {one.body for one in resources}:
        components.pop(kind.__name__, None)  # their members are listed one by one
    paths: dict[str, Schema] = {}
    for one in resources:
        operation = _operation(one, by_type, _schemas([one.query])[1])
        paths.setdefault(one.path, {})[one.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "The control API of broker-lite",
            "version": __version__,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "tags": [
            {"name": _tag(module), "description": _first_line(sys.modules[module].__doc__)}
            for module in dict.fromkeys(one.handle.__module__ for one in resources)
        ],
        "paths": paths,
        "components": {"schemas": components},
    }


def _schemas(types: Sequence[object]) -> tuple[tuple[Schema, ...], dict[str, Schema]]:
    return msgspec.json.schema_components(types, schema_hook=_custom, ref_template=_REF)


def _custom(kind: type) -> Schema:
    if kind is object:
        return {"description": "Any JSON value."}
    raise NotImplementedError(kind)


def _types(resource: Resource) -> Iterator[object]:
    """Yield the types of JSON that go in and out."""
    if resource.answer is not Raw:
        yield resource.answer
    body = resource.body
    if isinstance(body, OneOrMany):
        yield body.many
        yield body.one
    elif body not in (bytes, Nothing):
        yield body


def _operation(
    resource: Resource, schemas: Mapping[object, object], queried: Mapping[str, Schema]
) -> Schema:
    text = (resource.handle.__doc__ or "").strip()
    rest = _WORDS.sub(" ", text.partition("\n")[2]).strip()
    answer = {"*/*": {}} if resource.answer is Raw else _content(schemas[resource.answer])
    refusal = {"description": "It was not done.", "content": _content(_ref("Refusal"))}
    operation: Schema = {
        "operationId": f"{_tag(resource.handle.__module__)}.{resource.handle.__name__}",
        "tags": [_tag(resource.handle.__module__)],
        "summary": resource.summary,
        "parameters": [*_in_path(resource.path), *_in_query(resource.query, queried)],
        "responses": {
            "200": {"description": "It was done.", "content": answer},
            "default": refusal,
        },
    }
    if rest:
        operation["description"] = rest
    body = resource.body
    if isinstance(body, OneOrMany):
        schema: object = {"anyOf": [schemas[body.many], schemas[body.one]]}
        operation["requestBody"] = _request_body(_content(schema), body.one)
    elif body is bytes:
        operation["requestBody"] = {"content": {_OCTETS: {}}, "required": True}
    elif body is not Nothing:
        operation["requestBody"] = _request_body(_content(schemas[body]), body)
    return operation


def _request_body(content: Schema, kind: object) -> Schema:
    """Return the description of a body. One that is left out is an object without members."""
    try:
        msgspec.convert({}, kind)
    except msgspec.ValidationError:
        return {"content": content, "required": True}
    return {"content": content}


def _in_path(path: str) -> list[Schema]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _PLACE_HOLDER.findall(path)
    ]


def _in_query(kind: type, queried: Mapping[str, Schema]) -> list[Schema]:
    schema = queried[kind.__name__]
    members, required = schema.get("properties", {}), schema.get("required", [])
    assert isinstance(members, dict)
    assert isinstance(required, list)
    return [
        {"name": name, "in": "query", "required": name in required, "schema": member}
        for name, member in members.items()
    ]


def _content(schema: object) -> Schema:
    return {_JSON: {"schema": schema}}


def _ref(name: str) -> Schema:
    return {"$ref": _REF.format(name=name)}


def _tag(module: str) -> str:
    return module.rpartition(".")[2]


def _first_line(text: str | None) -> str:
    return (text or "").partition("\n")[0]
