"""A row of the control API's table: a method, a path, what goes in, and what comes out.

The HTTP routes, the OpenAPI document, the command line and the docs are made from these rows.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from broker_lite.testbench.errors import ControlError

if TYPE_CHECKING:
    from broker_lite.testbench.bench import Bench

_DIGITS_MAX: Final = 10
# what is asked for by POST, because it needs a body, but changes nothing
_LOOKS: Final = frozenset({"wait", "find", "match", "explain"})
_NOT_FOUND: Final = 404


class Nothing(msgspec.Struct, forbid_unknown_fields=True):
    """A body or a query without members."""


class Done(msgspec.Struct):
    """The answer where there is nothing to tell."""


class OneOrMany(NamedTuple):
    """A body that is one thing, or an object whose only member lists several.

    Attributes:
        member: its name.
        many: the type of the object.
        one: the type of one thing.
    """

    member: str
    many: type
    one: type


class Raw(NamedTuple):
    """An answer that is no JSON.

    Attributes:
        media_type: of the bytes.
        data: the bytes; or what yields them while the caller listens.
    """

    media_type: str
    data: bytes | AsyncIterator[bytes]


class Caller(NamedTuple):
    """What the headers of HTTP tell; empty without HTTP.

    `repr` leaves the password out.

    Attributes:
        host: HOST or HOST:PORT by which the caller has reached the broker.
        authorization: name and password of the caller, if a resource wants to know.
    """

    host: str = ""
    authorization: str = ""

    def __repr__(self) -> str:  # type: ignore[explicit-override]
        return f"Caller({self.host!r})"


NOBODY: Final = Caller()
"""A caller without HTTP."""


class Call(NamedTuple):
    """A request of the control API, checked.

    Attributes:
        bench: what it is about.
        path: the names in the path, by their place holders.
        query: of the resource's query type.
        body: of the resource's body type; bytes if that is bytes.
        caller: who asks, as far as HTTP tells.
    """

    bench: "Bench"
    path: Mapping[str, str]
    query: object
    body: object
    caller: Caller = NOBODY

    def number(self, name: str) -> int:
        """Return a place holder's value that has to be a number.

        Raises:
            ControlError: it is none.
        """
        text = self.path[name]
        if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX):
            raise ControlError(_NOT_FOUND, f"{name} has to be a number, not {text!r}")
        return int(text)


class Resource(NamedTuple):
    """One operation of the control API.

    Attributes:
        method: of HTTP.
        path: with place holders in braces: /v1/faults/{id}.
        handle: carries it out; the first line of its docstring is the summary in the docs.
        answer: the type of what it returns.
        body: the type of the JSON that it takes, a OneOrMany, or bytes for any octets.
        query: the type of its query parameters.
    """

    method: str
    path: str
    handle: Callable[[Call], Awaitable[object]]
    answer: object = Done
    body: type | object = Nothing
    query: type = Nothing

    @property
    def summary(self) -> str:
        """What it does, in one line."""
        return (self.handle.__doc__ or "").partition("\n")[0]

    @property
    def only_looks(self) -> bool:
        """Whether it changes nothing."""
        return self.method == "GET" or self.path.rpartition("/")[2] in _LOOKS
