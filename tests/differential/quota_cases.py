"""Requests about client quotas, one list as in plain_cases."""

from collections.abc import Iterable, Sequence
from typing import Any

from broker_lite.wire import messages
from tests.differential.plain_cases import PlainCase

Entity = Sequence[tuple[str, str | None]]
Operation = tuple[str, float, bool]
Entry = tuple[Entity, Sequence[Operation]]
EXACT, DEFAULT, ANY = 0, 1, 2

_U: Entity = [("user", "u")]
_C: Entity = [("client-id", "c")]
_IP: Entity = [("ip", "1.2.3.4")]
_P: Operation = ("producer_byte_rate", 1000.0, False)
_Q: Operation = ("consumer_byte_rate", 3.0, False)


def _alter(*entries: Entry, version: int = 1, validate: bool = False) -> PlainCase:
    types = messages.AlterClientQuotasRequest
    fields = {
        "entries": [
            types.EntryData(
                entity=[types.EntityData(entity_type=kind, entity_name=name) for kind, name in of],
                ops=[types.OpData(key=key, value=value, remove=gone) for key, value, gone in ops],
            )
            for of, ops in entries
        ],
        "validate_only": validate,
    }
    return PlainCase("P-160", "AlterClientQuotas", version, fields)


def _describe(
    *components: tuple[str, int, str | None], strict: bool = False, version: int = 1
) -> PlainCase:
    types = messages.DescribeClientQuotasRequest
    fields: dict[str, Any] = {
        "components": [
            types.ComponentData(entity_type=kind, match_type=match_type, match=match)
            for kind, match_type, match in components
        ],
        "strict": strict,
    }
    return PlainCase("P-161", "DescribeClientQuotas", version, fields)


def _set(entity: Entity, *operations: tuple[str, float]) -> Entry:
    return entity, [(key, value, False) for key, value in operations]


def _good() -> Iterable[PlainCase]:
    yield _describe(version=0)
    yield _describe(("user", EXACT, "a"))
    yield _describe(strict=True)
    yield _alter((_U, [_P]), version=0)
    yield _alter((_C, [_P]), ([*_U, *_C], [_P, ("consumer_byte_rate", 5.5, False)]))
    yield _alter(([("user", None)], [_P]), ([("user", None), ("client-id", None)], [_P]))
    yield _alter(_set([("client-id", None)], ("request_percentage", 200.5)))
    yield _alter(_set(_IP, ("connection_creation_rate", 10.0)))
    yield _alter(_set([("ip", None)], ("connection_creation_rate", 7.0)))
    yield _alter(_set([("ip", "::1")], ("connection_creation_rate", 2147483647.0)))
    yield _alter(_set([("ip", "localhost")], ("connection_creation_rate", 1.0)))
    yield _describe()
    yield _describe(version=0)


def _filters() -> Iterable[PlainCase]:
    filters: list[list[tuple[str, int, str | None]]] = [
        [("user", EXACT, "u")],
        [("user", DEFAULT, None)],
        [("user", ANY, None)],
        [("user", ANY, None), ("client-id", ANY, None)],
        [("user", EXACT, "u"), ("client-id", EXACT, "c")],
        [("ip", ANY, None)],
        [("ip", DEFAULT, None)],
        [("client-id", DEFAULT, None)],
        [("user", EXACT, "nobody")],
        [("user", EXACT, "")],
    ]
    for one in filters:
        yield _describe(*one)
        yield _describe(*one, strict=True)
    bad: list[list[tuple[str, int, str | None]]] = [
        [("ip", ANY, None), ("user", ANY, None)],
        [("user", EXACT, None)],
        [("user", DEFAULT, "x")],
        [("user", ANY, "x")],
        [("user", 3, None)],
        [("user", -1, None)],
        [("zzz", ANY, None)],
        [("", ANY, None)],
        [("user", ANY, None), ("user", ANY, None)],
    ]
    for one in bad:
        yield _describe(*one)


def _bad_entities() -> Iterable[PlainCase]:
    entities: list[Entity] = [
        [],
        [("zzz", "x")],
        [("zzz", "")],
        [("user", "")],
        [("", "x")],
        [("user", "a"), ("user", "b")],
        [("user", "a"), ("ip", "1.1.1.1")],
        [("client-id", "a"), ("ip", "1.1.1.1")],
        [("user", None), ("ip", None)],
        [("user", "x"), ("zzz", None)],
        [("zzz", "x"), ("user", "")],
        [("ip", ""), ("user", "x")],
        [("ip", "")],
        [("ip", "no ip")],
        [("ip", "1.1.1.1")],
    ]
    for entity in entities:
        yield _alter((entity, [_P]))


def _bad_values() -> Iterable[PlainCase]:
    values: list[tuple[str, float]] = [
        ("zzz", 1.0),
        ("producer_byte_rate", 0.0),
        ("producer_byte_rate", -1.0),
        ("producer_byte_rate", 1.5),
        ("producer_byte_rate", 1.000002),
        ("producer_byte_rate", 0.9999999),
        ("producer_byte_rate", 1e30),
        ("producer_byte_rate", float("inf")),
        ("request_percentage", 0.0),
        ("request_percentage", float("-inf")),
        ("controller_mutation_rate", -5.0),
        ("connection_creation_rate", 1.0),
    ]
    for key, value in values:
        yield _alter(_set([("user", "bad")], (key, value)))
    for rate in (1.5, 0.0, 1e10, 2147483648.0):
        yield _alter(_set(_IP, ("connection_creation_rate", rate)))
    for key, value in (
        ("producer_byte_rate", 1e-8),
        ("producer_byte_rate", 1.00000001),
        ("consumer_byte_rate", 2.0**63),
        ("request_percentage", 1e9),
        ("controller_mutation_rate", 0.001),
    ):
        yield _alter(_set([("user", "odd")], (key, value)))


def _repeats_and_removals() -> Iterable[PlainCase]:
    for name, *entries in (
        ("d1", [_P], [_Q]),
        ("d2", [_P, ("producer_byte_rate", 5.0, False)]),
        ("d3", [_P, _Q, ("zzz", 1.0, False)]),
        ("d4", [_P], [_Q], [("request_percentage", 1.0, False)]),
        ("d5", [("zzz", 1.0, False)], [_Q]),
        ("d6", [_P, ("producer_byte_rate", 1.0, True)]),
    ):
        yield _alter(*[([("user", name)], operations) for operations in entries])
    yield _alter(([("user", None), ("client-id", "q")], [_P, _P]))
    yield _alter(([("user", "v")], [_P]), ([("zzz", "q")], [_P]))
    yield _alter((_U, []))
    yield _alter()
    yield _alter(([("user", "val")], [_P]), validate=True)
    yield _alter(_set([("user", "val")], ("zzz", 1.0)), validate=True)
    yield _describe()
    gone = ("producer_byte_rate", 0.0, True)
    yield _alter((_U, [gone, ("consumer_byte_rate", 0.0, True)]))
    yield _alter(([("user", "nobody")], [gone, ("zzz", 1.0, True)]))
    yield _alter(([("ip", None)], [("connection_creation_rate", 0.0, True)]))
    yield _alter(([*_C, *_U], [("producer_byte_rate", 77.0, False)]))
    yield _alter(([("user", "x" * 300)], [_P]), ([("user", "\u00fc b")], [_P]))
    yield _describe()


def quotas() -> list[PlainCase]:
    """All of them, in order."""
    return [
        *_good(),
        *_filters(),
        *_bad_entities(),
        *_bad_values(),
        *_repeats_and_removals(),
    ]
