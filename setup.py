"""Build the compiled modules: Python as it stands in the repository, and runs without a compiler.

pyproject.toml lists them, by compiler: Cython translates what has work for every record, with the
types of the .pxd beside each module, and mypyc what has work for every request, from its
annotations.

BROKER_LITE_NATIVE=require fails the build when it cannot be compiled (wheels, CI), off skips it,
anything else tries. BROKER_LITE_COMPILERS=cython leaves out what mypyc compiles, which takes most
of the time.
"""

import functools
import os
import shlex
import shutil
import sysconfig
import tomllib
from collections.abc import Iterable
from pathlib import Path

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
# They call each other as functions of one library, which each of them loads.
LIBRARY = "broker_lite__mypyc"


class BuildExt(build_ext):  # type: ignore[misc]  # setuptools is not typed
    """Translates to C, which takes a while, unless only questions about the package are asked."""

    def finalize_options(self) -> None:
        if not {"dist_info", "egg_info", "sdist"}.intersection(self.distribution.commands):
            self.distribution.ext_modules = extensions()
        super().finalize_options()

    def build_extensions(self) -> None:
        self.parallel = os.cpu_count()
        found, modules = extensions(), _names(COMPILED["mypyc"])
        others = [extension for extension in found if extension.name not in modules]
        loaders = [extension for extension in found if extension.name in modules]
        self.extensions = others
        super().build_extensions()
        # without their library, those modules stay as they are written
        self.extensions = loaders if os.path.exists(self.get_ext_fullpath(LIBRARY)) else []
        super().build_extensions()
        self.extensions = found


def _names(paths: Iterable[str]) -> list[str]:
    return [path.removesuffix(".py").replace("/", ".") for path in paths]


def by_cython() -> list[Extension]:
    from Cython.Build import cythonize

    found: list[Extension] = []
    for kind, directives in (
        ("cython", DIRECTIVES),
        ("cython-unchecked", {**DIRECTIVES, "boundscheck": False}),
    ):
        paths = COMPILED[kind]
        modules = [Extension(name, [path]) for name, path in zip(_names(paths), paths, strict=True)]
        found += cythonize(modules, compiler_directives=directives)
    return found


def by_mypyc() -> list[Extension]:
    from mypyc.build import mypycify

    # What a build environment lacks is no error, and what a newer compiler warns of is none.
    checker = ["--config-file=", "--ignore-missing-imports"]
    found: list[Extension] = mypycify(
        [*checker, *COMPILED["mypyc"]],
        opt_level="1",
        debug_level="0",
        group_name=LIBRARY.partition("__")[0],
    )
    for extension in found:
        flags = extension.extra_compile_args
        extension.extra_compile_args = [flag for flag in flags if flag != "-Werror"]
    return found


@functools.cache
def extensions() -> list[Extension]:
    found: list[Extension] = []
    for compiler, translate in (("cython", by_cython), ("mypyc", by_mypyc)):
        if compiler not in COMPILERS:
            continue
        try:
            found += translate()
        except (ImportError, SystemExit):  # mypyc exits on its errors
            if MODE == "require":
                raise
    for extension in found:
        extension.optional = MODE != "require"  # cythonize() drops what its input said
    return found


def has_compiler() -> bool:
    command = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    return shutil.which(shlex.split(command)[0]) is not None


is_compiled = MODE == "require" or (MODE != "off" and has_compiler())
setup(
    # which of them is known when they are to be built
    ext_modules=[Extension(LIBRARY, [])] if is_compiled else [],
    cmdclass={"build_ext": BuildExt},
)
