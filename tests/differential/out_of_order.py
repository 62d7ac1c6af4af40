"""A request of any API where a client has to send a token: what a broker answers, byte by byte.

The bodies are made from the schemas: one whose names and numbers are all different, with two
elements in each array, and others by chance, with one or two of them, in which the same names come
again, texts are empty or null, and numbers mean nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple

from broker_lite.handler.context import Api
from broker_lite.wire import messages
from broker_lite.wire.schema import Field
from broker_lite.wire.structs import Struct
from tests.differential.compare_sasl import CLOSED, Step, Talk, take
from tests.wire.samples import Sampler

HELLO: Final[Step] = ("handshake", 1, "PLAIN")
LOGIN: Final = (HELLO, ("token", 2, b"\0alice\0alice-secret"))
SASL_AUTHENTICATE: Final = 36
API_VERSIONS: Final = 18
_HASHED: Final = frozenset((0, 27, 51))
"""Produce, WriteTxnMarkers, AlterUserScramCredentials."""
_KNOWN_ELEMENTS: Final = {
    "resource_type": 2,
    "resource_type_filter": 2,
    "pattern_type_filter": 3,
    "resource_pattern_type": 3,
    "operation": 3,
    "permission_type": 3,
}
"""Of ACLs: a request of them is not even read if it has one that is unknown."""


class Asked(NamedTuple):
    """One request, and how it was made."""

    api_key: int
    version: int
    label: str
    body: bytes

    def __str__(self) -> str:
        return f"{messages.by_api(self.api_key)[0].name} v{self.version} ({self.label})"


class _Distinct(Sampler):
    """Two elements in each array, no two names or numbers alike."""

    def __init__(self, name: str, version: int) -> None:
        super().__init__(name, version, 0, unknown_tags=False, nulls=False)
        self._count = 0

    def field(self, field: Field) -> Any:
        if field.is_array:
            return [self.element(field), self.element(field)]
        return self.element(field)

    def element(self, field: Field) -> Any:
        if field.attribute in _KNOWN_ELEMENTS:
            return _KNOWN_ELEMENTS[field.attribute]
        if field.element_type == "string":
            return f"{field.attribute} {self.integer(0, 0)}"
        return super().element(field)

    def integer(self, low: int, high: int) -> int:
        self._count += 1
        return self._count


class _ByChance(Sampler):
    """One or two elements in each array, or null."""

    def __init__(self, name: str, version: int, seed: int) -> None:
        super().__init__(name, version, seed, unknown_tags=seed % 2 > 0)

    def field(self, field: Field) -> Any:
        if self.layout.is_nullable(field) and self.random.random() < 0.2:
            return None
        if field.is_array:
            return [self.element(field) for _ in range(self.random.choice((1, 2)))]
        return self.element(field)

    def element(self, field: Field) -> Any:
        if field.attribute in _KNOWN_ELEMENTS and self.random.random() < 0.95:
            return _KNOWN_ELEMENTS[field.attribute]
        if field.element_type == "uuid" and self.random.random() < 0.5:
            return bytes(15) + bytes([self.random.randrange(2)])
        return super().element(field)

    def integer(self, low: int, high: int) -> int:
        return max(low, self.random.choice((-1, 0, 1, 2, super().integer(low, high))))


def requests(apis: Mapping[int, Api], seeds: Sequence[int]) -> Iterator[Asked]:
    """Requests of each API and version but that of tokens."""
    for key, api in sorted(apis.items()):
        if key == SASL_AUTHENTICATE:
            continue
        name = messages.by_api(key)[0].name
        for version in range(api.min_version, api.max_version + 1):
            yield Asked(key, version, "distinct", _Distinct(name, version).encoded())
            for seed in seeds:
                body = _ByChance(name, version, seed).encoded()
                yield Asked(key, version, f"seed {seed}", body)


def answer(port: int, asked: Asked, before: Sequence[Step] = (HELLO,)) -> tuple[Any, str]:
    """The answer to a request after other steps, and whether the connection ends then."""
    talk = Talk(port)
    try:
        for step in before:
            assert take(talk, step) != CLOSED
        found = talk.ask(messages.by_api(asked.api_key)[0], asked.version, asked.body)
        if found is None:
            return CLOSED, CLOSED
        return found, CLOSED if talk.receive() is None else "more"
    except TimeoutError:
        return "silent", "silent"
    finally:
        talk.close()


def differences(
    theirs: int, ours: int, asked: Iterable[Asked], before: Sequence[Step] = (HELLO,)
) -> Iterator[tuple[Asked, str | None]]:
    """Each request, with what two brokers at these ports answer if it is not the same."""

    def compare(one: Asked) -> tuple[Asked, str | None]:
        told = [answer(port, one, before) for port in (theirs, ours)]
        if told[0] == told[1] or _without_order(one, told[0]) == _without_order(one, told[1]):
            return one, None
        return one, "\n".join([str(one), *(f"  {shown(one, each)}" for each in told)])

    with ThreadPoolExecutor(4) as pool:
        yield from pool.map(compare, asked)


def _without_order(asked: Asked, found: tuple[Any, str]) -> object:
    """An answer of those that Kafka lists in the order of a hash table; others as they are."""
    told, end = found
    if asked.api_key not in _HASHED or not isinstance(told, bytes):
        return found
    value, rest = _decoded(asked, told)
    return _sorted(value), rest, end


def _sorted(value: Any) -> Any:
    if isinstance(value, list):
        return sorted((_sorted(each) for each in value), key=repr)
    return (
        {name: _sorted(each) for name, each in value.items()} if isinstance(value, dict) else value
    )


def shown(asked: Asked, found: tuple[Any, str]) -> str:
    """An answer for people."""
    told, end = found
    if not isinstance(told, bytes):
        return f"{told}, {end}"
    value, rest = _decoded(asked, told)
    return f"{value}{rest!r}, {end}" if rest else f"{value}, {end}"


def _decoded(asked: Asked, told: bytes) -> tuple[Any, bytes]:
    """The fields of an answer, and what comes after it."""
    request, response = messages.by_api(asked.api_key)
    flexible_from = request.flexible_from
    is_flexible = flexible_from is not None and asked.version >= flexible_from
    start = 5 if is_flexible and asked.api_key != API_VERSIONS else 4
    value, ends = response.decode(told, asked.version, start)
    return _fields(value), told[ends:]


def _fields(value: Any) -> Any:
    """The fields of a struct that are not at their defaults."""
    if isinstance(value, list):
        return [_fields(each) for each in value]
    if not isinstance(value, Struct):
        return value
    plain = type(value)()
    given = {name: getattr(value, name) for name in value.fields}
    return {
        name: _fields(each)
        for name, each in given.items()
        if each != getattr(plain, name) or name == "error_code"
    }
