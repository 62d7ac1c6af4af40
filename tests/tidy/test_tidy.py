"""House rules that no linter knows: each test lists what breaks its rule, and says what to do."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_lite.handler.offered import offered
from broker_lite.handler.table import APIS
from tests.tidy.project_files import ROOT, project_files, python_files, text_of, tree_of
from tests.tidy.specified import Rule, specified
from tests.tidy.tested import also_tested, mirror

MODULE_LINES_MAX = 400
FUNCTION_LINES_MAX = 59  # without the docstring
FUNCTION_LINES_TARGET = 40

# one record, read top to bottom, is one function
LONG_FUNCTIONS = {"broker_lite/record/loops/scan.py read_record"}

# Paths inside of Kafka's images and defaults of Kafka's: part of what is promised, of no machine.
ALLOWED_PATHS = (
    "/mnt/shared",
    "/tmp/kafka-logs",
    "/tmp/kraft-combined-logs",
    "/tmp/testcontainers_start.sh",
)


_OPEN_POINTS = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")
_MACHINE_PATHS = re.compile(r"(?<![\w.~$}/-])/(?:home|root|work|tmp|Users|private|mnt)/[\w.-]+")
# docker.io without a path is the name of a package of Debian.
_HOSTS = re.compile(
    r"registry\.npmjs|pypi\.org|pythonhosted|repo1?\.maven|proxy\.golang|sum\.golang|ghcr\.io"
    r"|docker\.io/|quay\.io|gcr\.io|crates\.io|artifactory|\bnexus\b",
    re.IGNORECASE,
)
_VERSIONS = re.compile(r"\(\d+\), (?:versions? )?\d|\b(?:\w+_)?(?:MIN|MAX)_VERSION: Final\b")


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Each function of a module with its count of lines, the docstring left out."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if ast.get_docstring(node, clean=False) is not None:
                docstring = node.body[0]
                lines -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
            yield f"{path} {node.name}", lines


def found_in_text(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path}: {match[0]}"
        for path in project_files()
        if path.name != "test_tidy.py"  # has to spell out what it looks for
        for match in pattern.finditer(text_of(path))
        if not match[0].startswith(ALLOWED_PATHS)
    ]


def test_modules_are_short() -> None:
    counts = {path: text_of(path).count("\n") for path in python_files("broker_lite", "tests")}
    long = {str(path): lines for path, lines in counts.items() if lines > MODULE_LINES_MAX}
    assert long == {}, f"move one subject to a module of its own: {MODULE_LINES_MAX} lines at most"


def test_functions_are_short() -> None:
    every = dict(each for path in python_files("broker_lite", "tests") for each in functions(path))
    long = {name: lines for name, lines in every.items() if lines > FUNCTION_LINES_TARGET}
    print("above the target:", long)  # shown by pytest -rP
    long = {name: lines for name, lines in long.items() if name not in LONG_FUNCTIONS}
    long = {name: lines for name, lines in long.items() if lines > FUNCTION_LINES_MAX}
    assert long == {}, f"split them: {FUNCTION_LINES_MAX} lines at most, docstrings left out"


def test_every_module_has_a_test_file() -> None:
    modules = {path for path in python_files("broker_lite") if path.name != "__init__.py"}
    alone = {path for path in modules if not (ROOT / mirror(path)).exists()}
    assert sorted(alone - also_tested().keys()) == [], (
        "broker_lite/a/b.py has its tests in tests/a/test_b.py, or in a test file whose docstring"
        " ends with `Also tests: broker_lite.a.b.`"
    )


def test_only_modules_without_tests_of_their_own_are_told() -> None:
    needless = [
        path
        for path in also_tested()
        if not (ROOT / path).exists() or (ROOT / mirror(path)).exists()
    ]
    assert needless == [], (
        "take them out of `Also tests:` in docstrings of test files: the module is gone, or has a"
        " test file of its own"
    )


def test_nothing_is_left_open() -> None:
    assert found_in_text(_OPEN_POINTS) == [], "do it, or say in the docstring what is `Not done:`"


def test_no_path_of_a_machine() -> None:
    assert found_in_text(_MACHINE_PATHS) == [], (
        "use a relative path, or a directory that the test is given; a path of Kafka's own goes to"
        " ALLOWED_PATHS"
    )


def test_no_host_of_a_registry() -> None:
    assert found_in_text(_HOSTS) == [], "leave the host to the configuration of the tool"


def test_imports_are_absolute() -> None:
    relative = [
        f"{path}:{node.lineno}"
        for path in python_files("broker_lite", "tests")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert relative == [], "write `from broker_lite.room.module import name`"


def kept_errors(handler: ast.ExceptHandler) -> Iterator[int]:
    """The lines on which a caught error, with its traceback, is kept under another name."""
    for node in ast.walk(handler):
        kept = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if isinstance(kept, ast.Name) and kept.id == handler.name:
            yield node.lineno


def test_errors_are_kept_without_their_traceback() -> None:
    kept = [
        f"{path}:{line}"
        for path in python_files("broker_lite")
        if path.parts[1] in ("handler", "coordinator", "control")
        for handler in ast.walk(tree_of(path))
        if isinstance(handler, ast.ExceptHandler)
        for line in kept_errors(handler)
    ]
    assert kept == [], (
        "keep error.with_traceback(None): a traceback refers to the frame that keeps the error, and"
        " this cycle is never freed if a large request leaves it"
    )


def test_only_the_command_line_prints() -> None:
    printing = [
        f"{path}:{node.lineno}"
        for path in python_files("broker_lite")
        if path != Path("broker_lite/cli.py") and "commands" not in path.parts
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ]
    assert printing == [], "log it, or return it to the command that prints it"


@pytest.mark.parametrize("name", sorted({api.handle.__module__ for api in APIS.values()}))
def test_handlers_say_what_they_do(name: str) -> None:
    path = Path(*name.split(".")).with_suffix(".py")
    docstring = ast.get_docstring(tree_of(path)) or ""
    first, _, _ = docstring.partition("\n\n")
    apis = [f"{api.name} ({key})" for key, api in APIS.items() if api.handle.__module__ == name]
    assert [each for each in apis if each not in first] == [], "the first line names API and key"
    assert "\nNot done: " in docstring, "add a paragraph that begins with `Not done: `"


def test_versions_of_apis_stand_in_the_table_only() -> None:
    table = Path("broker_lite/handler/table.py")
    assert [
        f"{path}: {found[0]}"
        for path in python_files("broker_lite/handler")
        if path != table and (found := _VERSIONS.search(text_of(path)))
    ] == [], f"give the versions of an API in {table}"


def test_p60_the_spec_has_the_versions_that_are_offered() -> None:
    row = re.compile(r"^\| (\d+) \| \w+ \| (\d+)(?:\N{EN DASH}(\d+))?[ |]", re.MULTILINE)
    rows = row.findall(specified()[Rule("P", 60)].text)
    told = {int(key): (int(first), int(last or first)) for key, first, last in rows}
    apis = offered("4.4")
    assert {key: apis[key][1:3] for key in told if key in apis} == {
        key: versions for key, versions in told.items() if key in apis
    }, "correct the table of P-60 in docs/spec/protocol.md"
    assert len(told.keys() & apis.keys()) > len(apis) / 2
