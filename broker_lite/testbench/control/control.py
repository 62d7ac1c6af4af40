"""The control function: a method, a path and JSON in; a status and JSON out."""

import logging
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import parse_qsl, unquote

import msgspec

from broker_lite.errors import BrokerError, NotLeaderOrFollower, SettingsError
from broker_lite.server.nodes import WrongState
from broker_lite.testbench.alone import ELSEWHERE
from broker_lite.testbench.bounds import JSON_BYTES_MAX
from broker_lite.testbench.control.resource import NOBODY, Call, Caller, OneOrMany, Raw, Resource
from broker_lite.testbench.errors import ControlError

if TYPE_CHECKING:
    from broker_lite.testbench.alone import ELSEWHERE
from broker_lite.testbench.bench import Bench

logger = logging.getLogger("broker_lite.control_api")

JSON: Final = "application/json"
_OK: Final = 200
_BAD_REQUEST: Final = 400
_NOT_FOUND: Final = 404
_NOT_ALLOWED: Final = 405
_CONFLICT: Final = 409
_TOO_LARGE: Final = 413
_FAILED: Final = 500
_PLACE: Final = re.compile(r"^(.*?) - at `\$(.*)`$", re.DOTALL)


class Reply(NamedTuple):
    """What a request of the control API gets.

    Attributes:
        status: of HTTP.
        body: the bytes, or what yields them while the caller listens.
        media_type: of the body.
        value: what the body says, before it became JSON; None where it is no JSON.
        allowed: the methods that the path has, where the status is 405.
    """

    status: int
    body: bytes | AsyncIterator[bytes]
    media_type: str = JSON
    value: object = None
    allowed: Sequence[str] = ()


class Control:
    """Serves the resources of a table."""

    def __init__(self, bench: "Bench", resources: Sequence[Resource]) -> None:
        """Prepare the table.

        Args:
            bench: what the resources are about.
            resources: all of them.
        """
        self._bench = bench
        self.resources = resources
        self._by_shape: dict[tuple[str | None, ...], dict[str, Resource]] = {}
        # "/v1/requests/wait" comes before "/v1/requests/{id}"
        for each in sorted(resources, key=lambda one: one.path.count("{")):
            self._by_shape.setdefault(_shape(each.path), {})[each.method] = each

    async def request(
        self,
        method: str,
        path: str,
        query: str = "",
        body: bytes = b"",
        *,
        is_json: bool = False,
        caller: Caller = NOBODY,
    ) -> Reply:
        """Carry out one request; what is wrong with it is told in the answer.

        Args:
            method: of HTTP, in capitals.
            path: with percent-encoded names.
            query: after the question mark.
            body: JSON, or octets where the resource takes them; empty for none.
            is_json: octets come as a JSON text, too, whose UTF-8 they are.
            caller: who asks, as far as HTTP tells.
        """
        try:
            resource, call = self._read(method, path, query, body, is_json)
            value = await resource.handle(call._replace(caller=caller))
        except ControlError as error:
            return _refusal(error)
        except NotLeaderOrFollower:
            return _refusal(ControlError(_CONFLICT, ELSEWHERE))
        except (WrongState, BrokerError, SettingsError) as error:
            return _refusal(ControlError(_CONFLICT, str(error) or type(error).__name__))
        except Exception:
            # A bug of ours must not end the broker under test.
            logger.exception("failed: %s %s", method, path)
            return _refusal(ControlError(_FAILED, "it failed; the broker's log says how"))
        if isinstance(value, Raw):
            return Reply(_OK, value.data, value.media_type)
        return Reply(_OK, msgspec.json.encode(value), value=value)

    def only_looks(self, method: str, path: str) -> bool:
        """Whether a request changes nothing, so that it may end when its caller has gone.

        Args:
            method: of HTTP, in capitals.
            path: with percent-encoded names.
        """
        try:
            resource, _ = self._find(method, path)
        except ControlError:
            return False
        return resource.only_looks

    def check(self, method: str, path: str, body: bytes) -> None:
        """Check that a request is written well, without carrying it out.

        Args:
            method: of HTTP, in capitals.
            path: with its query, if it has one.
            body: JSON; empty for none.

        Raises:
            ControlError: there is no such resource, or the query or the body is wrong.
        """
        path, _, query = path.partition("?")
        self._read(method, path, query, body, is_json=True)

    async def carry_out(self, method: str, path: str, body: bytes) -> tuple[int, str]:
        """Carry out a request of a script.

        Args:
            method: of HTTP, in capitals.
            path: with its query, if it has one.
            body: JSON; empty for none.

        Returns:
            The status, and the error in words; empty if there is none.
        """
        path, _, query = path.partition("?")
        reply = await self.request(method, path, query, body, is_json=True)
        told = reply.value if reply.status != _OK else None
        return reply.status, str(told["error"]) if isinstance(told, dict) else ""

    def _read(
        self, method: str, path: str, query: str, body: bytes, is_json: bool
    ) -> tuple[Resource, Call]:
        resource, names = self._find(method, path)
        checked = _query(resource.query, query), _body(resource.body, body, is_json)
        return resource, Call(self._bench, names, *checked)

    def _find(self, method: str, path: str) -> tuple[Resource, Mapping[str, str]]:
        segments = tuple(unquote(each) for each in path.strip("/").split("/"))
        fitting = (some for shape, some in self._by_shape.items() if _fits(shape, segments))
        by_method = next(fitting, None)
        if by_method is None:
            raise ControlError(_NOT_FOUND, f"there is no {path}; GET /v1 lists what there is")
        resource = by_method.get(method)
        if resource is None:
            text = f"{path} has {', '.join(by_method)}, and no {method}"
            raise ControlError(_NOT_ALLOWED, text, allowed=tuple(by_method))
        holders = resource.path.strip("/").split("/")
        return resource, {
            holder[1:-1]: segment
            for holder, segment in zip(holders, segments, strict=True)
            if holder.startswith("{")
        }


def _shape(path: str) -> tuple[str | None, ...]:
    """Return the segments of a path, None for each place holder."""
    return tuple(None if each.startswith("{") else each for each in path.strip("/").split("/"))


def _fits(shape: tuple[str | None, ...], segments: tuple[str, ...]) -> bool:
    return len(shape) == len(segments) and all(
        wanted is None or wanted == segment for wanted, segment in zip(shape, segments, strict=True)
    )


def _query(kind: type, text: str) -> object:
    given = dict(parse_qsl(text, keep_blank_values=True))
    return _checked(lambda: msgspec.convert(given, kind, strict=False), "?")


def _body(kind: object, body: bytes, is_json: bool) -> object:
    if kind is bytes:
        if not (is_json and body.startswith(b'"')):
            return body
        return _checked(lambda: msgspec.json.decode(body, type=str).encode(), "")
    if len(body) > JSON_BYTES_MAX:
        text = f"the body has more than {JSON_BYTES_MAX} bytes, which only octets and lines may"
        raise ControlError(_TOO_LARGE, text)
    if isinstance(kind, OneOrMany):
        found = _checked(lambda: msgspec.json.decode(body or b"{}", type=dict[str, object]), "")
        assert isinstance(found, dict)
        kind = kind.many if kind.member in found else kind.one
    return _checked(lambda: msgspec.json.decode(body or b"{}", type=kind), "")


def _checked(read: Callable[[], object], prefix: str) -> object:
    try:
        return read()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        text, at = " ".join(str(error).split()), ""
        if (placed := _PLACE.match(text)) is not None:
            text, at = placed[1], placed[2].lstrip(".")
        raise ControlError(_BAD_REQUEST, text or type(error).__name__, prefix + at) from None


def _refusal(error: ControlError) -> Reply:
    value: dict[str, object] = {"error": error.text}
    if error.at:
        value["at"] = error.at
    if error.found is not None:
        value["found"] = error.found
    body = msgspec.json.encode(value)
    return Reply(error.status, body, value=value, allowed=error.allowed)
