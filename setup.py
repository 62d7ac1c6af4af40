"""Builds the compiled modules; their sources are plain Python that also runs without a compiler.

pyproject.toml lists these modules by compiler. Cython compiles the modules that work on every
record, with types from the .pxd file beside each module. mypyc compiles the modules that work on
every request, with types from their annotations.

BROKER_LITE_NATIVE=require fails the build if a module cannot be compiled (for wheels and CI); off
compiles nothing; with any other value the build goes on without the modules that fail.
BROKER_LITE_COMPILERS=cython leaves out mypyc, which takes most of the time.

The build also writes a file with the hashes of the sources that were compiled. With it,
broker_lite.native finds out whether a compiled module is still current.
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
# The parts of an expression whose value mypyc copies to the places where the constant is used.
PLAIN: tuple[type[ast.AST], ...] = (
    *(ast.BinOp, ast.Constant, ast.Name, ast.Tuple, ast.UnaryOp),
    *(ast.expr_context, ast.operator, ast.unaryop),
)
# The part that each module is compiled in. Each module of Cython is a part of its own; all modules
# of mypyc are one part.
PART = {path: path for path in (*COMPILED["cython"], *COMPILED["cython-unchecked"])}
PART |= dict.fromkeys(COMPILED["mypyc"], MYPYC)
# The sources of each part, with their hashes when the compiler read them.
READ: dict[str, dict[str, str]] = {}
# The code of all modules of mypyc is in one library, which each of these modules loads.
LIBRARY = f"{PACKAGE}__mypyc"
# A tenth less of code, which no C++ unwinds, and of names that only one library uses.
SMALL = ("-fno-asynchronous-unwind-tables", "-fvisibility=hidden")


class BuildExt(build_ext):  # type: ignore[misc]  # setuptools is not typed
    """Compiles the modules, except for commands that only need metadata, because it takes long."""

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
        # without their library, the modules of mypyc are not built and run as plain Python
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
        modules = [
            Extension(name, [path], extra_compile_args=[*SMALL])
            for name, path in zip(_names(paths), paths, strict=True)
        ]
        # force, because C files of an earlier build may be newer than the source, but made from
        # another version of it
        found += cythonize(modules, compiler_directives=directives, force=True)
    return found


def by_mypyc() -> list[Extension]:
    from mypyc.build import mypycify

    # Imports that are missing in the build environment are no errors. Nor are warnings of a newer
    # C compiler, so -Werror is removed below.
    checker = ["--config-file=", "--ignore-missing-imports"]
    found: list[Extension] = mypycify(
        [*checker, *COMPILED["mypyc"]],
        opt_level="1",
        debug_level="0",
        group_name=PACKAGE,
    )
    for extension in found:
        flags = [flag for flag in extension.extra_compile_args if flag != "-Werror"]
        extension.extra_compile_args = [*flags, *SMALL]
    return found


def read_by_cython() -> dict[str, set[str]]:
    """Return the sources of each part: a module, its types, and modules whose C types it uses."""
    from Cython.Build.Dependencies import create_dependency_tree

    tree = create_dependency_tree()
    parts: dict[str, set[str]] = {}
    for path in (*COMPILED["cython"], *COMPILED["cython-unchecked"]):
        types = {file for file in tree.all_dependencies(path) if file.startswith(f"{PACKAGE}/")}
        parts[path] = {path, *types, *(str(Path(file).with_suffix(".py")) for file in types)}
    return parts


def read_by_mypyc() -> dict[str, set[str]]:
    """Return the sources of mypyc's one part: its modules, and those whose constants they import.

    The latter matter, because mypyc copies the value of a constant into the module that imports it.
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
    if path is not None:  # the module is imported as a whole, so any of its constants may be used
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
    """Return the constants of a module with plain values, and its classes with such constants."""
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
        extension.optional = MODE != "require"  # set here, because cythonize() drops it
    return found


def sums(built: set[str]) -> Iterator[str]:
    """Yield the lines that broker_lite.native reads, for the parts that are built completely."""
    sound = {part: files for part, files in READ.items() if built.issuperset(_needed(part, files))}
    for file in sorted({file for files in sound.values() for file in files}):
        parts = sorted(part for part, files in sound.items() if file in files)
        own = PART.get(file)
        words = [own if own in parts else "-", *(part for part in parts if part != own)]
        hashed = sound[parts[0]][file]
        yield " ".join([hashed, *(word.removeprefix(f"{PACKAGE}/") for word in (file, *words))])
        yield "\n"


def _needed(part: str, files: Iterable[str]) -> Iterator[str]:
    """Yield the modules that must be compiled for a part to run."""
    for file in files:
        # modules that mypyc only takes constants from may stay plain Python
        if file.endswith(".py") and (part != MYPYC or PART.get(file) == MYPYC):
            yield _name(file)


def has_compiler() -> bool:
    command = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    return shutil.which(shlex.split(command)[0]) is not None


is_compiled = MODE == "require" or (MODE != "off" and has_compiler())
setup(
    # a placeholder: BuildExt replaces it by the real list of extensions
    ext_modules=[Extension(LIBRARY, [])] if is_compiled else [],
    cmdclass={"build_ext": BuildExt},
)
