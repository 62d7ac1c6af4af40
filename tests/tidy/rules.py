"""Which rules are cited where: in the package's docstrings, in tests, in vectors.

A citation is an id (V-20), or two with `to` between them, which stand for all rules from one to the
other. A test's name cites by `v20` or `v_20`.
"""

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tests.tidy.project_files import project_files, python_files, text_of, tree_of

RULE_IDS = Path("tests/tidy/rule_ids.toml")
TIDY = Path("tests/tidy")
_ID = r"(TV|[PRVSFEGTXNA])-(\d{2,3})(?![\dA-Za-z])"
_CITATION = re.compile(rf"\b{_ID}(?: to {_ID})?")
_LABEL = r"(?:tv|[prvsfegtxna]|[prvsfegt]_)"
_IN_NAME = re.compile(rf"_({_LABEL})(\d{{2,3}})(?:_to_{_LABEL}(\d{{2,3}}))?(?=_|$)")
_LEFT_OUT = re.compile(r'^Not done: .*?(?=\n\n|""")', re.MULTILINE | re.DOTALL)
_IN_VECTORS = re.compile(r'"id": ?"(TV|N|A)-(\d{2})')


class Rule(NamedTuple):
    """An id in its two parts, so that rules sort as people read them."""

    prefix: str
    number: int

    def __str__(self) -> str:
        return f"{self.prefix}-{self.number:02}"


class Places(NamedTuple):
    """Where one rule is cited; tests are files with the test functions that name the rule."""

    package: list[Path]
    tests: dict[Path, list[str]]


@cache
def titles() -> dict[Rule, str]:
    """Every rule there is, with what it is about."""
    found = {}
    for prefix, rows in _rule_ids().items():
        for numbers, title in rows.items():
            first, _, last = numbers.partition("-")
            for number in range(int(first), int(last or first) + 1):
                found[Rule(prefix, number)] = title
    return found


@cache
def _rule_ids() -> dict[str, dict[str, str]]:
    table: dict[str, Any] = tomllib.loads(text_of(RULE_IDS))
    return {prefix: table[prefix] for prefix in table["about"]}


def about() -> dict[str, str]:
    """What each prefix is about, in the order of the table."""
    prefixes: dict[str, str] = tomllib.loads(text_of(RULE_IDS))["about"]
    return prefixes


def cited_in(text: str) -> Iterator[Rule]:
    """The rules that a text cites, also ids of rules that do not exist."""
    for prefix, first, last_prefix, last in _CITATION.findall(text):
        yield Rule(prefix, int(first))
        if last:
            yield Rule(last_prefix, int(last))
            between = (Rule(prefix, number) for number in range(int(first) + 1, int(last)))
            yield from (rule for rule in between if rule in titles())


def cited_in_name(name: str) -> Iterator[Rule]:
    """The rules that a test's name cites."""
    for prefix, first, last in _IN_NAME.findall(name):
        for number in range(int(first), int(last or first) + 1):
            rule = Rule(prefix.rstrip("_").upper(), number)
            if rule in titles():  # a version, v10, may look like a rule
                yield rule


@cache
def citations() -> dict[Rule, Places]:
    """Every cited rule, sorted, with its places."""
    found: dict[Rule, Places] = defaultdict(lambda: Places([], {}))
    for path in python_files("broker_lite"):
        for rule in set(cited_in(_LEFT_OUT.sub("", text_of(path)))):
            found[rule].package.append(path)
    for path in project_files():
        if path.parts[0] == "tests" and not path.is_relative_to(TIDY):
            for rule, names in _cited_by_test_file(path).items():
                found[rule].tests[path] = names
    order = list(about())
    return {rule: found[rule] for rule in sorted(found, key=lambda r: (order.index(r[0]), r[1]))}


def _cited_by_test_file(path: Path) -> dict[Rule, list[str]]:
    """What a module of tests or a file of vectors cites, with the names of the test functions."""
    if path.parts[1] == "vectors":
        pairs = _IN_VECTORS.findall(text_of(path))
        return {Rule(prefix, int(number)): [] for prefix, number in pairs}
    if path.suffix != ".py":
        return {}
    found: dict[Rule, list[str]] = {rule: [] for rule in cited_in(text_of(path))}
    for name, source in _tests_of(path):
        for rule in {*cited_in(source), *cited_in_name(name)}:
            found.setdefault(rule, []).append(name)
    return found


def _tests_of(path: Path) -> Iterator[tuple[str, str]]:
    """Each test function with its text, decorators and parameter ids included."""
    lines = text_of(path).splitlines()
    for node in ast.walk(tree_of(path)):
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if is_function and node.name.startswith("test_"):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            yield node.name, "\n".join(lines[first - 1 : node.end_lineno])


def unknown() -> list[str]:
    """Citations of rules that do not exist."""
    return [
        f"{rule}: {', '.join(map(str, [*places.package, *places.tests]))}"
        for rule, places in citations().items()
        if rule not in titles()
    ]


def untested() -> list[str]:
    """Rules that the package cites and no test does."""
    return [
        f"{rule} ({titles().get(rule, 'no such rule')}): {', '.join(map(str, places.package))}"
        for rule, places in citations().items()
        if places.package and not places.tests
    ]


def rules_page() -> str:
    """The text of tests/RULES.md."""
    lines = [
        "# Rules and their tests",
        "",
        "Made by `python -m tests.tidy.generate` from the rule ids that code and tests cite. The",
        "names are those of the test functions that cite the rule by themselves; a file without",
        "names cites it for the whole module, or in a table of cases.",
    ]
    for prefix, meaning in about().items():
        rows = [_row(rule, places) for rule, places in citations().items() if rule[0] == prefix]
        if rows:
            lines += ["", f"## {prefix}: {meaning}", ""]
            lines += ["| Rule | About | Package | Tests |", "| --- | --- | --- | --- |", *rows]
    return "\n".join(lines) + "\n"


def _row(rule: Rule, places: Places) -> str:
    package = ", ".join(f"`{path.relative_to('broker_lite')}`" for path in sorted(places.package))
    tests = "; ".join(
        f"`{path.relative_to('tests')}`" + (f": {', '.join(sorted(names))}" if names else "")
        for path, names in sorted(places.tests.items())
    )
    return f"| {rule} | {titles().get(rule, '')} | {package} | {tests} |"
