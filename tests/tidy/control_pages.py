"""The parts of the docs about the control API, made from its table and its types."""

import inspect
import re
import typing
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from broker_lite.testbench.control.resource import OneOrMany, Resource
from broker_lite.testbench.control.table import RESOURCES
from broker_lite.testbench.faults.poison.catalogue import POISONS
from broker_lite.testbench.faults.rules import Rule
from broker_lite.testbench.selectors import Selectors

_MEMBER: Final = re.compile(r"^ {4}(\w+): (.*)$")


def resources() -> Iterable[str]:
    """The table of the control API."""
    yield "| Request | What it does |"
    yield "| --- | --- |"
    for each in RESOURCES:
        yield f"| `{each.method} {each.path}` | {_cell(each.summary)} |"


def bodies() -> Iterable[str]:
    """The members of bodies and queries, one type after the other."""
    told: set[str] = set()
    for each in RESOURCES:
        for kind in _inputs(each):
            rows = [row for row in _members(kind) if kind not in (Rule, Selectors)]
            if kind.__name__ in told or not rows:
                continue
            told.add(kind.__name__)
            yield f"**`{each.method} {each.path}`**{_where(each, kind)}: {_first(kind)}"
            yield ""
            yield "| Member | Meaning |"
            yield "| --- | --- |"
            yield from rows
            yield ""


def rule_members() -> Iterable[str]:
    """What a rule may say about when and what, without its selectors."""
    yield "| Member | Meaning |"
    yield "| --- | --- |"
    yield from _members(Rule)


def selector_members() -> Iterable[str]:
    """What chooses requests."""
    yield "| Selector | Meaning |"
    yield "| --- | --- |"
    yield from _members(Selectors)


def poisons() -> Iterable[str]:
    """The named ways in which a batch may be wrong."""
    yield "| Poison | What is wrong | What a right client does |"
    yield "| --- | --- | --- |"
    for name, poison in POISONS.items():
        yield f"| `{name}` | {_cell(poison.wrong)} | {_cell(poison.client)} |"


def _inputs(resource: Resource) -> Iterator[type[msgspec.Struct]]:
    body = resource.body
    kinds: list[Any] = [body.many, body.one] if isinstance(body, OneOrMany) else [body]
    for kind in (resource.query, *kinds):
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            yield kind


def _where(resource: Resource, kind: type) -> str:
    return ", in the query" if kind is resource.query else ""


def _first(kind: type) -> str:
    text = inspect.getdoc(kind) or ""
    return text.partition("\n")[0]


def _members(kind: type[msgspec.Struct]) -> Iterator[str]:
    """A row for each member that the docstring of a type tells, with its default."""
    _, _, told = (inspect.getdoc(kind) or "").partition("Attributes:\n")
    defaults = {field.name: field.default for field in msgspec.structs.fields(kind)}
    types = typing.get_type_hints(kind)
    for name, text in _told(told):
        default = defaults.get(name, msgspec.NODEFAULT)
        has_default = default not in (msgspec.NODEFAULT, None, False) and name in types
        shown = f" [{_json(default)}]" if has_default else ""
        yield f"| `{name}` | {_cell(text)}{shown} |"


def _told(text: str) -> Iterator[tuple[str, str]]:
    """Each name with its text, of the lines of an Attributes section."""
    name, parts = "", list[str]()
    for line in text.splitlines():
        found = _MEMBER.match(line)
        if found is not None:
            if name:
                yield name, " ".join(parts)
            name, parts = found[1], [found[2]]
        else:
            parts.append(line.strip())
    if name:
        yield name, " ".join(parts).strip()


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _cell(text: str) -> str:
    return (text[:1].upper() + text[1:]).replace("|", "\\|").replace("*", "\\*")
