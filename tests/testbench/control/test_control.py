"""The control function over a table of its own: what fits, what is refused, and with what words.

Also tests: broker_lite.testbench.control.resource, broker_lite.testbench.errors.
"""

import json
from typing import Any

import msgspec
import pytest

from broker_lite.errors import InvalidRequest
from broker_lite.server.nodes import WrongState
from broker_lite.testbench.bounds import JSON_BYTES_MAX
from broker_lite.testbench.control.control import Control
from broker_lite.testbench.control.resource import Call, Done, Raw, Resource
from broker_lite.testbench.errors import ControlError

pytestmark = pytest.mark.anyio


class Wanted(msgspec.Struct, forbid_unknown_fields=True):
    """A body."""

    sizes: list[int] = []


class Paging(msgspec.Struct, forbid_unknown_fields=True):
    """A query."""

    limit: int = 3


async def get(call: Call) -> dict[str, object]:
    """Get a thing. It is a test."""
    assert isinstance(call.query, Paging)
    return {"name": call.path["name"], "limit": call.query.limit}


async def put(call: Call) -> Done:
    """Put a thing."""
    assert isinstance(call.body, Wanted)
    match call.body.sizes:
        case [400]:
            raise ControlError(400, "no such size", "sizes[0]")
        case [408]:
            raise ControlError(408, "too late", found={"sizes": 2})
        case [409]:
            raise WrongState("broker 1 is up")
        case [410]:
            raise InvalidRequest("not so")
        case [500]:
            raise RuntimeError("a bug")
    return Done()


async def post(call: Call) -> Raw:
    """Turn octets round."""
    assert isinstance(call.body, bytes)
    return Raw("text/plain", call.body[::-1])


@pytest.fixture
def control() -> Control:
    bench: Any = None
    table = [
        Resource("GET", "/v1/things/{name}", get, query=Paging),
        Resource("PUT", "/v1/things/{name}", put, body=Wanted),
        Resource("POST", "/v1/turn", post, body=bytes),
    ]
    return Control(bench, table)


async def test_names_in_the_path_may_have_any_character(control: Control) -> None:
    reply = await control.request("GET", "/v1/things/a%2Fb%20%C3%BC", "limit=5")
    assert (reply.status, reply.value) == (200, {"name": "a/b ü", "limit": 5})
    assert json.loads(bytes(reply.body)) == reply.value  # type: ignore[arg-type]


async def test_octets_go_in_and_out(control: Control) -> None:
    reply = await control.request("POST", "/v1/turn", body=b"abc")
    assert (reply.status, reply.body, reply.media_type) == (200, b"cba", "text/plain")


@pytest.mark.parametrize(("body", "octets"), [(b'"a\\n"', b"\na"), (b"[1]", b"]1["), (b"", b"")])
async def test_octets_may_come_as_a_text_of_json(
    control: Control, body: bytes, octets: bytes
) -> None:
    reply = await control.request("POST", "/v1/turn", body=body, is_json=True)
    assert (reply.status, reply.body) == (200, octets)


async def test_octets_that_come_as_wrong_json(control: Control) -> None:
    reply = await control.request("POST", "/v1/turn", body=b'"a', is_json=True)
    assert reply.status == 400


async def test_a_word_in_a_path_comes_before_a_place_holder() -> None:
    bench: Any = None
    table = [
        Resource("PUT", "/v1/things/{name}", put, body=Wanted),
        Resource("POST", "/v1/things/wait", post, body=bytes),
        Resource("GET", "/v1/things/{name}", get, query=Paging),
    ]
    control = Control(bench, table)
    assert (await control.request("POST", "/v1/things/wait", body=b"ab")).body == b"ba"
    refused = await control.request("GET", "/v1/things/wait")
    assert (refused.status, refused.allowed) == (405, ("POST",))
    refused = await control.request("PUT", "/v1/things/other", body=b" " * (JSON_BYTES_MAX + 1))
    assert refused.status == 413
    refused = await control.request("DELETE", "/v1/things/other")
    assert refused.value == {"error": "/v1/things/other has PUT, GET, and no DELETE"}


@pytest.mark.parametrize(
    ("method", "path", "query", "body", "status", "value"),
    [
        (
            "GET",
            "/v1/nothing",
            "",
            b"",
            404,
            {"error": "there is no /v1/nothing; GET /v1 lists what there is"},
        ),
        ("GET", "/v1/things", "", b"", 404, None),
        ("GET", "/v1/things/a/b", "", b"", 404, None),
        ("POST", "/v1/things/a", "", b"", 405, {"error": "/v1/things/a has GET, PUT, and no POST"}),
        (
            "GET",
            "/v1/things/a",
            "limit=x",
            b"",
            400,
            {"error": "Expected `int`, got `str`", "at": "?limit"},
        ),
        ("GET", "/v1/things/a", "limt=1", b"", 400, None),
        ("PUT", "/v1/things/a", "", b"{", 400, None),
        ("PUT", "/v1/things/a", "", b"[]", 400, None),
        ("PUT", "/v1/things/a", "", b"\xff", 400, None),
        ("PUT", "/v1/things/a", "", b"[" * 100_000, 400, None),
        (
            "PUT",
            "/v1/things/a",
            "",
            b'{"sizes": [1, "x"]}',
            400,
            {"error": "Expected `int`, got `str`", "at": "sizes[1]"},
        ),
        (
            "PUT",
            "/v1/things/a",
            "",
            b'{"sise": 1}',
            400,
            {"error": "Object contains unknown field `sise`"},
        ),
        (
            "PUT",
            "/v1/things/a",
            "",
            b'{"sizes": [400]}',
            400,
            {"error": "no such size", "at": "sizes[0]"},
        ),
        (
            "PUT",
            "/v1/things/a",
            "",
            b'{"sizes": [408]}',
            408,
            {"error": "too late", "found": {"sizes": 2}},
        ),
        ("PUT", "/v1/things/a", "", b'{"sizes": [409]}', 409, {"error": "broker 1 is up"}),
        ("PUT", "/v1/things/a", "", b'{"sizes": [410]}', 409, {"error": "not so"}),
        (
            "PUT",
            "/v1/things/a",
            "",
            b'{"sizes": [500]}',
            500,
            {"error": "it failed; the broker's log says how"},
        ),
        ("PUT", "/v1/things/a", "", b"", 200, None),
    ],
)
async def test_what_is_wrong_is_told_in_one_line(
    control: Control,
    method: str,
    path: str,
    query: str,
    body: bytes,
    status: int,
    value: dict[str, object] | None,
) -> None:
    reply = await control.request(method, path, query, body)
    assert reply.status == status
    told = json.loads(bytes(reply.body))  # type: ignore[arg-type]
    assert value is None or told == value
    assert "\n" not in told.get("error", "")


def test_a_resource_says_what_it_does() -> None:
    assert Resource("GET", "/x", get).summary == "Get a thing. It is a test."
