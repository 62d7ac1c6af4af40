"""Which rules are cited where: in the package's docstrings, in tests, in vectors.

A citation is an id (V-20), or two with `to` between them, which stand for all rules from one to the
other. A test's name cites by `v20` or `v_20`. A module implements the rules that follow `Rule:` at
the beginning of a line of a docstring; what else it cites, it touches.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from tests.tidy.project_files import project_files, python_files, text_of, tree_of
from tests.tidy.specified import SPEC, Rule, cited_in, named_in, pages, reasons, specified, title

RULES_PAGE: Final = SPEC / "rules.md"
TIDY: Final = Path("tests/tidy")

_ONE: Final = r"(?:TV|[PRVSFEGTCXNAKU])-\d{2,3}"
_IMPLEMENTS: Final = re.compile(
    rf'^[ \t]*(?:""")?Rule: ((?:\s*{_ONE}(?:\s+to\s+{_ONE})?(?:\s+\([^)]*\))?,?)+)', re.MULTILINE
)
_IN_PARENTHESES: Final = re.compile(r"\([^)]*\)")
_LABEL: Final = r"(?:tv|[prvsfegtcxnaku]|[prvsfegtc]_)"
_IN_NAME: Final = re.compile(rf"_({_LABEL})(\d{{2,3}})(?:_to_{_LABEL}(\d{{2,3}}))?(?=_|$)")
_LEFT_OUT: Final = re.compile(r'^Not done: .*?(?=\n\n|""")', re.MULTILINE | re.DOTALL)
_IN_VECTORS: Final = re.compile(r'"id": ?"(TV|N|A)-(\d{2})')


class Places(NamedTuple):
    """Where one rule is cited.

    Attributes:
        homes: modules that implement it; there is to be one.
        touched: modules that cite it otherwise.
        tests: files, each with the test functions that name the rule by themselves.
    """

    homes: list[Path]
    touched: list[Path]
    tests: dict[Path, list[str]]


def implemented_in(text: str) -> set[Rule]:
    """The rules that a module's text says it implements."""
    parts = (_IN_PARENTHESES.sub("", part) for part in _IMPLEMENTS.findall(text))
    return {rule for part in parts for rule in cited_in(part)}


def cited_in_name(name: str) -> Iterator[Rule]:
    """The rules that a test's name cites."""
    for prefix, first, last in _IN_NAME.findall(name):
        for number in range(int(first), int(last or first) + 1):
            rule = Rule(prefix.rstrip("_").upper(), number)
            if rule in specified():  # a version, v10, may look like a rule
                yield rule


@cache
def citations() -> dict[Rule, Places]:
    """The places of every rule, in the order of the pages, then of what is cited besides."""
    found: dict[Rule, Places] = defaultdict(lambda: Places([], [], {}))
    for rule in specified():
        found[rule]  # also where nobody cites it
    for path in python_files("broker_lite"):
        text = text_of(path)
        homes = implemented_in(text)
        for rule in homes:
            found[rule].homes.append(path)
        for rule in set(cited_in(_LEFT_OUT.sub("", text))) - homes:
            found[rule].touched.append(path)
    for path in project_files():
        if path.parts[0] == "tests" and not path.is_relative_to(TIDY):
            for rule, names in _cited_by_test_file(path).items():
                found[rule].tests[path] = names
    return dict(found)


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
        f"{rule}: {_names([*places.homes, *places.touched, *places.tests])}"
        for rule, places in citations().items()
        if rule not in specified()
    ]


def of_several_homes() -> list[str]:
    """Rules that more than one module says it implements."""
    return [
        f"{rule}: {_names(places.homes)}"
        for rule, places in citations().items()
        if len(places.homes) > 1
    ]


def homeless() -> list[str]:
    """Rules that no module implements, without a reason."""
    return [
        f"{rule} ({specified()[rule].says}), touched by {_names(places.touched) or 'nobody'}"
        for rule, places in citations().items()
        if rule in specified() and not places.homes and rule not in reasons()
    ]


def excused_in_vain() -> list[str]:
    """Rules with a reason for no home that have one, or that do not exist."""
    return [
        f"{rule}: {_names(citations()[rule].homes) if rule in citations() else 'no such rule'}"
        for rule in reasons()
        if rule not in specified() or citations()[rule].homes
    ]


def untested() -> list[str]:
    """Rules with a home that no test names, unless as one of a range.

    A range also cites rules that are added to it later, of which its tests know nothing.
    """
    return [
        f"{rule} ({specified()[rule].says}): {_names(places.homes)}"
        for rule, places in citations().items()
        if places.homes and rule in specified() and not any(_is_named(rule, places.tests))
    ]


def _is_named(rule: Rule, tests: dict[Path, list[str]]) -> Iterator[bool]:
    """For each test file that cites a rule, whether the rule is named there by itself."""
    for path, names in tests.items():
        in_names = (each for name in names for each in cited_in_name(name))
        yield path.suffix != ".py" or rule in {*named_in(text_of(path)), *in_names}


def rules_page() -> str:
    """The text of docs/spec/rules.md."""
    lines = [
        "# Rules",
        "",
        "Every rule with the module that implements it, and the tests that name it. Made by",
        "`python -m tests.tidy.generate` from the pages of the specification and from what",
        "docstrings and tests cite. A test file without names cites the rule for the whole module,",
        "or in a table of cases.",
    ]
    for page in pages():
        rules = [rule for rule, each in specified().items() if each.page == page]
        lines += ["", f"## {title(page)}", ""]
        for rule in rules:
            lines += _entry(rule, citations()[rule])
    return "\n".join(lines) + "\n"


def _entry(rule: Rule, places: Places) -> Iterator[str]:
    """A rule as an item of a list."""
    page = specified()[rule].page.name
    says = specified()[rule].says.replace("](#", f"]({page}#")  # a link to its own page
    yield f"- [{rule}]({page}#{str(rule).lower()})" + (f": {says}" if says else "")
    if places.homes:
        yield f"  - implemented in {_links(places.homes)}"
    else:
        yield f"  - no home: {reasons().get(rule, '')}"
    if places.touched:
        yield f"  - touched by {', '.join(f'`{path}`' for path in sorted(places.touched))}"
    for path, names in sorted(places.tests.items()):
        yield f"  - `{path}`" + (f": {', '.join(sorted(set(names)))}" if names else "")


def _links(paths: list[Path]) -> str:
    return ", ".join(f"[`{path}`](../../{path})" for path in paths)


def _names(paths: list[Path]) -> str:
    return ", ".join(map(str, paths))
