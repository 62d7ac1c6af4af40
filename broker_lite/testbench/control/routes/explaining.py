"""Bytes field by field, and what the broker refuses of them."""

from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
from anyio import to_thread

from broker_lite.testbench.control.resource import Call, Raw, Resource
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.facts import api_name
from broker_lite.testbench.refusals import Refusal

if TYPE_CHECKING:
    from broker_lite.explain import Explanation

_BAD_REQUEST: Final = 400
_OCTETS: Final = "application/octet-stream"

Fields = dict[str, Any]


class What(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What the bytes are.

    Attributes:
        kind: left out, it is found out.
        response: API:VERSION of a response, such as Fetch:13.
        with_bytes: tell decompressed bytes, too, in base64.
    """

    kind: Literal["request", "batch"] | None = None
    response: str | None = None
    with_bytes: bool = False


class RefusalWanted(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How much is told.

    Attributes:
        with_bytes: tell decompressed bytes, too, in base64.
    """

    with_bytes: bool = False


class RefusalView(msgspec.Struct, kw_only=True):
    """A refused request.

    Attributes:
        id: x1 is the first; the broker's log names it.
        at_ms: when it was refused, in ms since 1970.
        api: the name of the API.
        version: of the API.
        client_id: of the request's header.
        connection: c1 is the first that the process accepted.
        error: the name of the first error.
        reason: in words.
    """

    id: str
    at_ms: int
    api: str
    version: int
    client_id: str
    connection: str
    error: str
    reason: str


async def explain(call: Call) -> Fields:
    """List the fields of a frame or a batch; mark the one that the broker refuses."""
    what, data = call.query, call.body
    assert isinstance(what, What)
    assert isinstance(data, bytes)
    return await _fields(partial(_explained_bytes, what, data), with_bytes=what.with_bytes)


async def list_refusals(call: Call) -> list[RefusalView]:
    """List the last requests that were refused."""
    return [_view(refusal) for refusal in call.bench.refusals.list()]


async def explain_refusal(call: Call) -> Fields:
    """List the fields of a refused request; mark the one that was refused."""
    wanted = call.query
    assert isinstance(wanted, RefusalWanted)
    refusal = call.bench.refusals.get(call.path["id"])
    # a copy for the thread, because the broker may still add some
    refusal = refusal._replace(partitions=dict(refusal.partitions))
    fields = await _fields(partial(_explained, refusal), with_bytes=wanted.with_bytes)
    return {**msgspec.to_builtins(_view(refusal)), **fields}


async def get_refused_bytes(call: Call) -> Raw:
    """Return the bytes of a refused request as it came, with its size in front.

    A very long request is cut, and its secrets are blotted out.
    """
    return Raw(_OCTETS, call.bench.refusals.get(call.path["id"]).frame)


def _explained_bytes(what: What, data: bytes) -> "Explanation":
    """Explain bytes that a client sent; ControlError if they are nothing that can be explained."""
    # The room takes a quarter of what the first request of all would take to import the routes.
    from broker_lite.explain import CannotExplain, explain_batch, explain_frame
    from broker_lite.explain.kinds import BATCH, api_of, guess_kind

    try:
        if what.response is not None:
            return explain_frame(data, response_of=api_of(what.response))
        if (what.kind or guess_kind(data)) == BATCH:
            return explain_batch(data)
        return explain_frame(data)
    except CannotExplain as error:
        raise ControlError(_BAD_REQUEST, str(error)) from error


def _explained(refusal: Refusal) -> "Explanation":
    """Explain a refused request; the refusal is told even if no field can be named for it."""
    from broker_lite.explain import Refused, explain_frame

    explanation = explain_frame(
        refusal.frame, answered=refusal.partitions, now_ms=refusal.now_ms, has_size=True
    )
    error, why = refusal.error, refusal.why
    if all(each.error != error.name for each in explanation.refusals):
        told = Refused(error.name, int(error), why.rule, str(why))
        explanation.refusals.insert(0, told)
    return explanation


def _view(refusal: Refusal) -> RefusalView:
    return RefusalView(
        id=refusal.id,
        at_ms=refusal.at_ms,
        api=api_name(refusal.api_key),
        version=refusal.version,
        client_id=refusal.client_id,
        connection=f"c{refusal.connection_id}",
        error=refusal.error.name,
        reason=str(refusal.why),
    )


async def _fields(work: "partial[Explanation]", *, with_bytes: bool) -> Fields:
    # the first import or a large batch takes a while, for which clients must not wait
    return await to_thread.run_sync(lambda: dict(work().as_json(with_bytes=with_bytes)))


RESOURCES = (
    Resource("POST", "/v1/explain", explain, answer=Fields, body=bytes, query=What),
    Resource("GET", "/v1/refusals", list_refusals, answer=list[RefusalView]),
    Resource("GET", "/v1/refusals/{id}", explain_refusal, answer=Fields, query=RefusalWanted),
    Resource("GET", "/v1/refusals/{id}/request", get_refused_bytes, answer=Raw),
)
