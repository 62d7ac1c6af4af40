"""What compilers need of the modules that they compile, as far as it can be seen without them.

mypyc compiles some things differently from how they read; these may not stand in its modules. For
Cython a module and the .pxd beside it have to agree.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.as_written import BY_CYTHON, MODULES
from tests.tidy.project_files import ROOT, project_files

SOUND_BASES = {"Exception", "IntEnum", "NamedTuple", "Protocol", "ValueError"}
TYPED_CLASS = re.compile(r"^cdef class (\w+).*:\n((?:    .*\n|\n)+)", re.MULTILINE)
TYPED_ATTRIBUTE = re.compile(r"^    cdef [^(\n]+ (\w+)$", re.MULTILINE)
COMPILED_CLASSES = {
    node.name
    for path in MODULES.values()
    for node in ast.walk(ast.parse(path.read_text("utf-8")))
    if isinstance(node, ast.ClassDef)
}


def test_the_list_names_what_there_is() -> None:
    assert not [path for path in (*BY_CYTHON.values(), *MODULES.values()) if not path.is_file()]
    typed = {ROOT / path.with_suffix(".py") for path in project_files() if path.suffix == ".pxd"}
    assert set(BY_CYTHON.values()) == typed


def attributes_set(node: ast.ClassDef) -> set[str]:
    """The attributes that a class assigns to itself."""
    return {
        each.attr
        for each in ast.walk(node)
        if isinstance(each, ast.Attribute)
        and isinstance(each.ctx, ast.Store)
        and ast.unparse(each.value) == "self"
    }


@pytest.mark.parametrize("path", BY_CYTHON.values(), ids=BY_CYTHON)
def test_attributes_have_a_type_in_the_pxd(path: Path) -> None:
    """As plain Python a class works without them; compiled, it has no others."""
    pxd = path.with_suffix(".pxd")
    typed = dict(TYPED_CLASS.findall(pxd.read_text("utf-8")))
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.ClassDef):
            assert node.name in typed, f"add the class to {pxd.name}"
            declared = set(TYPED_ATTRIBUTE.findall(typed[node.name]))
            differing = sorted(attributes_set(node) ^ declared)
            assert differing == [], f"set them in {path.name}, and give each a type in {pxd.name}"


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def twice_bound(function: ast.AST) -> Iterator[str]:
    """Names of exceptions of different types: compiled, such a name has the type of the first."""
    types: dict[str, str] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.ExceptHandler) and node.name and node.type:
            caught = ast.unparse(node.type)
            if types.setdefault(node.name, caught) != caught:
                yield node.name


def lost_causes(function: ast.AST) -> Iterator[str]:
    """`raise ... from` something other than what is being handled; compiled, that is dropped."""
    handled = {node.name for node in ast.walk(function) if isinstance(node, ast.ExceptHandler)}
    for node in ast.walk(function):
        if isinstance(node, ast.Raise) and node.cause is not None:
            cause = ast.unparse(node.cause)
            if cause != "None" and cause not in handled:
                yield cause


def foreign_bases(path: Path) -> Iterator[str]:
    """Bases that are compiled by nobody: an instance would not have room for both."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ClassDef):
            for base in map(ast.unparse, node.bases):
                if base not in SOUND_BASES | COMPILED_CLASSES:
                    yield f"class {node.name}({base})"


@pytest.mark.parametrize("path", MODULES.values(), ids=MODULES)
def test_classes_have_bases_that_are_compiled_too(path: Path) -> None:
    assert not list(foreign_bases(path))


def looked_up_each_time(path: Path) -> Iterator[str]:
    """Constants that are not Final: compiled, each use is a look into the module's dict."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign):
            for name in map(ast.unparse, node.targets):
                if name.isupper() or name == "_make":
                    yield name


@pytest.mark.parametrize("path", MODULES.values(), ids=MODULES)
def test_constants_are_final(path: Path) -> None:
    assert not list(looked_up_each_time(path))


def left_open(function: ast.AST) -> Iterator[str]:
    """`with` and `try` around a yield: of a generator that nobody finishes, they do not end."""
    nodes = list(ast.walk(function))
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in nodes):
        yield from (
            ast.unparse(node)[:20]
            for node in nodes
            if isinstance(node, ast.With | ast.AsyncWith | ast.Try | ast.TryStar)
        )


@pytest.mark.parametrize("path", MODULES.values(), ids=MODULES)
def test_compiled_it_means_the_same(path: Path) -> None:
    assert not [
        f"{path.relative_to(ROOT)}:{function.lineno} {name}"
        for function in functions(path)
        for name in (*twice_bound(function), *lost_causes(function), *left_open(function))
    ]
