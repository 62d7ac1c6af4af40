"""Build the compiled modules: Python as it stands in the repository, and runs without a compiler.

pyproject.toml lists them, by compiler: Cython translates what has work for every record, with the
types of the .pxd beside each module, and mypyc what has work for every request, from its
annotations.

BROKER_LITE_NATIVE=require fails the build when it cannot be compiled (wheels, CI), off skips it,
anything else tries. BROKER_LITE_COMPILERS=cython leaves out what mypyc compiles, which takes most
of the time.

Beside the package's modules goes a file with the hashes of what was compiled, by which
broker_lite.native knows whether it still is what its sources say.
"""

import ast
import functools
import os
import shlex
import shutil
import sysconfig
import tomllib
from collections.abc import Iterable, Iterator
from importlib.util import source_hash
from pathlib import Path
from typing import TypeGuard

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

MODE = os.environ.get("BROKER_LITE_NATIVE", "try")
COMPILERS = os.environ.get("BROKER_LITE_COMPILERS", "cython mypyc").split()
PROJECT = tomllib.loads(Path(__file__).with_name("pyproject.toml").read_text("utf-8"))
COMPILED: dict[str, list[str]] = PROJECT["tool"]["broker-lite"]["compiled"]
DIRECTIVES = {
    "language_level": 3,
    "annotation_typing": False,
    "boundscheck": True,
    "wraparound": False,
}
PACKAGE = "broker_lite"
SUFFIX: str = sysconfig.get_config_var("EXT_SUFFIX")
MYPYC = "mypyc"
# What the value of a constant consists of that mypyc writes where it is used.
PLAIN: tuple[type[ast.AST], ...] = (
    *(ast.BinOp, ast.Constant, ast.Name, ast.Tuple, ast.UnaryOp),
    *(ast.expr_context, ast.operator, ast.unaryop),
)
# The part in which a module is compiled: what Cython compiles is one for each module.
PART = {path: path for path in (*COMPILED["cython"], *COMPILED["cython-unchecked"])}
PART |= dict.fromkeys(COMPILED["mypyc"], MYPYC)
# The sources of each part, with their hashes when the compiler read them.
READ: dict[str, dict[str, str]] = {}
# What mypyc compiles calls itself as functions of one library, which each of the modules loads.
LIBRARY = f"{PACKAGE}__mypyc"


class BuildExt(build_ext):  # type: ignore[misc]  # setuptools is not typed
    """Translates to C, which takes a while, unless only questions about the package are asked."""

    def finalize_options(self) -> None:
        if not {"dist_info", "egg_info", "sdist"}.intersection(self.distribution.commands):
            self.distribution.ext_modules = extensions()
        super().finalize_options()

    def run(self) -> None:
        self.built: set[str] = set()
        super().run()
        root = Path() if self.inplace else Path(self.build_lib)
        if self.inplace:
            for old in Path(PACKAGE).rglob(f"*{SUFFIX}"):
                if _name(old) not in self.built:
                    old.unlink()
        name = f"native{SUFFIX.removesuffix('.so')}.sums"
        (root / PACKAGE / name).write_text("".join(sums(self.built)), "utf-8")

    def build_extension(self, extension: Extension) -> None:
        super().build_extension(extension)
        self.built.add(extension.name)

    def build_extensions(self) -> None:
        self.parallel = os.cpu_count()
        found, modules = extensions(), _names(COMPILED["mypyc"])
        others = [extension for extension in found if extension.name not in modules]
        loaders = [extension for extension in found if extension.name in modules]
        self.extensions = others
        super().build_extensions()
        # without their library, those modules stay as they are written
        self.extensions = loaders if LIBRARY in self.built else []
        super().build_extensions()
        self.extensions = found


def _name(path: str | Path) -> str:
    return str(path).partition(".")[0].replace("/", ".")


def _names(paths: Iterable[str]) -> list[str]:
    return [_name(path) for path in paths]


def by_cython() -> list[Extension]:
    from Cython.Build import cythonize

    found: list[Extension] = []
    for kind, directives in (
        ("cython", DIRECTIVES),
        ("cython-unchecked", {**DIRECTIVES, "boundscheck": False}),
    ):
        paths = COMPILED[kind]
        modules = [Extension(name, [path]) for name, path in zip(_names(paths), paths, strict=True)]
        # what lies beside a source from an earlier build may be newer than it, and made of another
        found += cythonize(modules, compiler_directives=directives, force=True)
    return found


def by_mypyc() -> list[Extension]:
    from mypyc.build import mypycify

    # What a build environment lacks is no error, and what a newer compiler warns of is none.
    checker = ["--config-file=", "--ignore-missing-imports"]
    found: list[Extension] = mypycify(
        [*checker, *COMPILED["mypyc"]],
        opt_level="1",
        debug_level="0",
        group_name=PACKAGE,
    )
    for extension in found:
        flags = extension.extra_compile_args
        extension.extra_compile_args = [flag for flag in flags if flag != "-Werror"]
    return found


def read_by_cython() -> dict[str, set[str]]:
    """The sources of each part: a module, its types, and the modules whose C types it takes."""
    from Cython.Build.Dependencies import create_dependency_tree

    tree = create_dependency_tree()
    parts: dict[str, set[str]] = {}
    for path in (*COMPILED["cython"], *COMPILED["cython-unchecked"]):
        types = {file for file in tree.all_dependencies(path) if file.startswith(f"{PACKAGE}/")}
        parts[path] = {path, *types, *(str(Path(file).with_suffix(".py")) for file in types)}
    return parts


def read_by_mypyc() -> dict[str, set[str]]:
    """The sources of all modules, which are one part, and those of the constants they take.

    mypyc writes the value of a constant into the code of the module that imports it.
    """
    found = set(COMPILED["mypyc"])
    left = list(found)
    while left:
        for home in set(_homes_of_constants(left.pop())) - found:
            found.add(home)
            left.append(home)
    return {MYPYC: found}


def _homes_of_constants(path: str) -> Iterator[str]:
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            for alias in node.names:
                yield from _home_of(node.module, alias.name)


def _home_of(module: str, name: str) -> Iterator[str]:
    path = _path(f"{module}.{name}")
    if path is not None:  # of a module that is imported as a whole, each may be taken
        yield from [path] if _constants(path) else []
        return
    path = _path(module)
    if path is not None and name in _constants(path):
        yield path
    elif path is not None:
        for node in _tree(path).body:
            if isinstance(node, ast.ImportFrom) and node.module:
                yield from (
                    home
                    for alias in node.names
                    if (alias.asname or alias.name) == name
                    for home in _home_of(node.module, alias.name)
                )


def _path(module: str) -> str | None:
    stem = Path(*module.split("."))
    found = (path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.is_file())
    return next((str(path) for path in found if module.startswith(PACKAGE)), None)


@functools.cache
def _constants(path: str) -> set[str]:
    """The constants of a module that are plain values, and its classes that have some."""
    found = set()
    for node in _tree(path).body:
        if _is_constant(node):
            found.add(ast.unparse(node.target))
        elif isinstance(node, ast.ClassDef) and any(map(_is_constant, node.body)):
            found.add(node.name)
    return found


def _is_constant(node: ast.stmt) -> TypeGuard[ast.AnnAssign]:
    if not isinstance(node, ast.AnnAssign) or node.value is None:
        return False
    is_final = ast.unparse(node.annotation).startswith("Final")
    return is_final and all(isinstance(part, PLAIN) for part in ast.walk(node.value))


@functools.cache
def _tree(path: str) -> ast.Module:
    return ast.parse(Path(path).read_bytes())


@functools.cache
def extensions() -> list[Extension]:
    found: list[Extension] = []
    for compiler, read, translate in (
        ("cython", read_by_cython, by_cython),
        (MYPYC, read_by_mypyc, by_mypyc),
    ):
        if compiler not in COMPILERS:
            continue
        try:
            for part, files in read().items():
                READ[part] = {file: source_hash(Path(file).read_bytes()).hex() for file in files}
            found += translate()
        except (ImportError, SystemExit):  # mypyc exits on its errors
            if MODE == "require":
                raise
    for extension in found:
        extension.optional = MODE != "require"  # cythonize() drops what its input said
    return found


def sums(built: set[str]) -> Iterator[str]:
    """The lines that broker_lite.native reads, about the parts of which all is built."""
    sound = {part: files for part, files in READ.items() if built.issuperset(_needed(part, files))}
    for file in sorted({file for files in sound.values() for file in files}):
        parts = sorted(part for part, files in sound.items() if file in files)
        own = PART.get(file)
        words = [own if own in parts else "-", *(part for part in parts if part != own)]
        hashed = sound[parts[0]][file]
        yield " ".join([hashed, *(word.removeprefix(f"{PACKAGE}/") for word in (file, *words))])
        yield "\n"


def _needed(part: str, files: Iterable[str]) -> Iterator[str]:
    """The compiled modules without which a part does not run."""
    for file in files:
        # of the constants that mypyc takes, the modules may be there as Python
        if file.endswith(".py") and (part != MYPYC or PART.get(file) == MYPYC):
            yield _name(file)


def has_compiler() -> bool:
    command = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    return shutil.which(shlex.split(command)[0]) is not None


is_compiled = MODE == "require" or (MODE != "off" and has_compiler())
setup(
    # which of them is known when they are to be built
    ext_modules=[Extension(LIBRARY, [])] if is_compiled else [],
    cmdclass={"build_ext": BuildExt},
)
